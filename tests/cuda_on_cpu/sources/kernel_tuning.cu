// Launches of the device headers with other values than the usual ones.
#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/functions.cuh>
#include <pluginkit/kernels/gather.cuh>
#include <pluginkit/kernels/normalize.cuh>
#include <pluginkit/kernels/scan.cuh>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace kernels = pluginkit::kernels;

namespace
{

struct Few : kernels::UsualValues
{
    static constexpr int32_t kThreads = 64;
    static constexpr int32_t kPacks = 4;
};

struct Many : kernels::UsualValues
{
    static constexpr int32_t kThreads = 512;
    static constexpr int32_t kPacks = 2;
};

kernels::Tuned<kernels::UsualValues, Few, Many> set(int32_t number)
{
    return {nullptr, number};
}

struct Leaky
{
    __device__ float operator()(float x) const
    {
        return x >= 0.0F ? x : 0.1F * x;
    }
};

struct Sum
{
    __device__ float operator()(float x, float bias) const
    {
        return x + bias;
    }
};

struct Centred
{
    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        float const most = row.reduce(kernels::Max{}, [](float x) { return x; });
        row.write(y, [most](float x) { return x - most; });
    }
};

} // namespace

EXPORT int leaky(int32_t number, int8_t const* x, int8_t* y, int64_t n)
{
    return kernels::launchElementwise(set(number), n, Leaky{}, kernels::output<int8_t>(y, 0.5F),
                                      kernels::input<int8_t>(x, 0.7F));
}

EXPORT int biased(int32_t number, int8_t const* x, int8_t const* bias, int8_t* y, int64_t n, int64_t columns)
{
    return kernels::launchElementwise(set(number), n, Sum{}, kernels::output<int8_t>(y, 0.5F),
                                      kernels::input<int8_t>(x, 0.7F), kernels::row<int8_t>(bias, columns, 0.3F));
}

EXPORT int centred(int32_t number, float const* x, float* y, int64_t rows, int64_t columns)
{
    return kernels::launchRows(set(number), rows, columns, Centred{}, kernels::output<float>(y),
                               kernels::input<float>(x));
}

EXPORT int scanned(int32_t number, float const* x, float* y, int64_t rows, int64_t columns)
{
    return kernels::launchScan(set(number), rows, columns, kernels::Max{}, kernels::output<float>(y),
                               kernels::input<float>(x));
}

EXPORT int gathered(int32_t number, float const* table, int32_t const* indices, float* y, int64_t count,
                    int64_t columns)
{
    return kernels::launchGatherRows(set(number), count, columns * 4, 50, indices, table, y);
}
