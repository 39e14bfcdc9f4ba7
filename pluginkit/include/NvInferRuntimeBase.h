//! The types that all plugin interfaces share: dimensions, element types, descriptors, versioned interfaces,
//! allocators, the error recorder and the logger.
#ifndef PLUGINKIT_NV_INFER_RUNTIME_BASE_H
#define PLUGINKIT_NV_INFER_RUNTIME_BASE_H

#include "NvInferVersion.h"
#include <cstddef>
#include <cstdint>

#define TENSORRTAPI
#define TRT_DEPRECATED
#define TRT_DEPRECATED_ENUM
#define TRT_DEPRECATED_API
#define TRT_DEPRECATED_BECAUSE(...)

// The interfaces name a CUDA stream only by pointer: a plugin's class needs no CUDA header.
struct CUstream_st;
typedef struct CUstream_st* cudaStream_t; // NOLINT(modernize-use-using): the same declaration as CUDA's own
struct CUevent_st;
typedef struct CUevent_st* cudaEvent_t; // NOLINT(modernize-use-using)
struct cublasContext;
struct cudnnContext;

namespace pluginkit
{

//! One dimension in a Dims.
#if PLUGINKIT_TRT_LAYOUT == 8
using Extent = int32_t;
#else
using Extent = int64_t;
#endif

} // namespace pluginkit

namespace nvinfer1
{

using char_t = char;
using AsciiChar = char_t;

//! The number of enumerators of an enumeration.
template <typename T>
constexpr int32_t EnumMax() noexcept;

//! The element type of a tensor.
enum class DataType : int32_t
{
    kFLOAT = 0,
    kHALF = 1,
    kINT8 = 2,
    kINT32 = 3,
    kBOOL = 4,
    kUINT8 = 5,
    kFP8 = 6,
    kBF16 = 7,
    kINT64 = 8,
    kINT4 = 9,
#if PLUGINKIT_TRT_NAMES_10(8)
    kFP4 = 10,
#endif
#if PLUGINKIT_TRT_NAMES_10(12)
    kE8M0 = 11,
#endif
};

template <>
constexpr inline int32_t EnumMax<DataType>() noexcept
{
#if PLUGINKIT_TRT_SINCE_10(12)
    return 12;
#elif PLUGINKIT_TRT_SINCE_10(8)
    return 11;
#elif PLUGINKIT_TRT_LAYOUT != 8
    return 10;
#else
    return NV_TENSORRT_MINOR >= 6 ? 7 : 6;
#endif
}

//! A shape: at most MAX_DIMS extents. -1 is an extent that is not known yet; nbDims -1 is not a shape.
#if PLUGINKIT_TRT_LAYOUT == 8
#define PLUGINKIT_DIMS Dims32
#else
#define PLUGINKIT_DIMS Dims64
#endif
class PLUGINKIT_DIMS
{
public:
    static constexpr int32_t MAX_DIMS{8};
    int32_t nbDims;
    pluginkit::Extent d[MAX_DIMS];
};

using Dims = PLUGINKIT_DIMS;
#undef PLUGINKIT_DIMS
using InterfaceKind = char const*;

//! How the elements of a tensor lie in memory.
enum class TensorFormat : int32_t
{
    kLINEAR = 0,
    kCHW2 = 1,
    kHWC8 = 2,
    kCHW4 = 3,
    kCHW16 = 4,
    kCHW32 = 5,
    kDHWC8 = 6,
    kCDHW32 = 7,
    kHWC = 8,
    kDLA_LINEAR = 9,
    kDLA_HWC4 = 10,
    kHWC16 = 11,
    kDHWC = 12,
};

template <>
constexpr inline int32_t EnumMax<TensorFormat>() noexcept
{
#if PLUGINKIT_TRT_LAYOUT == 8
    return NV_TENSORRT_MINOR >= 6 ? 13 : 12;
#else
    return 13;
#endif
}

#if PLUGINKIT_TRT_LAYOUT != 8

//! The language that an implementation of an interface is written in.
enum class APILanguage : int32_t
{
    kCPP = 0,
    kPYTHON = 1,
};

template <>
constexpr inline int32_t EnumMax<APILanguage>() noexcept
{
    return 2;
}

//! Which interface an object implements, and in which version.
class InterfaceInfo
{
public:
    InterfaceKind kind;
    int32_t major;
    int32_t minor;
};

//! The base of all interfaces that say what they are.
class IVersionedInterface
{
public:
    virtual APILanguage getAPILanguage() const noexcept
    {
        return APILanguage::kCPP;
    }
    virtual InterfaceInfo getInterfaceInfo() const noexcept = 0;
    virtual ~IVersionedInterface() noexcept = default;

protected:
    IVersionedInterface() = default;
    IVersionedInterface(IVersionedInterface const&) = default;
    IVersionedInterface(IVersionedInterface&&) = default;
    IVersionedInterface& operator=(IVersionedInterface const&) & = default;
    IVersionedInterface& operator=(IVersionedInterface&&) & = default;
};

#endif

enum class AllocatorFlag : int32_t
{
    kRESIZABLE = 0,
};

template <>
constexpr inline int32_t EnumMax<AllocatorFlag>() noexcept
{
    return 1;
}

using AllocatorFlags = uint32_t;

#if PLUGINKIT_TRT_LAYOUT == 8

//! Gives out GPU memory. Sizes and alignments are in bytes.
class IGpuAllocator
{
public:
    virtual void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags flags) noexcept = 0;
    virtual void free(void* memory) noexcept = 0;
    virtual ~IGpuAllocator() = default;
    IGpuAllocator() = default;
    virtual void* reallocate(void* /*address*/, uint64_t /*alignment*/, uint64_t /*newSize*/) noexcept
    {
        return nullptr;
    }
    virtual bool deallocate(void* memory) noexcept
    {
        this->free(memory);
        return true;
    }

protected:
    IGpuAllocator(IGpuAllocator const&) = default;
    IGpuAllocator(IGpuAllocator&&) = default;
    IGpuAllocator& operator=(IGpuAllocator const&) & = default;
    IGpuAllocator& operator=(IGpuAllocator&&) & = default;
};

