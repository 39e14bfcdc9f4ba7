//! The second generation of plugin interfaces: IPluginV2 and its heirs, and their creator.
//!
//! TensorRT 11 took two virtual methods out of IPluginV2Ext, so everything behind them lies two slots further up.
#ifndef PLUGINKIT_NV_INFER_RUNTIME_PLUGIN_H
#define PLUGINKIT_NV_INFER_RUNTIME_PLUGIN_H

#include "NvInferPluginBase.h"

namespace nvinfer1
{

using PluginFormat = TensorFormat;

//! What a plugin gets of a tensor. `scale` is that of an INT8 tensor.
struct PluginTensorDesc
{
    Dims dims;
    DataType type;
    TensorFormat format;
    float scale;
};

//! A tensor whose shape may not be known yet: `desc.dims` has -1 there, and a profile's bounds are given with it.
struct DynamicPluginTensorDesc
{
    PluginTensorDesc desc;
    Dims min;
    Dims max;
#if PLUGINKIT_TRT_LAYOUT != 8
    Dims opt;
#endif
};

//! The upper byte of getTensorRTVersion(): which interface a V2 plugin implements.
enum class PluginVersion : uint8_t
{
    kV2 = 0,
    kV2_EXT = 1,
    kV2_IOEXT = 2,
    kV2_DYNAMICEXT = 3,
    kV2_DYNAMICEXT_PYTHON = 67,
};

enum class PluginCreatorVersion : int32_t
{
    kV1 = 0,
    kV1_PYTHON = 64,
};

constexpr int32_t kPLUGIN_VERSION_PYTHON_BIT = 0x40;

//! The base of the second generation.
class IPluginV2
{
public:
    virtual int32_t getTensorRTVersion() const noexcept
    {
        return static_cast<int32_t>(NV_TENSORRT_VERSION);
    }
    virtual AsciiChar const* getPluginType() const noexcept = 0;
    virtual AsciiChar const* getPluginVersion() const noexcept = 0;
    virtual int32_t getNbOutputs() const noexcept = 0;
    virtual Dims getOutputDimensions(int32_t index, Dims const* inputs, int32_t nbInputDims) noexcept = 0;
    virtual bool supportsFormat(DataType type, PluginFormat format) const noexcept = 0;
    virtual void configureWithFormat(Dims const* inputDims, int32_t nbInputs, Dims const* outputDims, int32_t nbOutputs,
                                     DataType type, PluginFormat format, int32_t maxBatchSize) noexcept = 0;
    virtual int32_t initialize() noexcept = 0;
    virtual void terminate() noexcept = 0;
    virtual size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept = 0;
    virtual int32_t enqueue(int32_t batchSize, void const* const* inputs, void* const* outputs, void* workspace,
                            cudaStream_t stream) noexcept = 0;
    virtual size_t getSerializationSize() const noexcept = 0;
    virtual void serialize(void* buffer) const noexcept = 0;
    virtual void destroy() noexcept = 0;
    virtual IPluginV2* clone() const noexcept = 0;
    virtual void setPluginNamespace(AsciiChar const* pluginNamespace) noexcept = 0;
    virtual AsciiChar const* getPluginNamespace() const noexcept = 0;
    IPluginV2() = default;
    virtual ~IPluginV2() noexcept = default;

protected:
    IPluginV2(IPluginV2 const&) = default;
    IPluginV2(IPluginV2&&) = default;
    IPluginV2& operator=(IPluginV2 const&) & = default;
    IPluginV2& operator=(IPluginV2&&) & = default;
};

//! Adds output types and contexts.
class IPluginV2Ext : public IPluginV2
{
public:
    virtual DataType getOutputDataType(int32_t index, DataType const* inputTypes, int32_t nbInputs) const noexcept = 0;
#if PLUGINKIT_TRT_LAYOUT <= 10
    virtual bool isOutputBroadcastAcrossBatch(int32_t outputIndex, bool const* inputIsBroadcasted,
                                              int32_t nbInputs) const noexcept = 0;
    virtual bool canBroadcastInputAcrossBatch(int32_t inputIndex) const noexcept = 0;
#endif
    virtual void configurePlugin(Dims const* inputDims, int32_t nbInputs, Dims const* outputDims, int32_t nbOutputs,
                                 DataType const* inputTypes, DataType const* outputTypes, bool const* inputIsBroadcast,
                                 bool const* outputIsBroadcast, PluginFormat floatFormat,
                                 int32_t maxBatchSize) noexcept = 0;
    IPluginV2Ext() = default;
    ~IPluginV2Ext() override = default;
    virtual void attachToContext(cudnnContext* /*cudnn*/, cublasContext* /*cublas*/,
                                 IGpuAllocator* /*allocator*/) noexcept
    {
    }
    virtual void detachFromContext() noexcept {}
    IPluginV2Ext* clone() const noexcept override = 0;

protected:
    IPluginV2Ext(IPluginV2Ext const&) = default;
    IPluginV2Ext(IPluginV2Ext&&) = default;
    IPluginV2Ext& operator=(IPluginV2Ext const&) & = default;
    IPluginV2Ext& operator=(IPluginV2Ext&&) & = default;

