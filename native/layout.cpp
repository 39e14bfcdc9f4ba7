// Compiled once per layout: see CMakeLists.txt.
#include "layout.h"

#include "breadcrumb.h"

namespace pluginkit
{

namespace
{

class Wrapped final : public DynamicPlugin
{
public:
    explicit Wrapped(nvinfer1::IPluginV2DynamicExt* plugin) : mPlugin{plugin} {}

    std::int32_t getTensorRTVersion() const override
    {
        Call const call{"IPluginV2DynamicExt::getTensorRTVersion"};
        // Public in the base only.
        return static_cast<nvinfer1::IPluginV2 const*>(mPlugin)->getTensorRTVersion();
    }

    char const* getPluginType() const override
    {
        Call const call{"IPluginV2DynamicExt::getPluginType"};
        return mPlugin->getPluginType();
    }

    char const* getPluginVersion() const override
    {
        Call const call{"IPluginV2DynamicExt::getPluginVersion"};
        return mPlugin->getPluginVersion();
    }

    std::int32_t getNbOutputs() const override
    {
        Call const call{"IPluginV2DynamicExt::getNbOutputs"};
        return mPlugin->getNbOutputs();
    }

    std::int32_t initialize() override
    {
        Call const call{"IPluginV2DynamicExt::initialize"};
        return mPlugin->initialize();
    }

    void terminate() override
    {
        Call const call{"IPluginV2DynamicExt::terminate"};
        mPlugin->terminate();
    }

    std::size_t getSerializationSize() const override
    {
        Call const call{"IPluginV2DynamicExt::getSerializationSize"};
        return mPlugin->getSerializationSize();
    }

    void serialize(void* buffer) const override
    {
        Call const call{"IPluginV2DynamicExt::serialize"};
        mPlugin->serialize(buffer);
    }

    void destroy() override
    {
        Call const call{"IPluginV2DynamicExt::destroy"};
        mPlugin->destroy();
        mPlugin = nullptr;
    }

    std::unique_ptr<DynamicPlugin> clone() const override
    {
        Call const call{"IPluginV2DynamicExt::clone"};
        nvinfer1::IPluginV2DynamicExt* copy = mPlugin->clone();
        return copy == nullptr ? nullptr : std::make_unique<Wrapped>(copy);
    }

    void setPluginNamespace(char const* pluginNamespace) override
    {
        Call const call{"IPluginV2DynamicExt::setPluginNamespace"};
        mPlugin->setPluginNamespace(pluginNamespace);
    }

    char const* getPluginNamespace() const override
    {
        Call const call{"IPluginV2DynamicExt::getPluginNamespace"};
        return mPlugin->getPluginNamespace();
    }

    nvinfer1::DataType getOutputDataType(std::int32_t index, nvinfer1::DataType const* inputTypes,
                                         std::int32_t nbInputs) const override
    {
        Call const call{"IPluginV2DynamicExt::getOutputDataType"};
        return mPlugin->getOutputDataType(index, inputTypes, nbInputs);
    }

    void attachToContext() override
    {
        Call const call{"IPluginV2DynamicExt::attachToContext"};
        mPlugin->attachToContext(nullptr, nullptr, nullptr);
    }

    void detachFromContext() override
    {
        Call const call{"IPluginV2DynamicExt::detachFromContext"};
        mPlugin->detachFromContext();
    }

    nvinfer1::DimsExprs getOutputDimensions(std::int32_t index, nvinfer1::DimsExprs const* inputs,
                                            std::int32_t nbInputs, nvinfer1::IExprBuilder& builder) override
    {
        Call const call{"IPluginV2DynamicExt::getOutputDimensions"};
        return mPlugin->getOutputDimensions(index, inputs, nbInputs, builder);
    }

    bool supportsFormatCombination(std::int32_t pos, nvinfer1::PluginTensorDesc const* inOut, std::int32_t nbInputs,
                                   std::int32_t nbOutputs) override
    {
        Call const call{"IPluginV2DynamicExt::supportsFormatCombination"};
        return mPlugin->supportsFormatCombination(pos, inOut, nbInputs, nbOutputs);
    }

    void configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, std::int32_t nbInputs,
                         nvinfer1::DynamicPluginTensorDesc const* out, std::int32_t nbOutputs) override
    {
        Call const call{"IPluginV2DynamicExt::configurePlugin"};
        mPlugin->configurePlugin(in, nbInputs, out, nbOutputs);
    }

    std::size_t getWorkspaceSize(nvinfer1::PluginTensorDesc const* in, std::int32_t nbInputs,
                                 nvinfer1::PluginTensorDesc const* out, std::int32_t nbOutputs) const override
    {
        Call const call{"IPluginV2DynamicExt::getWorkspaceSize"};
        return mPlugin->getWorkspaceSize(in, nbInputs, out, nbOutputs);
    }

    std::int32_t enqueue(nvinfer1::PluginTensorDesc const* inDesc, nvinfer1::PluginTensorDesc const* outDesc,
                         void const* const* inputs, void* const* outputs, void* workspace, void* stream) override
    {
        Call const call{"IPluginV2DynamicExt::enqueue"};
        return mPlugin->enqueue(inDesc, outDesc, inputs, outputs, workspace, static_cast<cudaStream_t>(stream));
    }

private:
    nvinfer1::IPluginV2DynamicExt* mPlugin;
};

class Logger final : public nvinfer1::ILogger
{
public:
    void log(Severity severity, nvinfer1::AsciiChar const* text) noexcept override
    {
        appendLog(static_cast<std::int32_t>(severity), text);
    }
};

class LoggerFinder final : public nvinfer1::ILoggerFinder
{
public:
    nvinfer1::ILogger* findLogger() override
    {
        return &mLogger;
    }

private:
    Logger mLogger;
};

} // namespace

#if PLUGINKIT_TRT_LAYOUT == 10
namespace layout10
#else
namespace layout11
#endif
{

std::unique_ptr<DynamicPlugin> wrapDynamic(nvinfer1::IPluginV2* plugin)
{
    return std::make_unique<Wrapped>(static_cast<nvinfer1::IPluginV2DynamicExt*>(plugin));
}

void* loggerFinder()
{
    // Never destroyed: a plugin may log from its own static destructors, after those of this module.
    static auto* const finder = new LoggerFinder;
    return static_cast<nvinfer1::ILoggerFinder*>(finder);
}

} // namespace layout10 or layout11

} // namespace pluginkit
