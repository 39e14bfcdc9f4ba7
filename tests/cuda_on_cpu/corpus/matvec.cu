// Matrix times vector, a warp a row, several warps a block: the vector in dynamic shared memory above 48 KiB on
// request.
#include "corpus.h"

namespace
{
template <int WARPS>
__global__ void matvecKernel(float const* __restrict__ matrix, float const* __restrict__ vector, float* __restrict__ y,
                             int rows, int columns)
{
    extern __shared__ float4 matvecVector[];
    float* const staged = reinterpret_cast<float*>(matvecVector);
    for (int i = threadIdx.y * 32 + threadIdx.x; i < columns; i += WARPS * 32)
    {
        staged[i] = vector[i];
    }
    __syncthreads();
    int const row = blockIdx.x * WARPS + threadIdx.y;
    if (row < rows)
    {
        float const* line = matrix + static_cast<size_t>(row) * columns;
        float sum = 0.f;
        if (columns % 4 == 0)
        {
            for (int i = threadIdx.x; i < columns / 4; i += 32)
            {
                float4 const m = __ldcs(reinterpret_cast<float4 const*>(line) + i);
                float4 const v = matvecVector[i];
                sum += m.x * v.x + m.y * v.y + m.z * v.z + m.w * v.w;
            }
        }
        else
        {
            for (int i = threadIdx.x; i < columns; i += 32)
            {
                sum += line[i] * staged[i];
            }
        }
        for (int offset = 16; offset; offset >>= 1)
        {
            sum += __shfl_down_sync(0xffffffff, sum, offset);
        }
        if (!threadIdx.x)
        {
            y[row] = sum;
        }
    }
}
} // namespace

CORPUS_EXPORT int run_matvec(float const* matrix, float const* vector, float* y, int rows, int columns)
{
    constexpr int kWARPS = 3;
    corpus::Device<float> const dMatrix(matrix, static_cast<size_t>(rows) * columns), dVector(vector, columns),
        dy(rows);
    size_t const shared = corpus::ceilDiv<size_t>(columns, 4) * sizeof(float4);
    if (shared > 48 * 1024)
    {
        cudaError_t const error = cudaFuncSetAttribute(
            matvecKernel<kWARPS>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
        if (error != cudaSuccess)
        {
            return error;
        }
    }
    matvecKernel<kWARPS><<<corpus::ceilDiv(rows, kWARPS), dim3(32, kWARPS), shared>>>(dMatrix.get(), dVector.get(),
                                                                                      dy.get(), rows, columns);
    return dy.copyTo(y);
}
