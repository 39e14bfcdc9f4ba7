//! Saying something to the person who builds or runs an engine.
#pragma once

#include <NvInferRuntime.h>

#include <cstdio>
#include <string>

namespace pluginkit
{

namespace detail
{

// TensorRT 8.5 has no finder, and its SDK's headers no such class; pluginkit's declare it all the same.
#if NV_TENSORRT_MAJOR > 8 || NV_TENSORRT_MINOR > 5 || defined(PLUGINKIT_NV_INFER)

// Hidden, so that each library, and each layout's half of one, has its own: the class lies differently in them.
__attribute__((visibility("hidden"))) inline nvinfer1::ILoggerFinder* gLoggerFinder{nullptr};

inline void setFinder(void* finder) noexcept
{
    gLoggerFinder = static_cast<nvinfer1::ILoggerFinder*>(finder);
}

inline nvinfer1::ILogger* findLogger()
{
    return gLoggerFinder != nullptr ? gLoggerFinder->findLogger() : nullptr;
}
#else
inline void setFinder(void* /*finder*/) noexcept {}

inline nvinfer1::ILogger* findLogger()
{
    return nullptr;
}
#endif

} // namespace detail

//! An error in TensorRT's log; on stderr where the library was not loaded by a registry, which says where the log is.
inline void logError(std::string const& message)
{
    nvinfer1::ILogger* const logger = detail::findLogger();
    if (logger != nullptr)
    {
        logger->log(nvinfer1::ILogger::Severity::kERROR, message.c_str());
    }
    else
    {
        static_cast<void>(std::fprintf(stderr, "error: %s\n", message.c_str()));
    }
}

} // namespace pluginkit
