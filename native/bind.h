#pragma once

#include <pybind11/pybind11.h>

namespace pluginkit
{

//! Adds evaluate, bounds and compute to the module.
void bindExpressions(pybind11::module_& module);
//! Adds Creator and Plugin to the module.
void bindPlugin(pybind11::module_& module);

} // namespace pluginkit
