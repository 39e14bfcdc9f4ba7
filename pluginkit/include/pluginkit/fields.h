//! Reading a creator's fields without trusting them.
//!
//! What arrives in createPlugin comes from an ONNX file or from other code: fields may be missing, be of another
//! type or length, or have no data. Nothing here throws, and nothing is read that is not there.
#pragma once

#include <NvInfer.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pluginkit
{

//! The field type that carries a C++ type.
template <typename T>
constexpr nvinfer1::PluginFieldType fieldTypeOf() noexcept;

template <>
constexpr nvinfer1::PluginFieldType fieldTypeOf<float>() noexcept
{
    return nvinfer1::PluginFieldType::kFLOAT32;
}

template <>
constexpr nvinfer1::PluginFieldType fieldTypeOf<int32_t>() noexcept
{
    return nvinfer1::PluginFieldType::kINT32;
}

//! The fields handed to createPlugin. A null collection is an empty one.
class FieldReader
{
public:
    explicit FieldReader(nvinfer1::PluginFieldCollection const* fields) noexcept : mFields(fields) {}

    //! Reads one number. A field that is absent, or advertised without data, leaves `value` as it is.
    //! \return false where the field is there but is no single finite number of that type.
    template <typename T>
    bool optional(char const* name, T& value) const noexcept
    {
        nvinfer1::PluginField const* const field = find(name);
        return field == nullptr || field->data == nullptr || field->length == 0 || read(*field, value);
    }

    //! Reads one number that must be given.
    template <typename T>
    bool required(char const* name, T& value) const noexcept
    {
        nvinfer1::PluginField const* const field = find(name);
        return field != nullptr && field->data != nullptr && read(*field, value);
    }

    //! Reads as many numbers as the array has; they must be given.
    template <typename T, std::size_t Count>
    bool required(char const* name, std::array<T, Count>& values) const noexcept
    {
        nvinfer1::PluginField const* const field = find(name);
        if (field == nullptr || field->data == nullptr || field->type != fieldTypeOf<T>() ||
            field->length != static_cast<int32_t>(Count))
        {
            return false;
        }
        std::array<T, Count> given{};
        std::memcpy(given.data(), field->data, sizeof given);
        for (T const value : given)
        {
            if (!std::isfinite(static_cast<double>(value)))
            {
                return false;
            }
        }
        values = given;
        return true;
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
    template <typename T>
    static bool read(nvinfer1::PluginField const& field, T& value) noexcept
    {
        if (field.type != fieldTypeOf<T>() || field.length != 1)
        {
            return false;
        }
        T given{};
        std::memcpy(&given, field.data, sizeof given); // the data need not be aligned
        if (!std::isfinite(static_cast<double>(given)))
        {
            return false;
        }
        value = given;
        return true;
    }

    nvinfer1::PluginFieldCollection const* mFields;
};

} // namespace pluginkit
