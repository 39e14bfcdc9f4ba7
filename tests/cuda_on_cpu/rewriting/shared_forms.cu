// __shared__ declarations as people write them.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define CHECK(condition)                                                                                               \
    if (!(condition))                                                                                                  \
    {                                                                                                                  \
        atomicMax(failed, __LINE__);                                                                                   \
    }

template <typename T>
struct Algorithm
{
    struct TempStorage
    {
        T values[4];
    };
};

__shared__ int fileScope[8];
extern __shared__ __align__(16) unsigned char bytes[];

__device__ int takesParameter(int fileScope)
{
    return fileScope;
}

template <typename T, int kN>
__device__ T inTemplate(int i)
{
    __shared__ T values[kN < 4 ? 4 : kN][(kN > 2) + 1];
    extern __shared__ T dynamic[];
    __shared__ typename Algorithm<T>::TempStorage storage;
    values[0][0] = static_cast<T>(1);
    storage.values[3] = static_cast<T>(2);
    dynamic[0] = static_cast<T>(3);
    __syncthreads();
    return static_cast<T>(values[0][0] + storage.values[3] + dynamic[0] + static_cast<T>(i));
}

__device__ void one(int* failed)
{
    __shared__ int same;
    same = 1;
    __syncthreads();
    CHECK(same == 1)
}

__device__ void two(int* failed)
{
    __shared__ int same;
    same = 2;
    one(failed);
    __syncthreads();
    CHECK(same == 2)
}

__global__ void forms(int* failed)
{
    int const t = static_cast<int>(threadIdx.x);
    __shared__ int a, b[4], c[2][3];
    int __shared__ after[64];
    static __shared__ double fixed;
    __shared__ alignas(64) unsigned char aligned64[3];
    __shared__ __align__(32) unsigned char aligned32[3];
    __shared__ unsigned char attributed[3] __attribute__((aligned(128)));
    __shared__ volatile int noisy[64];
    __shared__ int volatile quiet;
    __shared__ union
    {
        float f;
        unsigned u;
    } both;
    __shared__ struct Named
    {
        int x, y;
    } point;
    __shared__ __half halves[2];
    __shared__ int (*toRow)[3];
    __shared__ int const* toInt;
    __shared__ Algorithm<float>::TempStorage algorithm;
    after[t] = t;
    noisy[t] = -t;
    if (t == 0)
    {
        a = 1;
        b[3] = 2;
        c[1][2] = 3;
        fixed = 4;
        quiet = 5;
        both.f = 1.0F;
        point.y = 6;
        halves[1] = __float2half(7.0F);
        toRow = c;
        toInt = &a;
        algorithm.values[3] = 8.0F;
        fileScope[7] = 9;
        fileScope[6] = 10;
        bytes[1] = 11;
    }
    __syncthreads();
    CHECK(a == 1 && b[3] == 2 && c[1][2] == 3 && fixed == 4 && quiet == 5)
    CHECK(both.u == 0x3F800000U && point.y == 6 && __half2float(halves[1]) == 7.0F)
    CHECK(toRow[1][2] == 3 && *toInt == 1 && algorithm.values[3] == 8.0F)
    CHECK(fileScope[7] == 9 && fileScope[6] == 10 && bytes[1] == 11)
    CHECK(after[63 - t] == 63 - t && noisy[63 - t] == t - 63)
    CHECK(reinterpret_cast<size_t>(aligned64) % 64 == 0 && reinterpret_cast<size_t>(aligned32) % 32 == 0)
    CHECK(reinterpret_cast<size_t>(attributed) % 128 == 0)
    CHECK(sizeof(b) == 16 && sizeof(fileScope) == 32 && takesParameter(3) == 3)
    two(failed);
    auto const lambda = [&]
    {
        __shared__ int inLambda[2];
        inLambda[1] = 12;
        __syncthreads();
        return inLambda[1];
    };
    CHECK(lambda() == 12)
    __syncthreads();
    CHECK((inTemplate<int, 3>(4) == 10))
    __syncthreads();
    CHECK((inTemplate<float, 8>(4) == 10.0F))
    for (int i = 0; i < 2; ++i)
    {
        __shared__ int inLoop;
        inLoop = i;
        __syncthreads();
        CHECK(inLoop == i)
        __syncthreads();
    }
}

extern "C" __attribute__((visibility("default"))) int run()
{
    int* failed;
    cudaMallocManaged(&failed, sizeof(int));
    *failed = 0;
    forms<<<3, 64, 1024>>>(failed);
    return cudaDeviceSynchronize() == cudaSuccess ? *failed : 1;
}
