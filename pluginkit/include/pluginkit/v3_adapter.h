//! Plugins of the second generation as IPluginV3, and their creators: for hosts that take no other (TensorRT-RTX).
//!
//! An IPluginV2DynamicExt, in addition to v3_adapter_base.h:
//!   getOutputShapes                one V2 call for each output
//!   supportsFormatCombination      the descriptors as they are; the profile's bounds are left out
//!   configurePlugin                as it is
//!   getWorkspaceSize               V2's, for the largest shapes of the profile
//!   onShapeChange                  V2's configurePlugin with min = opt = max = the shape
//!   enqueue                        as it is
#pragma once

#include <pluginkit/v3_adapter_base.h>
#include <pluginkit/v3_adapter_ioext.h>

namespace pluginkit
{

namespace detail
{

class V3Adapter final : public V3AdapterBase<V3Adapter, nvinfer1::IPluginV2DynamicExt>
{
public:
    using V3AdapterBase::V3AdapterBase;

    // IPluginV3OneBuild
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
            outputs[i] = plugin().getOutputDimensions(i, inputs, nbInputs, exprBuilder);
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
            return plugin().supportsFormatCombination(pos, descs.data(), nbInputs, nbOutputs);
        }
        catch (...)
        {
            return false;
        }
    }

    int32_t configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, int32_t nbInputs,
                            nvinfer1::DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept override
    {
        plugin().configurePlugin(in, nbInputs, out, nbOutputs);
        return 0;
    }

    size_t getWorkspaceSize(nvinfer1::DynamicPluginTensorDesc const* inputs, int32_t nbInputs,
                            nvinfer1::DynamicPluginTensorDesc const* outputs, int32_t nbOutputs) const noexcept override
    {
        try
        {
            auto const in = largest(inputs, nbInputs);
            auto const out = largest(outputs, nbOutputs);
            return plugin().getWorkspaceSize(in.data(), nbInputs, out.data(), nbOutputs);
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
            plugin().configurePlugin(inputs.data(), nbInputs, outputs.data(), nbOutputs);
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
        return plugin().enqueue(inputDesc, outputDesc, inputs, outputs, workspace, stream);
    }

private:
    static bool complete(nvinfer1::DimsExprs const& dims) noexcept
    {
        bool all = dims.nbDims >= 0 && dims.nbDims <= nvinfer1::Dims::MAX_DIMS;
        for (int32_t i = 0; all && i < dims.nbDims; ++i)
        {
            all = dims.d[i] != nullptr;
        }
        return all;
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
        made->setPluginNamespace(getPluginNamespace());
        switch (static_cast<nvinfer1::PluginVersion>(static_cast<uint32_t>(made->getTensorRTVersion()) >> 24))
        {
        case nvinfer1::PluginVersion::kV2_DYNAMICEXT:
            return adapted<V3Adapter>(static_cast<nvinfer1::IPluginV2DynamicExt*>(made));
        case nvinfer1::PluginVersion::kV2_IOEXT:
            return adapted<V3AdapterIOExt>(static_cast<nvinfer1::IPluginV2IOExt*>(made));
        default:
            made->destroy(); // older ones know no formats, which V3 asks for
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
        return name != nullptr ? name : ""; // creators without a namespace may answer null
    }

private:
    template <typename Adapter, typename V2>
    static nvinfer1::IPluginV3* adapted(V2* made) noexcept
    {
        typename Adapter::Owned plugin{made};
        try
        {
            return new Adapter(std::move(plugin));
        }
        catch (...)
        {
            return nullptr;
        }
    }

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
