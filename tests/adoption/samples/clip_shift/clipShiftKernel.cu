#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

template <typename T>
__global__ void clipShiftKernel(T const* x, T* y, float low, float shift, int n)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
    {
        float const value = static_cast<float>(x[i]) + shift;
        y[i] = static_cast<T>(value < low ? low : value);
    }
}

int launchClipShift(void const* x, void* y, float low, float shift, int n, bool half, cudaStream_t stream)
{
    if (n == 0)
    {
        return 0;
    }
    int const block = 256;
    int const grid = (n + block - 1) / block;
    if (half)
    {
        clipShiftKernel<<<grid, block, 0, stream>>>(static_cast<__half const*>(x), static_cast<__half*>(y), low, shift,
                                                    n);
    }
    else
    {
        clipShiftKernel<<<grid, block, 0, stream>>>(static_cast<float const*>(x), static_cast<float*>(y), low, shift,
                                                    n);
    }
    return cudaGetLastError() != cudaSuccess;
}
