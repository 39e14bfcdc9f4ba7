//! Writes the few messages of onnx.proto3 that `pluginkit/rtx.h` needs. (Protocol Buffers' own library would be a
//! dependency of every program that includes it, in the version that the program's other parts want.)
//! Numbers of fields and types: onnx/onnx.proto3; encoding: protobuf.dev/programming-guides/encoding.
#pragma once

#include "NvInfer.h"

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pluginkit
{
namespace onnx
{

constexpr uint32_t kNODE_INPUT{1};
constexpr uint32_t kNODE_OUTPUT{2};
constexpr uint32_t kNODE_NAME{3};
constexpr uint32_t kNODE_OP_TYPE{4};
constexpr uint32_t kNODE_ATTRIBUTE{5};
constexpr uint32_t kNODE_DOMAIN{7};
constexpr uint32_t kGRAPH_NODE{1};
constexpr uint32_t kGRAPH_NAME{2};
constexpr uint32_t kGRAPH_INITIALIZER{5};
constexpr char const* kDOMAIN{"pluginkit"};

//! A message under construction.
class Message
{
public:
    //! A text, bytes, or a message in this one.
    void add(uint32_t field, std::string const& content)
    {
        varint(field << 3 | 2U);
        varint(content.size());
        encoded += content;
    }

    void add(uint32_t field, int64_t number)
    {
        varint(field << 3);
        varint(static_cast<uint64_t>(number));
    }

    void add(uint32_t field, float number)
    {
        varint(field << 3 | 5U);
        uint32_t bits{};
        static_assert(sizeof bits == sizeof number);
        std::memcpy(&bits, &number, sizeof bits);
        for (int shift = 0; shift < 32; shift += 8)
        {
            encoded += static_cast<char>(bits >> shift & 0xFFU);
        }
    }

    std::string const& bytes() const
    {
        return encoded;
    }

private:
    void varint(uint64_t number)
    {
        while (number >= 0x80U)
        {
            encoded += static_cast<char>((number & 0x7FU) | 0x80U);
            number >>= 7;
        }
        encoded += static_cast<char>(number);
    }

    std::string encoded;
};

namespace detail
{

constexpr uint32_t kATTRIBUTE_TYPE{20};

//! AttributeProto's field for a value, its field for a list of them, and its types for both.
struct AttributeFields
{
    uint32_t one;
    uint32_t many;
    int64_t oneType;
    int64_t manyType;
};

inline AttributeFields attributeFields(float)
{
    return {2, 7, 1, 6};
}

inline AttributeFields attributeFields(int32_t)
{
    return {3, 8, 2, 7};
}

inline float widened(float number)
{
    return number;
}

inline int64_t widened(int32_t number)
{
    return number;
}

} // namespace detail

template <typename Number>
std::string attribute(std::string const& name, Number value)
{
    Message message;
    message.add(1, name);
    message.add(detail::attributeFields(value).one, detail::widened(value));
    message.add(detail::kATTRIBUTE_TYPE, detail::attributeFields(value).oneType);
    return message.bytes();
}

template <typename Number>
std::string attribute(std::string const& name, std::vector<Number> const& values)
{
    Message message;
    message.add(1, name);
    for (auto const value : values)
    {
        message.add(detail::attributeFields(value).many, detail::widened(value));
    }
    message.add(detail::kATTRIBUTE_TYPE, detail::attributeFields(Number{}).manyType);
    return message.bytes();
}

inline std::string attribute(std::string const& name, std::string const& text)
{
    Message message;
    message.add(1, name);
    message.add(4, text);
    message.add(detail::kATTRIBUTE_TYPE, int64_t{3});
    return message.bytes();
}

//! TensorProto's type, and the bytes of a one in it, the least significant first.
struct ElementType
{
    int64_t number;
    std::string one;
};

inline ElementType elementType(nvinfer1::DataType type)
{
    using namespace std::string_literals;
    switch (type)
    {
    case nvinfer1::DataType::kFLOAT:
        return {1, "\0\0\x80\x3F"s};
    case nvinfer1::DataType::kHALF:
        return {10, "\0\x3C"s};
    case nvinfer1::DataType::kBF16:
        return {16, "\x80\x3F"s};
    case nvinfer1::DataType::kINT8:
        return {3, "\1"s};
    case nvinfer1::DataType::kINT32:
        return {6, "\1\0\0\0"s};
    case nvinfer1::DataType::kINT64:
        return {7, "\1\0\0\0\0\0\0\0"s};
    case nvinfer1::DataType::kFP8:
        return {17, "\x38"s};
    default:
        throw std::invalid_argument("A plugin's input can't be of nvinfer1::DataType " +
                                    std::to_string(static_cast<int32_t>(type)));
    }
}

//! A TensorProto of ones, with 1 in the place of each -1 of its dimensions.
inline std::string ones(std::string const& name, nvinfer1::DataType type, std::vector<int64_t> const& dims)
{
    Message message;
    auto const element = elementType(type);
    int64_t count{1};
    for (auto const dim : dims)
    {
        auto const size = dim == -1 ? 1 : dim;
        count *= size;
        message.add(1, size);
    }
    message.add(2, element.number);
    message.add(8, name);
    std::string data;
    for (int64_t i = 0; i < count; ++i)
    {
        data += element.one;
    }
    message.add(9, data);
    return message.bytes();
}

//! A ModelProto of IR version 8 and opset 17.
inline std::string model(Message graph)
{
    graph.add(kGRAPH_NAME, "declared plugins");
    Message all;
    all.add(1, int64_t{8});
    all.add(7, graph.bytes());
    std::vector<std::pair<std::string, int64_t>> const opsets{{"", 17}, {kDOMAIN, 1}};
    for (auto const& [domain, version] : opsets)
    {
        Message opset;
        opset.add(1, domain);
        opset.add(2, version);
        all.add(8, opset.bytes());
    }
    return all.bytes();
}

} // namespace onnx
} // namespace pluginkit
