//! An IPluginV2IOExt as an IPluginV3, in addition to v3_adapter_base.h:
//!   getOutputShapes                one V2 call for each output; a dynamic dimension is refused with a message: the
//!                                  interface has static shapes only
//!   supportsFormatCombination      the descriptors as they are
//!   configurePlugin                the descriptors; min, opt and max are the same
//!   getWorkspaceSize               V2's, for one batch
//!   onShapeChange                  nothing: the interface gets no shapes after the build
//!   enqueue                        with batchSize 1, since the batch is one of the dimensions here
#pragma once

#include <pluginkit/log.h>
#include <pluginkit/v3_adapter_base.h>

#include <string>

namespace pluginkit
{

namespace detail
{

class V3AdapterIOExt final : public V3AdapterBase<V3AdapterIOExt, nvinfer1::IPluginV2IOExt>
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
        try
        {
            std::vector<nvinfer1::Dims> dims(static_cast<size_t>(nbInputs));
            for (int32_t i = 0; i < nbInputs; ++i)
            {
                if (!numbers(inputs[i], dims[static_cast<size_t>(i)]))
                {
                    return open(i);
                }
            }
            for (int32_t i = 0; i < nbOutputs; ++i)
            {
                nvinfer1::Dims const shape = plugin().getOutputDimensions(i, dims.data(), nbInputs);
                if (!expressions(shape, outputs[i], exprBuilder))
                {
                    return -1;
                }
            }
            return 0;
        }
        catch (...)
        {
            return -1;
        }
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
        try
        {
            auto const inputs = described(in, nbInputs);
            auto const outputs = described(out, nbOutputs);
            for (int32_t i = 0; i < nbInputs; ++i)
            {
                nvinfer1::Dims const& dims = inputs[static_cast<size_t>(i)].dims;
                for (int32_t d = 0; d < dims.nbDims; ++d)
                {
                    if (dims.d[d] < 0)
                    {
                        return open(i);
                    }
                }
            }
            plugin().configurePlugin(inputs.data(), nbInputs, outputs.data(), nbOutputs);
            return 0;
        }
        catch (...)
        {
            return -1;
        }
    }

    size_t getWorkspaceSize(nvinfer1::DynamicPluginTensorDesc const* /*inputs*/, int32_t /*nbInputs*/,
                            nvinfer1::DynamicPluginTensorDesc const* /*outputs*/,
                            int32_t /*nbOutputs*/) const noexcept override
    {
        return plugin().getWorkspaceSize(kBatches);
    }

    // IPluginV3OneRuntime
    int32_t onShapeChange(nvinfer1::PluginTensorDesc const* /*in*/, int32_t /*nbInputs*/,
                          nvinfer1::PluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept override
    {
        return 0;
    }

    int32_t enqueue(nvinfer1::PluginTensorDesc const* /*inputDesc*/, nvinfer1::PluginTensorDesc const* /*outputDesc*/,
                    void const* const* inputs, void* const* outputs, void* workspace,
                    cudaStream_t stream) noexcept override
    {
        return initialized() ? plugin().enqueue(kBatches, inputs, outputs, workspace, stream) : -1;
    }

private:
    static constexpr int32_t kBatches{1};

    //! The numbers that the expressions are; false where one of them is none.
    static bool numbers(nvinfer1::DimsExprs const& from, nvinfer1::Dims& dims) noexcept
    {
        dims.nbDims = from.nbDims;
        for (int32_t i = 0; i < from.nbDims; ++i)
        {
            if (from.d[i] == nullptr || !from.d[i]->isConstant())
            {
                return false;
            }
            dims.d[i] = from.d[i]->getConstantValue();
        }
        return true;
    }

    static bool expressions(nvinfer1::Dims const& from, nvinfer1::DimsExprs& dims,
                            nvinfer1::IExprBuilder& exprBuilder) noexcept
    {
        dims.nbDims = from.nbDims;
        bool all = from.nbDims >= 0 && from.nbDims <= nvinfer1::Dims::MAX_DIMS;
        for (int32_t i = 0; all && i < from.nbDims; ++i)
        {
            dims.d[i] = from.d[i] >= 0 ? exprBuilder.constant(from.d[i]) : nullptr;
            all = dims.d[i] != nullptr;
        }
        return all;
    }

    int32_t open(int32_t input) const
    {
        logError(std::string{plugin().getPluginType()} + ": input " + std::to_string(input) +
                 " has a dynamic dimension, and an IPluginV2IOExt takes static shapes only. Give each input of the "
                 "network a fixed shape, or write the plugin against IPluginV2DynamicExt or IPluginV3.");
        return -1;
    }
};

} // namespace detail

} // namespace pluginkit
