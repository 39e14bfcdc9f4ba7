//! The element types that arrays in Python and TensorRT's tensors have in common.
#pragma once

#include <NvInfer.h>

#include <cstdint>
#include <string>

namespace pluginkit
{

namespace python
{

struct ElementType
{
    nvinfer1::DataType type;
    char const* name; //!< NumPy's, torch's and CuPy's; of the types that NumPy lacks ml_dtypes' and torch's
    char kind;        //!< in an array interface's typestr; `V` for the types that NumPy lacks
    uint8_t dlpack;   //!< DLPack's type code
    int64_t bytes;
};

constexpr ElementType kTypes[]{
    {nvinfer1::DataType::kFLOAT, "float32", 'f', 2, 4},      {nvinfer1::DataType::kHALF, "float16", 'f', 2, 2},
    {nvinfer1::DataType::kBF16, "bfloat16", 'V', 4, 2},      {nvinfer1::DataType::kINT8, "int8", 'i', 0, 1},
    {nvinfer1::DataType::kINT32, "int32", 'i', 0, 4},        {nvinfer1::DataType::kINT64, "int64", 'i', 0, 8},
    {nvinfer1::DataType::kFP8, "float8_e4m3fn", 'V', 10, 1}, {nvinfer1::DataType::kUINT8, "uint8", 'u', 1, 1},
    {nvinfer1::DataType::kBOOL, "bool", 'b', 6, 1},
};

//! Null where arrays have no such type.
inline ElementType const* typeOf(nvinfer1::DataType type) noexcept
{
    for (ElementType const& one : kTypes)
    {
        if (one.type == type)
        {
            return &one;
        }
    }
    return nullptr;
}

//! The type's name, or its number where it has none.
inline std::string nameOf(nvinfer1::DataType type)
{
    ElementType const* const found = typeOf(type);
    return found != nullptr ? found->name : "DataType " + std::to_string(static_cast<int32_t>(type));
}

//! A shape as Python writes it: (2, 3), (2,), ().
inline std::string shapeText(nvinfer1::Dims const& dims)
{
    std::string text{"("};
    for (int32_t i = 0; i < dims.nbDims; ++i)
    {
        text += (i > 0 ? ", " : "") + std::to_string(dims.d[i]);
    }
    return text + (dims.nbDims == 1 ? ",)" : ")");
}

inline bool sameShape(nvinfer1::Dims const& a, nvinfer1::Dims const& b) noexcept
{
    bool same = a.nbDims == b.nbDims;
    for (int32_t i = 0; same && i < a.nbDims; ++i)
    {
        same = a.d[i] == b.d[i];
    }
    return same;
}

inline int64_t elementCount(nvinfer1::Dims const& dims) noexcept
{
    int64_t count{1};
    for (int32_t i = 0; i < dims.nbDims; ++i)
    {
        count *= dims.d[i];
    }
    return count;
}

} // namespace python

} // namespace pluginkit
