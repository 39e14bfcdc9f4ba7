// Gravity between all bodies: tiles of float4 in shared memory, rsqrtf, a __device__ function that waits at barriers.
#include "corpus.h"

#define SOFTENING 1e-3f

__device__ float3 bodyBodyInteraction(float4 bi, float4 bj, float3 ai)
{
    float3 r;
    r.x = bj.x - bi.x;
    r.y = bj.y - bi.y;
    r.z = bj.z - bi.z;
    float const distSqr = r.x * r.x + r.y * r.y + r.z * r.z + SOFTENING;
    float const distSixth = distSqr * distSqr * distSqr;
    float const invDistCube = 1.0f / sqrtf(distSixth);
    float const s = bj.w * invDistCube;
    ai.x += r.x * s;
    ai.y += r.y * s;
    ai.z += r.z * s;
    return ai;
}

__device__ float3 tileCalculation(float4 myPosition, float3 acceleration, int count)
{
    extern __shared__ float4 shPosition[];
    for (int i = 0; i < count; i++)
    {
        acceleration = bodyBodyInteraction(myPosition, shPosition[i], acceleration);
    }
    return acceleration;
}

__device__ float3 gravitation(float4 const* positions, float4 myPosition, int n)
{
    extern __shared__ float4 shPosition[];
    float3 acceleration = {0.0f, 0.0f, 0.0f};
    for (int first = 0; first < n; first += blockDim.x)
    {
        if (first + static_cast<int>(threadIdx.x) < n)
        {
            shPosition[threadIdx.x] = positions[first + threadIdx.x];
        }
        __syncthreads();
        acceleration = tileCalculation(myPosition, acceleration, min(static_cast<int>(blockDim.x), n - first));
        __syncthreads();
    }
    return acceleration;
}

__global__ void nbodyKernel(float4 const* positions, float3* accelerations, int n)
{
    int const gtid = blockIdx.x * blockDim.x + threadIdx.x;
    float4 const mine = positions[min(gtid, n - 1)];
    float3 const acceleration = gravitation(positions, mine, n);
    if (gtid < n)
    {
        accelerations[gtid] = acceleration;
    }
}

CORPUS_EXPORT int run_nbody(float4 const* positions, float3* accelerations, int n)
{
    corpus::Device<float4> const in(positions, n);
    corpus::Device<float3> const out(n);
    int const p = 48;
    nbodyKernel<<<(n + p - 1) / p, p, p * sizeof(float4)>>>(in.get(), out.get(), n);
    return out.copyTo(accelerations);
}
