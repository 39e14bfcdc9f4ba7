//! cuBLAS and cuDNN, called with the arguments that the tests draw. Arrays come from the host and go back to it; each
//! has device memory of exactly its size.

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

class Memory
{
public:
    Memory(void const* data, size_t size) : mSize(size)
    {
        cudaMalloc(&mData, size);
        cudaMemcpy(mData, data, size, cudaMemcpyHostToDevice);
    }
    Memory(Memory const&) = delete;
    Memory& operator=(Memory const&) = delete;
    ~Memory()
    {
        cudaFree(mData);
    }
    void* get() const
    {
        return mData;
    }
    void back(void* to) const
    {
        cudaMemcpy(to, mData, mSize, cudaMemcpyDeviceToHost);
    }
    //! The pointers to matrices at a stride, in device memory.
    Memory pointers(int count, size_t stride) const
    {
        std::vector<char*> all;
        for (int i = 0; i < count; ++i)
        {
            all.push_back(static_cast<char*>(mData) + static_cast<size_t>(i) * stride);
        }
        return {all.data(), all.size() * sizeof(char*)};
    }

private:
    void* mData{nullptr};
    size_t mSize;
};

template <typename T>
T* as(void const* pointer)
{
    return static_cast<T*>(const_cast<void*>(pointer));
}

size_t sizeOf(int type)
{
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F || type == CUDA_R_32I ? 4 : type == CUDA_R_8I ? 1 : 2;
}

} // namespace

struct Matrix
{
    void* data;
    long size; //!< In bytes.
    int type;
    int leading;
    long stride;
};

struct Gemm
{
    int form; //!< 0: one; 1: at a stride; 2: by pointers. And 4: the form with types.
    int deviceScalars;
    int transA;
    int transB;
    int m;
    int n;
    int k;
    int batches;
    int how;
    int scalarSize;
    void* alpha;
    void* beta;
    Matrix a;
    Matrix b;
    Matrix c;
};

static cublasStatus_t call(cublasHandle_t handle, Gemm const& g, void const* alpha, void const* beta, Memory const& a,
                           Memory const& b, Memory const& c)
{
    auto const ta = static_cast<cublasOperation_t>(g.transA);
    auto const tb = static_cast<cublasOperation_t>(g.transB);
    auto const typeA = static_cast<cudaDataType>(g.a.type);
    auto const typeB = static_cast<cudaDataType>(g.b.type);
    auto const typeC = static_cast<cudaDataType>(g.c.type);
    auto const how = static_cast<cublasComputeType_t>(g.how);
    int const count = g.batches > 0 ? g.batches : 0;
    Memory const atA = a.pointers(count, static_cast<size_t>(g.a.stride) * sizeOf(g.a.type));
    Memory const atB = b.pointers(count, static_cast<size_t>(g.b.stride) * sizeOf(g.b.type));
    Memory const atC = c.pointers(count, static_cast<size_t>(g.c.stride) * sizeOf(g.c.type));
    switch (g.form)
    {
    case 4:
        return cublasGemmEx(handle, ta, tb, g.m, g.n, g.k, alpha, a.get(), typeA, g.a.leading, b.get(), typeB,
                            g.b.leading, beta, c.get(), typeC, g.c.leading, how, CUBLAS_GEMM_DEFAULT);
    case 5:
        return cublasGemmStridedBatchedEx(handle, ta, tb, g.m, g.n, g.k, alpha, a.get(), typeA, g.a.leading, g.a.stride,
                                          b.get(), typeB, g.b.leading, g.b.stride, beta, c.get(), typeC, g.c.leading,
                                          g.c.stride, g.batches, how, CUBLAS_GEMM_DEFAULT);
    case 6:
        return cublasGemmBatchedEx(handle, ta, tb, g.m, g.n, g.k, alpha, as<void*>(atA.get()), typeA, g.a.leading,
                                   as<void*>(atB.get()), typeB, g.b.leading, beta, as<void*>(atC.get()), typeC,
                                   g.c.leading, g.batches, how, CUBLAS_GEMM_DEFAULT);
    default:
        break;
    }
#define ONE(letter, T)                                                                                                 \
    if (g.form == 0)                                                                                                   \
    {                                                                                                                  \
        return cublas##letter##gemm(handle, ta, tb, g.m, g.n, g.k, as<T>(alpha), as<T>(a.get()), g.a.leading,          \
                                    as<T>(b.get()), g.b.leading, as<T>(beta), as<T>(c.get()), g.c.leading);            \
    }                                                                                                                  \
    if (g.form == 1)                                                                                                   \
    {                                                                                                                  \
        return cublas##letter##gemmStridedBatched(handle, ta, tb, g.m, g.n, g.k, as<T>(alpha), as<T>(a.get()),         \
                                                  g.a.leading, g.a.stride, as<T>(b.get()), g.b.leading, g.b.stride,    \
                                                  as<T>(beta), as<T>(c.get()), g.c.leading, g.c.stride, g.batches);    \
    }                                                                                                                  \
    return cublas##letter##gemmBatched(handle, ta, tb, g.m, g.n, g.k, as<T>(alpha), as<T const*>(atA.get()),           \
                                       g.a.leading, as<T const*>(atB.get()), g.b.leading, as<T>(beta),                 \
                                       as<T*>(atC.get()), g.c.leading, g.batches);
    if (g.a.type == CUDA_R_64F)
    {
        ONE(D, double)
    }
    if (g.a.type == CUDA_R_16F)
    {
        ONE(H, __half)
    }
    ONE(S, float)
}

