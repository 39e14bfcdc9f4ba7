//! What the environment asks of launches.
#pragma once

#include <pluginkit/cpu/engine.h>

namespace pluginkit_cpu
{

inline namespace v2
{

//! The values of the variables that are read at each launch; null for one that isn't set. A later change of the
//! environment may free them.
struct Settings
{
    char const* schedule{nullptr};  //!< PLUGINKIT_CPU_SCHEDULE
    char const* ends{nullptr};      //!< PLUGINKIT_CPU_ENDS
    char const* deferred{nullptr};  //!< PLUGINKIT_CPU_DEFERRED
    char const* timeLimit{nullptr}; //!< PLUGINKIT_CPU_TIME_LIMIT

    //! Reads the environment, all of them in one go: getenv goes through it once a name, which took a tenth of a small
    //! launch.
    PLUGINKIT_CPU_HIDDEN static Settings fromEnvironment() noexcept;
};

//! A setting's whole number, or what stands instead of it where it is null or empty.
PLUGINKIT_CPU_HIDDEN long wholeNumber(char const* text, long otherwise) noexcept;

//! Likewise of the environment variable with that name, which isn't read at each launch.
PLUGINKIT_CPU_HIDDEN long option(char const* name, long otherwise) noexcept;

} // namespace v2

} // namespace pluginkit_cpu
