//! An IPluginV2DynamicExt as an IPluginV3, for hosts that take no other (TensorRT-RTX).
//!
//! Method by method:
//!   getOutputDataTypes, getOutputShapes   one V2 call for each output
//!   supportsFormatCombination             the descriptors as they are; the profile's bounds are left out
//!   configurePlugin                       as it is
//!   getWorkspaceSize                      V2's, for the largest shapes of the profile
//!   attachToContext                       initialize, clone, V2's attachToContext on the clone (no cuDNN, no cuBLAS)
//!   onShapeChange                         V2's configurePlugin with min = opt = max = the shape
//!   enqueue                               as it is
//!   getFieldsToSerialize                  one field with the bytes that V2's serialize() writes
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

using OwnedV2 = std::unique_ptr<nvinfer1::IPluginV2DynamicExt, DestroyV2>;

class V3Adapter final : public nvinfer1::IPluginV3,
                        public nvinfer1::IPluginV3OneCore,
                        public nvinfer1::IPluginV3OneBuild,
                        public nvinfer1::IPluginV3OneRuntime
{
public:
    explicit V3Adapter(OwnedV2 plugin) noexcept : mPlugin(std::move(plugin)) {}
    V3Adapter(V3Adapter const&) = delete;
    V3Adapter& operator=(V3Adapter const&) = delete;
    V3Adapter(V3Adapter&&) = delete;
    V3Adapter& operator=(V3Adapter&&) = delete;

    ~V3Adapter() override
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

    int32_t getOutputShapes(nvinfer1::DimsExprs const* inputs, int32_t nbInputs,
                            nvinfer1::DimsExprs const* /*shapeInputs*/, int32_t nbShapeInputs,
                            nvinfer1::DimsExprs* outputs, int32_t nbOutputs,
                            nvinfer1::IExprBuilder& exprBuilder) noexcept override
    {
        if (nbShapeInputs != 0)
        {
            return -1; // V2 plugins have no shape inputs
        }
        for (int32_t i = 0; i < nbOutputs; ++i)
        {
            outputs[i] = mPlugin->getOutputDimensions(i, inputs, nbInputs, exprBuilder);
            if (!complete(outputs[i]))
            {
                return -1;
            }
        }
        return 0;
    }

    bool supportsFormatCombination(int32_t pos, nvinfer1::DynamicPluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        try
        {
            auto const descs = described(inOut, nbInputs + nbOutputs);
            return mPlugin->supportsFormatCombination(pos, descs.data(), nbInputs, nbOutputs);
        }
        catch (...)
        {
            return false;
        }
    }

    int32_t configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, int32_t nbInputs,
                            nvinfer1::DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept override
    {
        mPlugin->configurePlugin(in, nbInputs, out, nbOutputs);
        return 0;
    }

    size_t getWorkspaceSize(nvinfer1::DynamicPluginTensorDesc const* inputs, int32_t nbInputs,
                            nvinfer1::DynamicPluginTensorDesc const* outputs, int32_t nbOutputs) const noexcept override
    {
        try
        {
            auto const in = largest(inputs, nbInputs);
            auto const out = largest(outputs, nbOutputs);
            return mPlugin->getWorkspaceSize(in.data(), nbInputs, out.data(), nbOutputs);
        }
        catch (...)
        {
            return 0;
        }
    }

    // IPluginV3OneRuntime
    int32_t onShapeChange(nvinfer1::PluginTensorDesc const* in, int32_t nbInputs, nvinfer1::PluginTensorDesc const* out,
                          int32_t nbOutputs) noexcept override
    {
        try
        {
            auto const inputs = settled(in, nbInputs);
            auto const outputs = settled(out, nbOutputs);
            mPlugin->configurePlugin(inputs.data(), nbInputs, outputs.data(), nbOutputs);
            return 0;
        }
        catch (...)
        {
            return -1;
        }
    }

    int32_t enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc,
                    void const* const* inputs, void* const* outputs, void* workspace,
                    cudaStream_t stream) noexcept override
    {
        if (!initialized())
        {
            return -1;
        }
        return mPlugin->enqueue(inputDesc, outputDesc, inputs, outputs, workspace, stream);
    }

    nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext* context) noexcept override
    {
        std::unique_ptr<V3Adapter> attached = initialized() ? copy() : nullptr;
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

private:
    std::unique_ptr<V3Adapter> copy() const noexcept
    {
        OwnedV2 plugin{mPlugin->clone()};
        if (plugin == nullptr)
        {
            return nullptr;
        }
        try
        {
            auto adapter = std::make_unique<V3Adapter>(std::move(plugin));
            adapter->mInitialized = mInitialized;
            return adapter;
        }
        catch (...)
        {
            return nullptr;
        }
    }

    bool initialized() noexcept
    {
        if (!mInitialized)
        {
            mInitialized = mTerminate = mPlugin->initialize() == 0;
        }
        return mInitialized;
    }

    static bool complete(nvinfer1::DimsExprs const& dims) noexcept
    {
        bool all = dims.nbDims >= 0 && dims.nbDims <= nvinfer1::Dims::MAX_DIMS;
        for (int32_t i = 0; all && i < dims.nbDims; ++i)
        {
            all = dims.d[i] != nullptr;
        }
        return all;
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

    static std::vector<nvinfer1::PluginTensorDesc> largest(nvinfer1::DynamicPluginTensorDesc const* from, int32_t count)
    {
        std::vector<nvinfer1::PluginTensorDesc> descs = described(from, count);
        for (int32_t i = 0; i < count; ++i)
        {
            descs[static_cast<size_t>(i)].dims = from[i].max;
        }
        return descs;
    }

    static std::vector<nvinfer1::DynamicPluginTensorDesc> settled(nvinfer1::PluginTensorDesc const* from, int32_t count)
    {
        std::vector<nvinfer1::DynamicPluginTensorDesc> descs;
        for (int32_t i = 0; i < count; ++i)
        {
            descs.push_back({from[i], from[i].dims, from[i].dims, from[i].dims});
        }
        return descs;
    }

    OwnedV2 mPlugin;
    bool mInitialized{false};
    bool mTerminate{false}; // this adapter has called initialize
    bool mAttached{false};
    std::vector<char> mState;
    nvinfer1::PluginField mStateField{};
    nvinfer1::PluginFieldCollection mFields{};
};

//! The V3 creator of a V2 creator.
class V3AdapterCreator final : public nvinfer1::IPluginCreatorV3One
{
public:
    explicit V3AdapterCreator(nvinfer1::IPluginCreator& creator) noexcept : mCreator(creator) {}

    nvinfer1::IPluginV3* createPlugin(char const* name, nvinfer1::PluginFieldCollection const* fields,
                                      nvinfer1::TensorRTPhase phase) noexcept override
    {
        nvinfer1::IPluginV2* const made =
            phase == nvinfer1::TensorRTPhase::kRUNTIME ? restored(name, fields) : mCreator.createPlugin(name, fields);
        if (made == nullptr)
        {
            return nullptr;
        }
        constexpr auto wanted = static_cast<uint32_t>(nvinfer1::PluginVersion::kV2_DYNAMICEXT);
        if (static_cast<uint32_t>(made->getTensorRTVersion()) >> 24 != wanted)
        {
            made->destroy(); // an IPluginV2IOExt or older has no dynamic shapes, which V3 asks for
            return nullptr;
        }
        OwnedV2 plugin{static_cast<nvinfer1::IPluginV2DynamicExt*>(made)};
        plugin->setPluginNamespace(getPluginNamespace());
        try
        {
            return new V3Adapter(std::move(plugin));
        }
        catch (...)
        {
            return nullptr;
        }
    }

    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override
    {
        return mCreator.getFieldNames();
    }
    char const* getPluginName() const noexcept override
    {
        return mCreator.getPluginName();
    }
    char const* getPluginVersion() const noexcept override
    {
        return mCreator.getPluginVersion();
    }
    char const* getPluginNamespace() const noexcept override
    {
        char const* const name = mCreator.getPluginNamespace();
        return name != nullptr ? name : ""; // creators that nobody has given a namespace may have none
    }

private:
    nvinfer1::IPluginV2* restored(char const* name, nvinfer1::PluginFieldCollection const* fields) noexcept
    {
        for (int32_t i = 0; fields != nullptr && fields->fields != nullptr && i < fields->nbFields; ++i)
        {
            nvinfer1::PluginField const& field = fields->fields[i];
            if (field.name != nullptr && std::strcmp(field.name, kStateField) == 0 && field.length >= 0)
            {
                return mCreator.deserializePlugin(name, field.data, static_cast<size_t>(field.length));
            }
        }
        return nullptr;
    }

    nvinfer1::IPluginCreator& mCreator;
};

} // namespace detail

} // namespace pluginkit