EXPORT int gemm(Gemm const* g)
{
    Memory const a{g->a.data, static_cast<size_t>(g->a.size)};
    Memory const b{g->b.data, static_cast<size_t>(g->b.size)};
    Memory const c{g->c.data, static_cast<size_t>(g->c.size)};
    Memory const alpha{g->alpha, static_cast<size_t>(g->scalarSize)};
    Memory const beta{g->beta, static_cast<size_t>(g->scalarSize)};
    cublasHandle_t handle = nullptr;
    cudaStream_t stream = nullptr;
    cublasCreate(&handle);
    cudaStreamCreate(&stream);
    cublasSetStream(handle, stream);
    cublasSetPointerMode(handle, g->deviceScalars != 0 ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST);
    bool const device = g->deviceScalars != 0;
    int const status = call(handle, *g, device ? alpha.get() : g->alpha, device ? beta.get() : g->beta, a, b, c);
    cudaStreamSynchronize(stream);
    c.back(g->c.data);
    cudaStreamDestroy(stream);
    cublasDestroy(handle);
    return status;
}

EXPORT int vectors(int which, int trans, int m, int n, float alpha, float const* a, int lda, float const* x, int incx,
                   float beta, float* y, int incy, int sizeX, int sizeY)
{
    Memory const deviceA{a, sizeof(float) * static_cast<size_t>(lda * n)};
    Memory const deviceX{x, sizeof(float) * static_cast<size_t>(sizeX)};
    Memory const deviceY{y, sizeof(float) * static_cast<size_t>(sizeY)};
    cublasHandle_t handle = nullptr;
    cublasCreate(&handle);
    auto* const to = as<float>(deviceY.get());
    int const status = which == 0
                           ? cublasSgemv(handle, static_cast<cublasOperation_t>(trans), m, n, &alpha,
                                         as<float>(deviceA.get()), lda, as<float>(deviceX.get()), incx, &beta, to, incy)
                       : which == 1 ? cublasSaxpy(handle, n, &alpha, as<float>(deviceX.get()), incx, to, incy)
                                    : cublasSscal(handle, n, &alpha, to, incy);
    deviceY.back(y);
    cublasDestroy(handle);
    return status;
}

