// Member templates called as nvcc takes them, without the word `template`.
#include <cuda_runtime.h>

template <int kN>
struct Product
{
    template <int kM>
    __device__ static void store(int* to)
    {
        *to = kN * kM;
    }

    template <int kM>
    __device__ int sum() const
    {
        return kN + kM;
    }

    template <typename T, int kM>
    __device__ T difference(T value) const;
};

template <int kN>
template <typename T, int kM>
__device__ T Product<kN>::difference(T value) const
{
    return value - static_cast<T>(kN) - static_cast<T>(kM);
}

template <int kN, typename Other>
__global__ void run(int* to, Product<kN> const* product, int limit)
{
    Product<kN>::store<3>(to);
    Other::store<2>(to + 1);
    to[2] = product->sum<4>();
    to[3] = product->template sum<5>();
    Other other;
    to[4] = other.difference<int, 1>(10);
    // A comparison stays one.
    to[5] = to[0] < limit && limit > (to[1]) ? 1 : 0;
}

extern "C" __attribute__((visibility("default"))) int run()
{
    int* to = nullptr;
    Product<5>* product = nullptr;
    cudaMallocManaged(&to, 6 * sizeof(int));
    cudaMallocManaged(&product, sizeof(Product<5>));
    run<5, Product<7>><<<1, 1>>>(to, product, 16);
    cudaDeviceSynchronize();
    int const wanted[] = {15, 14, 9, 10, 2, 1};
    for (int i = 0; i < 6; ++i)
    {
        if (to[i] != wanted[i])
        {
            return __LINE__ + 100 * i;
        }
    }
    return 0;
}
