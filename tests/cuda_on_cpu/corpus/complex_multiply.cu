// Complex numbers as float2: an operator* of its own, a conjugating template, a grid of three dimensions over (x, y,
// batch).
#include "corpus.h"

__device__ __host__ inline float2 operator*(float2 a, float2 b)
{
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

template <bool CONJUGATE>
struct Multiply
{
    float scale;

    __device__ float2 operator()(float2 a, float2 b) const
    {
        if (CONJUGATE)
        {
            b.y = -b.y;
        }
        float2 const product = a * b;
        return make_float2(product.x * scale, product.y * scale);
    }
};

template <class Operator>
__global__ void complexKernel(float2 const* a, float2 const* b, float2* c, int3 extent, Operator op)
{
    dim3 const at(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
                  blockIdx.z * blockDim.z + threadIdx.z);
    if (static_cast<int>(at.x) < extent.x && static_cast<int>(at.y) < extent.y && static_cast<int>(at.z) < extent.z)
    {
        int const i = (at.z * extent.y + at.y) * extent.x + at.x;
        c[i] = op(a[i], b[at.y * extent.x + at.x]);
    }
}

CORPUS_EXPORT int run_complex_multiply(float2 const* a, float2 const* b, float2* c, int width, int height, int batch,
                                       int conjugate, float scale)
{
    size_t const plane = static_cast<size_t>(width) * height;
    corpus::Device<float2> const da(a, plane * batch), db(b, plane);
    corpus::Device<float2> const dc(plane * batch);
    dim3 const block(8, 4, 2);
    dim3 const grid{(width + block.x - 1) / block.x, (height + block.y - 1) / block.y, (batch + block.z - 1) / block.z};
    int3 const extent = make_int3(width, height, batch);
    if (conjugate)
    {
        complexKernel<<<grid, block>>>(da.get(), db.get(), dc.get(), extent, Multiply<true>{scale});
    }
    else
    {
        complexKernel<<<grid, block>>>(da.get(), db.get(), dc.get(), extent, Multiply<false>{scale});
    }
    return dc.copyTo(c);
}
