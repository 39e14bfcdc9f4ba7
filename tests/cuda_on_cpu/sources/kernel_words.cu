// A norm of INT8 rows whose weights are wider, called with addresses of device memory.
#include <pluginkit/kernels/normalize.cuh>

namespace kernels = pluginkit::kernels;

struct LayerNorm
{
    float columns;

    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        float const mean = row.reduce(kernels::Sum{}, [](float x, float, float) { return x; }) / columns;
        float const squares =
            row.reduce(kernels::Sum{}, [mean](float x, float, float) { return (x - mean) * (x - mean); });
        float const inverse = rsqrtf(squares / columns + 1e-5F);
        row.write(y, [=](float x, float weight, float bias) { return (x - mean) * inverse * weight + bias; });
    }
};

extern "C" __attribute__((visibility("default"))) int layerNorm(void const* x, void const* weights, void const* bias,
                                                                void* y, int rows, int columns)
{
    return kernels::launchRows(nullptr, rows, columns, LayerNorm{static_cast<float>(columns)},
                               kernels::output<int8_t>(y, 0.03F), kernels::input<int8_t>(x, 0.03F),
                               kernels::row<float>(weights, columns), kernels::row<float>(bias, columns));
}
