//! C = alpha op(A) op(B) + beta C, as cuBLAS's guide defines it: matrices by columns, with leading dimensions. A block
//! of the launch is a tile of C. Sums are kept as wide as the scalars (half's and bfloat16's as float), in the order of
//! k.

#include "cublas.h"

#include <algorithm>
#include <string>

using pluginkit_cpu::Caller;
using pluginkit_cpu::cublas::isHandle;
using pluginkit_cpu::cublas::Scalar;
using pluginkit_cpu::cublas::statusOf;
using pluginkit_cpu::libraries::access;
using pluginkit_cpu::libraries::narrow;
using pluginkit_cpu::libraries::usable;
using pluginkit_cpu::libraries::widen;

namespace
{

constexpr int kTILE = 32;  // of C, each way
constexpr int kDEPTH = 64; // of k, at a time

//! A matrix by columns, or many of them: at a stride, or each by its own pointer.
struct Matrices
{
    char const* name;
    void const* data; //!< The first one, or, where `stride` is kPOINTERS, an array of pointers in device memory.
    int64_t stride;   //!< In elements.
    int64_t leading;
};

constexpr int64_t kPOINTERS = INT64_MIN;

template <typename T>
T* matrix(Matrices const& all, int64_t which) noexcept
{
    if (all.stride == kPOINTERS)
    {
        return static_cast<T* const*>(const_cast<void*>(all.data))[which];
    }
    return static_cast<T*>(const_cast<void*>(all.data)) + which * all.stride;
}

struct Sizes
{
    bool transA;
    bool transB;
    int m;
    int n;
    int k;
    int batches;
};

//! From the first element of a matrix to behind its last one.
size_t span(int64_t leading, int rows, int columns, size_t element) noexcept
{
    bool const none = rows == 0 || columns == 0;
    return none ? 0
                : (static_cast<size_t>(leading) * static_cast<size_t>(columns - 1) + static_cast<size_t>(rows)) *
                      element;
}

bool usableAll(Matrices const& all, int batches, size_t one, size_t element, bool written, Caller const& caller)
{
    if (all.stride == kPOINTERS)
    {
        // What the pointers point to is looked at when they are read.
        return usable({all.name, all.data, static_cast<size_t>(batches) * sizeof(void*), false}, caller);
    }
    if (one == 0 || all.stride >= 0)
    {
        size_t const last = static_cast<size_t>(all.stride) * static_cast<size_t>(batches - 1) * element;
        return usable({all.name, all.data, one == 0 ? 0 : last + one, written}, caller);
    }
    for (int i = 0; i < batches; ++i)
    {
        auto const* const begin = static_cast<char const*>(all.data) + i * all.stride * static_cast<int64_t>(element);
        if (!usable({all.name, begin, one, written}, caller))
        {
            return false;
        }
    }
    return true;
}

template <typename In, typename Out, typename Scale>
class Gemm
{
public:
    using Wide = decltype(widen(Scale{}));

    Gemm(Sizes const& sizes, Scalar<Scale> const& alpha, Matrices const& a, Matrices const& b,
         Scalar<Scale> const& beta, Matrices const& c, Caller const& caller)
        : mSizes(sizes), mAlpha(alpha), mBeta(beta), mA(a), mB(b), mC(c), mCaller(caller)
    {
    }

    bool operandsAreUsable() const
    {
        bool const reads = mSizes.k > 0 && !mAlpha.isZero();
        return mAlpha.usable("alpha", mCaller) && mBeta.usable("beta", mCaller) &&
               (!reads || (usableAll(mA, mSizes.batches, spanA(), sizeof(In), false, mCaller) &&
                           usableAll(mB, mSizes.batches, spanB(), sizeof(In), false, mCaller))) &&
               usableAll(mC, mSizes.batches, spanC(), sizeof(Out), true, mCaller);
    }

    size_t tiles() const noexcept
    {
        return rows() * columns() * static_cast<size_t>(mSizes.batches);
    }

    void tile(size_t number) const
    {
        size_t const within = number % (rows() * columns());
        auto const batch = static_cast<int64_t>(number / (rows() * columns()));
        Part part{};
        part.a = matrix<In const>(mA, batch);
        part.b = matrix<In const>(mB, batch);
        part.c = matrix<Out>(mC, batch);
        part.row = static_cast<int>(within % rows()) * kTILE;
        part.column = static_cast<int>(within / rows()) * kTILE;
        part.height = std::min(kTILE, mSizes.m - part.row);
        part.width = std::min(kTILE, mSizes.n - part.column);
        Wide const alpha = mAlpha.get();
        Wide sums[kTILE][kTILE] = {};
        bool const reads = mSizes.k > 0 && alpha != Wide{};
        if ((reads && (!found(mA, part.a, spanA()) || !found(mB, part.b, spanB()))) || !foundC(part.c))
        {
            return;
        }
        for (int depth = 0; reads && depth < mSizes.k; depth += kDEPTH)
        {
            add(part, depth, std::min(kDEPTH, mSizes.k - depth), sums);
        }
        store(part, alpha, sums);
    }

private:
    struct Part
    {
        In const* a;
        In const* b;
        Out* c;
        int row;
        int column;
        int height;
        int width;
    };

