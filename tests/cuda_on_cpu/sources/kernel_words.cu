// A norm of INT8 rows whose weights or bias are wider, called with addresses of device memory.
#include "layer_norm.cuh"

namespace kernels = pluginkit::kernels;

namespace
{

template <typename Weight>
int norm(void const* x, void const* weights, void const* bias, void* y, int rows, int columns)
{
    return kernels::launchRows(nullptr, rows, columns, LayerNorm{static_cast<float>(columns)},
                               kernels::output<int8_t>(y, 0.03F), kernels::input<int8_t>(x, 0.03F),
                               kernels::row<Weight>(weights, columns, 0.03F), kernels::row<float>(bias, columns));
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int layerNorm(void const* x, void const* weights, void const* bias, void* y, int rows, int columns)
{
    return norm<float>(x, weights, bias, y, rows, columns);
}

EXPORT int layerNormInt8(void const* x, void const* weights, void const* bias, void* y, int rows, int columns)
{
    return norm<int8_t>(x, weights, bias, y, rows, columns);
}
