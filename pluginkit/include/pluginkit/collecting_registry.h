//! A plugin registry that keeps what it is given, for those who want to know which creators register themselves.
#pragma once

#include <NvInferRuntime.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pluginkit
{

namespace detail
{

#if NV_TENSORRT_MAJOR >= 10
using Registered = nvinfer1::IPluginCreatorInterface;
#else
using Registered = nvinfer1::IPluginCreator;
#endif

//! Knows no plugins but those that it was given. `Tag` is a type of the file that uses it: registries of two layouts in
//! one library must be of two types.
template <class Tag>
class CollectingRegistry final : public nvinfer1::IPluginRegistry
{
public:
    static CollectingRegistry& get()
    {
        // Never destroyed: creators of static objects are deregistered in any order.
        static auto* const registry = new CollectingRegistry;
        return *registry;
    }

    std::vector<Registered*> const& creators() const noexcept
    {
        return mCreators;
    }

#if NV_TENSORRT_MAJOR <= 10
    bool registerCreator(nvinfer1::IPluginCreator& creator, nvinfer1::AsciiChar const* /*name*/) noexcept override
    {
        return add(creator);
    }
    nvinfer1::IPluginCreator* const* getPluginCreatorList(int32_t* count) const noexcept override
    {
        if (count != nullptr)
        {
            *count = 0;
        }
        return nullptr;
    }
    nvinfer1::IPluginCreator* getPluginCreator(nvinfer1::AsciiChar const*, nvinfer1::AsciiChar const*,
                                               nvinfer1::AsciiChar const*) noexcept override
    {
        return nullptr;
    }
    bool deregisterCreator(nvinfer1::IPluginCreator const& creator) noexcept override
    {
        return remove(creator);
    }
#endif
    void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override
    {
        mRecorder = recorder;
    }
    nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override
    {
        return mRecorder;
    }
    // A library of 8.6 finds them where 8.5 has none.
#if NV_TENSORRT_MAJOR > 8 || NV_TENSORRT_MINOR > 5
#define PLUGINKIT_SINCE_8_6 override
#define PLUGINKIT_VIRTUAL_8_5
#else
#define PLUGINKIT_SINCE_8_6
#define PLUGINKIT_VIRTUAL_8_5 virtual
#endif
    PLUGINKIT_VIRTUAL_8_5 bool isParentSearchEnabled() const PLUGINKIT_SINCE_8_6
    {
        return mParentSearch;
    }
    PLUGINKIT_VIRTUAL_8_5 void setParentSearchEnabled(bool enabled) PLUGINKIT_SINCE_8_6
    {
        mParentSearch = enabled;
    }
    PLUGINKIT_VIRTUAL_8_5 PluginLibraryHandle loadLibrary(nvinfer1::AsciiChar const*) noexcept PLUGINKIT_SINCE_8_6
    {
        return nullptr;
    }
    PLUGINKIT_VIRTUAL_8_5 void deregisterLibrary(PluginLibraryHandle) noexcept PLUGINKIT_SINCE_8_6 {}
#undef PLUGINKIT_SINCE_8_6
#undef PLUGINKIT_VIRTUAL_8_5
#if NV_TENSORRT_MAJOR >= 10
    bool registerCreator(nvinfer1::IPluginCreatorInterface& creator,
                         nvinfer1::AsciiChar const* /*name*/) noexcept override
    {
        return add(creator);
    }
    nvinfer1::IPluginCreatorInterface* const* getAllCreators(int32_t* count) const noexcept override
    {
        if (count != nullptr)
        {
            *count = static_cast<int32_t>(mCreators.size());
        }
        return mCreators.data();
    }
    nvinfer1::IPluginCreatorInterface* getCreator(nvinfer1::AsciiChar const*, nvinfer1::AsciiChar const*,
                                                  nvinfer1::AsciiChar const*) noexcept override
    {
        return nullptr;
    }
    bool deregisterCreator(nvinfer1::IPluginCreatorInterface const& creator) noexcept override
    {
        return remove(creator);
    }
    nvinfer1::IPluginResource* acquirePluginResource(nvinfer1::AsciiChar const*,
                                                     nvinfer1::IPluginResource*) noexcept override
    {
        return nullptr;
    }
    int32_t releasePluginResource(nvinfer1::AsciiChar const*) noexcept override
    {
        return -1;
    }
    nvinfer1::IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* count) noexcept
#if NV_TENSORRT_MAJOR > 10 || NV_TENSORRT_MINOR >= 10
        override
#endif
    {
        return getAllCreators(count);
    }
#endif

private:
    bool add(Registered& creator) noexcept
    {
        try
        {
            mCreators.push_back(&creator);
            return true;
        }
        catch (...)
        {
            return false;
        }
    }

    bool remove(Registered const& creator) noexcept
    {
        auto const found = std::find(mCreators.begin(), mCreators.end(), &creator);
        if (found == mCreators.end())
        {
            return false;
        }
        mCreators.erase(found);
        return true;
    }

    std::vector<Registered*> mCreators;
    nvinfer1::IErrorRecorder* mRecorder{nullptr};
    bool mParentSearch{true};
};

} // namespace detail

} // namespace pluginkit
