// Compiled once per layout: see CMakeLists.txt.
#include "layout.h"

#include "call_file.h"
#include "closed.h"
#include "pluginkit/collecting_registry.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <type_traits>

namespace pluginkit
{

namespace
{

template <class Plugin>
constexpr char const* kInterface = "IPluginV2DynamicExt";
template <>
constexpr char const* kInterface<nvinfer1::IPluginV2IOExt> = "IPluginV2IOExt";
template <>
constexpr char const* kInterface<nvinfer1::IPluginV2Ext> = "IPluginV2Ext";
template <>
constexpr char const* kInterface<nvinfer1::IPluginV2> = "IPluginV2";

#if PLUGINKIT_TRT_LAYOUT == 8
// Dimensions beyond 32 bits don't exist there.
nvinfer1::Dims own(host::Dims64 const& dims)
{
    constexpr std::int64_t kLargest = std::numeric_limits<pluginkit::Extent>::max();
    nvinfer1::Dims result{};
    result.nbDims = dims.nbDims;
    for (std::int32_t i = 0; i < dims.nbDims && i < nvinfer1::Dims::MAX_DIMS; ++i)
    {
        if (dims.d[i] > kLargest)
        {
            throw std::invalid_argument{"TensorRT 8 keeps a dimension in 32 bits, and this one is " +
                                        std::to_string(dims.d[i])};
        }
        result.d[i] = static_cast<pluginkit::Extent>(dims.d[i]);
    }
    return result;
}

nvinfer1::PluginTensorDesc own(host::PluginTensorDesc const& desc)
{
    return {own(desc.dims), desc.type, desc.format, desc.scale};
}

nvinfer1::DynamicPluginTensorDesc own(host::DynamicPluginTensorDesc const& desc)
{
    return {own(desc.desc), own(desc.min), own(desc.max)};
}

host::Dims64 back(nvinfer1::Dims const& dims)
{
    host::Dims64 result{};
    result.nbDims = dims.nbDims;
    std::copy_n(dims.d, nvinfer1::Dims::MAX_DIMS, result.d);
    return result;
}

//! An array as the plugin of this layout gets it.
template <class Type>
class Given
{
public:
    Given(Type const* items, std::int32_t count, char const* what) : mItems{static_cast<std::size_t>(count), what}
    {
        for (std::size_t i = 0; i < mItems.size(); ++i)
        {
            mItems[i] = {own(items[i])};
        }
    }
    auto const* get() const
    {
        return mItems.data();
    }

private:
    // A class of this file's own: the linker would take an array of TensorRT's for that of another layout.
    struct Item : decltype(own(std::declval<Type>())){};
    ClosedArray<Item> mItems;
};

//! The host's builder, called by a plugin of this layout: expressions lie as in the later ones, which only add to them.
class Builder final : public nvinfer1::IExprBuilder, public nvinfer1::apiv::VExprBuilder
{
    //! Where an IExprBuilder has its implementation.
    struct Reached : nvinfer1::IExprBuilder
    {
        using nvinfer1::IExprBuilder::mImpl;
    };

public:
    explicit Builder(nvinfer1::IExprBuilder& builder)
        : mHost{*reinterpret_cast<host::ExprBuilderImpl*>(static_cast<Reached&>(builder).mImpl)}
    {
        mImpl = this;
    }
    nvinfer1::IDimensionExpr const* constant(std::int32_t value) override
    {
        return mHost.constant(value);
    }
    nvinfer1::IDimensionExpr const* operation(nvinfer1::DimensionOperation op, nvinfer1::IDimensionExpr const& first,
                                              nvinfer1::IDimensionExpr const& second) override
    {
        return mHost.operation(op, first, second);
    }

private:
    host::ExprBuilderImpl& mHost;
};
#else
host::Dims64 back(host::Dims64 const& dims)
{
    return dims;
}

//! An array as the plugin of this layout gets it: as it is.
template <class Type>
class Given
{
public:
    Given(Type const* items, std::int32_t /*count*/, char const* /*what*/) : mItems{items} {}
    Type const* get() const
    {
        return mItems;
    }

private:
    Type const* mItems;
};

using Builder = nvinfer1::IExprBuilder&;
#endif

template <class Plugin>
constexpr bool kIsBasic = std::is_same_v<Plugin, nvinfer1::IPluginV2>;
template <class Plugin>
constexpr bool kHasCombinations = !kIsBasic<Plugin> && !std::is_same_v<Plugin, nvinfer1::IPluginV2Ext>;

//! `Face` is DynamicPlugin, IOExtPlugin or StaticPlugin, `Plugin` the TensorRT class behind it.
template <class Face, class Plugin>
class Wrapped : public Face
{
public:
    explicit Wrapped(Plugin* plugin) : mPlugin{plugin} {}