    size_t rows() const noexcept
    {
        return (static_cast<size_t>(mSizes.m) + kTILE - 1) / kTILE;
    }
    size_t columns() const noexcept
    {
        return (static_cast<size_t>(mSizes.n) + kTILE - 1) / kTILE;
    }
    size_t spanA() const noexcept
    {
        return mSizes.transA ? span(mA.leading, mSizes.k, mSizes.m, sizeof(In))
                             : span(mA.leading, mSizes.m, mSizes.k, sizeof(In));
    }
    size_t spanB() const noexcept
    {
        return mSizes.transB ? span(mB.leading, mSizes.n, mSizes.k, sizeof(In))
                             : span(mB.leading, mSizes.k, mSizes.n, sizeof(In));
    }
    size_t spanC() const noexcept
    {
        return span(mC.leading, mSizes.m, mSizes.n, sizeof(Out));
    }

    bool found(Matrices const& all, In const* one, size_t size) const
    {
        return all.stride != kPOINTERS || usable({all.name, one, size, false}, mCaller);
    }
    bool foundC(Out const* one) const
    {
        return mC.stride != kPOINTERS || usable({mC.name, one, spanC(), true}, mCaller);
    }

    //! Copies `height` by `width` elements, wider, to rows of kTILE: `across` says which way a column of memory lies.
    void pack(In const* from, int64_t leading, int lines, int length, bool across, Wide (&to)[kDEPTH][kTILE]) const
    {
        for (int line = 0; line < lines; ++line)
        {
            In const* const data = from + line * leading;
            access(data, static_cast<size_t>(length) * sizeof(In), false, mCaller.code);
            for (int i = 0; i < length; ++i)
            {
                (across ? to[i][line] : to[line][i]) = static_cast<Wide>(widen(data[i]));
            }
        }
    }

    void add(Part const& part, int depth, int count, Wide (&sums)[kTILE][kTILE]) const
    {
        Wide a[kDEPTH][kTILE] = {};
        Wide b[kDEPTH][kTILE] = {};
        if (mSizes.transA)
        {
            pack(part.a + part.row * mA.leading + depth, mA.leading, part.height, count, true, a);
        }
        else
        {
            pack(part.a + depth * mA.leading + part.row, mA.leading, count, part.height, false, a);
        }
        if (mSizes.transB)
        {
            pack(part.b + depth * mB.leading + part.column, mB.leading, count, part.width, false, b);
        }
        else
        {
            pack(part.b + part.column * mB.leading + depth, mB.leading, part.width, count, true, b);
        }
        for (int k = 0; k < count; ++k)
        {
            for (int column = 0; column < part.width; ++column)
            {
                Wide const factor = b[k][column];
                for (int row = 0; row < kTILE; ++row)
                {
                    sums[column][row] = plus(sums[column][row], a[k][row], factor);
                }
            }
        }
    }

    static Wide plus(Wide sum, Wide x, Wide y) noexcept
    {
        if constexpr (std::is_integral_v<Wide>)
        {
            return static_cast<Wide>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
        }
        else
        {
            return sum + x * y;
        }
    }

    void store(Part const& part, Wide alpha, Wide const (&sums)[kTILE][kTILE]) const
    {
        Wide const beta = mBeta.get();
        size_t const bytes = static_cast<size_t>(part.height) * sizeof(Out);
        for (int column = 0; column < part.width; ++column)
        {
            Out* const to = part.c + (part.column + column) * mC.leading + part.row;
            if (beta != Wide{})
            {
                access(to, bytes, false, mCaller.code);
            }
            access(to, bytes, true, mCaller.code);
            for (int row = 0; row < part.height; ++row)
            {
                // With beta 0 the elements of C need not be numbers (and alpha 0 doesn't read A and B).
                Wide const before = beta == Wide{} ? Wide{} : static_cast<Wide>(widen(to[row]));
                Wide const product = plus(Wide{}, alpha, sums[column][row]);
                to[row] = narrow<Out>(beta == Wide{} ? product : plus(product, beta, before));
            }
        }
    }

