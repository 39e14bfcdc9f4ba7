// The inline PTX that plugins have: lane id and masks, non-coherent and volatile accesses, bfe, prmt, ex2, fma, bar,
// membar.
#include "corpus.h"

namespace inline_ptx
{
__device__ __forceinline__ unsigned laneId()
{
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

__device__ __forceinline__ unsigned lanesBelow()
{
    unsigned mask;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
}

__device__ __forceinline__ float loadNonCoherent(float const* address)
{
    float value;
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(address));
    return value;
}

__device__ __forceinline__ void storeVolatile(float* address, float value)
{
    asm volatile("st.volatile.global.f32 [%0], %1;" ::"l"(address), "f"(value) : "memory");
}

__device__ __forceinline__ float exponential2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ unsigned bits(unsigned value, unsigned first, unsigned count)
{
    unsigned result;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(value), "r"(first), "r"(count));
    return result;
}

__global__ void kernel(float const* x, float* y, unsigned* words, int n)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    bool const positive = i < n && x[i] > 0.f;
    unsigned const ballot = __ballot_sync(0xffffffff, positive);
    asm volatile("bar.sync 0;" ::: "memory");
    if (i < n)
    {
        float scaled;
        asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(scaled) : "f"(loadNonCoherent(x + i)), "f"(2.f), "f"(-1.f));
        storeVolatile(y + i, exponential2(scaled));
        unsigned swapped;
        asm("prmt.b32 %0, %1, %2, 0x0123;"
            : "=r"(swapped)
            : "r"(static_cast<unsigned>(i) * 0x01010101u + 0x03020100u), "r"(0u));
        words[3 * i] = __popc(ballot & lanesBelow()) + 100 * laneId();
        words[3 * i + 1] = bits(0x89abcdefu, i % 24, 8);
        words[3 * i + 2] = swapped;
    }
    asm volatile("membar.gl;" ::: "memory");
}
} // namespace inline_ptx

CORPUS_EXPORT int run_inline_ptx(float const* x, float* y, unsigned* words, int n)
{
    corpus::Device<float> const in(x, n), out(n);
    corpus::Device<unsigned> const dWords(3 * static_cast<size_t>(n));
    inline_ptx::kernel<<<(n + 95) / 96, 96>>>(in.get(), out.get(), dWords.get(), n);
    int const error = out.copyTo(y);
    return error ? error : dWords.copyTo(words);
}
