// Kernels of many shapes, each behind a launcher that the tests call.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define LAUNCH(kernel, n) kernel<<<((n) + 255) / 256, 256>>>

namespace kernels
{

__device__ __forceinline__ float twice(float x)
{
    return 2.0F * x;
}

template <typename T>
__host__ __device__ T clampTo(T x, T low, T high)
{
    return x < low ? low : (x > high ? high : x);
}

template <typename T, int kOFFSET>
__global__ void __launch_bounds__(256) scale(T const* __restrict__ x, T* __restrict__ y, float alpha, int n)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
    {
        y[i] = static_cast<T>(alpha * static_cast<float>(x[i]) + static_cast<float>(kOFFSET));
    }
}

__global__ void requantize(int8_t const* x, int8_t* y, float from, float to, int n)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
    {
        float const real = static_cast<float>(x[i]) * from;
        y[i] = static_cast<int8_t>(clampTo(rintf(real / to), -128.0F, 127.0F));
    }
}

} // namespace kernels

struct Box
{
    int width;
    int height;
    int depth;
    float step;
};

__global__ void coordinates(float* y, Box box)
{
    int const x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    int const row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
    int const z = static_cast<int>(blockIdx.z * blockDim.z + threadIdx.z);
    box.step += 1.0F; // each thread has its own copy
    if (x < box.width && row < box.height && z < box.depth)
    {
        y[(z * box.height + row) * box.width + x] = static_cast<float>(100 * z + 10 * row + x) * box.step;
    }
}

__global__ void halves(__half2 const* x, __half2* y, int n)
{
    int const i = static_cast<int>(threadIdx.x);
    if (i < n)
    {
        float2 const both = __half22float2(x[i]);
        y[i] = __floats2half2_rn(both.y, kernels::twice(both.x));
    }
}

template <typename F>
__global__ void apply(float* y, int n, F f)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
    {
        y[i] = f(y[i]);
    }
}

__global__ void nullOr(float const* bias, float* y, int value)
{
    y[threadIdx.x] = (bias == nullptr ? 7.0F : bias[threadIdx.x]) + static_cast<float>(value);
}

__global__ void count(int* total, float* sum)
{
    atomicAdd(total, 1);
    atomicAdd(sum, 0.5F);
}

struct Square
{
    __device__ float operator()(float x) const
    {
        return x * x;
    }
};

EXPORT void scaleFloat(float const* x, float* y, float alpha, int n)
{
    kernels::scale<float, 1><<<(n + 255) / 256, 256>>>(x, y, alpha, n);
}

EXPORT void scaleHalf(void const* x, void* y, float alpha, int n, cudaStream_t stream)
{
    kernels::scale<__half, 0><<<dim3{static_cast<unsigned int>((n + 255) / 256), 1, 1}, dim3(256), 0, stream>>>(
        static_cast<__half const*>(x), static_cast<__half*>(y), alpha, n);
}

EXPORT void requantizeInt8(int8_t const* x, int8_t* y, float from, float to, int n)
{
    LAUNCH(kernels::requantize, n)(x, y, from, to, n);
}

EXPORT void coordinates3d(float* y, int width, int height, int depth)
{
    dim3 const block(4, 2, 2);
    auto const blocks = [](int size, unsigned int by) { return (static_cast<unsigned int>(size) + by - 1) / by; };
    coordinates<<<{blocks(width, 4), blocks(height, 2), blocks(depth, 2)}, block>>>(y, Box{width, height, depth, 0.0F});
}

EXPORT void swapHalves(void const* x, void* y, int n)
{
    halves<<<1, n>>>(reinterpret_cast<__half2 const*>(x), reinterpret_cast<__half2*>(y), n);
}

EXPORT void functors(float* y, int n, float offset)
{
    apply<<<(n + 255) / 256, 256>>>(y, n, Square{});
    apply<<<(n + 255) / 256, 256>>>(y, n, [offset] __device__(float x) { return x + offset; });
}

EXPORT void pointers(float const* x, float* y, float alpha, int n)
{
    void (*chosen[])(float const*, float*, float, int) = {kernels::scale<float, 1>, kernels::scale<float, 2>};
    chosen[1]<<<(n + 255) / 256, 256>>>(x, y, alpha, n);
}

EXPORT void zeros(float* a, float* b, float* c)
{
    nullOr<<<1, 4>>>(0, a, 0);
    nullOr<<<1, 4>>>(NULL, b, 1);
    nullOr<<<1, 4>>>(nullptr, c, 2);
}

EXPORT void counted(int* total, float* sum)
{
    count<<<3, 32>>>(total, sum);
}

EXPORT int byFunction(float const* x, float* y, float alpha, int n)
{
    void* arguments[] = {&x, &y, &alpha, &n};
    cudaError_t const error =
        cudaLaunchKernel((void const*)kernels::scale<float, 1>, dim3((static_cast<unsigned int>(n) + 255) / 256),
                         dim3(256), arguments, 0, nullptr);
    cudaError_t const second =
        cudaLaunchKernel(reinterpret_cast<void*>(kernels::scale<float, 1>), dim3(1), dim3(2000), arguments, 0, nullptr);
    return error * 1000 + second;
}

__global__ void intrinsicsKernel(int* y, float* z)
{
    y[0] = __popc(0xF0F0U);
    y[1] = __clz(1);
    y[2] = __float2int_rn(2.5F);
    y[3] = __float2int_rd(-1.5F);
    y[4] = __float2int_rn(3e9F);
    z[0] = __expf(1.0F);
    z[1] = __ldg(z + 2);
}

EXPORT void intrinsics(int* y, float* z)
{
    intrinsicsKernel<<<1, 1>>>(y, z);
}
