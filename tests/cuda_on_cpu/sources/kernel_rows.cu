// Functions of rows on pluginkit/kernels/normalize.cuh, called with addresses of device memory.
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/normalize.cuh>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace kernels = pluginkit::kernels;

//! Scales of INT8 tensors; other types have none.
constexpr float kScale = 0.03F;
constexpr float kOutScale = 0.01F;

struct Softmax
{
    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        float const most = row.reduce(kernels::Max{}, [](float x) { return x; });
        auto const powers = row.map([most](float x) { return expf(x - most); });
        float const sum = powers.reduce(kernels::Sum{}, [](float power) { return power; });
        powers.write(y, [](float power) { return power; }, 1.0F / sum);
    }
};

//! The sum of two tensors, its norm, and its maximum.
struct AddRmsNorm
{
    float columns;

    template <typename Row, typename Out, typename Most>
    __device__ void operator()(Row const& row, Out const& sum, Out const& y, Most const& most) const
    {
        row.write(sum, [](float x, float r, float) { return x + r; });
        float const squares = row.reduce(kernels::Sum{}, [](float x, float r, float) { return (x + r) * (x + r); });
        float const inverse = rsqrtf(squares / columns + 1e-5F);
        row.write(y, [inverse](float x, float r, float weight) { return (x + r) * inverse * weight; });
        row.writeOne(most, row.reduce(kernels::Max{}, [](float x, float r, float) { return x + r; }));
    }
};

//! Four reductions, one after another, of numbers that the row's mean leaves.
struct FourTimes
{
    float columns;

    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        float const mean = row.reduce(kernels::Sum{}, [](float x) { return x; }) / columns;
        auto const centered = row.map([mean](float x) { return x - mean; });
        float const most = centered.reduce(kernels::Max{}, [](float x) { return x; });
        float const least = -centered.reduce(kernels::Max{}, [](float x) { return -x; });
        float const squares = centered.reduce(kernels::Sum{}, [](float x) { return x * x; });
        float const inverse = rsqrtf(squares / columns + 1e-5F);
        centered.write(y, [=](float x) { return x > 0.5F * most || x < 0.5F * least ? 0.0F : x * inverse; });
    }
};

template <typename T>
int fourTimes(void const* x, void* y, int rows, int columns)
{
    return kernels::launchRows(nullptr, rows, columns, FourTimes{static_cast<float>(columns)},
                               kernels::output<T>(y, kOutScale), kernels::input<T>(x, kScale));
}

template <typename T>
int softmax(void const* x, void* y, int rows, int columns)
{
    return kernels::launchRows(nullptr, rows, columns, Softmax{}, kernels::output<T>(y, kOutScale),
                               kernels::input<T>(x, kScale));
}

template <typename T>
int addRmsNorm(void const* x, void const* r, void const* w, void* sum, void* y, void* most, int rows, int columns)
{
    pluginkit::Output largest{}; // as a layer's launch has it
    largest.data = most;
    return kernels::launchRows(nullptr, rows, columns, AddRmsNorm{static_cast<float>(columns)},
                               kernels::outputs(kernels::output<T>(sum, kScale), kernels::output<T>(y, kScale),
                                                kernels::rowOutput<float>(largest)),
                               kernels::input<T>(x, kScale), kernels::input<T>(r, kScale),
                               kernels::row<T>(w, columns, kScale));
}

EXPORT int softmaxFloat(void const* x, void* y, int rows, int columns)
{
    return softmax<float>(x, y, rows, columns);
}

EXPORT int softmaxInt8(void const* x, void* y, int rows, int columns)
{
    return softmax<int8_t>(x, y, rows, columns);
}

EXPORT int softmaxHalf(void const* x, void* y, int rows, int columns)
{
    return softmax<__half>(x, y, rows, columns);
}

EXPORT int fourTimesFloat(void const* x, void* y, int rows, int columns)
{
    return fourTimes<float>(x, y, rows, columns);
}

EXPORT int addRmsNormHalf(void const* x, void const* r, void const* w, void* sum, void* y, void* most, int rows,
                          int columns)
{
    return addRmsNorm<__half>(x, r, w, sum, y, most, rows, columns);
}
