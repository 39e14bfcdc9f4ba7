//! cuBLAS with checks: what its emulation reads and writes for a call counts as the call's accesses.

#include <cublas_v2.h>

#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

constexpr int kSIZE = 4;

__global__ void fill(float* x, int n)
{
    int const i = static_cast<int>(threadIdx.x);
    if (i < n)
    {
        x[i] = 1.0F;
    }
}

int multiply(float const* a, float const* b, float* c)
{
    float const one = 1.0F;
    float const zero = 0.0F;
    cublasHandle_t handle = nullptr;
    cublasCreate(&handle);
    int const status =
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSIZE, kSIZE, kSIZE, &one, a, kSIZE, b, kSIZE, &zero, c, kSIZE);
    cublasDestroy(handle);
    return status;
}

} // namespace

//! C = A B, where the first `written` elements of A are, and all of B; a kernel reads C afterwards.
EXPORT int product(int written)
{
    float* memory[3] = {};
    for (float*& each : memory)
    {
        cudaMalloc(&each, kSIZE * kSIZE * sizeof(float));
    }
    fill<<<1, 32>>>(memory[0], written);
    fill<<<1, 32>>>(memory[1], kSIZE * kSIZE);
    int const status = multiply(memory[0], memory[1], memory[2]);
    std::vector<float> back(kSIZE * kSIZE);
    cudaMemcpy(back.data(), memory[2], back.size() * sizeof(float), cudaMemcpyDeviceToHost);
    for (float* each : memory)
    {
        cudaFree(each);
    }
    return status != 0 ? status : static_cast<int>(back[0]);
}
