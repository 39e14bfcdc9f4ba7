//! cuDNN as far as target cpu has it: found before NVIDIA's header. Written from NVIDIA's cuDNN API reference; the
//! numbers are those of its enumerations (of version 9).
//!
//! What computes: pooling, softmax and activation, forward. All else that is declared answers
//! CUDNN_STATUS_NOT_SUPPORTED, and is a finding `not-supported`; it takes any arguments.
#pragma once
#pragma GCC system_header

#include <pluginkit/cpu/engine.h>

#include <library_types.h>

#include <cstddef>
#include <cstdint>

#define CUDNN_MAJOR 9
#define CUDNN_MINOR 0
#define CUDNN_PATCHLEVEL 0
#define CUDNN_VERSION (CUDNN_MAJOR * 10000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)
#define CUDNNWINAPI
#define CUDNN_DIM_MAX 8

struct cudnnContext;
typedef struct cudnnContext* cudnnHandle_t;
typedef struct cudnnTensorStruct* cudnnTensorDescriptor_t;
typedef struct cudnnPoolingStruct* cudnnPoolingDescriptor_t;
typedef struct cudnnActivationStruct* cudnnActivationDescriptor_t;
typedef struct cudnnFilterStruct* cudnnFilterDescriptor_t;
typedef struct cudnnConvolutionStruct* cudnnConvolutionDescriptor_t;
typedef struct cudnnLRNStruct* cudnnLRNDescriptor_t;
typedef struct cudnnOpTensorStruct* cudnnOpTensorDescriptor_t;
typedef struct cudnnReduceTensorStruct* cudnnReduceTensorDescriptor_t;
typedef struct cudnnDropoutStruct* cudnnDropoutDescriptor_t;
typedef struct cudnnRNNStruct* cudnnRNNDescriptor_t;

typedef enum
{
    CUDNN_STATUS_SUCCESS = 0,
    CUDNN_STATUS_NOT_INITIALIZED = 1001,
    CUDNN_STATUS_BAD_PARAM = 2000,
    CUDNN_STATUS_NOT_SUPPORTED = 3000,
    CUDNN_STATUS_ARCH_MISMATCH = 3004,
    CUDNN_STATUS_INTERNAL_ERROR = 4000,
    CUDNN_STATUS_ALLOC_FAILED = 4003,
    CUDNN_STATUS_EXECUTION_FAILED = 5000
} cudnnStatus_t;

typedef enum
{
    CUDNN_DATA_FLOAT = 0,
    CUDNN_DATA_DOUBLE = 1,
    CUDNN_DATA_HALF = 2,
    CUDNN_DATA_INT8 = 3,
    CUDNN_DATA_INT32 = 4,
    CUDNN_DATA_INT8x4 = 5,
    CUDNN_DATA_UINT8 = 6,
    CUDNN_DATA_UINT8x4 = 7,
    CUDNN_DATA_INT8x32 = 8,
    CUDNN_DATA_BFLOAT16 = 9,
    CUDNN_DATA_INT64 = 10
} cudnnDataType_t;

typedef enum
{
    CUDNN_TENSOR_NCHW = 0,
    CUDNN_TENSOR_NHWC = 1,
    CUDNN_TENSOR_NCHW_VECT_C = 2
} cudnnTensorFormat_t;

typedef enum
{
    CUDNN_NOT_PROPAGATE_NAN = 0,
    CUDNN_PROPAGATE_NAN = 1
} cudnnNanPropagation_t;

typedef enum
{
    CUDNN_POOLING_MAX = 0,
    CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING = 1,
    CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING = 2,
    CUDNN_POOLING_MAX_DETERMINISTIC = 3
} cudnnPoolingMode_t;

typedef enum
{
    CUDNN_SOFTMAX_FAST = 0,
    CUDNN_SOFTMAX_ACCURATE = 1,
    CUDNN_SOFTMAX_LOG = 2
} cudnnSoftmaxAlgorithm_t;

typedef enum
{
    CUDNN_SOFTMAX_MODE_INSTANCE = 0,
    CUDNN_SOFTMAX_MODE_CHANNEL = 1
} cudnnSoftmaxMode_t;

