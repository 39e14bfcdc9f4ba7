//! Reading a creator's fields without trusting them.
//!
//! What arrives in createPlugin comes from an ONNX file or from other code: fields may be missing, be of another
//! type or length, or have no data. Nothing here throws, and nothing is read that is not there.
//!
//! TensorRT's ONNX parser has no attributes of all types: integers come as kINT32, floats as kFLOAT32. So a whole
//! number is read from every integer type that the value fits, and a double from a float too. What a float or an
//! int32_t is read from is what it always was: a type that the parser gives to something else's bytes is refused.
#pragma once

#include <NvInfer.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace pluginkit
{

//! The field type that carries a C++ type.
template <typename T>
constexpr nvinfer1::PluginFieldType fieldTypeOf() noexcept
{
    using nvinfer1::PluginFieldType;
    if constexpr (std::is_same_v<T, float>)
    {
        return PluginFieldType::kFLOAT32;
    }
    else if constexpr (std::is_same_v<T, double>)
    {
        return PluginFieldType::kFLOAT64;
    }
    else if constexpr (std::is_same_v<T, int8_t>)
    {
        return PluginFieldType::kINT8;
    }
    else if constexpr (std::is_same_v<T, int16_t>)
    {
        return PluginFieldType::kINT16;
    }
    else if constexpr (std::is_same_v<T, int32_t>)
    {
        return PluginFieldType::kINT32;
    }
    else
    {
        static_assert(std::is_same_v<T, int64_t>, "no field has elements of this type");
        return PluginFieldType::kINT64;
    }
}

//! How many elements a list may have, or how many bytes a text.
struct Length
{
    int32_t least;
    int32_t most;
};

//! The fields handed to createPlugin. A null collection is an empty one.
//!
//! `optional` leaves the value as it is where the field is absent or advertised without data, and answers false where
//! it is there but is not what is wanted. `required` answers false in all these cases. `also` is one more field type
//! that the elements of a float are taken from: kFLOAT16 or kBF16.
class FieldReader
{
public:
    explicit FieldReader(nvinfer1::PluginFieldCollection const* fields) noexcept : mFields(fields) {}

    //! Reads one number.
    template <typename T>
    bool optional(char const* name, T& value, nvinfer1::PluginFieldType also = fieldTypeOf<T>()) const noexcept
    {
        nvinfer1::PluginField const* const field = find(name);
        return isAbsent(field) || readAll(*field, &value, 1, also);
    }
    template <typename T>
    bool required(char const* name, T& value, nvinfer1::PluginFieldType also = fieldTypeOf<T>()) const noexcept
    {
        nvinfer1::PluginField const* const field = find(name);
        return field != nullptr && readAll(*field, &value, 1, also);
    }

    //! Reads as many numbers as the array has.
    template <typename T, std::size_t Count>
    bool optional(char const* name, std::array<T, Count>& values,
                  nvinfer1::PluginFieldType also = fieldTypeOf<T>()) const noexcept
    {
        nvinfer1::PluginField const* const field = find(name);
        return isAbsent(field) || readArray(*field, values, also);
    }
    template <typename T, std::size_t Count>
    bool required(char const* name, std::array<T, Count>& values,
                  nvinfer1::PluginFieldType also = fieldTypeOf<T>()) const noexcept
    {
        nvinfer1::PluginField const* const field = find(name);
        return field != nullptr && readArray(*field, values, also);
    }

    //! Reads a list. TensorRT's parser gives an empty one a length of 0 and no data.
    template <typename T>
    bool optional(char const* name, std::vector<T>& values, Length length,
                  nvinfer1::PluginFieldType also = fieldTypeOf<T>()) const noexcept
    {
        nvinfer1::PluginField const* const field = find(name);
        return field == nullptr || (isAbsent(field) && length.least > 0) || readVector(*field, values, length, also);
    }
    template <typename T>
    bool required(char const* name, std::vector<T>& values, Length length,
                  nvinfer1::PluginFieldType also = fieldTypeOf<T>()) const noexcept
    {
        nvinfer1::PluginField const* const field = find(name);
        return field != nullptr && readVector(*field, values, length, also);
    }

    //! Reads a text. TensorRT's parser counts the zero behind it, others don't; several texts, with a zero between
    //! them, are refused.
    bool optional(char const* name, std::string& text, Length length) const noexcept
    {
        nvinfer1::PluginField const* const field = find(name);
        return field == nullptr || (isAbsent(field) && length.least > 0) || readText(*field, text, length);
    }
    bool required(char const* name, std::string& text, Length length) const noexcept
    {
        nvinfer1::PluginField const* const field = find(name);
        return field != nullptr && readText(*field, text, length);
    }

    //! The field of that name; null where there is none.
    nvinfer1::PluginField const* find(char const* name) const noexcept
    {
        if (mFields == nullptr || mFields->fields == nullptr)
        {
            return nullptr;
        }
        for (int32_t i = 0; i < mFields->nbFields; ++i)
        {
            if (mFields->fields[i].name != nullptr && std::strcmp(mFields->fields[i].name, name) == 0)
            {
                return mFields->fields + i;
            }
        }
        return nullptr;
    }

private:
    static bool isAbsent(nvinfer1::PluginField const* field) noexcept
    {
        return field == nullptr || field->data == nullptr || field->length == 0;
    }

    template <typename T, std::size_t Count>
    static bool readArray(nvinfer1::PluginField const& field, std::array<T, Count>& values,
                          nvinfer1::PluginFieldType also) noexcept
    {
        std::array<T, Count> given{};
        bool const read = readAll(field, given.data(), Count, also);
        values = read ? given : values;
        return read;
    }

    template <typename T>
    static bool readVector(nvinfer1::PluginField const& field, std::vector<T>& values, Length length,
                           nvinfer1::PluginFieldType also) noexcept
    {
        if (field.length < length.least || field.length > length.most)
        {
            return false;
        }
        try
        {
            std::vector<T> given(static_cast<std::size_t>(field.length));
            bool const read = given.empty() || readAll(field, given.data(), given.size(), also);
            values = read ? given : values;
            return read;
        }
        catch (std::exception const&)
        {
            return false; // no memory
        }
    }

    static bool readText(nvinfer1::PluginField const& field, std::string& text, Length length) noexcept
    {
        if (field.type != nvinfer1::PluginFieldType::kCHAR || field.length < 0 ||
            (field.data == nullptr && field.length > 0))
        {
            return false;
        }
        try
        {
            std::string given = field.length == 0 ? std::string{}
                                                  : std::string(static_cast<char const*>(field.data),
                                                                static_cast<std::size_t>(field.length));
            if (!given.empty() && given.back() == '\0')
            {
                given.pop_back();
            }
            bool const read = given.find('\0') == std::string::npos && fits(given.size(), length);
            text = read ? given : text;
            return read;
        }
        catch (std::exception const&)
        {
            return false;
        }
    }

    static bool fits(std::size_t size, Length length) noexcept
    {
        return size >= static_cast<std::size_t>(length.least) && size <= static_cast<std::size_t>(length.most);
    }

    //! Reads `count` elements; the values stay as they are where one can't be had.
    template <typename T>
    static bool readAll(nvinfer1::PluginField const& field, T* values, std::size_t count,
                        nvinfer1::PluginFieldType also) noexcept
    {
        if (field.data == nullptr || field.length < 0 || static_cast<std::size_t>(field.length) != count)
        {
            return false;
        }
        for (std::size_t i = 0; i < count; ++i)
        {
            T ignored{};
            if (!element(field, i, ignored, also))
            {
                return false;
            }
        }
        for (std::size_t i = 0; i < count; ++i)
        {
            element(field, i, values[i], also);
        }
        return true;
    }

    //! Element i, if the field is of a type that T is read from, and T can hold its value.
    template <typename T>
    static bool element(nvinfer1::PluginField const& field, std::size_t i, T& value,
                        nvinfer1::PluginFieldType also) noexcept
    {
        using nvinfer1::PluginFieldType;
        if constexpr (std::is_integral_v<T>)
        {
            switch (field.type)
            {
            case PluginFieldType::kINT8:
                return narrow(at<int8_t>(field, i), value);
            case PluginFieldType::kINT16:
                return narrow(at<int16_t>(field, i), value);
            case PluginFieldType::kINT32:
                return narrow(at<int32_t>(field, i), value);
            case PluginFieldType::kINT64:
                return narrow(at<int64_t>(field, i), value);
            default:
                return false;
            }
        }
        else
        {
            double given{};
            if (field.type == PluginFieldType::kFLOAT32)
            {
                given = static_cast<double>(at<float>(field, i));
            }
            else if (field.type == PluginFieldType::kFLOAT64 && std::is_same_v<T, double>)
            {
                given = at<double>(field, i);
            }
            else if (field.type == PluginFieldType::kFLOAT16 && also == field.type)
            {
                given = half(at<uint16_t>(field, i));
            }
            else if (field.type == PluginFieldType::kBF16 && also == field.type)
            {
                uint32_t const bits = static_cast<uint32_t>(at<uint16_t>(field, i)) << 16U;
                float number{};
                std::memcpy(&number, &bits, sizeof number);
                given = static_cast<double>(number);
            }
            else
            {
                return false;
            }
            if (!std::isfinite(given))
            {
                return false;
            }
            value = static_cast<T>(given);
            return true;
        }
    }

    //! The data need not be aligned.
    template <typename T>
    static T at(nvinfer1::PluginField const& field, std::size_t i) noexcept
    {
        T value{};
        std::memcpy(&value, static_cast<std::byte const*>(field.data) + i * sizeof value, sizeof value);
        return value;
    }

    template <typename T>
    static bool narrow(int64_t given, T& value) noexcept
    {
        if (given < std::numeric_limits<T>::min() || given > std::numeric_limits<T>::max())
        {
            return false;
        }
        value = static_cast<T>(given);
        return true;
    }

    //! The number that the bits of a half stand for (IEEE 754, binary16).
    static double half(uint16_t bits) noexcept
    {
        int const exponent = (bits >> 10U) & 0x1FU;
        int const fraction = bits & 0x3FFU;
        double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
        if (exponent == 0x1F)
        {
            magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
        }
        return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
    }

    nvinfer1::PluginFieldCollection const* mFields;
};

} // namespace pluginkit
