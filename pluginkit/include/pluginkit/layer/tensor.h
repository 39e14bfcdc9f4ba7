//! What a layer's kernel gets: tensors, and how to run. No class of TensorRT's: kernels are compiled once for all of
//! its layouts.
#pragma once

#include <cuda_runtime_api.h>
#include <pluginkit/shape.h>

#include <cstdint>

namespace pluginkit
{

//! Where a tensor's elements lie in memory: `channels` in vectors of `lanes`, each element of a channel `inner` times.
//! Linear memory has vectors of one.
struct MemoryLayout
{
    int64_t channels;
    int64_t lanes;
    int64_t inner;
};

//! The scales of a tensor's channels, in device memory: element i, in row-major order, is of the channel
//! `i / inner % count`. Null where the tensor has one scale.
struct ChannelScales
{
    float const* scales;
    int64_t count;
    int64_t inner;
};

struct Tensor
{
    int64_t count; //!< elements; of an output whose size the kernel finds, those of the largest one
    int64_t bytes; //!< of its memory, padded lanes included
    int64_t upper; //!< of a size tensor, its upper bound
    float scale;   //!< what a step of an INT8 or FP8 element is worth; not used for other types
    Shape shape;
    MemoryLayout layout;
    ChannelScales channels;
};

struct Input : Tensor
{
    void const* data; //!< device memory
};

struct Output : Tensor
{
    void* data; //!< device memory
};

//! What every layer's run has; a layer's own `Run`, which the build makes of pluginkit.toml, adds fields and tensors.
struct Launch
{
    int64_t count;          //!< elements of the largest output
    void* workspace;        //!< scratch memory of this run; what is in it is lost after it
    int64_t workspaceBytes; //!< how much of it there is
    int32_t tactic;         //!< which values of [tuning] a launch takes; 0: those for the GPU that it is on
    cudaStream_t stream;
};

} // namespace pluginkit
