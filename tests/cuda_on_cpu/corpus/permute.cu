// Permutes up to six axes: the strides in a struct by value, division by a precomputed multiplication (__umulhi).
#include "corpus.h"

namespace permute
{
constexpr int kMAX_AXES = 6;

/// n / divisor by one multiplication and a shift, for n below 2^31.
struct FastDivider
{
    unsigned divisor;
    unsigned multiplier;
    unsigned shift;

    FastDivider() = default;

    explicit FastDivider(unsigned d) : divisor(d), multiplier(0), shift(0)
    {
        while ((1ull << shift) < d)
        {
            ++shift;
        }
        multiplier = static_cast<unsigned>(((1ull << 32) * ((1ull << shift) - d)) / d + 1);
    }

    __device__ __forceinline__ unsigned divide(unsigned n) const
    {
        return (__umulhi(n, multiplier) + n) >> shift;
    }
};

struct Layout
{
    int axes;
    FastDivider extents[kMAX_AXES];
    int strides[kMAX_AXES]; // in the input, of the output's axes
};

template <typename T>
__global__ void kernel(T const* __restrict__ in, T* __restrict__ out, Layout const layout, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x)
    {
        unsigned rest = i;
        int from = 0;
#pragma unroll
        for (int axis = kMAX_AXES - 1; axis >= 0; --axis)
        {
            if (axis < layout.axes)
            {
                unsigned const quotient = layout.extents[axis].divide(rest);
                from += (rest - quotient * layout.extents[axis].divisor) * layout.strides[axis];
                rest = quotient;
            }
        }
        out[i] = in[from];
    }
}
} // namespace permute

CORPUS_EXPORT int run_permute(float const* x, int const* extents, int const* order, float* y, int axes)
{
    int strides[permute::kMAX_AXES], stride = 1;
    for (int axis = axes - 1; axis >= 0; --axis)
    {
        strides[axis] = stride;
        stride *= extents[axis];
    }
    permute::Layout layout{};
    layout.axes = axes;
    for (int axis = 0; axis < axes; ++axis)
    {
        layout.extents[axis] = permute::FastDivider(static_cast<unsigned>(extents[order[axis]]));
        layout.strides[axis] = strides[order[axis]];
    }
    corpus::Device<float> const in(x, stride), out(stride);
    permute::kernel<<<8, 96>>>(in.get(), out.get(), layout, stride);
    return out.copyTo(y);
}
