//! What a DLPack capsule named "dltensor" holds: the standard's binary interface, version 0.
#pragma once

#include <cstdint>

namespace pluginkit
{

namespace python
{

enum class DLDeviceType : int32_t
{
    kCPU = 1,
    kCUDA = 2,
    kCUDA_HOST = 3, //!< pinned
    kCUDA_MANAGED = 13,
};

struct DLTensor
{
    void* data;
    struct
    {
        DLDeviceType type;
        int32_t id;
    } device;
    int32_t ndim;
    struct
    {
        uint8_t code;
        uint8_t bits;
        uint16_t lanes;
    } dtype;
    int64_t* shape;
    int64_t* strides; //!< in elements; null: C order
    uint64_t byteOffset;
};

struct DLManagedTensor
{
    DLTensor tensor;
    void* context;
    void (*deleter)(DLManagedTensor*);
};

} // namespace python

} // namespace pluginkit