    Sizes mSizes;
    Scalar<Scale> mAlpha;
    Scalar<Scale> mBeta;
    Matrices mA;
    Matrices mB;
    Matrices mC;
    Caller mCaller;
};

bool isOperation(cublasOperation_t operation) noexcept
{
    return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

//! What the guide's tables of return values say of a gemm's arguments.
cublasStatus_t check(cublasHandle_t handle, cublasOperation_t transA, cublasOperation_t transB, Sizes const& sizes,
                     void const* alpha, void const* beta, Matrices const& a, Matrices const& b, Matrices const& c)
{
    if (!isHandle(handle))
    {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    bool const good = sizes.m >= 0 && sizes.n >= 0 && sizes.k >= 0 && sizes.batches >= 0 && isOperation(transA) &&
                      isOperation(transB) && alpha != nullptr && beta != nullptr &&
                      a.leading >= std::max(1, sizes.transA ? sizes.k : sizes.m) &&
                      b.leading >= std::max(1, sizes.transB ? sizes.n : sizes.k) && c.leading >= std::max(1, sizes.m);
    return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

template <typename In, typename Out, typename Scale>
cublasStatus_t multiply(cublasHandle_t handle, cublasOperation_t transA, cublasOperation_t transB, Sizes sizes,
                        void const* alpha, Matrices const& a, Matrices const& b, void const* beta, Matrices const& c,
                        Caller const& caller)
{
    sizes.transA = transA != CUBLAS_OP_N;
    sizes.transB = transB != CUBLAS_OP_N;
    cublasStatus_t const status = check(handle, transA, transB, sizes, alpha, beta, a, b, c);
    if (status != CUBLAS_STATUS_SUCCESS || sizes.m == 0 || sizes.n == 0 || sizes.batches == 0)
    {
        return status;
    }
    if (pluginkit_cpu::stuck() != cudaSuccess)
    {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    Gemm<In, Out, Scale> const gemm{
        sizes, {handle, static_cast<Scale const*>(alpha)}, a, b, {handle, static_cast<Scale const*>(beta)}, c, caller};
    if (!gemm.operandsAreUsable())
    {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    return statusOf(pluginkit_cpu::libraries::run(caller, handle->stream, gemm.tiles(),
                                                  [gemm](size_t number) { gemm.tile(number); }));
}

using Multiply = decltype(&multiply<float, float, float>);

//! By the guide's table of cublasGemmEx, which scalars and sums go with which matrices; null for what it doesn't have.
Multiply choose(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t how) noexcept
{
    if (a != b)
    {
        return nullptr;
    }
    switch (how)
    {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
        return a == CUDA_R_16F && c == CUDA_R_16F ? &multiply<__half, __half, __half> : nullptr;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
        if (c == CUDA_R_32F)
        {
            return a == CUDA_R_32F    ? &multiply<float, float, float>
                   : a == CUDA_R_16F  ? &multiply<__half, float, float>
                   : a == CUDA_R_16BF ? &multiply<__nv_bfloat16, float, float>
                   : a == CUDA_R_8I   ? &multiply<int8_t, float, float>
                                      : nullptr;
        }
        return a != c             ? nullptr
               : a == CUDA_R_16F  ? &multiply<__half, __half, float>
               : a == CUDA_R_16BF ? &multiply<__nv_bfloat16, __nv_bfloat16, float>
                                  : nullptr;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
        return a == CUDA_R_8I && c == CUDA_R_32I ? &multiply<int8_t, int32_t, int32_t> : nullptr;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
        return a == CUDA_R_64F && c == CUDA_R_64F ? &multiply<double, double, double> : nullptr;
    }
    return nullptr;
}

cublasStatus_t multiplyAny(cublasHandle_t handle, cublasOperation_t transA, cublasOperation_t transB,
                           Sizes const& sizes, void const* alpha, Matrices const& a, cudaDataType typeA,
                           Matrices const& b, cudaDataType typeB, void const* beta, Matrices const& c,
                           cudaDataType typeC, cublasComputeType_t how, Caller const& caller)
{
    Multiply const chosen = choose(typeA, typeB, typeC, how);
    if (!isHandle(handle))
    {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    if (chosen == nullptr)
    {
        pluginkit_cpu::libraries::reportNotSupported(
            std::string{caller.function} + " with A, B and C of the cudaDataType " + std::to_string(typeA) + ", " +
                std::to_string(typeB) + " and " + std::to_string(typeC) + " and the cublasComputeType_t " +
                std::to_string(how),
            caller.code);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return chosen(handle, transA, transB, sizes, alpha, a, b, beta, c, caller);
}

} // namespace

#define PLUGINKIT_CPU_HEAD                                                                                             \
    cublasHandle_t handle, cublasOperation_t transA, cublasOperation_t transB, int m, int n, int k

extern "C"
{

#define PLUGINKIT_CPU_GEMMS(letter, T)                                                                                 \
    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublas##letter##gemm(                                         \
        PLUGINKIT_CPU_HEAD, T const* alpha, T const* a, int lda, T const* b, int ldb, T const* beta, T* c, int ldc)    \
    {                                                                                                                  \
        return multiply<T, T, T>(handle, transA, transB, {false, false, m, n, k, 1}, alpha, {"A", a, 0, lda},          \
                                 {"B", b, 0, ldb}, beta, {"C", c, 0, ldc},                                             \
                                 {"cublas" #letter "gemm", __builtin_return_address(0)});                              \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublas##letter##gemmBatched(                                  \
        PLUGINKIT_CPU_HEAD, T const* alpha, T const* const a[], int lda, T const* const b[], int ldb, T const* beta,   \
        T* const c[], int ldc, int batches)                                                                            \
    {                                                                                                                  \
        return multiply<T, T, T>(handle, transA, transB, {false, false, m, n, k, batches}, alpha,                      \
                                 {"A", a, kPOINTERS, lda}, {"B", b, kPOINTERS, ldb}, beta, {"C", c, kPOINTERS, ldc},   \
                                 {"cublas" #letter "gemmBatched", __builtin_return_address(0)});                       \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublas##letter##gemmStridedBatched(                           \
        PLUGINKIT_CPU_HEAD, T const* alpha, T const* a, int lda, long long int strideA, T const* b, int ldb,           \
        long long int strideB, T const* beta, T* c, int ldc, long long int strideC, int batches)                       \
    {                                                                                                                  \
        return multiply<T, T, T>(handle, transA, transB, {false, false, m, n, k, batches}, alpha,                      \
                                 {"A", a, strideA, lda}, {"B", b, strideB, ldb}, beta, {"C", c, strideC, ldc},         \
                                 {"cublas" #letter "gemmStridedBatched", __builtin_return_address(0)});                \
    }

    PLUGINKIT_CPU_GEMMS(S, float)
    PLUGINKIT_CPU_GEMMS(D, double)
    PLUGINKIT_CPU_GEMMS(H, __half)

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasGemmEx(PLUGINKIT_CPU_HEAD, void const* alpha,
                                                                      void const* a, cudaDataType typeA, int lda,
                                                                      void const* b, cudaDataType typeB, int ldb,
                                                                      void const* beta, void* c, cudaDataType typeC,
                                                                      int ldc, cublasComputeType_t how,
                                                                      cublasGemmAlgo_t /*algorithm*/)
    {
        return multiplyAny(handle, transA, transB, {false, false, m, n, k, 1}, alpha, {"A", a, 0, lda}, typeA,
                           {"B", b, 0, ldb}, typeB, beta, {"C", c, 0, ldc}, typeC, how,
                           {"cublasGemmEx", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasGemmBatchedEx(
        PLUGINKIT_CPU_HEAD, void const* alpha, void const* const a[], cudaDataType typeA, int lda,
        void const* const b[], cudaDataType typeB, int ldb, void const* beta, void* const c[], cudaDataType typeC,
        int ldc, int batches, cublasComputeType_t how, cublasGemmAlgo_t /*algorithm*/)
    {
        return multiplyAny(handle, transA, transB, {false, false, m, n, k, batches}, alpha, {"A", a, kPOINTERS, lda},
                           typeA, {"B", b, kPOINTERS, ldb}, typeB, beta, {"C", c, kPOINTERS, ldc}, typeC, how,
                           {"cublasGemmBatchedEx", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasGemmStridedBatchedEx(
        PLUGINKIT_CPU_HEAD, void const* alpha, void const* a, cudaDataType typeA, int lda, long long int strideA,
        void const* b, cudaDataType typeB, int ldb, long long int strideB, void const* beta, void* c,
        cudaDataType typeC, int ldc, long long int strideC, int batches, cublasComputeType_t how,
        cublasGemmAlgo_t /*algorithm*/)
    {
        return multiplyAny(handle, transA, transB, {false, false, m, n, k, batches}, alpha, {"A", a, strideA, lda},
                           typeA, {"B", b, strideB, ldb}, typeB, beta, {"C", c, strideC, ldc}, typeC, how,
                           {"cublasGemmStridedBatchedEx", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasSgemmEx(PLUGINKIT_CPU_HEAD, float const* alpha,
                                                                       void const* a, cudaDataType typeA, int lda,
                                                                       void const* b, cudaDataType typeB, int ldb,
                                                                       float const* beta, void* c, cudaDataType typeC,
                                                                       int ldc)
    {
        return multiplyAny(handle, transA, transB, {false, false, m, n, k, 1}, alpha, {"A", a, 0, lda}, typeA,
                           {"B", b, 0, ldb}, typeB, beta, {"C", c, 0, ldc}, typeC, CUBLAS_COMPUTE_32F,
                           {"cublasSgemmEx", __builtin_return_address(0)});
    }

} // extern "C"
