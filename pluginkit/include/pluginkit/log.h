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

//! An error in TensorRT's log; on stderr where this code has been given none of its layout.
inline void complain(std::string const& message)
{
    nvinfer1::ILogger* const logger = gLoggerFinder != nullptr ? gLoggerFinder->findLogger() : nullptr;
    if (logger != nullptr)
    {
        logger->log(nvinfer1::ILogger::Severity::kERROR, message.c_str());
    }
    else
    {
        static_cast<void>(std::fprintf(stderr, "error: %s\n", message.c_str()));
    }
}

} // namespace detail

} // namespace pluginkit
