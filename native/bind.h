#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>

namespace pluginkit
{

//! Calls `enqueue` so many times, or until it does not answer 0: without Python between them, for measurements.
template <typename Enqueue>
std::int32_t repeated(std::int64_t times, Enqueue const& enqueue)
{
    std::int32_t answer = 0;
    for (std::int64_t i = 0; i < times && answer == 0; ++i)
    {
        answer = enqueue();
    }
    return answer;
}

//! The digest of _native.pyi, which says what Python expects of the module.
extern char const* const kINTERFACE;

//! Adds evaluate, bounds and compute to the module.
void bindExpressions(pybind11::module_& module);
//! Adds Creator and Library to the module.
void bindCreator(pybind11::module_& module);
//! Adds UseError, Plugin and its heirs, one for each interface, to the module.
void bindPlugin(pybind11::module_& module);

//! Adds PluginV3 to the module. Before bindCreator, whose Creator makes them.
void bindPluginV3(pybind11::module_& module);

} // namespace pluginkit
