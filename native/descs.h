//! Descriptors, dimensions and the like between Python and TensorRT's headers.
#pragma once

#include "NvInferRuntime.h"
#include "closed.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <pybind11/stl.h>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace pluginkit
{

using PyDims = std::vector<std::int64_t>;
//! (dims, nvinfer1::DataType, nvinfer1::TensorFormat, scale)
using PyDesc = std::tuple<PyDims, std::int32_t, std::int32_t, float>;
//! (desc, min, opt, max)
using PyDynamicDesc = std::tuple<PyDesc, PyDims, PyDims, PyDims>;
//! A str, or none for a null pointer. Bytes that are not UTF-8 become lone surrogates, as Python's `surrogateescape`
//! has it.
using OptionalText = std::optional<pybind11::object>;

inline OptionalText text(char const* value)
{
    if (value == nullptr)
    {
        return std::nullopt;
    }
    auto const size = static_cast<Py_ssize_t>(std::char_traits<char>::length(value));
    return pybind11::reinterpret_steal<pybind11::object>(PyUnicode_DecodeUTF8(value, size, "surrogateescape"));
}

inline nvinfer1::Dims64 toDims(PyDims const& dims)
{
    if (dims.size() > static_cast<std::size_t>(nvinfer1::Dims64::MAX_DIMS))
    {
        throw std::invalid_argument{"a tensor has at most 8 dimensions, this one " + std::to_string(dims.size())};
    }
    nvinfer1::Dims64 result{};
    result.nbDims = static_cast<std::int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), result.d);
    return result;
}

inline nvinfer1::PluginTensorDesc toDesc(PyDesc const& desc)
{
    auto const& [dims, type, format, scale] = desc;
    nvinfer1::PluginTensorDesc result{};
    result.dims = toDims(dims);
    result.type = static_cast<nvinfer1::DataType>(type);
    result.format = static_cast<nvinfer1::TensorFormat>(format);
    result.scale = scale;
    return result;
}

//! `what` is the parameter's name, here and below.
inline ClosedArray<nvinfer1::PluginTensorDesc> toDescs(std::vector<PyDesc> const& descs, char const* what)
{
    std::vector<nvinfer1::PluginTensorDesc> result;
    for (auto const& desc : descs)
    {
        result.push_back(toDesc(desc));
    }
    return {result, what};
}

inline ClosedArray<nvinfer1::DynamicPluginTensorDesc> toDynamicDescs(std::vector<PyDynamicDesc> const& descs,
                                                                     char const* what)
{
    std::vector<nvinfer1::DynamicPluginTensorDesc> result;
    for (auto const& [desc, min, opt, max] : descs)
    {
        nvinfer1::DynamicPluginTensorDesc one{};
        one.desc = toDesc(desc);
        one.min = toDims(min);
        one.opt = toDims(opt);
        one.max = toDims(max);
        result.push_back(one);
    }
    return {result, what};
}

inline ClosedArray<nvinfer1::DataType> toTypes(std::vector<std::int32_t> const& codes, char const* what)
{
    std::vector<nvinfer1::DataType> types;
    for (auto const code : codes)
    {
        types.push_back(static_cast<nvinfer1::DataType>(code));
    }
    return {types, what};
}

template <class Items>
std::int32_t count(Items const& items)
{
    return static_cast<std::int32_t>(items.size());
}

struct UseError : std::logic_error
{
    using std::logic_error::logic_error;
};

inline ClosedArray<void*> toPointers(std::vector<std::uintptr_t> const& addresses, char const* what)
{
    std::vector<void*> result;
    for (auto const address : addresses)
    {
        result.push_back(reinterpret_cast<void*>(address));
    }
    return {result, what};
}

} // namespace pluginkit
