// Group norm in NHWC in two kernels: sums by float atomics into a cleared workspace, then scale and shift with swish.
#include "corpus.h"

#include <cstdint>

namespace group_norm
{
struct Params
{
    float const* src;
    float* dst;
    float const* gamma;
    float const* beta;
    float* sums; // [batch][2][groups]
    int32_t pixels;
    int32_t pixelsPerBlock;
    int32_t channels;
    int32_t groups;
    int32_t channelsPerGroup;
    float epsilon;
    bool swish;
};

__device__ __forceinline__ float sigmoid(float x)
{
    return 1.f / (1.f + __expf(-x));
}

__global__ void sumKernel(Params params)
{
    extern __shared__ float groupSums[];
    int32_t const batch = blockIdx.y;
    for (int32_t i = threadIdx.x; i < 2 * params.groups; i += blockDim.x)
    {
        groupSums[i] = 0.f;
    }
    __syncthreads();
    int32_t const begin = blockIdx.x * params.pixelsPerBlock;
    int32_t const end = min(begin + params.pixelsPerBlock, params.pixels);
    for (int32_t c = threadIdx.x; c < params.channels; c += blockDim.x)
    {
        float sum = 0.f, squares = 0.f;
        for (int32_t pixel = begin; pixel < end; ++pixel)
        {
            float const x = params.src[(static_cast<int64_t>(batch) * params.pixels + pixel) * params.channels + c];
            sum += x;
            squares += x * x;
        }
        atomicAdd(&groupSums[c / params.channelsPerGroup], sum);
        atomicAdd(&groupSums[params.groups + c / params.channelsPerGroup], squares);
    }
    __syncthreads();
    for (int32_t i = threadIdx.x; i < 2 * params.groups; i += blockDim.x)
    {
        atomicAdd(params.sums + batch * 2 * params.groups + i, groupSums[i]);
    }
}

__global__ void scaleKernel(Params const params)
{
    int32_t const batch = blockIdx.z;
    int32_t const c = blockIdx.y * blockDim.x + threadIdx.x;
    if (c >= params.channels)
    {
        return;
    }
    int32_t const group = c / params.channelsPerGroup;
    float const count = static_cast<float>(params.pixels) * params.channelsPerGroup;
    float const mean = params.sums[(2 * batch + 0) * params.groups + group] / count;
    float const variance = params.sums[(2 * batch + 1) * params.groups + group] / count - mean * mean;
    float const inverse = variance <= 0.f ? 1.f : rsqrtf(variance + params.epsilon);
    float const gamma = params.gamma[c], beta = params.beta[c];
    for (int32_t pixel = blockIdx.x; pixel < params.pixels; pixel += gridDim.x)
    {
        int64_t const at = (static_cast<int64_t>(batch) * params.pixels + pixel) * params.channels + c;
        float y = (params.src[at] - mean) * inverse * gamma + beta;
        if (params.swish)
        {
            y = y * sigmoid(y);
        }
        params.dst[at] = y;
    }
}
} // namespace group_norm

CORPUS_EXPORT int run_group_norm(float const* x, float const* gamma, float const* beta, float* y, int batch, int pixels,
                                 int channels, int groups, int swish)
{
    size_t const count = static_cast<size_t>(batch) * pixels * channels;
    corpus::Device<float> const dx(x, count), dGamma(gamma, channels), dBeta(beta, channels);
    corpus::Device<float> const dy(count);
    corpus::Device<float> sums(static_cast<size_t>(batch) * 2 * groups);
    sums.zero();
    group_norm::Params params{};
    params.src = dx.get();
    params.dst = dy.get();
    params.gamma = dGamma.get();
    params.beta = dBeta.get();
    params.sums = sums.get();
    params.pixels = pixels;
    params.pixelsPerBlock = 7;
    params.channels = channels;
    params.groups = groups;
    params.channelsPerGroup = channels / groups;
    params.epsilon = 1e-5f;
    params.swish = swish != 0;
    dim3 const sumGrid(corpus::ceilDiv(pixels, params.pixelsPerBlock), batch);
    group_norm::sumKernel<<<sumGrid, 64, 2 * groups * sizeof(float)>>>(params);
    dim3 const scaleGrid(5, corpus::ceilDiv(channels, 64), batch);
    group_norm::scaleKernel<<<scaleGrid, 64>>>(params);
    return dy.copyTo(y);
}
