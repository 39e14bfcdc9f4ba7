// Rows and scans, of which a test reads what nvcc makes of them.
#include <pluginkit/kernels/normalize.cuh>
#include <pluginkit/kernels/scan.cuh>

namespace kernels = pluginkit::kernels;

namespace
{

struct LargestOfRow
{
    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        row.writeOne(y, row.reduce(kernels::Max{}, [](float x) { return x; }));
    }
};

} // namespace

cudaError_t scanInPlace(cudaStream_t stream, int64_t rows, int64_t columns, float* y)
{
    return kernels::launchScan(stream, rows, columns, kernels::Sum{}, kernels::output<float>(y),
                               kernels::input<float>(y));
}

cudaError_t largestOfRows(cudaStream_t stream, int64_t rows, int64_t columns, float const* x, float* y)
{
    return kernels::launchRows(stream, rows, columns, LargestOfRow{}, kernels::rowOutput<float>(y),
                               kernels::input<float>(x));
}
