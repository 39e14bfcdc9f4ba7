//! The plugin registry, the logger and the logger finder. All three lie differently in TensorRT 10 and 11, and the
//! registry in TensorRT 8.
#ifndef PLUGINKIT_NV_INFER_RUNTIME_COMMON_H
#define PLUGINKIT_NV_INFER_RUNTIME_COMMON_H

#include "NvInferRuntimePlugin.h"

namespace nvinfer1
{

class IPluginResourceContext;

//! Keeps creators, and finds them by name, version and namespace.
class IPluginRegistry
{
public:
    using PluginLibraryHandle = void*;
#if PLUGINKIT_TRT_LAYOUT <= 10
    virtual bool registerCreator(IPluginCreator& creator, AsciiChar const* pluginNamespace) noexcept = 0;
    virtual IPluginCreator* const* getPluginCreatorList(int32_t* numCreators) const noexcept = 0;
    virtual IPluginCreator* getPluginCreator(AsciiChar const* pluginName, AsciiChar const* pluginVersion,
                                             AsciiChar const* pluginNamespace = "") noexcept = 0;
    IPluginRegistry() = default;
    IPluginRegistry(IPluginRegistry const&) = delete;
    IPluginRegistry(IPluginRegistry&&) = delete;
    IPluginRegistry& operator=(IPluginRegistry const&) & = delete;
    IPluginRegistry& operator=(IPluginRegistry&&) & = delete;

protected:
    virtual ~IPluginRegistry() noexcept = default;

public:
    virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
    virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
    virtual bool deregisterCreator(IPluginCreator const& creator) noexcept = 0;
#if PLUGINKIT_TRT_LAYOUT != 8 || NV_TENSORRT_MINOR >= 6
    virtual bool isParentSearchEnabled() const = 0;
    virtual void setParentSearchEnabled(bool enabled) = 0;
    virtual PluginLibraryHandle loadLibrary(AsciiChar const* pluginPath) noexcept = 0;
    virtual void deregisterLibrary(PluginLibraryHandle handle) noexcept = 0;
#endif
#else
    IPluginRegistry() = default;
    IPluginRegistry(IPluginRegistry const&) = delete;
    IPluginRegistry(IPluginRegistry&&) = delete;
    IPluginRegistry& operator=(IPluginRegistry const&) & = delete;
    IPluginRegistry& operator=(IPluginRegistry&&) & = delete;

protected:
    virtual ~IPluginRegistry() noexcept = default;

public:
    virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
    virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
    virtual bool isParentSearchEnabled() const = 0;
    virtual void setParentSearchEnabled(bool enabled) = 0;
    virtual PluginLibraryHandle loadLibrary(AsciiChar const* pluginPath) noexcept = 0;
    virtual void deregisterLibrary(PluginLibraryHandle handle) noexcept = 0;
#endif
#if PLUGINKIT_TRT_LAYOUT != 8
    virtual bool registerCreator(IPluginCreatorInterface& creator, AsciiChar const* pluginNamespace) noexcept = 0;
    virtual IPluginCreatorInterface* const* getAllCreators(int32_t* numCreators) const noexcept = 0;
    virtual IPluginCreatorInterface* getCreator(AsciiChar const* pluginName, AsciiChar const* pluginVersion,
                                                AsciiChar const* pluginNamespace = "") noexcept = 0;
    virtual bool deregisterCreator(IPluginCreatorInterface const& creator) noexcept = 0;
    virtual IPluginResource* acquirePluginResource(AsciiChar const* key, IPluginResource* resource) noexcept = 0;
    virtual int32_t releasePluginResource(AsciiChar const* key) noexcept = 0;
#if PLUGINKIT_TRT_SINCE_10(10)
    virtual IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* numCreators) noexcept = 0;
#endif
#endif
};

#if PLUGINKIT_TRT_LAYOUT <= 10

//! Takes messages.
class ILogger
{
public:
    enum class Severity : int32_t
    {
        kINTERNAL_ERROR = 0,
        kERROR = 1,
        kWARNING = 2,
        kINFO = 3,
        kVERBOSE = 4,
    };
    virtual void log(Severity severity, AsciiChar const* msg) noexcept = 0;
    ILogger() = default;
    virtual ~ILogger() = default;

protected:
    ILogger(ILogger const&) = default;
    ILogger(ILogger&&) = default;
    ILogger& operator=(ILogger const&) & = default;
    ILogger& operator=(ILogger&&) & = default;
};

//! Finds the logger of the calling thread. A plugin library gets one through `setLoggerFinder`, from TensorRT 8.6 on.
class ILoggerFinder
{
public:
    virtual ILogger* findLogger() = 0;

protected:
    virtual ~ILoggerFinder() = default;
};

#else

namespace v_1_0
{

//! Takes messages.
class ILogger : public IVersionedInterface
{
public:
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"ILogger", 1, 0};
    }
    enum class Severity : int32_t
    {
        kINTERNAL_ERROR = 0,
        kERROR = 1,
        kWARNING = 2,
        kINFO = 3,
        kVERBOSE = 4,
    };
    virtual void log(Severity severity, AsciiChar const* msg) noexcept = 0;
    ILogger() = default;
    ~ILogger() override = default;

protected:
    ILogger(ILogger const&) = default;
    ILogger(ILogger&&) = default;
    ILogger& operator=(ILogger const&) & = default;
    ILogger& operator=(ILogger&&) & = default;
};

//! Finds the logger of the calling thread. A plugin library gets one through `setLoggerFinder`.
class ILoggerFinder : public IVersionedInterface
{
public:
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"ILoggerFinder", 1, 0};
    }
    virtual ILogger* findLogger() = 0;
    ~ILoggerFinder() override = default;
};

} // namespace v_1_0

using ILogger = v_1_0::ILogger;
using ILoggerFinder = v_1_0::ILoggerFinder;

#endif

template <>
constexpr inline int32_t EnumMax<ILogger::Severity>() noexcept
{
    return 5;
}

} // namespace nvinfer1

extern "C" TENSORRTAPI nvinfer1::IPluginRegistry* getPluginRegistry() noexcept;
extern "C" TENSORRTAPI nvinfer1::ILogger* getLogger() noexcept;

#endif
