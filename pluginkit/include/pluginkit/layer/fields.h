//! A layer's fields, as the header that the build makes of pluginkit.toml names them. No class of TensorRT's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace pluginkit
{

//! Which interface of TensorRT's a layer is: `base` of pluginkit.toml.
enum class Base : int32_t
{
    kDynamic, //!< IPluginV2DynamicExt
    kIOExt,   //!< IPluginV2IOExt
    kV3,      //!< IPluginV3
};

//! How many dimensions an input has; at least so many, where `open`.
struct Rank
{
    int32_t least;
    bool open;
};

//! The places in scaleAxes() of a tensor that has no scale, and of one that has one scale for all of its channels.
constexpr int32_t kNoScale = -2;
constexpr int32_t kOneScale = -1;

//! Numbers that someone else owns.
struct FloatList
{
    float const* values;
    int64_t count;

    float const* data() const noexcept
    {
        return values;
    }
    size_t size() const noexcept
    {
        return static_cast<size_t>(count);
    }
};

//! By a name, for what nvcc writes of such a declaration g++ warns of.
template <typename Fields, typename T>
using MemberOf = T Fields::*;

//! A field: a member of a layer's `Fields`, and what a creator must know of it.
template <typename Fields, typename T>
struct Field
{
    char const* name;
    MemberOf<Fields, T> member;
    int32_t type;     //!< nvinfer1::PluginFieldType, as a creator names it
    int32_t length;   //!< as a creator names it; 0 where values have several lengths
    int32_t least;    //!< elements of a list, or bytes of a text
    int32_t most;     //!< the same
    bool required;    //!< whether a node must have it
    char const* what; //!< what it must be, for a message
};

template <typename Fields, typename T>
constexpr Field<Fields, T> field(char const* name, MemberOf<Fields, T> member, int32_t type, int32_t length,
                                 int32_t least, int32_t most, bool required, char const* what) noexcept
{
    return {name, member, type, length, least, most, required, what};
}

//! A text of any bytes as a log can have it: Python's loggers take UTF-8 alone, and a damaged engine has anything.
inline std::string printable(std::string const& text)
{
    std::string shown;
    for (char const one : text)
    {
        char escaped[8]{one};
        if (one < ' ' || one > '~')
        {
            static_cast<void>(std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(one)));
        }
        shown += escaped;
    }
    return shown;
}

//! What is wrong with a field's value, or with an element of it, for a log.
inline std::string wrongValue(char const* name, std::string const& value, char const* allowed)
{
    return std::string{name} + " is \"" + printable(value) + "\", must be " + allowed;
}

inline std::string wrongValue(char const* name, double value, char const* allowed)
{
    char text[32];
    static_cast<void>(std::snprintf(text, sizeof text, "%.9g", value));
    return std::string{name} + " is " + text + ", must be " + allowed;
}

inline std::string wrongValue(char const* name, int64_t value, char const* allowed)
{
    return std::string{name} + " is " + std::to_string(value) + ", must be " + allowed;
}

//! The same, of a range.
inline std::string wrongValue(char const* name, int64_t value, int64_t least, int64_t most)
{
    return wrongValue(name, value, ("from " + std::to_string(least) + " to " + std::to_string(most)).c_str());
}

} // namespace pluginkit
