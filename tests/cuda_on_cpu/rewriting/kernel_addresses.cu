// Launches of kernels whose types the call doesn't know: tables, members, parameters of type void*.
#include <cuda_runtime.h>

#include <vector>

template <typename T>
__global__ void put(T* to, T value)
{
    to[threadIdx.x] = value;
}

namespace inner
{

__global__ void sum(int* to, int2 pair)
{
    to[threadIdx.x] = pair.x + pair.y;
}

} // namespace inner

int noKernel(int value)
{
    return value;
}

static void const* const kTABLE[] = {(void const*)put<int>, reinterpret_cast<void const*>(&inner::sum)};

struct Step
{
    void* kernel;
    int shared;
};

cudaError_t launch(void const* kernel, void** arguments)
{
    return cudaLaunchKernel(kernel, dim3(1), dim3(32), arguments, 0, nullptr);
}

template <typename Kernel>
cudaError_t launchAny(Kernel kernel, void** arguments)
{
    void* const address = (void*)kernel;
    return cudaLaunchCooperativeKernel(address, dim3(1), dim3(32), arguments, 0, nullptr);
}

#define EXPECT(what, wanted)                                                                                           \
    if ((what) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess || to[31] != (wanted))                         \
    {                                                                                                                  \
        return __LINE__;                                                                                               \
    }

extern "C" __attribute__((visibility("default"))) int run()
{
    int* to = nullptr;
    cudaMallocManaged(&to, 32 * sizeof(int));
    int value = 5;
    int2 pair{3, 4};
    void* one[] = {&to, &value};
    void* two[] = {&to, &pair};
    EXPECT(launch(kTABLE[0], one), 5)
    EXPECT(launch(kTABLE[1], two), 7)
    value = 6;
    EXPECT(launchAny(put<int>, one), 6)
    Step const step{(void*)::inner::sum, 0};
    EXPECT(cudaLaunchKernel(step.kernel, dim3(1), dim3(32), two, 0, nullptr), 7)
    std::vector<void*> kernels;
    kernels.push_back((void*)&put<int>);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    EXPECT(cudaLaunchKernelExC(&config, kernels[0], one), 6)
    if (launch((void*)noKernel, one) != cudaErrorInvalidDeviceFunction || cudaGetLastError() == cudaSuccess)
    {
        return __LINE__;
    }
    return launch(nullptr, one) == cudaErrorInvalidDeviceFunction ? 0 : __LINE__;
}
