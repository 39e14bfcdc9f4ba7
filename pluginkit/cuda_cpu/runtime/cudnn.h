//! cuDNN's handle and descriptors.
#pragma once

#include "libraries.h"
#include "objects.h"

#include <pluginkit/cpu/libraries/cudnn.h>

struct PLUGINKIT_CPU_HIDDEN cudnnContext
{
    cudaStream_t stream{nullptr};
};

struct PLUGINKIT_CPU_HIDDEN cudnnTensorStruct
{
    cudnnDataType_t type{CUDNN_DATA_FLOAT};
    int count{0}; //!< Of the dimensions; 0: nothing was set.
    int dims[CUDNN_DIM_MAX]{};
    int strides[CUDNN_DIM_MAX]{};
};

struct PLUGINKIT_CPU_HIDDEN cudnnPoolingStruct
{
    cudnnPoolingMode_t mode{CUDNN_POOLING_MAX};
    cudnnNanPropagation_t nan{CUDNN_NOT_PROPAGATE_NAN};
    int count{0}; //!< Of the spatial dimensions.
    int window[CUDNN_DIM_MAX]{};
    int padding[CUDNN_DIM_MAX]{};
    int stride[CUDNN_DIM_MAX]{};
};

struct PLUGINKIT_CPU_HIDDEN cudnnActivationStruct
{
    cudnnActivationMode_t mode{CUDNN_ACTIVATION_RELU};
    cudnnNanPropagation_t nan{CUDNN_NOT_PROPAGATE_NAN};
    double coefficient{0.0};
    bool set{false};
};

namespace pluginkit_cpu
{

inline namespace v2
{

namespace cudnn
{

constexpr char const* kHANDLE = "cuDNN handle";
constexpr char const* kTENSOR = "cuDNN tensor descriptor";
constexpr char const* kPOOLING = "cuDNN pooling descriptor";
constexpr char const* kACTIVATION = "cuDNN activation descriptor";

PLUGINKIT_CPU_HIDDEN cudnnHandle_t makeHandle(Caller const& caller = {"", nullptr});
PLUGINKIT_CPU_HIDDEN cudnnStatus_t destroyHandle(cudnnHandle_t handle);

//! The output's dimension for an input's: 1 + (input + 2 padding - window) / stride
//! (cudnnGetPoolingNdForwardOutputDim).
inline int pooled(cudnnPoolingStruct const& pooling, int i, int input) noexcept
{
    return 1 + (input + 2 * pooling.padding[i] - pooling.window[i]) / pooling.stride[i];
}

} // namespace cudnn

} // namespace v2

} // namespace pluginkit_cpu
