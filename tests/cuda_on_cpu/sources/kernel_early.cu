// Kernels that may start early, of which a test reads what nvcc makes of them.
#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/gather.cuh>
#include <pluginkit/kernels/normalize.cuh>
#include <pluginkit/kernels/pad.cuh>
#include <pluginkit/kernels/pooling.cuh>
#include <pluginkit/kernels/scan.cuh>
#include <pluginkit/kernels/select.cuh>
#include <pluginkit/kernels/transpose.cuh>

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

struct Doubled
{
    __device__ float operator()(float x) const
    {
        return 2.0F * x;
    }
};

struct NotZero
{
    __device__ bool operator()(float x) const
    {
        return x != 0.0F;
    }
};

struct Largest : kernels::MaximumFold
{
    __device__ float result(float folded, float /*count*/) const
    {
        return folded;
    }
};

} // namespace

cudaError_t doubled(cudaStream_t stream, int64_t count, float const* x, float* y)
{
    return kernels::launchElementwise(stream, count, Doubled{}, kernels::output<float>(y), kernels::input<float>(x));
}

cudaError_t rowsOfTable(cudaStream_t stream, int64_t count, int64_t rowBytes, int64_t const* indices, void const* x,
                        void* y)
{
    return kernels::launchGatherRows(stream, count, rowBytes, count, indices, x, y);
}

cudaError_t transposed(cudaStream_t stream, int64_t rows, int64_t columns, void const* x, void* y)
{
    return kernels::launchTranspose<float>(stream, 1, rows, columns, x, y);
}

cudaError_t padded(cudaStream_t stream, int64_t const* xDims, int64_t const* before, int64_t const* yDims,
                   float const* x, float* y)
{
    return kernels::launchPad(stream, 2, xDims, before, yDims, {kernels::PadMode::kReflect, 0.0F},
                              kernels::output<float>(y), kernels::input<float>(x));
}

cudaError_t surrounded(cudaStream_t stream, int64_t const* xDims, int64_t const* before, int64_t const* yDims,
                       float const* x, float* y)
{
    return kernels::launchPad(stream, 2, xDims, before, yDims, {kernels::PadMode::kConstant, 0.0F},
                              kernels::output<float>(y), kernels::input<float>(x));
}

cudaError_t halved(cudaStream_t stream, kernels::Images const& images, float const* x, float* y)
{
    return kernels::launchPooling(stream, images, {2, 2, 0}, Largest{}, kernels::output<float>(y),
                                  kernels::input<float>(x));
}

cudaError_t selected(cudaStream_t stream, int64_t count, int8_t const* x, int64_t* indices, int32_t* found,
                     void* workspace)
{
    return kernels::launchSelect(stream, 1, &count, NotZero{}, kernels::input<int8_t>(x), indices, found, workspace,
                                 kernels::selectWorkspace(count));
}

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

cudaError_t scanOfBytes(cudaStream_t stream, int64_t rows, int64_t columns, int8_t* y)
{
    return kernels::launchScan(stream, rows, columns, kernels::Sum{}, kernels::output<int8_t>(y),
                               kernels::input<int8_t>(y));
}

cudaError_t largestOfBytes(cudaStream_t stream, int64_t rows, int64_t columns, int8_t const* x, int8_t* y)
{
    return kernels::launchRows(stream, rows, columns, LargestOfRow{}, kernels::rowOutput<int8_t>(y),
                               kernels::input<int8_t>(x));
}
