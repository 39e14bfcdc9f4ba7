//! PyTorch's operators of a library's plugins: the code that makes them is Python, pluginkit/torch/operators.py.
#pragma once

#include <pluginkit/python/library.h>

namespace pluginkit
{

namespace python
{

//! Calls a function of that code; it runs once a process, when it is first needed.
inline py::object callTorch(char const* function, py::handle module, Built const& built)
{
    static py::handle operators;
    if (!operators)
    {
        std::string const name = textOf(module.attr("__name__")) + ".torch_operators";
        py::object made = py::module_::import("types").attr("ModuleType")(name);
        py::module_ const builtins = py::module_::import("builtins");
        py::object const code = builtins.attr("compile")(built.torch, "pluginkit/torch/operators.py", "exec");
        builtins.attr("exec")(code, made.attr("__dict__"));
        operators = made.release(); // as long as the process lives: PyTorch's operators point into it
    }
    return operators.attr(function)(module, built.signature);
}

} // namespace python

} // namespace pluginkit
