//! Saying something to the person who builds or runs an engine.
#pragma once

#include <NvInferRuntime.h>

#include <cstdio>
#include <string>

namespace pluginkit
{

namespace detail
{

// Hidden, so that each library, and each layout's half of one, has its own: the class lies differently in them.
__attribute__((visibility("hidden"))) inline nvinfer1::ILoggerFinder* gLoggerFinder{nullptr};

} // namespace detail

//! An error in TensorRT's log; on stderr where the library was not loaded by a registry, which says where the log is.
inline void logError(std::string const& message)
{
    nvinfer1::ILogger* const logger = detail::gLoggerFinder != nullptr ? detail::gLoggerFinder->findLogger() : nullptr;
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
