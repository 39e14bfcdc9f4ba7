// Every call of the plugins' methods, in order, for who asks by chameleonCalls.
#pragma once

#include "arithmetic.h"

#include <cstdio>
#include <mutex>
#include <string>

namespace chameleon
{

struct Calls
{
    std::mutex mutex;
    std::string text;
    int32_t objects{0};
};

inline Calls& calls()
{
    static Calls all;
    return all;
}

inline int32_t newObject()
{
    Calls& all = calls();
    std::lock_guard<std::mutex> const lock{all.mutex};
    return ++all.objects;
}

//! A line: the object, the method, and what else is to be known.
inline void called(int32_t object, char const* method, std::string const& rest = {})
{
    Calls& all = calls();
    std::lock_guard<std::mutex> const lock{all.mutex};
    all.text += std::to_string(object) + " " + method + (rest.empty() ? "" : " ") + rest + "\n";
}

inline std::string shown(nvinfer1::Dims const& dims)
{
    std::string text{"["};
    for (int32_t i = 0; i < dims.nbDims; ++i)
    {
        text += (i > 0 ? "," : "") + std::to_string(dims.d[i]);
    }
    return text + "]";
}

inline std::string shown(int32_t type, int32_t format, float scale, nvinfer1::Dims const& dims)
{
    char start[48];
    std::snprintf(start, sizeof start, "%d/%d/%.6g", type, format, static_cast<double>(scale));
    return start + shown(dims);
}

inline std::string shown(nvinfer1::PluginTensorDesc const& desc)
{
    return shown(static_cast<int32_t>(desc.type), static_cast<int32_t>(desc.format), desc.scale, desc.dims);
}

inline std::string shown(nvinfer1::DynamicPluginTensorDesc const& desc)
{
    return shown(desc.desc) + shown(desc.min) + shown(desc.max);
}

template <typename Desc>
std::string shown(Desc const* descs, int32_t count)
{
    std::string text;
    for (int32_t i = 0; i < count; ++i)
    {
        text += (i > 0 ? ";" : "") + shown(descs[i]);
    }
    return text;
}

} // namespace chameleon

//! Moves the calls since the last time to `target`; how many bytes there are. With null it only says that.
extern "C" __attribute__((visibility("default"))) size_t chameleonCalls(char* target)
{
    chameleon::Calls& all = chameleon::calls();
    std::lock_guard<std::mutex> const lock{all.mutex};
    size_t const size = all.text.size();
    if (target != nullptr)
    {
        std::memcpy(target, all.text.data(), size);
        all.text.clear();
    }
    return size;
}