    int32_t getTensorRTVersion() const noexcept override
    {
        return (static_cast<int32_t>(PluginVersion::kV2_EXT) << 24) | static_cast<int32_t>(NV_TENSORRT_VERSION);
    }
    void configureWithFormat(Dims const* /*inputDims*/, int32_t /*nbInputs*/, Dims const* /*outputDims*/,
                             int32_t /*nbOutputs*/, DataType /*type*/, PluginFormat /*format*/,
                             int32_t /*maxBatchSize*/) noexcept override
    {
    }
};

//! Adds a type and a format for each tensor. Static shapes.
class IPluginV2IOExt : public IPluginV2Ext
{
public:
    virtual void configurePlugin(PluginTensorDesc const* in, int32_t nbInput, PluginTensorDesc const* out,
                                 int32_t nbOutput) noexcept = 0;
    virtual bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs,
                                           int32_t nbOutputs) const noexcept = 0;
    IPluginV2IOExt() = default;
    ~IPluginV2IOExt() override = default;

protected:
    IPluginV2IOExt(IPluginV2IOExt const&) = default;
    IPluginV2IOExt(IPluginV2IOExt&&) = default;
    IPluginV2IOExt& operator=(IPluginV2IOExt const&) & = default;
    IPluginV2IOExt& operator=(IPluginV2IOExt&&) & = default;

    int32_t getTensorRTVersion() const noexcept override
    {
        return (static_cast<int32_t>(PluginVersion::kV2_IOEXT) << 24) | static_cast<int32_t>(NV_TENSORRT_VERSION);
    }

private:
    // What IPluginV2IOExt replaces; nobody calls these.
    void configurePlugin(Dims const*, int32_t, Dims const*, int32_t, DataType const*, DataType const*, bool const*,
                         bool const*, PluginFormat, int32_t) noexcept final
    {
    }
    bool supportsFormat(DataType, PluginFormat) const noexcept final
    {
        return false;
    }
};

//! The interface to write a plugin of the second generation against, once the shapes are dynamic.
//! NvInferRuntime.h declares it, since it needs the expression builder.
class IPluginV2DynamicExt;

#if PLUGINKIT_TRT_LAYOUT == 8
//! Makes plugins of the second generation, from fields or from serialized bytes.
class IPluginCreator
{
public:
    virtual int32_t getTensorRTVersion() const noexcept
    {
        return static_cast<int32_t>(NV_TENSORRT_VERSION);
    }
#else
namespace v_1_0
{

//! Makes plugins of the second generation, from fields or from serialized bytes.
class IPluginCreator : public IPluginCreatorInterface
{
public:
#endif
    virtual AsciiChar const* getPluginName() const noexcept = 0;
    virtual AsciiChar const* getPluginVersion() const noexcept = 0;
    virtual PluginFieldCollection const* getFieldNames() noexcept = 0;
    virtual IPluginV2* createPlugin(AsciiChar const* name, PluginFieldCollection const* fc) noexcept = 0;
    virtual IPluginV2* deserializePlugin(AsciiChar const* name, void const* serialData,
                                         size_t serialLength) noexcept = 0;
    virtual void setPluginNamespace(AsciiChar const* pluginNamespace) noexcept = 0;
    virtual AsciiChar const* getPluginNamespace() const noexcept = 0;
    IPluginCreator() = default;
#if PLUGINKIT_TRT_LAYOUT == 8
    virtual ~IPluginCreator() = default;
#else
    ~IPluginCreator() override = default;
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN CREATOR_V1", 1, 0};
    }
#endif

protected:
    IPluginCreator(IPluginCreator const&) = default;
    IPluginCreator(IPluginCreator&&) = default;
    IPluginCreator& operator=(IPluginCreator const&) & = default;
    IPluginCreator& operator=(IPluginCreator&&) & = default;
};

#if PLUGINKIT_TRT_LAYOUT != 8
} // namespace v_1_0

using IPluginCreator = v_1_0::IPluginCreator;
#endif

} // namespace nvinfer1

#endif
