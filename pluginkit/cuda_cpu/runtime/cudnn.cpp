//! cuDNN's functions of handles, descriptors and error texts.

#include "cudnn.h"

#include "streams.h"

#include <algorithm>

using pluginkit_cpu::Caller;
using pluginkit_cpu::gaveBack;
using pluginkit_cpu::isTaken;
using pluginkit_cpu::took;
namespace cudnn = pluginkit_cpu::cudnn;
using pluginkit_cpu::cudnn::kACTIVATION;
using pluginkit_cpu::cudnn::kPOOLING;
using pluginkit_cpu::cudnn::kTENSOR;

namespace
{

template <typename T>
cudnnStatus_t make(T** made, char const* kind, Caller const& caller)
{
    if (made == nullptr)
    {
        return CUDNN_STATUS_BAD_PARAM;
    }
    *made = new T;
    took(kind, *made, 0, caller);
    return CUDNN_STATUS_SUCCESS;
}

template <typename T>
cudnnStatus_t destroy(T* object, char const* kind)
{
    if (!isTaken(kind, object))
    {
        return CUDNN_STATUS_BAD_PARAM;
    }
    gaveBack(object);
    delete object;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t setTensor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int count, int const* dims,
                        int const* strides)
{
    bool const good = isTaken(kTENSOR, tensor) && dims != nullptr && strides != nullptr && count >= 1 &&
                      std::all_of(dims, dims + count, [](int dim) { return dim > 0; });
    if (!good)
    {
        return CUDNN_STATUS_BAD_PARAM;
    }
    if (count > CUDNN_DIM_MAX)
    {
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    tensor->type = type;
    tensor->count = count;
    std::copy(dims, dims + count, tensor->dims);
    std::copy(strides, strides + count, tensor->strides);
    return CUDNN_STATUS_SUCCESS;
}

//! The strides of packed memory: the last dimension the nearest, or, in NHWC, the channels.
cudnnStatus_t setPacked(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format, cudnnDataType_t type, int count,
                        int const* dims, Caller const& caller)
{
    if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC)
    {
        pluginkit_cpu::libraries::reportNotSupported(std::string{caller.function} + " with the format NCHW_VECT_C",
                                                     caller.code);
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    if (dims == nullptr || count < 1 || count > CUDNN_DIM_MAX)
    {
        return CUDNN_STATUS_BAD_PARAM;
    }
    int strides[CUDNN_DIM_MAX]{};
    bool const channelsLast = format == CUDNN_TENSOR_NHWC && count > 2;
    int step = 1;
    if (channelsLast)
    {
        strides[1] = 1;
        step = dims[1];
    }
    for (int i = count - 1; i >= 0; --i)
    {
        if (!channelsLast || i != 1)
        {
            strides[i] = step;
            step *= dims[i];
        }
    }
    return setTensor(tensor, type, count, dims, strides);
}

bool isSet(cudnnPoolingDescriptor_t pooling, cudnnTensorDescriptor_t tensor)
{
    return isTaken(kPOOLING, pooling) && isTaken(kTENSOR, tensor) && pooling->count > 0 &&
           tensor->count == pooling->count + 2;
}

} // namespace

cudnnHandle_t pluginkit_cpu::cudnn::makeHandle(Caller const& caller)
{
    cudnnHandle_t handle = nullptr;
    make(&handle, cudnn::kHANDLE, caller);
    return handle;
}

cudnnStatus_t pluginkit_cpu::cudnn::destroyHandle(cudnnHandle_t handle)
{
    return destroy(handle, cudnn::kHANDLE);
}

extern "C"
{

    PLUGINKIT_CPU_HIDDEN size_t pluginkit_cpu_v2_cudnnGetVersion()
    {
        return CUDNN_VERSION;
    }

    PLUGINKIT_CPU_HIDDEN size_t pluginkit_cpu_v2_cudnnGetCudartVersion()
    {
        return CUDART_VERSION;
    }

    PLUGINKIT_CPU_HIDDEN char const* pluginkit_cpu_v2_cudnnGetErrorString(cudnnStatus_t status)
    {
        switch (status)
        {
        case CUDNN_STATUS_SUCCESS:
            return "CUDNN_STATUS_SUCCESS";
        case CUDNN_STATUS_NOT_INITIALIZED:
            return "CUDNN_STATUS_NOT_INITIALIZED";
        case CUDNN_STATUS_BAD_PARAM:
            return "CUDNN_STATUS_BAD_PARAM";
        case CUDNN_STATUS_NOT_SUPPORTED:
            return "CUDNN_STATUS_NOT_SUPPORTED";
        case CUDNN_STATUS_ARCH_MISMATCH:
            return "CUDNN_STATUS_ARCH_MISMATCH";
        case CUDNN_STATUS_INTERNAL_ERROR:
            return "CUDNN_STATUS_INTERNAL_ERROR";
        case CUDNN_STATUS_ALLOC_FAILED:
            return "CUDNN_STATUS_ALLOC_FAILED";
        case CUDNN_STATUS_EXECUTION_FAILED:
            return "CUDNN_STATUS_EXECUTION_FAILED";
        }
        return "CUDNN_UNKNOWN_STATUS";
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnCreate(cudnnHandle_t* handle)
    {
        Caller const caller{"cudnnCreate", __builtin_return_address(0)};
        pluginkit_cpu::checkNoAllocation(caller);
        return make(handle, cudnn::kHANDLE, caller);
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnDestroy(cudnnHandle_t handle)
    {
        pluginkit_cpu::checkNoAllocation({"cudnnDestroy", __builtin_return_address(0)});
        return destroy(handle, cudnn::kHANDLE);
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
    {
        if (!isTaken(cudnn::kHANDLE, handle))
        {
            return CUDNN_STATUS_BAD_PARAM;
        }
        handle->stream = stream;
        return CUDNN_STATUS_SUCCESS;
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream)
    {
        if (!isTaken(cudnn::kHANDLE, handle) || stream == nullptr)
        {
            return CUDNN_STATUS_BAD_PARAM;
        }
        *stream = handle->stream;
        return CUDNN_STATUS_SUCCESS;
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor)
    {
        return make(tensor, kTENSOR, {"cudnnCreateTensorDescriptor", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor)
    {
        return destroy(tensor, kTENSOR);
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor,
                                                                                   cudnnTensorFormat_t format,
                                                                                   cudnnDataType_t type, int n, int c,
                                                                                   int h, int w)
    {
        int const dims[]{n, c, h, w};
        return setPacked(tensor, format, type, 4, dims, {"cudnnSetTensor4dDescriptor", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor,
                                                                                     cudnnDataType_t type, int n, int c,
                                                                                     int h, int w, int nStride,
                                                                                     int cStride, int hStride,
                                                                                     int wStride)
    {
        int const dims[]{n, c, h, w};
        int const strides[]{nStride, cStride, hStride, wStride};
        return setTensor(tensor, type, 4, dims, strides);
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnGetTensor4dDescriptor(cudnnTensorDescriptor_t tensor,
                                                                                   cudnnDataType_t* type, int* n,
                                                                                   int* c, int* h, int* w, int* nStride,
                                                                                   int* cStride, int* hStride,
                                                                                   int* wStride)
    {
        if (!isTaken(kTENSOR, tensor) || tensor->count != 4 || type == nullptr)
        {
            return CUDNN_STATUS_BAD_PARAM;
        }
        *type = tensor->type;
        int* const dims[]{n, c, h, w};
        int* const strides[]{nStride, cStride, hStride, wStride};
        for (int i = 0; i < 4; ++i)
        {
            if (dims[i] == nullptr || strides[i] == nullptr)
            {
                return CUDNN_STATUS_BAD_PARAM;
            }
            *dims[i] = tensor->dims[i];
            *strides[i] = tensor->strides[i];
        }
        return CUDNN_STATUS_SUCCESS;
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor,
                                                                                   cudnnDataType_t type, int count,
                                                                                   int const dims[],
                                                                                   int const strides[])
    {
        return setTensor(tensor, type, count, dims, strides);
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensor,
                                                                                     cudnnTensorFormat_t format,
                                                                                     cudnnDataType_t type, int count,
                                                                                     int const dims[])
    {
        return setPacked(tensor, format, type, count, dims,
                         {"cudnnSetTensorNdDescriptorEx", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* pooling)
    {
        return make(pooling, kPOOLING, {"cudnnCreatePoolingDescriptor", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t pooling)
    {
        return destroy(pooling, kPOOLING);
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnSetPoolingNdDescriptor(
        cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode, cudnnNanPropagation_t nan, int count,
        int const window[], int const padding[], int const stride[])
    {
        bool const there = isTaken(kPOOLING, pooling) && window != nullptr && padding != nullptr && stride != nullptr &&
                           count >= 1 && count <= CUDNN_DIM_MAX - 2 && mode >= CUDNN_POOLING_MAX &&
                           mode <= CUDNN_POOLING_MAX_DETERMINISTIC;
        for (int i = 0; there && i < count; ++i)
        {
            if (window[i] < 1 || stride[i] < 1 || padding[i] < 0)
            {
                return CUDNN_STATUS_BAD_PARAM;
            }
        }
        if (!there)
        {
            return CUDNN_STATUS_BAD_PARAM;
        }
        pooling->mode = mode;
        pooling->nan = nan;
        pooling->count = count;
        std::copy(window, window + count, pooling->window);
        std::copy(padding, padding + count, pooling->padding);
        std::copy(stride, stride + count, pooling->stride);
        return CUDNN_STATUS_SUCCESS;
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnSetPooling2dDescriptor(
        cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode, cudnnNanPropagation_t nan, int windowHeight,
        int windowWidth, int verticalPadding, int horizontalPadding, int verticalStride, int horizontalStride)
    {
        int const window[]{windowHeight, windowWidth};
        int const padding[]{verticalPadding, horizontalPadding};
        int const stride[]{verticalStride, horizontalStride};
        return pluginkit_cpu_v2_cudnnSetPoolingNdDescriptor(pooling, mode, nan, 2, window, padding, stride);
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnGetPoolingNdForwardOutputDim(
        cudnnPoolingDescriptor_t pooling, cudnnTensorDescriptor_t input, int count, int dims[])
    {
        if (!isSet(pooling, input) || count != input->count || dims == nullptr)
        {
            return CUDNN_STATUS_BAD_PARAM;
        }
        for (int i = 0; i < count; ++i)
        {
            dims[i] = i < 2 ? input->dims[i] : pluginkit_cpu::cudnn::pooled(*pooling, i - 2, input->dims[i]);
        }
        return CUDNN_STATUS_SUCCESS;
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnGetPooling2dForwardOutputDim(
        cudnnPoolingDescriptor_t pooling, cudnnTensorDescriptor_t input, int* n, int* c, int* h, int* w)
    {
        int dims[4]{};
        cudnnStatus_t const status = pluginkit_cpu_v2_cudnnGetPoolingNdForwardOutputDim(pooling, input, 4, dims);
        if (status != CUDNN_STATUS_SUCCESS || n == nullptr || c == nullptr || h == nullptr || w == nullptr)
        {
            return CUDNN_STATUS_BAD_PARAM;
        }
        *n = dims[0];
        *c = dims[1];
        *h = dims[2];
        *w = dims[3];
        return CUDNN_STATUS_SUCCESS;
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t
    pluginkit_cpu_v2_cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* activation)
    {
        return make(activation, kACTIVATION, {"cudnnCreateActivationDescriptor", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t
    pluginkit_cpu_v2_cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation)
    {
        return destroy(activation, kACTIVATION);
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t
    pluginkit_cpu_v2_cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation, cudnnActivationMode_t mode,
                                                  cudnnNanPropagation_t nan, double coefficient)
    {
        if (!isTaken(kACTIVATION, activation) || mode < CUDNN_ACTIVATION_SIGMOID || mode > CUDNN_ACTIVATION_SWISH)
        {
            return CUDNN_STATUS_BAD_PARAM;
        }
        activation->mode = mode;
        activation->nan = nan;
        activation->coefficient = coefficient;
        activation->set = true;
        return CUDNN_STATUS_SUCCESS;
    }

} // extern "C"
