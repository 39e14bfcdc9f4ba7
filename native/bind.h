#pragma once

#include <pybind11/pybind11.h>

namespace pluginkit
{

//! Adds evaluate, bounds and compute to the module.
void bindExpressions(pybind11::module_& module);
//! Adds Creator and Library to the module.
void bindCreator(pybind11::module_& module);
//! Adds UseError, Plugin and its heirs, one for each interface, to the module.
void bindPlugin(pybind11::module_& module);

//! Adds PluginV3 to the module. Before bindCreator, whose Creator makes them.
void bindPluginV3(pybind11::module_& module);

} // namespace pluginkit
