//! A plugin of the second generation as an IPluginV3, for hosts that take no other (TensorRT-RTX): what does not depend
//! on which interface of the second generation it is.
//!
//!   getOutputDataTypes     one V2 call for each output
//!   attachToContext        initialize, clone, V2's attachToContext on the clone (no cuDNN, no cuBLAS)
//!   getFieldsToSerialize   one field with the bytes that V2's serialize() writes
//!
//! V3 has no initialize and no terminate. TensorRT initializes a V2 plugin once, before its contexts are made; a
//! context's clone of an initialized plugin is one already, and is detached and destroyed but not terminated. So the
//! adapter initializes the V2 plugin before the first attachToContext, or before the first enqueue where a builder
//! enqueues without attaching, and terminates it in its destructor if it has initialized it. A clone neither
//! initializes nor terminates what it was cloned from.
#pragma once

#include <NvInfer.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace pluginkit
{

namespace detail
{

//! The field that carries the V2 bytes.
constexpr char const* kStateField{"pluginkit_v2_state"};

struct DestroyV2
{
    void operator()(nvinfer1::IPluginV2* plugin) const noexcept
    {
        plugin->destroy();
    }
};

//! `Self` is the adapter that derives from this, `V2` the TensorRT class that it adapts.
template <typename Self, typename V2>
class V3AdapterBase : public nvinfer1::IPluginV3,
                      public nvinfer1::IPluginV3OneCore,
                      public nvinfer1::IPluginV3OneBuild,
                      public nvinfer1::IPluginV3OneRuntime
{
public:
    using Owned = std::unique_ptr<V2, DestroyV2>;

    explicit V3AdapterBase(Owned plugin) noexcept : mPlugin(std::move(plugin)) {}
    V3AdapterBase(V3AdapterBase const&) = delete;
    V3AdapterBase& operator=(V3AdapterBase const&) = delete;
    V3AdapterBase(V3AdapterBase&&) = delete;
    V3AdapterBase& operator=(V3AdapterBase&&) = delete;

    ~V3AdapterBase() override
    {
        if (mAttached)
        {
            mPlugin->detachFromContext();
        }
        if (mTerminate)
        {
            mPlugin->terminate();
        }
    }

    // IPluginV3
    nvinfer1::IPluginCapability* getCapabilityInterface(nvinfer1::PluginCapabilityType type) noexcept override
    {
        switch (type)
        {
        case nvinfer1::PluginCapabilityType::kCORE:
            return static_cast<nvinfer1::IPluginV3OneCore*>(this);
        case nvinfer1::PluginCapabilityType::kBUILD:
            return static_cast<nvinfer1::IPluginV3OneBuild*>(this);
        case nvinfer1::PluginCapabilityType::kRUNTIME:
            return static_cast<nvinfer1::IPluginV3OneRuntime*>(this);
        }
        return nullptr;
    }

    nvinfer1::IPluginV3* clone() noexcept override
    {
        return copy().release();
    }

    // IPluginV3OneCore
    char const* getPluginName() const noexcept override
    {
        return mPlugin->getPluginType();
    }
    char const* getPluginVersion() const noexcept override
    {
        return mPlugin->getPluginVersion();
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mPlugin->getPluginNamespace();
    }

    // IPluginV3OneBuild
    int32_t getNbOutputs() const noexcept override
    {
        return mPlugin->getNbOutputs();
    }

    int32_t getOutputDataTypes(nvinfer1::DataType* outputTypes, int32_t nbOutputs, nvinfer1::DataType const* inputTypes,
                               int32_t nbInputs) const noexcept override
    {
        for (int32_t i = 0; i < nbOutputs; ++i)
        {
            outputTypes[i] = mPlugin->getOutputDataType(i, inputTypes, nbInputs);
        }
        return 0;
    }

    nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext* context) noexcept override
    {
        std::unique_ptr<Self> attached = initialized() ? copy() : nullptr;
        if (attached == nullptr)
        {
            return nullptr;
        }
        attached->mPlugin->attachToContext(nullptr, nullptr, context != nullptr ? context->getGpuAllocator() : nullptr);
        attached->mAttached = true;
        return attached.release();
    }

    nvinfer1::PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        size_t const size = mPlugin->getSerializationSize();
        if (size > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
        {
            return nullptr; // more than a field's length can say
        }
        try
        {
            mState.resize(size + 1); // a plugin without state gets an address too
        }
        catch (...)
        {
            return nullptr;
        }
        mPlugin->serialize(mState.data());
        mStateField = nvinfer1::PluginField{kStateField, mState.data(), nvinfer1::PluginFieldType::kCHAR,
                                            static_cast<int32_t>(size)};
        mFields.nbFields = 1;
        mFields.fields = &mStateField;
        return &mFields;
    }

protected:
    bool initialized() noexcept
    {
        if (!mInitialized)
        {
            mInitialized = mTerminate = mPlugin->initialize() == 0;
        }
        return mInitialized;
    }

    static std::vector<nvinfer1::PluginTensorDesc> described(nvinfer1::DynamicPluginTensorDesc const* from,
                                                             int32_t count)
    {
        std::vector<nvinfer1::PluginTensorDesc> descs;
        for (int32_t i = 0; i < count; ++i)
        {
            descs.push_back(from[i].desc);
        }
        return descs;
    }

    V2& plugin() const noexcept
    {
        return *mPlugin;
    }

private:
    std::unique_ptr<Self> copy() const noexcept
    {
        Owned plugin{static_cast<V2*>(mPlugin->clone())};
        if (plugin == nullptr)
        {
            return nullptr;
        }
        try
        {
            auto adapter = std::make_unique<Self>(std::move(plugin));
            adapter->mInitialized = mInitialized;
            return adapter;
        }
        catch (...)
        {
            return nullptr;
        }
    }

    Owned mPlugin;
    bool mInitialized{false};
    bool mTerminate{false}; // this adapter has called initialize
    bool mAttached{false};
    std::vector<char> mState;
    nvinfer1::PluginField mStateField{};
    nvinfer1::PluginFieldCollection mFields{};
};

} // namespace detail

} // namespace pluginkit