typedef enum
{
    CUDNN_ACTIVATION_SIGMOID = 0,
    CUDNN_ACTIVATION_RELU = 1,
    CUDNN_ACTIVATION_TANH = 2,
    CUDNN_ACTIVATION_CLIPPED_RELU = 3,
    CUDNN_ACTIVATION_ELU = 4,
    CUDNN_ACTIVATION_IDENTITY = 5,
    CUDNN_ACTIVATION_SWISH = 6
} cudnnActivationMode_t;

typedef enum
{
    CUDNN_DEFAULT_MATH = 0,
    CUDNN_TENSOR_OP_MATH = 1,
    CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION = 2,
    CUDNN_FMA_MATH = 3
} cudnnMathType_t;

typedef enum
{
    CUDNN_CONVOLUTION = 0,
    CUDNN_CROSS_CORRELATION = 1
} cudnnConvolutionMode_t;

typedef enum
{
    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM = 0,
    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM = 1,
    CUDNN_CONVOLUTION_FWD_ALGO_GEMM = 2,
    CUDNN_CONVOLUTION_FWD_ALGO_DIRECT = 3
} cudnnConvolutionFwdAlgo_t;

typedef enum
{
    CUDNN_BATCHNORM_PER_ACTIVATION = 0,
    CUDNN_BATCHNORM_SPATIAL = 1,
    CUDNN_BATCHNORM_SPATIAL_PERSISTENT = 2
} cudnnBatchNormMode_t;

typedef enum
{
    CUDNN_OP_TENSOR_ADD = 0,
    CUDNN_OP_TENSOR_MUL = 1,
    CUDNN_OP_TENSOR_MIN = 2,
    CUDNN_OP_TENSOR_MAX = 3,
    CUDNN_OP_TENSOR_SQRT = 4,
    CUDNN_OP_TENSOR_NOT = 5
} cudnnOpTensorOp_t;

#define CUDNN_BN_MIN_EPSILON 0.0

extern "C"
{
    size_t cudnnGetVersion();
    size_t cudnnGetCudartVersion();
    char const* cudnnGetErrorString(cudnnStatus_t status);
    cudnnStatus_t cudnnCreate(cudnnHandle_t* handle);
    cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
    cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);
    cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream);

    cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor);
    cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor);
    cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                             cudnnDataType_t type, int n, int c, int h, int w);
    cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int n, int c,
                                               int h, int w, int nStride, int cStride, int hStride, int wStride);
    cudnnStatus_t cudnnGetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t* type, int* n, int* c,
                                             int* h, int* w, int* nStride, int* cStride, int* hStride, int* wStride);
    cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int count,
                                             int const dims[], int const strides[]);
    cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                               cudnnDataType_t type, int count, int const dims[]);

    cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* pooling);
    cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t pooling);
    cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                              cudnnNanPropagation_t nan, int windowHeight, int windowWidth,
                                              int verticalPadding, int horizontalPadding, int verticalStride,
                                              int horizontalStride);
    cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                              cudnnNanPropagation_t nan, int count, int const window[],
                                              int const padding[], int const stride[]);
    cudnnStatus_t cudnnGetPooling2dForwardOutputDim(cudnnPoolingDescriptor_t pooling, cudnnTensorDescriptor_t input,
                                                    int* n, int* c, int* h, int* w);
    cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(cudnnPoolingDescriptor_t pooling, cudnnTensorDescriptor_t input,
                                                    int count, int dims[]);
    cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, void const* alpha,
                                      cudnnTensorDescriptor_t xDesc, void const* x, void const* beta,
                                      cudnnTensorDescriptor_t yDesc, void* y);

    cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,
                                      void const* alpha, cudnnTensorDescriptor_t xDesc, void const* x, void const* beta,
                                      cudnnTensorDescriptor_t yDesc, void* y);

    cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* activation);
    cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation);
    cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation, cudnnActivationMode_t mode,
                                               cudnnNanPropagation_t nan, double coefficient);
    cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation,
                                         void const* alpha, cudnnTensorDescriptor_t xDesc, void const* x,
                                         void const* beta, cudnnTensorDescriptor_t yDesc, void* y);
}

