//! A layer as an IPluginV2DynamicExt.
#pragma once

#include <pluginkit/layer/expressions.h>
#include <pluginkit/layer/v2.h>

namespace pluginkit
{

template <typename Derived, typename Signature, typename State = NoState>
class DynamicLayer : public V2Layer<nvinfer1::IPluginV2DynamicExt, Derived, Signature, State>
{
    using Core = LayerCore<Signature, State>;

public:
    nvinfer1::DimsExprs getOutputDimensions(int32_t outputIndex, nvinfer1::DimsExprs const* inputs, int32_t nbInputs,
                                            nvinfer1::IExprBuilder& exprBuilder) noexcept override
    {
        nvinfer1::DimsExprs const impossible{-1, {}};
        if (inputs == nullptr || nbInputs != Core::kInputs || outputIndex < 0 || outputIndex >= Core::kOutputs ||
            !this->hasRanks([inputs](int32_t i) { return inputs[i].nbDims; }))
        {
            return impossible;
        }
        nvinfer1::DimsExprs output{};
        Expressions expressions{exprBuilder, inputs, nullptr, &output, outputIndex, 1};
        Signature::shapes(expressions, this->fields());
        return expressions.good() ? output : impossible;
    }

    bool supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        return inOut != nullptr &&
               this->takes(pos, nbInputs, nbOutputs, [inOut](int32_t i) -> auto& { return inOut[i]; });
    }

    void configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, int32_t nbInputs,
                         nvinfer1::DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept override
    {
        if (in == nullptr || out == nullptr || nbInputs != Core::kInputs || nbOutputs != Core::kOutputs)
        {
            return;
        }
        // Shapes and types come with every run.
        for (int32_t i = 0; i < Core::kTensors; ++i)
        {
            this->takeScale(i, i < nbInputs ? in[i].desc : out[i - nbInputs].desc);
        }
    }

    size_t getWorkspaceSize(nvinfer1::PluginTensorDesc const* inputs, int32_t nbInputs,
                            nvinfer1::PluginTensorDesc const* /*outputs*/,
                            int32_t /*nbOutputs*/) const noexcept override
    {
        std::array<Shape, Core::kInputs> shapes{};
        if (inputs == nullptr || nbInputs != Core::kInputs)
        {
            return 0;
        }
        for (size_t i = 0; i < shapes.size(); ++i)
        {
            shapes[i] = shapeOf(inputs[i].dims);
        }
        return this->workspaceFor(shapes);
    }

    int32_t enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc,
                    void const* const* inputs, void* const* outputs, void* workspace,
                    cudaStream_t stream) noexcept override
    {
        return this->run(inputDesc, outputDesc, inputs, outputs, workspace, 0, stream);
    }

protected:
    // The overloads that a plugin with dynamic shapes leaves to its base class.
    using nvinfer1::IPluginV2::enqueue;
    using nvinfer1::IPluginV2::getOutputDimensions;
    using nvinfer1::IPluginV2::getWorkspaceSize;
    using nvinfer1::IPluginV2Ext::configurePlugin;
};

} // namespace pluginkit