    std::int32_t getTensorRTVersion() const override
    {
        Call const call{kInterface<Plugin>, "getTensorRTVersion"};
        // Public in the base only.
        return static_cast<nvinfer1::IPluginV2 const*>(mPlugin)->getTensorRTVersion();
    }

    char const* getPluginType() const override
    {
        Call const call{kInterface<Plugin>, "getPluginType"};
        return mPlugin->getPluginType();
    }

    char const* getPluginVersion() const override
    {
        Call const call{kInterface<Plugin>, "getPluginVersion"};
        return mPlugin->getPluginVersion();
    }

    std::int32_t getNbOutputs() const override
    {
        Call const call{kInterface<Plugin>, "getNbOutputs"};
        return mPlugin->getNbOutputs();
    }

    std::int32_t initialize() override
    {
        Call const call{kInterface<Plugin>, "initialize"};
        return mPlugin->initialize();
    }

    void terminate() override
    {
        Call const call{kInterface<Plugin>, "terminate"};
        mPlugin->terminate();
    }

    std::size_t getSerializationSize() const override
    {
        Call const call{kInterface<Plugin>, "getSerializationSize"};
        return mPlugin->getSerializationSize();
    }

    void serialize(void* buffer) const override
    {
        Call const call{kInterface<Plugin>, "serialize"};
        mPlugin->serialize(buffer);
    }

    void destroy() override
    {
        Call const call{kInterface<Plugin>, "destroy"};
        mPlugin->destroy();
        mPlugin = nullptr;
    }

    void setPluginNamespace(char const* pluginNamespace) override
    {
        Call const call{kInterface<Plugin>, "setPluginNamespace"};
        mPlugin->setPluginNamespace(pluginNamespace);
    }

    char const* getPluginNamespace() const override
    {
        Call const call{kInterface<Plugin>, "getPluginNamespace"};
        return mPlugin->getPluginNamespace();
    }

    nvinfer1::DataType getOutputDataType(std::int32_t index, nvinfer1::DataType const* inputTypes,
                                         std::int32_t nbInputs) const override
    {
        if constexpr (kIsBasic<Plugin>)
        {
            return nbInputs > 0 ? inputTypes[0] : nvinfer1::DataType::kFLOAT;
        }
        else
        {
            Call const call{kInterface<Plugin>, "getOutputDataType"};
            return mPlugin->getOutputDataType(index, inputTypes, nbInputs);
        }
    }

    void attachToContext(void* cudnn, void* cublas) override
    {
        if constexpr (!kIsBasic<Plugin>)
        {
            Call const call{kInterface<Plugin>, "attachToContext"};
            mPlugin->attachToContext(static_cast<cudnnContext*>(cudnn), static_cast<cublasContext*>(cublas), nullptr);
        }
    }

    void detachFromContext() override
    {
        if constexpr (!kIsBasic<Plugin>)
        {
            Call const call{kInterface<Plugin>, "detachFromContext"};
            mPlugin->detachFromContext();
        }
    }

    bool supportsFormatCombination(std::int32_t pos, host::PluginTensorDesc const* inOut, std::int32_t nbInputs,
                                   std::int32_t nbOutputs) override
    {
        if constexpr (kHasCombinations<Plugin>)
        {
            Call const call{kInterface<Plugin>, "supportsFormatCombination"};
            return mPlugin->supportsFormatCombination(pos, Given{inOut, nbInputs + nbOutputs, "inOut"}.get(), nbInputs,
                                                      nbOutputs);
        }
        else
        {
            Call const call{kInterface<Plugin>, "supportsFormat"};
            return mPlugin->supportsFormat(inOut[pos].type, inOut[pos].format);
        }
    }

protected:
    Plugin* mPlugin;
};

class WrappedDynamic final : public Wrapped<DynamicPlugin, nvinfer1::IPluginV2DynamicExt>
{
public:
    using Wrapped::Wrapped;

    std::unique_ptr<DynamicPlugin> clone() const override
    {
        Call const call{"IPluginV2DynamicExt::clone"};
        nvinfer1::IPluginV2DynamicExt* copy = mPlugin->clone();
        return copy == nullptr ? nullptr : std::make_unique<WrappedDynamic>(copy);
    }

