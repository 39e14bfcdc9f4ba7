// Launches as people write them.
#include <cuda_runtime.h>

#include <utility>

#define BLOCKS(n) ((n) + 31) / 32
#define RUN(kernel, ...) kernel<<<BLOCKS(1), 1>>>(__VA_ARGS__)

namespace deep::er
{

template <typename T, int kBY>
__global__ void add(T* to, T value)
{
    *to += value * static_cast<T>(kBY);
}

} // namespace deep::er

struct Pair
{
    int x, y;
};

__global__ void pairs(Pair pair, int* to)
{
    *to += pair.x * 10 + pair.y;
}

__global__ void extents(int* to)
{
    atomicAdd(to, static_cast<int>(gridDim.x * 100 + gridDim.y * 10 + blockDim.y));
}

template <typename... T>
__global__ void pack(int* to, int const* maybe, T... values)
{
    *to += (0 + ... + static_cast<int>(values)) + (maybe == nullptr ? 1 : 0);
}

template <typename T>
__global__ void maybe(T* to, T const* other)
{
    *to += other == nullptr ? 1 : *other;
}

template <typename... T>
void launchPack(int* to, T... values)
{
    pack<<<1, 1>>>(to, NULL, values...);
}

struct Owner
{
    void (*kernels[2])(int*, int) = {deep::er::add<int, 1>, deep::er::add<int, 2>};
    void run(int* to)
    {
        this->kernels[1]<<<1, 1>>>(to, 3);
    }
};

template <typename T>
struct Launcher
{
    template <int kBY>
    static void run(T* to)
    {
        deep::er::add<T, kBY><<<1, 1>>>(to, T{2});
    }
};

int evaluated = 0;
int once()
{
    return ++evaluated;
}

// The line that failed.
#define EXPECT(expected)                                                                                               \
    if (cudaDeviceSynchronize() != cudaSuccess || *to != (expected))                                                   \
    {                                                                                                                  \
        return __LINE__;                                                                                               \
    }                                                                                                                  \
    *to = 0;

extern "C" __attribute__((visibility("default"))) int run()
{
    int* to;
    cudaMallocManaged(&to, sizeof(int));
    *to = 0;
    deep::er::add<int, (4 > 3)><<<1, 1>>>(to, 5);
    EXPECT(5)
    RUN((deep::er::add<int, 2>), to, 5);
    EXPECT(10)
    Owner{}.run(to);
    EXPECT(6)
    Launcher<int>::run<3>(to);
    EXPECT(6)
    extents<<<dim3(2, 1), {1, 2}>>>(to);
    EXPECT(4 * 212)
    auto const inLambda = [&] { deep::er::add<int, 1><<<1, 1>>>(to, 7); };
    inLambda();
    EXPECT(7)
    maybe<int><<<1, 1>>>(to, nullptr);
    EXPECT(1)
    deep::er::add<int, 1><<<1, 1>>>(to, once());
    EXPECT(1)
    if (evaluated != 1)
    {
        return __LINE__;
    }
    pairs<<<1, 1>>>({1, 2}, to);
    EXPECT(12)
    launchPack(to, 1, 2.5F);
    EXPECT(4)
    pack<<<1, 1>>>(to, 0, 2);
    maybe<int><<<1, 1>>>(static_cast<std::pair<int*, int>>(std::pair<int*, int>(to, 0)).first, 0);
    EXPECT(4)
    int value = 4;
    void* arguments[] = {&to, &value};
    cudaLaunchKernel(static_cast<void (*)(int*, int)>(deep::er::add<int, 1>), 1, 1, arguments, 0, 0);
    EXPECT(4)
    cudaLaunchCooperativeKernel((void*)deep::er::add<int, 1>, 1, 1, arguments);
    EXPECT(4)
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(1);
    config.blockDim = dim3(1);
    cudaLaunchKernelEx(&config, deep::er::add<int, 1>, to, 6);
    EXPECT(6)
    value = 6;
    cudaLaunchKernelExC(&config, (void const*)deep::er::add<int, 1>, arguments);
    EXPECT(6)
    return 0;
}
