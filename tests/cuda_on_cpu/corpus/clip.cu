// Clip by a general elementwise kernel that takes a __device__ lambda, with variadic inputs; launched via a macro.
#include "corpus.h"

#include <cuda_fp16.h>

namespace clip
{
template <typename Function, typename Out, typename... In>
__global__ void elementwise(int n, Function function, Out* out, In const*... in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
    {
        out[i] = function(in[i]...);
    }
}
} // namespace clip

#define ELEMENTWISE(n, ...)                                                                                            \
    do                                                                                                                 \
    {                                                                                                                  \
        int const block_ = 192;                                                                                        \
        clip::elementwise<<<((n) + block_ - 1) / block_, block_>>>((n), __VA_ARGS__);                                  \
    } while (0)

CORPUS_EXPORT int run_clip(float const* x, float* y, __half const* xHalf, __half* yHalf, int const* low, int* yInt,
                           float lowest, float highest, int n)
{
    corpus::Device<float> const dx(x, n);
    corpus::Device<__half> const dxHalf(xHalf, n);
    corpus::Device<int> const dLow(low, n);
    corpus::Device<float> const dy(n);
    corpus::Device<__half> const dyHalf(n);
    corpus::Device<int> const dyInt(n);

    ELEMENTWISE(n, [=] __device__(float v) { return fminf(fmaxf(v, lowest), highest); }, dy.get(), dx.get());
    ELEMENTWISE(
        n,
        [=] __device__(__half v)
        {
            __half const low = __float2half(lowest), high = __float2half(highest);
            return __hgt(v, high) ? high : (__hlt(v, low) ? low : v);
        },
        dyHalf.get(), dxHalf.get());
    ELEMENTWISE(
        n, [] __device__(float v, int low) { return max(low, static_cast<int>(floorf(v))); }, dyInt.get(), dx.get(),
        dLow.get());

    int error = dy.copyTo(y);
    error = error ? error : dyHalf.copyTo(yHalf);
    return error ? error : dyInt.copyTo(yInt);
}