    nvinfer1::DimsExprs getOutputDimensions(std::int32_t index, nvinfer1::DimsExprs const* inputs,
                                            std::int32_t nbInputs, nvinfer1::IExprBuilder& builder) override
    {
        Builder given{builder};
        Call const call{"IPluginV2DynamicExt::getOutputDimensions"};
        return mPlugin->getOutputDimensions(index, inputs, nbInputs, given);
    }

    void configurePlugin(host::DynamicPluginTensorDesc const* in, std::int32_t nbInputs,
                         host::DynamicPluginTensorDesc const* out, std::int32_t nbOutputs) override
    {
        Given const givenIn{in, nbInputs, "in"};
        Given const givenOut{out, nbOutputs, "out"};
        Call const call{"IPluginV2DynamicExt::configurePlugin"};
        mPlugin->configurePlugin(givenIn.get(), nbInputs, givenOut.get(), nbOutputs);
    }

    std::size_t getWorkspaceSize(host::PluginTensorDesc const* in, std::int32_t nbInputs,
                                 host::PluginTensorDesc const* out, std::int32_t nbOutputs) const override
    {
        Given const givenIn{in, nbInputs, "in"};
        Given const givenOut{out, nbOutputs, "out"};
        Call const call{"IPluginV2DynamicExt::getWorkspaceSize"};
        return mPlugin->getWorkspaceSize(givenIn.get(), nbInputs, givenOut.get(), nbOutputs);
    }

    std::int32_t enqueue(host::PluginTensorDesc const* inDesc, std::int32_t nbInputs,
                         host::PluginTensorDesc const* outDesc, std::int32_t nbOutputs, void const* const* inputs,
                         void* const* outputs, void* workspace, void* stream) override
    {
        Given const givenIn{inDesc, nbInputs, "inputDesc"};
        Given const givenOut{outDesc, nbOutputs, "outputDesc"};
        Call const call{"IPluginV2DynamicExt::enqueue"};
        return mPlugin->enqueue(givenIn.get(), givenOut.get(), inputs, outputs, workspace,
                                static_cast<cudaStream_t>(stream));
    }
};

class WrappedIOExt final : public Wrapped<IOExtPlugin, nvinfer1::IPluginV2IOExt>
{
public:
    using Wrapped::Wrapped;

    std::unique_ptr<IOExtPlugin> clone() const override
    {
        Call const call{"IPluginV2IOExt::clone"};
        // It answers an IPluginV2Ext, for IPluginV2IOExt doesn't narrow that: of the same class as the original.
        auto* const copy = static_cast<nvinfer1::IPluginV2IOExt*>(mPlugin->clone());
        return copy == nullptr ? nullptr : std::make_unique<WrappedIOExt>(copy);
    }

    host::Dims64 getOutputDimensions(std::int32_t index, host::Dims64 const* inputs, std::int32_t nbInputs) override
    {
        Given const given{inputs, nbInputs, "inputs"};
        Call const call{"IPluginV2IOExt::getOutputDimensions"};
        return back(mPlugin->getOutputDimensions(index, given.get(), nbInputs));
    }

#if PLUGINKIT_TRT_LAYOUT <= 10
    bool isOutputBroadcastAcrossBatch(std::int32_t index, std::int32_t nbInputs) const override
    {
        Call const call{"IPluginV2IOExt::isOutputBroadcastAcrossBatch"};
        ClosedArray<bool> const broadcast{static_cast<std::size_t>(nbInputs), "inputIsBroadcasted"};
        return mPlugin->isOutputBroadcastAcrossBatch(index, broadcast.data(), nbInputs);
    }

    bool canBroadcastInputAcrossBatch(std::int32_t index) const override
    {
        Call const call{"IPluginV2IOExt::canBroadcastInputAcrossBatch"};
        return mPlugin->canBroadcastInputAcrossBatch(index);
    }
#else
    bool isOutputBroadcastAcrossBatch(std::int32_t /*index*/, std::int32_t /*nbInputs*/) const override
    {
        return false;
    }

    bool canBroadcastInputAcrossBatch(std::int32_t /*index*/) const override
    {
        return false;
    }
#endif

    void configurePlugin(host::PluginTensorDesc const* in, std::int32_t nbInputs, host::PluginTensorDesc const* out,
                         std::int32_t nbOutputs) override
    {
        Given const givenIn{in, nbInputs, "in"};
        Given const givenOut{out, nbOutputs, "out"};
        Call const call{"IPluginV2IOExt::configurePlugin"};
        mPlugin->configurePlugin(givenIn.get(), nbInputs, givenOut.get(), nbOutputs);
    }