EXPORT int mistakes(int which, float const* region)
{
    cublasHandle_t handle = nullptr;
    cublasCreate(&handle);
    float const one = 1.0F;
    float* x = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&x), 64);
    std::vector<float> host(16);
    cublasOperation_t const n = CUBLAS_OP_N;
    int status = 0;
    switch (which)
    {
    case 0:
        status = cublasSgemm(nullptr, n, n, 4, 4, 4, &one, x, 4, x, 4, &one, x, 4);
        break;
    case 1:
        status = cublasSgemm(handle, n, n, 4, 4, 4, &one, x, 3, x, 4, &one, x, 4);
        break;
    case 2:
        status = cublasSgemm(handle, n, CUBLAS_OP_T, 2, 4, 2, &one, x, 2, x, 2, &one, x, 2);
        break;
    case 3:
        status = cublasSgemm(handle, n, n, -1, 4, 4, &one, x, 4, x, 4, &one, x, 4);
        break;
    case 4:
        status = cublasSgemm(handle, n, n, 4, 4, 4, nullptr, x, 4, x, 4, &one, x, 4);
        break;
    case 5:
        status = cublasSgemm(handle, n, n, 4, 4, 5, &one, x, 4, x, 5, &one, x, 4); // OVERRUN
        asm volatile("# the compiler must not make one call of this and another");
        break;
    case 6:
        status = cublasSgeam(handle, n, n, 4, 4, &one, x, 4, &one, x, 4, x, 4); // GEAM
        break;
    case 7:
    {
        cublasLtHandle_t lt = nullptr;
        status = cublasLtCreate(&lt); // LT
        break;
    }
    case 8:
    {
        cudnnConvolutionDescriptor_t convolution = nullptr;
        status = cudnnCreateConvolutionDescriptor(&convolution); // CONVOLUTION
        break;
    }
    case 9:
        status = cublasSgemm(handle, n, n, 4, 4, 4, &one, host.data(), 4, x, 4, &one, x, 4); // HOST
        asm volatile("# nor of this");
        break;
    case 11: // in the pages of device memory of 4000 bytes
        status = cublasSgemm(handle, n, n, 4, 4, 4, &one, region + 1002, 4, x, 4, &one, x, 4); // BEHIND
        asm volatile("# nor of that");
        break;
    default:
        status = cublasGemmEx(handle, n, n, 4, 4, 4, &one, x, CUDA_R_8I, 4, x, CUDA_R_16F, 4, &one, x, CUDA_R_32F, 4,
                              CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT); // TYPES
        break;
    }
    cudaFree(x);
    cublasDestroy(handle);
    return status;
}

namespace
{

struct Tensor
{
    Tensor(int type, int nhwc, int const* dims)
    {
        cudnnCreateTensorDescriptor(&descriptor);
        cudnnSetTensor4dDescriptor(descriptor, static_cast<cudnnTensorFormat_t>(nhwc),
                                   static_cast<cudnnDataType_t>(type), dims[0], dims[1], dims[2], dims[3]);
    }
    Tensor(Tensor const&) = delete;
    Tensor& operator=(Tensor const&) = delete;
    ~Tensor()
    {
        cudnnDestroyTensorDescriptor(descriptor);
    }
    cudnnTensorDescriptor_t descriptor{nullptr};
};

} // namespace

//! `which`: 0 pooling (window, padding and stride, two each), 1 softmax (algorithm, mode), 2 activation (mode).
EXPORT int forward(int which, int type, int nhwc, int const* dims, int const* how, void const* x, long sizeX, void* y,
                   long sizeY, float alpha, float beta)
{
    cudnnHandle_t handle = nullptr;
    cudnnCreate(&handle);
    Memory const from{x, static_cast<size_t>(sizeX)};
    Memory const to{y, static_cast<size_t>(sizeY)};
    Tensor const in{type, nhwc, dims};
    int out[4]{dims[0], dims[1], dims[2], dims[3]};
    cudnnPoolingDescriptor_t pooling = nullptr;
    cudnnActivationDescriptor_t activation = nullptr;
    cudnnCreatePoolingDescriptor(&pooling);
    cudnnCreateActivationDescriptor(&activation);
    int status = 0;
    if (which == 0)
    {
        cudnnSetPooling2dDescriptor(pooling, static_cast<cudnnPoolingMode_t>(how[0]), CUDNN_PROPAGATE_NAN, how[1],
                                    how[2], how[3], how[4], how[5], how[6]);
        cudnnGetPooling2dForwardOutputDim(pooling, in.descriptor, &out[0], &out[1], &out[2], &out[3]);
    }
    Tensor const result{type, nhwc, out};
    if (which == 0)
    {
        status =
            cudnnPoolingForward(handle, pooling, &alpha, in.descriptor, from.get(), &beta, result.descriptor, to.get());
    }
    else if (which == 1)
    {
        status = cudnnSoftmaxForward(handle, static_cast<cudnnSoftmaxAlgorithm_t>(how[0]),
                                     static_cast<cudnnSoftmaxMode_t>(how[1]), &alpha, in.descriptor, from.get(), &beta,
                                     result.descriptor, to.get());
    }
    else
    {
        cudnnSetActivationDescriptor(activation, static_cast<cudnnActivationMode_t>(how[0]), CUDNN_PROPAGATE_NAN, 1.5);
        status = cudnnActivationForward(handle, activation, &alpha, in.descriptor, from.get(), &beta, result.descriptor,
                                        to.get());
    }
    to.back(y);
    cudnnDestroyActivationDescriptor(activation);
    cudnnDestroyPoolingDescriptor(pooling);
    cudnnDestroy(handle);
    return status;
}
