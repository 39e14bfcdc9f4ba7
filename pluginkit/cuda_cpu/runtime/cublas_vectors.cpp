//! cuBLAS's gemv, axpy and scal. A vector of n elements at a negative increment begins with its last one, as in BLAS.

#include "cublas.h"

#include <algorithm>
#include <cstdlib>

using pluginkit_cpu::Caller;
using pluginkit_cpu::cublas::isHandle;
using pluginkit_cpu::cublas::Scalar;
using pluginkit_cpu::cublas::statusOf;
using pluginkit_cpu::libraries::access;
using pluginkit_cpu::libraries::run;
using pluginkit_cpu::libraries::usable;

namespace
{

template <typename T>
struct Vector
{
    char const* name;
    T* data;
    int64_t count;
    int64_t step;
    bool written;

    T* at(int64_t i) const noexcept
    {
        return data + (step < 0 ? (i - count + 1) * step : i * step);
    }

    bool isUsable(Caller const& caller) const
    {
        auto const size = count == 0 ? 0 : (static_cast<size_t>(std::abs(step)) * static_cast<size_t>(count - 1) + 1);
        return usable({name, data, size * sizeof(T), written}, caller);
    }

    T read(int64_t i, Caller const& caller) const noexcept
    {
        access(at(i), sizeof(T), false, caller.code);
        return *at(i);
    }

    void write(int64_t i, T value, Caller const& caller) const noexcept
    {
        access(at(i), sizeof(T), true, caller.code);
        *at(i) = value;
    }
};

template <typename T>
cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, T const* alphaAt, T const* a, int lda,
                    T const* xs, int incx, T const* betaAt, T* ys, int incy, Caller const& caller)
{
    if (!isHandle(handle))
    {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    bool const plain = trans == CUBLAS_OP_N;
    if (m < 0 || n < 0 || incx == 0 || incy == 0 || lda < std::max(1, m) || alphaAt == nullptr || betaAt == nullptr ||
        (!plain && trans != CUBLAS_OP_T && trans != CUBLAS_OP_C))
    {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (m == 0 || n == 0)
    {
        return CUBLAS_STATUS_SUCCESS;
    }
    Scalar<T> const alpha{handle, alphaAt};
    Scalar<T> const beta{handle, betaAt};
    Vector<T const> const x{"x", xs, plain ? n : m, incx, false};
    Vector<T> const y{"y", ys, plain ? m : n, incy, true};
    size_t const size = (static_cast<size_t>(lda) * static_cast<size_t>(n - 1) + static_cast<size_t>(m)) * sizeof(T);
    bool const reads = !alpha.isZero();
    if (!alpha.usable("alpha", caller) || !beta.usable("beta", caller) || !y.isUsable(caller) ||
        (reads && (!usable({"A", a, size, false}, caller) || !x.isUsable(caller))))
    {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    auto const work = [=](size_t /*block*/)
    {
        T const factor = alpha.get();
        T const kept = beta.get();
        for (int64_t row = 0; row < y.count; ++row)
        {
            T sum = 0;
            for (int64_t i = 0; factor != 0 && i < x.count; ++i)
            {
                T const* const element = plain ? a + i * lda + row : a + row * lda + i;
                access(element, sizeof(T), false, caller.code);
                sum += *element * x.read(i, caller);
            }
            y.write(
                row,
                factor * sum +
                    (kept == 0 ? T{0} : kept * Vector<T const>{"y", y.data, y.count, y.step, false}.read(row, caller)),
                caller);
        }
    };
    return statusOf(run(caller, handle->stream, 1, work));
}

template <typename T>
cublasStatus_t axpy(cublasHandle_t handle, int n, T const* alphaAt, T const* xs, int incx, T* ys, int incy,
                    Caller const& caller)
{
    if (!isHandle(handle))
    {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    if (alphaAt == nullptr)
    {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (n <= 0)
    {
        return CUBLAS_STATUS_SUCCESS;
    }
    Scalar<T> const alpha{handle, alphaAt};
    Vector<T const> const x{"x", xs, n, incx, false};
    Vector<T> const y{"y", ys, n, incy, true};
    if (!alpha.usable("alpha", caller) || !x.isUsable(caller) || !y.isUsable(caller))
    {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    auto const work = [=](size_t /*block*/)
    {
        for (int64_t i = 0; i < n; ++i)
        {
            y.write(i, y.read(i, caller) + alpha.get() * x.read(i, caller), caller);
        }
    };
    return statusOf(run(caller, handle->stream, 1, work));
}

template <typename T>
cublasStatus_t scal(cublasHandle_t handle, int n, T const* alphaAt, T* xs, int incx, Caller const& caller)
{
    if (!isHandle(handle))
    {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    if (alphaAt == nullptr)
    {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (n <= 0 || incx <= 0)
    {
        return CUBLAS_STATUS_SUCCESS;
    }
    Scalar<T> const alpha{handle, alphaAt};
    Vector<T> const x{"x", xs, n, incx, true};
    if (!alpha.usable("alpha", caller) || !x.isUsable(caller))
    {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    auto const work = [=](size_t /*block*/)
    {
        for (int64_t i = 0; i < n; ++i)
        {
            x.write(i, alpha.get() * x.read(i, caller), caller);
        }
    };
    return statusOf(run(caller, handle->stream, 1, work));
}

} // namespace

extern "C"
{

#define PLUGINKIT_CPU_VECTORS(letter, T)                                                                               \
    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublas##letter##gemv(                                         \
        cublasHandle_t handle, cublasOperation_t trans, int m, int n, T const* alpha, T const* a, int lda, T const* x, \
        int incx, T const* beta, T* y, int incy)                                                                       \
    {                                                                                                                  \
        return gemv(handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy,                                        \
                    Caller{"cublas" #letter "gemv", __builtin_return_address(0)});                                     \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublas##letter##axpy(                                         \
        cublasHandle_t handle, int n, T const* alpha, T const* x, int incx, T* y, int incy)                            \
    {                                                                                                                  \
        return axpy(handle, n, alpha, x, incx, y, incy, {"cublas" #letter "axpy", __builtin_return_address(0)});       \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublas##letter##scal(cublasHandle_t handle, int n,            \
                                                                              T const* alpha, T* x, int incx)          \
    {                                                                                                                  \
        return scal(handle, n, alpha, x, incx, {"cublas" #letter "scal", __builtin_return_address(0)});                \
    }

    PLUGINKIT_CPU_VECTORS(S, float)
    PLUGINKIT_CPU_VECTORS(D, double)

} // extern "C"