    std::size_t getWorkspaceSize(std::int32_t maxBatchSize) const override
    {
        Call const call{"IPluginV2IOExt::getWorkspaceSize"};
        return mPlugin->getWorkspaceSize(maxBatchSize);
    }

    std::int32_t enqueue(std::int32_t batchSize, void const* const* inputs, void* const* outputs, void* workspace,
                         void* stream) override
    {
        Call const call{"IPluginV2IOExt::enqueue"};
        return mPlugin->enqueue(batchSize, inputs, outputs, workspace, static_cast<cudaStream_t>(stream));
    }
};

template <class Plugin>
class WrappedStatic final : public Wrapped<StaticPlugin, Plugin>
{
public:
    using Wrapped<StaticPlugin, Plugin>::Wrapped;
    using Wrapped<StaticPlugin, Plugin>::mPlugin;

    std::unique_ptr<StaticPlugin> clone() const override
    {
        Call const call{kInterface<Plugin>, "clone"};
        Plugin* const copy = mPlugin->clone();
        return copy == nullptr ? nullptr : std::make_unique<WrappedStatic>(copy);
    }

    host::Dims64 getOutputDimensions(std::int32_t index, host::Dims64 const* inputs, std::int32_t nbInputs) override
    {
        Given const given{inputs, nbInputs, "inputs"};
        Call const call{kInterface<Plugin>, "getOutputDimensions"};
        return back(mPlugin->getOutputDimensions(index, given.get(), nbInputs));
    }

    bool isOutputBroadcastAcrossBatch([[maybe_unused]] std::int32_t index,
                                      [[maybe_unused]] std::int32_t nbInputs) const override
    {
#if PLUGINKIT_TRT_LAYOUT <= 10
        if constexpr (!kIsBasic<Plugin>)
        {
            Call const call{kInterface<Plugin>, "isOutputBroadcastAcrossBatch"};
            ClosedArray<bool> const broadcast{static_cast<std::size_t>(nbInputs), "inputIsBroadcasted"};
            return mPlugin->isOutputBroadcastAcrossBatch(index, broadcast.data(), nbInputs);
        }
#endif
        return false;
    }

    bool canBroadcastInputAcrossBatch([[maybe_unused]] std::int32_t index) const override
    {
#if PLUGINKIT_TRT_LAYOUT <= 10
        if constexpr (!kIsBasic<Plugin>)
        {
            Call const call{kInterface<Plugin>, "canBroadcastInputAcrossBatch"};
            return mPlugin->canBroadcastInputAcrossBatch(index);
        }
#endif
        return false;
    }

    void configure(ClosedArray<host::Dims64> const& inputs, ClosedArray<host::Dims64> const& outputs,
                   ClosedArray<nvinfer1::DataType> const& inputTypes,
                   [[maybe_unused]] ClosedArray<nvinfer1::DataType> const& outputTypes, nvinfer1::TensorFormat format,
                   std::int32_t maxBatchSize) override
    {
        auto const nbInputs = static_cast<std::int32_t>(inputs.size());
        auto const nbOutputs = static_cast<std::int32_t>(outputs.size());
        Given const givenIn{inputs.data(), nbInputs, "inputDims"};
        Given const givenOut{outputs.data(), nbOutputs, "outputDims"};
        if constexpr (kIsBasic<Plugin>)
        {
            Call const call{kInterface<Plugin>, "configureWithFormat"};
            mPlugin->configureWithFormat(givenIn.get(), nbInputs, givenOut.get(), nbOutputs,
                                         inputTypes.size() == 0 ? nvinfer1::DataType::kFLOAT : inputTypes[0], format,
                                         maxBatchSize);
        }
        else
        {
            ClosedArray<bool> const inBroadcast{inputs.size(), "inputIsBroadcast"};
            ClosedArray<bool> const outBroadcast{outputs.size(), "outputIsBroadcast"};
            Call const call{kInterface<Plugin>, "configurePlugin"};
            mPlugin->configurePlugin(givenIn.get(), nbInputs, givenOut.get(), nbOutputs, inputTypes.data(),
                                     outputTypes.data(), inBroadcast.data(), outBroadcast.data(), format, maxBatchSize);
        }
    }

