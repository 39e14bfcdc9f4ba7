// Layer norm with CUB: BlockReduce of (sum, sum of squares) pairs with an operator of its own, as BERT's plugins do.
#include "corpus.h"

#include <cub/cub.cuh>

#include <cuda_fp16.h>

namespace layer_norm_cub
{
template <typename T>
struct PairOf
{
    T key;
    T value;
};

struct PairSum
{
    template <typename T>
    __device__ __forceinline__ PairOf<T> operator()(PairOf<T> const& a, PairOf<T> const& b) const
    {
        return {a.key + b.key, a.value + b.value};
    }
};

template <typename T, int TPB>
__device__ inline void layerNorm(PairOf<float> const& threadData, int const width, size_t const offset, T const* beta,
                                 T const* gamma, T* output)
{
    using BlockReduce = cub::BlockReduce<PairOf<float>, TPB>;
    __shared__ typename BlockReduce::TempStorage storage;
    __shared__ float mu;
    __shared__ float rsigma;

    PairOf<float> const sums = BlockReduce(storage).Reduce(threadData, PairSum());
    if (threadIdx.x == 0)
    {
        mu = sums.key;
        rsigma = rsqrt(sums.value - mu * mu + 1e-5f);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < width; i += TPB)
    {
        float const value = static_cast<float>(output[offset + i]);
        output[offset + i] =
            static_cast<T>(static_cast<float>(gamma[i]) * (value - mu) * rsigma + static_cast<float>(beta[i]));
    }
}

template <typename T, unsigned TPB>
__global__ void skipLayerNorm(int const width, T const* input, T const* skip, T* output, T const* beta, T const* gamma)
{
    float const inverseWidth = 1.f / width;
    size_t const offset = static_cast<size_t>(blockIdx.x) * width;
    PairOf<float> data{0, 0};
    for (int i = threadIdx.x; i < width; i += TPB)
    {
        T const value = static_cast<T>(static_cast<float>(input[offset + i]) + static_cast<float>(skip[offset + i]));
        float const scaled = inverseWidth * static_cast<float>(value);
        data = PairSum()(data, PairOf<float>{scaled, scaled * static_cast<float>(value)});
        output[offset + i] = value;
    }
    layerNorm<T, TPB>(data, width, offset, beta, gamma, output);
}

template <typename T>
int run(T const* input, T const* skip, T const* beta, T const* gamma, T* output, int rows, int width)
{
    size_t const count = static_cast<size_t>(rows) * width;
    corpus::Device<T> const dInput(input, count), dSkip(skip, count), dBeta(beta, width), dGamma(gamma, width);
    corpus::Device<T> const dOutput(count);
    if (width <= 32)
    {
        skipLayerNorm<T, 32><<<rows, 32>>>(width, dInput.get(), dSkip.get(), dOutput.get(), dBeta.get(), dGamma.get());
    }
    else
    {
        skipLayerNorm<T, 128>
            <<<rows, 128>>>(width, dInput.get(), dSkip.get(), dOutput.get(), dBeta.get(), dGamma.get());
    }
    return dOutput.copyTo(output);
}
} // namespace layer_norm_cub

CORPUS_EXPORT int run_layer_norm_cub(void const* input, void const* skip, void const* beta, void const* gamma,
                                     void* output, int rows, int width, int isHalf)
{
    auto const run = [=](auto* typed)
    {
        using T = std::remove_pointer_t<decltype(typed)>;
        return layer_norm_cub::run(static_cast<T const*>(input), static_cast<T const*>(skip),
                                   static_cast<T const*>(beta), static_cast<T const*>(gamma), typed, rows, width);
    };
    return isHalf ? run(static_cast<__half*>(output)) : run(static_cast<float*>(output));
}
