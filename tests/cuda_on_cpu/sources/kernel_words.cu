// A norm of INT8 rows whose weights are wider, called with addresses of device memory.
#include "layer_norm.cuh"

namespace kernels = pluginkit::kernels;

extern "C" __attribute__((visibility("default"))) int layerNorm(void const* x, void const* weights, void const* bias,
                                                                void* y, int rows, int columns)
{
    return kernels::launchRows(nullptr, rows, columns, LayerNorm{static_cast<float>(columns)},
                               kernels::output<int8_t>(y, 0.03F), kernels::input<int8_t>(x, 0.03F),
                               kernels::row<float>(weights, columns), kernels::row<float>(bias, columns));
}
