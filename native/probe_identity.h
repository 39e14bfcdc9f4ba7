//! The plugin that stands behind another one in NVIDIA's networks: y = x. What its configure sees is what NVIDIA's
//! builder makes of the other plugin's output shapes.
#pragma once

#include <NvInfer.h>

#include <new>

namespace identity
{

using namespace nvinfer1;

constexpr char const* kNAME{"PluginkitProbe"};
constexpr char const* kVERSION{"1"};
constexpr char const* kNAMESPACE{"pluginkit"};
inline PluginFieldCollection const kNO_FIELDS{0, nullptr};

//! y = x, in any type, linear. It is built and never run: enqueue refuses.
class Identity final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime
{
public:
    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        switch (type)
        {
        case PluginCapabilityType::kCORE:
            return static_cast<IPluginV3OneCore*>(this);
        case PluginCapabilityType::kBUILD:
            return static_cast<IPluginV3OneBuild*>(this);
        case PluginCapabilityType::kRUNTIME:
            return static_cast<IPluginV3OneRuntime*>(this);
        }
        return nullptr;
    }
    IPluginV3* clone() noexcept override
    {
        return new (std::nothrow) Identity;
    }

    AsciiChar const* getPluginName() const noexcept override
    {
        return kNAME;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return kVERSION;
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return kNAMESPACE;
    }

    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    int32_t getOutputDataTypes(DataType* outputTypes, int32_t /*nbOutputs*/, DataType const* inputTypes,
                               int32_t nbInputs) const noexcept override
    {
        outputTypes[0] = inputTypes[0];
        return nbInputs == 1 ? 0 : -1;
    }
    int32_t getOutputShapes(DimsExprs const* inputs, int32_t /*nbInputs*/, DimsExprs const* /*shapeInputs*/,
                            int32_t /*nbShapeInputs*/, DimsExprs* outputs, int32_t /*nbOutputs*/,
                            IExprBuilder& /*exprBuilder*/) noexcept override
    {
        outputs[0] = inputs[0];
        return 0;
    }
    bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t /*nbInputs*/,
                                   int32_t /*nbOutputs*/) noexcept override
    {
        return inOut[pos].desc.format == TensorFormat::kLINEAR && inOut[pos].desc.type == inOut[0].desc.type;
    }
    int32_t configurePlugin(DynamicPluginTensorDesc const* /*in*/, int32_t /*nbInputs*/,
                            DynamicPluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept override
    {
        return 0;
    }
    size_t getWorkspaceSize(DynamicPluginTensorDesc const* /*inputs*/, int32_t /*nbInputs*/,
                            DynamicPluginTensorDesc const* /*outputs*/, int32_t /*nbOutputs*/) const noexcept override
    {
        return 0;
    }

    int32_t onShapeChange(PluginTensorDesc const* /*in*/, int32_t /*nbInputs*/, PluginTensorDesc const* /*out*/,
                          int32_t /*nbOutputs*/) noexcept override
    {
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* /*inputDesc*/, PluginTensorDesc const* /*outputDesc*/,
                    void const* const* /*inputs*/, void* const* /*outputs*/, void* /*workspace*/,
                    cudaStream_t /*stream*/) noexcept override
    {
        return -1;
    }
    IPluginV3* attachToContext(IPluginResourceContext* /*context*/) noexcept override
    {
        return clone();
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        return &kNO_FIELDS;
    }
};

class IdentityCreator final : public IPluginCreatorV3One
{
public:
    IPluginV3* createPlugin(AsciiChar const* /*name*/, PluginFieldCollection const* /*fields*/,
                            TensorRTPhase /*phase*/) noexcept override
    {
        return new (std::nothrow) Identity;
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &kNO_FIELDS;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return kNAME;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return kVERSION;
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return kNAMESPACE;
    }
};

//! The creator of `PluginkitProbe`, version 1, in the namespace `pluginkit`.
inline IPluginCreatorV3One& creator()
{
    static IdentityCreator made;
    return made;
}

} // namespace identity
