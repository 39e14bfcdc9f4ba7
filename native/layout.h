#pragma once

#include "NvInferRuntime.h"
#include "closed.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pluginkit
{

//! The types by which the host speaks of tensors: those of layouts 10 and 11, which are the same. Layout 8, which has
//! others, is compiled against these declarations of the same memory, and converts.
namespace host
{
#if PLUGINKIT_TRT_LAYOUT == 8
struct Dims64
{
    static constexpr std::int32_t MAX_DIMS{8};
    std::int32_t nbDims;
    std::int64_t d[MAX_DIMS];
};
struct PluginTensorDesc
{
    Dims64 dims;
    nvinfer1::DataType type;
    nvinfer1::TensorFormat format;
    float scale;
};
struct DynamicPluginTensorDesc
{
    PluginTensorDesc desc;
    Dims64 min;
    Dims64 max;
    Dims64 opt;
};
//! VExprBuilder of layouts 10 and 11, as far as it is called.
class ExprBuilderImpl
{
public:
    virtual ~ExprBuilderImpl() noexcept = default;
    virtual nvinfer1::IDimensionExpr const* constant(std::int64_t value) = 0;
    virtual nvinfer1::IDimensionExpr const* operation(nvinfer1::DimensionOperation op,
                                                      nvinfer1::IDimensionExpr const& first,
                                                      nvinfer1::IDimensionExpr const& second) = 0;
};
#else
using nvinfer1::Dims64;
using nvinfer1::DynamicPluginTensorDesc;
using nvinfer1::PluginTensorDesc;
#endif
} // namespace host

//! A creator of the second generation: each method is the creator's method of that name.
class V2Creator
{
public:
    virtual ~V2Creator() = default;

    virtual char const* getPluginName() const = 0;
    virtual char const* getPluginVersion() const = 0;
    virtual char const* getPluginNamespace() const = 0;
    virtual void setPluginNamespace(char const* pluginNamespace) = 0;
    virtual nvinfer1::PluginFieldCollection const* getFieldNames() = 0;
    virtual nvinfer1::IPluginV2* createPlugin(char const* name, nvinfer1::PluginFieldCollection const* fields) = 0;
    virtual nvinfer1::IPluginV2* deserializePlugin(char const* name, void const* data, std::size_t size) = 0;
};

//! What plugins of the second generation share, in any layout: each method is the plugin's method of that name, and
//! nothing else; an interface that lacks one answers as told there. What appears here (descriptors, expressions) is the
//! same in all layouts.
class V2Plugin
{
public:
    virtual ~V2Plugin() = default;

    virtual std::int32_t getTensorRTVersion() const = 0;
    virtual char const* getPluginType() const = 0;
    virtual char const* getPluginVersion() const = 0;
    virtual std::int32_t getNbOutputs() const = 0;
    virtual std::int32_t initialize() = 0;
    virtual void terminate() = 0;
    virtual std::size_t getSerializationSize() const = 0;
    virtual void serialize(void* buffer) const = 0;
    virtual void destroy() = 0;
    virtual void setPluginNamespace(char const* pluginNamespace) = 0;
    virtual char const* getPluginNamespace() const = 0;
    //! An IPluginV2 has no such method: the first input's type then.
    virtual nvinfer1::DataType getOutputDataType(std::int32_t index, nvinfer1::DataType const* inputTypes,
                                                 std::int32_t nbInputs) const = 0;
    //! The handles may be null; the allocator is. An IPluginV2 has neither method.
    virtual void attachToContext(void* cudnn, void* cublas) = 0;
    virtual void detachFromContext() = 0;
    //! Of an IPluginV2 and IPluginV2Ext it is supportsFormat, for the tensor at `pos`.
    virtual bool supportsFormatCombination(std::int32_t pos, host::PluginTensorDesc const* inOut, std::int32_t nbInputs,
                                           std::int32_t nbOutputs) = 0;
};

//! An IPluginV2DynamicExt.
class DynamicPlugin : public V2Plugin
{
public:
    //! Null when the plugin answers null.
    virtual std::unique_ptr<DynamicPlugin> clone() const = 0;
    virtual nvinfer1::DimsExprs getOutputDimensions(std::int32_t index, nvinfer1::DimsExprs const* inputs,
                                                    std::int32_t nbInputs, nvinfer1::IExprBuilder& builder) = 0;
    virtual void configurePlugin(host::DynamicPluginTensorDesc const* in, std::int32_t nbInputs,
                                 host::DynamicPluginTensorDesc const* out, std::int32_t nbOutputs) = 0;
    virtual std::size_t getWorkspaceSize(host::PluginTensorDesc const* in, std::int32_t nbInputs,
                                         host::PluginTensorDesc const* out, std::int32_t nbOutputs) const = 0;
    virtual std::int32_t enqueue(host::PluginTensorDesc const* inDesc, std::int32_t nbInputs,
                                 host::PluginTensorDesc const* outDesc, std::int32_t nbOutputs,
                                 void const* const* inputs, void* const* outputs, void* workspace, void* stream) = 0;
};

//! An IPluginV2IOExt.
class IOExtPlugin : public V2Plugin
{
public:
    //! Null when the plugin answers null.
    virtual std::unique_ptr<IOExtPlugin> clone() const = 0;
    virtual host::Dims64 getOutputDimensions(std::int32_t index, host::Dims64 const* inputs, std::int32_t nbInputs) = 0;
    //! TensorRT 11 has neither method: false then.
    virtual bool isOutputBroadcastAcrossBatch(std::int32_t index, std::int32_t nbInputs) const = 0;
    virtual bool canBroadcastInputAcrossBatch(std::int32_t index) const = 0;
    virtual void configurePlugin(host::PluginTensorDesc const* in, std::int32_t nbInputs,
                                 host::PluginTensorDesc const* out, std::int32_t nbOutputs) = 0;
    virtual std::size_t getWorkspaceSize(std::int32_t maxBatchSize) const = 0;
    virtual std::int32_t enqueue(std::int32_t batchSize, void const* const* inputs, void* const* outputs,
                                 void* workspace, void* stream) = 0;
};

//! An IPluginV2 or IPluginV2Ext: one format for all floating tensors, and static shapes without the batch.
class StaticPlugin : public V2Plugin
{
public:
    //! Null when the plugin answers null.
    virtual std::unique_ptr<StaticPlugin> clone() const = 0;
    virtual host::Dims64 getOutputDimensions(std::int32_t index, host::Dims64 const* inputs, std::int32_t nbInputs) = 0;
    //! False where there is no such method: in an IPluginV2, and in TensorRT 11.
    virtual bool isOutputBroadcastAcrossBatch(std::int32_t index, std::int32_t nbInputs) const = 0;
    virtual bool canBroadcastInputAcrossBatch(std::int32_t index) const = 0;
    //! configurePlugin, or an IPluginV2's configureWithFormat with the first input's type. Nothing is broadcast.
    virtual void configure(ClosedArray<host::Dims64> const& inputs, ClosedArray<host::Dims64> const& outputs,
                           ClosedArray<nvinfer1::DataType> const& inputTypes,
                           ClosedArray<nvinfer1::DataType> const& outputTypes, nvinfer1::TensorFormat format,
                           std::int32_t maxBatchSize) = 0;
    virtual std::size_t getWorkspaceSize(std::int32_t maxBatchSize) const = 0;
    virtual std::int32_t enqueue(std::int32_t batchSize, void const* const* inputs, void* const* outputs,
                                 void* workspace, void* stream) = 0;
};

//! What is compiled once for each layout, and how it is reached. Registers and lists are those of that layout.
struct LayoutFace
{
    std::int32_t layout;
    std::unique_ptr<DynamicPlugin> (*wrapDynamic)(nvinfer1::IPluginV2* plugin);
    std::unique_ptr<IOExtPlugin> (*wrapIOExt)(nvinfer1::IPluginV2* plugin);
    std::unique_ptr<StaticPlugin> (*wrapExt)(nvinfer1::IPluginV2* plugin);
    std::unique_ptr<StaticPlugin> (*wrapBasic)(nvinfer1::IPluginV2* plugin);
    //! Takes an IPluginCreator of that layout.
    std::unique_ptr<V2Creator> (*wrapCreator)(void* creator);
    //! The ILoggerFinder to hand to setLoggerFinder.
    void* (*loggerFinder)();
    //! The ILogger behind it.
    void* (*logger)();
    //! The IPluginRegistry of a library that registers its creators itself, and what it has registered.
    void* (*registry)();
    std::vector<void*> (*registered)();
    //! The function that loadLibrary takes a library's creators from, and whether those are versioned interfaces.
    char const* creatorsBy;
    bool versioned;
};

//! The layout's face. Throws std::invalid_argument for a number that there is none of.
LayoutFace const& faceOf(std::int32_t layout);

//! What plugins logged through the logger they found, (ILogger::Severity, text), oldest first.
using LogLines = std::vector<std::pair<std::int32_t, std::string>>;
void appendLog(std::int32_t severity, char const* text);
LogLines takeLog();

} // namespace pluginkit
