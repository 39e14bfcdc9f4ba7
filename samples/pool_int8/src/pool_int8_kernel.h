#pragma once

// What the plugin (pool_int8.cpp) and its kernels (pool_int8_kernel.cu) share. No TensorRT here: the kernels are
// compiled once, the plugin once for each layout of TensorRT's classes.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace pool_int8
{

//! What the layer was created with: the fields of its creator, which are the attributes of its ONNX node.
struct PoolInt8Parameters
{
    int32_t mode{0}; //!< 0 takes the maximum, 1 the average
    int32_t kernel_h{2};
    int32_t kernel_w{2};
    int32_t stride_h{2};
    int32_t stride_w{2};
    int32_t pad_h{0}; //!< rows above, and as many below
    int32_t pad_w{0}; //!< columns on the left, and as many on the right
    int32_t ceil_mode{0};
    int32_t count_include_pad{0};
    float x_scale{0.0F};
    float y_scale{0.0F};
};

constexpr int32_t kMaximum = 0;
constexpr int32_t kAverage = 1;

//! The types that the layer computes in; a row of kTypes in pool_int8.cpp each.
enum class PoolInt8Precision : int32_t
{
    kFLOAT,
    kHALF,
    kINT8,
};

//! One run: `planes` images of h x w elements, one behind the other, become as many of outH x outW. `input` and
//! `output` are device memory. `ratio` is the input's INT8 scale divided by the output's; other types do not use it.
struct PoolInt8Arguments
{
    PoolInt8Parameters parameters;
    void const* input;
    void* output;
    int64_t planes;
    int32_t h;
    int32_t w;
    int32_t outH;
    int32_t outW;
    float ratio;
};

//! Starts the kernel on the stream and returns at once; no output element means no launch.
cudaError_t launchPoolInt8(PoolInt8Arguments const& args, PoolInt8Precision precision, cudaStream_t stream) noexcept;

} // namespace pool_int8