    std::size_t getWorkspaceSize(std::int32_t maxBatchSize) const override
    {
        Call const call{kInterface<Plugin>, "getWorkspaceSize"};
        return mPlugin->getWorkspaceSize(maxBatchSize);
    }

    std::int32_t enqueue(std::int32_t batchSize, void const* const* inputs, void* const* outputs, void* workspace,
                         void* stream) override
    {
        Call const call{kInterface<Plugin>, "enqueue"};
        return mPlugin->enqueue(batchSize, inputs, outputs, workspace, static_cast<cudaStream_t>(stream));
    }
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
        // Never destroyed: a plugin may log from its own static destructors, after those of this module.
        static auto* const logger = new Logger;
        return logger;
    }
};

class WrappedCreator final : public V2Creator
{
public:
    explicit WrappedCreator(nvinfer1::IPluginCreator& creator) : mCreator{creator} {}

    char const* getPluginName() const override
    {
        return mCreator.getPluginName();
    }
    char const* getPluginVersion() const override
    {
        return mCreator.getPluginVersion();
    }
    char const* getPluginNamespace() const override
    {
        return mCreator.getPluginNamespace();
    }
    void setPluginNamespace(char const* pluginNamespace) override
    {
        mCreator.setPluginNamespace(pluginNamespace);
    }
    nvinfer1::PluginFieldCollection const* getFieldNames() override
    {
        return mCreator.getFieldNames();
    }
    nvinfer1::IPluginV2* createPlugin(char const* name, nvinfer1::PluginFieldCollection const* fields) override
    {
        return mCreator.createPlugin(name, fields);
    }
    nvinfer1::IPluginV2* deserializePlugin(char const* name, void const* data, std::size_t size) override
    {
        return mCreator.deserializePlugin(name, data, size);
    }

private:
    nvinfer1::IPluginCreator& mCreator;
};

std::unique_ptr<DynamicPlugin> wrapDynamic(nvinfer1::IPluginV2* plugin)
{
    return std::make_unique<WrappedDynamic>(static_cast<nvinfer1::IPluginV2DynamicExt*>(plugin));
}

std::unique_ptr<IOExtPlugin> wrapIOExt(nvinfer1::IPluginV2* plugin)
{
    return std::make_unique<WrappedIOExt>(static_cast<nvinfer1::IPluginV2IOExt*>(plugin));
}

std::unique_ptr<StaticPlugin> wrapExt(nvinfer1::IPluginV2* plugin)
{
    return std::make_unique<WrappedStatic<nvinfer1::IPluginV2Ext>>(static_cast<nvinfer1::IPluginV2Ext*>(plugin));
}

std::unique_ptr<StaticPlugin> wrapBasic(nvinfer1::IPluginV2* plugin)
{
    return std::make_unique<WrappedStatic<nvinfer1::IPluginV2>>(plugin);
}

std::unique_ptr<V2Creator> wrapCreator(void* creator)
{
    return std::make_unique<WrappedCreator>(*static_cast<nvinfer1::IPluginCreator*>(creator));
}

void* loggerFinder()
{
    static auto* const finder = new LoggerFinder; // as the logger
    return static_cast<nvinfer1::ILoggerFinder*>(finder);
}

void* logger()
{
    return static_cast<nvinfer1::ILoggerFinder*>(loggerFinder())->findLogger();
}

//! This layout's, in a library that has all of them.
struct OfHost;

void* registry()
{
    return static_cast<nvinfer1::IPluginRegistry*>(&detail::CollectingRegistry<OfHost>::get());
}

std::vector<void*> registered()
{
    auto const& creators = detail::CollectingRegistry<OfHost>::get().creators();
    return {creators.begin(), creators.end()};
}

#if PLUGINKIT_TRT_LAYOUT == 8
constexpr char const* kCREATORS_BY{"getPluginCreators"};
constexpr bool kVERSIONED{false};
#else
constexpr char const* kCREATORS_BY{"getCreators"};
constexpr bool kVERSIONED{true};
#endif

constexpr LayoutFace kFACE{PLUGINKIT_TRT_LAYOUT, &wrapDynamic, &wrapIOExt, &wrapExt,    &wrapBasic,   &wrapCreator,
                           &loggerFinder,        &logger,      &registry,  &registered, kCREATORS_BY, kVERSIONED};

// Where faceOf() finds those of all layouts.
__attribute__((used, section("pluginkit_faces"))) LayoutFace const* const gFace{&kFACE};

} // namespace

} // namespace pluginkit