#else

namespace v_1_0
{

//! Gives out GPU memory. Sizes and alignments are in bytes.
class IGpuAllocator : public IVersionedInterface
{
public:
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IGpuAllocator", 1, 0};
    }
    virtual void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags flags) noexcept = 0;
    ~IGpuAllocator() override = default;
    IGpuAllocator() = default;
    virtual void* reallocate(void* /*address*/, uint64_t /*alignment*/, uint64_t /*newSize*/) noexcept
    {
        return nullptr;
    }
    virtual bool deallocate(void* memory) noexcept = 0;
    virtual void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags,
                                cudaStream_t /*stream*/) noexcept
    {
        return allocate(size, alignment, flags);
    }
    virtual bool deallocateAsync(void* memory, cudaStream_t /*stream*/) noexcept
    {
        return deallocate(memory);
    }

protected:
    IGpuAllocator(IGpuAllocator const&) = default;
    IGpuAllocator(IGpuAllocator&&) = default;
    IGpuAllocator& operator=(IGpuAllocator const&) & = default;
    IGpuAllocator& operator=(IGpuAllocator&&) & = default;
};

//! An allocator whose own calls are the ones that are ordered by a stream.
class IGpuAsyncAllocator : public IGpuAllocator
{
public:
    IGpuAsyncAllocator() = default;
    ~IGpuAsyncAllocator() override = default;
    void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags,
                        cudaStream_t stream) noexcept override = 0;
    bool deallocateAsync(void* memory, cudaStream_t stream) noexcept override = 0;
    void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags flags) noexcept override
    {
        return allocateAsync(size, alignment, flags, nullptr);
    }
    bool deallocate(void* memory) noexcept override
    {
        return deallocateAsync(memory, nullptr);
    }
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IGpuAllocator", 1, 0};
    }
};

} // namespace v_1_0

using IGpuAllocator = v_1_0::IGpuAllocator;
using IGpuAsyncAllocator = v_1_0::IGpuAsyncAllocator;

#endif

enum class ErrorCode : int32_t
{
    kSUCCESS = 0,
    kUNSPECIFIED_ERROR = 1,
    kINTERNAL_ERROR = 2,
    kINVALID_ARGUMENT = 3,
    kINVALID_CONFIG = 4,
    kFAILED_ALLOCATION = 5,
    kFAILED_INITIALIZATION = 6,
    kFAILED_EXECUTION = 7,
    kFAILED_COMPUTATION = 8,
    kINVALID_STATE = 9,
    kUNSUPPORTED_STATE = 10,
};

template <>
constexpr inline int32_t EnumMax<ErrorCode>() noexcept
{
    return 11;
}

#if PLUGINKIT_TRT_LAYOUT == 8
//! Collects errors.
class IErrorRecorder
{
public:
    virtual ~IErrorRecorder() noexcept = default;
#else
namespace v_1_0
{

//! Collects errors.
class IErrorRecorder : public IVersionedInterface
{
public:
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IErrorRecorder", 1, 0};
    }
    ~IErrorRecorder() noexcept override = default;
#endif
    using ErrorDesc = char const*;
    static constexpr size_t kMAX_DESC_LENGTH{127U};
    using RefCount = int32_t;
    IErrorRecorder() = default;
    virtual int32_t getNbErrors() const noexcept = 0;
    virtual ErrorCode getErrorCode(int32_t errorIdx) const noexcept = 0;
    virtual ErrorDesc getErrorDesc(int32_t errorIdx) const noexcept = 0;
    virtual bool hasOverflowed() const noexcept = 0;
    virtual void clear() noexcept = 0;
    virtual bool reportError(ErrorCode val, ErrorDesc desc) noexcept = 0;
    virtual RefCount incRefCount() noexcept = 0;
    virtual RefCount decRefCount() noexcept = 0;

protected:
    IErrorRecorder(IErrorRecorder const&) = default;
    IErrorRecorder(IErrorRecorder&&) = default;
    IErrorRecorder& operator=(IErrorRecorder const&) & = default;
    IErrorRecorder& operator=(IErrorRecorder&&) & = default;
};

#if PLUGINKIT_TRT_LAYOUT != 8
} // namespace v_1_0

using IErrorRecorder = v_1_0::IErrorRecorder;
#endif

} // namespace nvinfer1

//! The version of the TensorRT library of this process, as NV_TENSORRT_VERSION says it.
extern "C" TENSORRTAPI int32_t getInferLibVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibMajorVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibMinorVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibPatchVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibBuildVersion() noexcept;

#endif