namespace pluginkit_cpu
{

inline namespace v2
{

//! Reports a call of what target cpu has only the name of.
PLUGINKIT_CPU_HIDDEN void notSupported(char const* function) noexcept;

} // namespace v2

} // namespace pluginkit_cpu

#define PLUGINKIT_CPU_NO_CUDNN(name)                                                                                   \
    template <typename... Any>                                                                                         \
    PLUGINKIT_CPU_INLINE cudnnStatus_t name(Any const&... /*any*/)                                                     \
    {                                                                                                                  \
        pluginkit_cpu::notSupported(#name);                                                                            \
        return CUDNN_STATUS_NOT_SUPPORTED;                                                                             \
    }

PLUGINKIT_CPU_NO_CUDNN(cudnnPoolingBackward)
PLUGINKIT_CPU_NO_CUDNN(cudnnSoftmaxBackward)
PLUGINKIT_CPU_NO_CUDNN(cudnnActivationBackward)
PLUGINKIT_CPU_NO_CUDNN(cudnnSetActivationDescriptorSwishBeta)
PLUGINKIT_CPU_NO_CUDNN(cudnnAddTensor)
PLUGINKIT_CPU_NO_CUDNN(cudnnScaleTensor)
PLUGINKIT_CPU_NO_CUDNN(cudnnSetTensor)
PLUGINKIT_CPU_NO_CUDNN(cudnnTransformTensor)
PLUGINKIT_CPU_NO_CUDNN(cudnnOpTensor)
PLUGINKIT_CPU_NO_CUDNN(cudnnCreateOpTensorDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnSetOpTensorDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnDestroyOpTensorDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnReduceTensor)
PLUGINKIT_CPU_NO_CUDNN(cudnnCreateReduceTensorDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnSetReduceTensorDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnDestroyReduceTensorDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnGetReductionWorkspaceSize)
PLUGINKIT_CPU_NO_CUDNN(cudnnCreateFilterDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnSetFilter4dDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnSetFilterNdDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnDestroyFilterDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnCreateConvolutionDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnSetConvolution2dDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnSetConvolutionNdDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnSetConvolutionGroupCount)
PLUGINKIT_CPU_NO_CUDNN(cudnnSetConvolutionMathType)
PLUGINKIT_CPU_NO_CUDNN(cudnnDestroyConvolutionDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnGetConvolution2dForwardOutputDim)
PLUGINKIT_CPU_NO_CUDNN(cudnnGetConvolutionForwardAlgorithm_v7)
PLUGINKIT_CPU_NO_CUDNN(cudnnFindConvolutionForwardAlgorithm)
PLUGINKIT_CPU_NO_CUDNN(cudnnGetConvolutionForwardWorkspaceSize)
PLUGINKIT_CPU_NO_CUDNN(cudnnConvolutionForward)
PLUGINKIT_CPU_NO_CUDNN(cudnnConvolutionBiasActivationForward)
PLUGINKIT_CPU_NO_CUDNN(cudnnConvolutionBackwardData)
PLUGINKIT_CPU_NO_CUDNN(cudnnDeriveBNTensorDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnBatchNormalizationForwardInference)
PLUGINKIT_CPU_NO_CUDNN(cudnnBatchNormalizationForwardTraining)
PLUGINKIT_CPU_NO_CUDNN(cudnnBatchNormalizationForwardTrainingEx)
PLUGINKIT_CPU_NO_CUDNN(cudnnCreateLRNDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnSetLRNDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnDestroyLRNDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnLRNCrossChannelForward)
PLUGINKIT_CPU_NO_CUDNN(cudnnCreateDropoutDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnDestroyDropoutDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnDropoutForward)
PLUGINKIT_CPU_NO_CUDNN(cudnnCreateRNNDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnDestroyRNNDescriptor)
PLUGINKIT_CPU_NO_CUDNN(cudnnRNNForward)
