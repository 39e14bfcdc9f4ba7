#pragma once

#include "NvInferRuntime.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pluginkit
{

//! What plugins of the second generation share, in either layout: each method is the plugin's method of that name, and
//! nothing else; an interface that lacks one answers as told there. What appears here (descriptors, expressions, the
//! creator) is the same in both layouts.
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
    virtual bool supportsFormatCombination(std::int32_t pos, nvinfer1::PluginTensorDesc const* inOut,
                                           std::int32_t nbInputs, std::int32_t nbOutputs) = 0;
};

//! An IPluginV2DynamicExt.
class DynamicPlugin : public V2Plugin
{
public:
    //! Null when the plugin answers null.
    virtual std::unique_ptr<DynamicPlugin> clone() const = 0;
    virtual nvinfer1::DimsExprs getOutputDimensions(std::int32_t index, nvinfer1::DimsExprs const* inputs,
                                                    std::int32_t nbInputs, nvinfer1::IExprBuilder& builder) = 0;
    virtual void configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, std::int32_t nbInputs,
                                 nvinfer1::DynamicPluginTensorDesc const* out, std::int32_t nbOutputs) = 0;
    virtual std::size_t getWorkspaceSize(nvinfer1::PluginTensorDesc const* in, std::int32_t nbInputs,
                                         nvinfer1::PluginTensorDesc const* out, std::int32_t nbOutputs) const = 0;
    virtual std::int32_t enqueue(nvinfer1::PluginTensorDesc const* inDesc, nvinfer1::PluginTensorDesc const* outDesc,
                                 void const* const* inputs, void* const* outputs, void* workspace, void* stream) = 0;
};

//! An IPluginV2IOExt.
class IOExtPlugin : public V2Plugin
{
public:
    //! Null when the plugin answers null.
    virtual std::unique_ptr<IOExtPlugin> clone() const = 0;
    virtual nvinfer1::Dims64 getOutputDimensions(std::int32_t index, nvinfer1::Dims64 const* inputs,
                                                 std::int32_t nbInputs) = 0;
    //! TensorRT 11 has no such method: false then.
    virtual bool isOutputBroadcastAcrossBatch(std::int32_t index, std::int32_t nbInputs) const = 0;
    virtual bool canBroadcastInputAcrossBatch(std::int32_t index) const = 0;
    virtual void configurePlugin(nvinfer1::PluginTensorDesc const* in, std::int32_t nbInputs,
                                 nvinfer1::PluginTensorDesc const* out, std::int32_t nbOutputs) = 0;
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
    virtual nvinfer1::Dims64 getOutputDimensions(std::int32_t index, nvinfer1::Dims64 const* inputs,
                                                 std::int32_t nbInputs) = 0;
    //! False where there is no such method: in an IPluginV2, and in TensorRT 11.
    virtual bool isOutputBroadcastAcrossBatch(std::int32_t index, std::int32_t nbInputs) const = 0;
    virtual bool canBroadcastInputAcrossBatch(std::int32_t index) const = 0;
    //! configurePlugin, or an IPluginV2's configureWithFormat with the first input's type. Nothing is broadcast.
    virtual void configure(std::vector<nvinfer1::Dims64> const& inputs, std::vector<nvinfer1::Dims64> const& outputs,
                           std::vector<nvinfer1::DataType> const& inputTypes,
                           std::vector<nvinfer1::DataType> const& outputTypes, nvinfer1::TensorFormat format,
                           std::int32_t maxBatchSize) = 0;
    virtual std::size_t getWorkspaceSize(std::int32_t maxBatchSize) const = 0;
    virtual std::int32_t enqueue(std::int32_t batchSize, void const* const* inputs, void* const* outputs,
                                 void* workspace, void* stream) = 0;
};

namespace layout10
{
std::unique_ptr<DynamicPlugin> wrapDynamic(nvinfer1::IPluginV2* plugin);
std::unique_ptr<IOExtPlugin> wrapIOExt(nvinfer1::IPluginV2* plugin);
std::unique_ptr<StaticPlugin> wrapExt(nvinfer1::IPluginV2* plugin);
std::unique_ptr<StaticPlugin> wrapBasic(nvinfer1::IPluginV2* plugin);
//! The ILoggerFinder to hand to setLoggerFinder.
void* loggerFinder();
} // namespace layout10

namespace layout11
{
std::unique_ptr<DynamicPlugin> wrapDynamic(nvinfer1::IPluginV2* plugin);
std::unique_ptr<IOExtPlugin> wrapIOExt(nvinfer1::IPluginV2* plugin);
std::unique_ptr<StaticPlugin> wrapExt(nvinfer1::IPluginV2* plugin);
std::unique_ptr<StaticPlugin> wrapBasic(nvinfer1::IPluginV2* plugin);
void* loggerFinder();
} // namespace layout11

//! What plugins logged through the logger they found, (ILogger::Severity, text), oldest first.
using LogLines = std::vector<std::pair<std::int32_t, std::string>>;
void appendLog(std::int32_t severity, char const* text);
LogLines takeLog();

} // namespace pluginkit
