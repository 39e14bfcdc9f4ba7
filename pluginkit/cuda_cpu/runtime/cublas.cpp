//! cuBLAS's functions of handles and error texts.

#include "cublas.h"

#include "findings.h"
#include "streams.h"

using pluginkit_cpu::Caller;
using pluginkit_cpu::gaveBack;
using pluginkit_cpu::took;
using pluginkit_cpu::cublas::isHandle;
using pluginkit_cpu::cublas::kHANDLE;

namespace
{

template <typename T>
cublasStatus_t set(cublasHandle_t handle, T cublasContext::* member, T value)
{
    if (!isHandle(handle))
    {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    handle->*member = value;
    return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t get(cublasHandle_t handle, T cublasContext::* member, T* value)
{
    if (!isHandle(handle))
    {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    if (value == nullptr)
    {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    *value = handle->*member;
    return CUBLAS_STATUS_SUCCESS;
}

} // namespace

cublasHandle_t pluginkit_cpu::cublas::makeHandle(Caller const& caller)
{
    auto* const handle = new cublasContext;
    took(kHANDLE, handle, 0, caller);
    return handle;
}

cublasStatus_t pluginkit_cpu::cublas::destroyHandle(cublasHandle_t handle)
{
    if (!isHandle(handle))
    {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    gaveBack(handle);
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasCreate(cublasHandle_t* handle)
    {
        Caller const caller{"cublasCreate", __builtin_return_address(0)};
        if (handle == nullptr)
        {
            return CUBLAS_STATUS_INVALID_VALUE;
        }
        pluginkit_cpu::checkNoAllocation(caller);
        *handle = pluginkit_cpu::cublas::makeHandle(caller);
        return CUBLAS_STATUS_SUCCESS;
    }

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasDestroy(cublasHandle_t handle)
    {
        pluginkit_cpu::checkNoAllocation({"cublasDestroy", __builtin_return_address(0)});
        return pluginkit_cpu::cublas::destroyHandle(handle);
    }

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasGetVersion(cublasHandle_t handle, int* version)
    {
        if (!isHandle(handle))
        {
            return CUBLAS_STATUS_NOT_INITIALIZED;
        }
        if (version == nullptr)
        {
            return CUBLAS_STATUS_INVALID_VALUE;
        }
        *version = CUBLAS_VERSION;
        return CUBLAS_STATUS_SUCCESS;
    }

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
    {
        return set(handle, &cublasContext::stream, stream);
    }

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasGetStream(cublasHandle_t handle, cudaStream_t* stream)
    {
        return get(handle, &cublasContext::stream, stream);
    }

    // Nothing here takes a workspace.
    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasSetWorkspace(cublasHandle_t handle, void* /*workspace*/,
                                                                            size_t /*size*/)
    {
        return isHandle(handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
    }

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasSetPointerMode(cublasHandle_t handle,
                                                                              cublasPointerMode_t mode)
    {
        bool const good = mode == CUBLAS_POINTER_MODE_HOST || mode == CUBLAS_POINTER_MODE_DEVICE;
        return isHandle(handle) && !good ? CUBLAS_STATUS_INVALID_VALUE : set(handle, &cublasContext::pointerMode, mode);
    }

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasGetPointerMode(cublasHandle_t handle,
                                                                              cublasPointerMode_t* mode)
    {
        return get(handle, &cublasContext::pointerMode, mode);
    }

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasSetAtomicsMode(cublasHandle_t handle,
                                                                              cublasAtomicsMode_t mode)
    {
        return set(handle, &cublasContext::atomicsMode, mode);
    }

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasGetAtomicsMode(cublasHandle_t handle,
                                                                              cublasAtomicsMode_t* mode)
    {
        return get(handle, &cublasContext::atomicsMode, mode);
    }

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
    {
        return set(handle, &cublasContext::mathMode, mode);
    }

    PLUGINKIT_CPU_HIDDEN cublasStatus_t pluginkit_cpu_v2_cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode)
    {
        return get(handle, &cublasContext::mathMode, mode);
    }

    PLUGINKIT_CPU_HIDDEN char const* pluginkit_cpu_v2_cublasGetStatusName(cublasStatus_t status)
    {
        switch (status)
        {
        case CUBLAS_STATUS_SUCCESS:
            return "CUBLAS_STATUS_SUCCESS";
        case CUBLAS_STATUS_NOT_INITIALIZED:
            return "CUBLAS_STATUS_NOT_INITIALIZED";
        case CUBLAS_STATUS_ALLOC_FAILED:
            return "CUBLAS_STATUS_ALLOC_FAILED";
        case CUBLAS_STATUS_INVALID_VALUE:
            return "CUBLAS_STATUS_INVALID_VALUE";
        case CUBLAS_STATUS_ARCH_MISMATCH:
            return "CUBLAS_STATUS_ARCH_MISMATCH";
        case CUBLAS_STATUS_MAPPING_ERROR:
            return "CUBLAS_STATUS_MAPPING_ERROR";
        case CUBLAS_STATUS_EXECUTION_FAILED:
            return "CUBLAS_STATUS_EXECUTION_FAILED";
        case CUBLAS_STATUS_INTERNAL_ERROR:
            return "CUBLAS_STATUS_INTERNAL_ERROR";
        case CUBLAS_STATUS_NOT_SUPPORTED:
            return "CUBLAS_STATUS_NOT_SUPPORTED";
        case CUBLAS_STATUS_LICENSE_ERROR:
            return "CUBLAS_STATUS_LICENSE_ERROR";
        }
        return "<unknown>";
    }

    PLUGINKIT_CPU_HIDDEN char const* pluginkit_cpu_v2_cublasGetStatusString(cublasStatus_t status)
    {
        switch (status)
        {
        case CUBLAS_STATUS_SUCCESS:
            return "success";
        case CUBLAS_STATUS_NOT_INITIALIZED:
            return "the handle is none";
        case CUBLAS_STATUS_INVALID_VALUE:
            return "a size, a leading dimension or a pointer cannot be";
        case CUBLAS_STATUS_EXECUTION_FAILED:
            return "the work failed on the device";
        case CUBLAS_STATUS_NOT_SUPPORTED:
            return "target cpu does not have it";
        default:
            return pluginkit_cpu_v2_cublasGetStatusName(status);
        }
    }

} // extern "C"
