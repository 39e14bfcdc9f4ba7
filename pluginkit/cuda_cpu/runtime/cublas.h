//! cuBLAS's handle, and what all of its functions do first.
#pragma once

#include "libraries.h"
#include "objects.h"

#include <pluginkit/cpu/libraries/cublas_v2.h>

struct PLUGINKIT_CPU_HIDDEN cublasContext
{
    cudaStream_t stream{nullptr};
    cublasPointerMode_t pointerMode{CUBLAS_POINTER_MODE_HOST};
    cublasAtomicsMode_t atomicsMode{CUBLAS_ATOMICS_NOT_ALLOWED};
    cublasMath_t mathMode{CUBLAS_DEFAULT_MATH};
};

namespace pluginkit_cpu
{

inline namespace v2
{

namespace cublas
{

constexpr char const* kHANDLE = "cuBLAS handle";

PLUGINKIT_CPU_HIDDEN cublasHandle_t makeHandle(Caller const& caller = {"", nullptr});
PLUGINKIT_CPU_HIDDEN cublasStatus_t destroyHandle(cublasHandle_t handle);

inline bool isHandle(cublasHandle_t handle)
{
    return isTaken(kHANDLE, handle);
}

inline cublasStatus_t statusOf(cudaError_t error) noexcept
{
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

//! alpha or beta: read at the call, or, in pointer mode device, when the work runs.
template <typename T>
class Scalar
{
public:
    Scalar(cublasHandle_t handle, T const* value)
        : mDevice(handle->pointerMode == CUBLAS_POINTER_MODE_DEVICE ? value : nullptr),
          mHost(mDevice == nullptr ? *value : T{})
    {
    }

    //! Of a device pointer: whether it is one.
    bool usable(char const* name, Caller const& caller) const
    {
        return mDevice == nullptr || libraries::usable({name, mDevice, sizeof(T), false}, caller);
    }

    auto get() const noexcept
    {
        return libraries::widen(mDevice == nullptr ? mHost : *mDevice);
    }

    //! Whether it is known to be 0 before the work runs.
    bool isZero() const noexcept
    {
        return mDevice == nullptr && libraries::widen(mHost) == 0;
    }

private:
    T const* mDevice;
    T mHost;
};

} // namespace cublas

} // namespace v2

} // namespace pluginkit_cpu
