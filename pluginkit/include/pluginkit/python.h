//! The Python module of a plugin library.
//!
//!     #include <pluginkit/python.h>
//!
//!     PYBIND11_MODULE(my_plugin, module)
//!     {
//!         pluginkit::python::bindLibrary(module);
//!     }
//!
//! gives the module
//!   register(namespace=None)   registers the creators with every TensorRT of the process, before a parser or an engine
//!                              looks for them
//!   register_torch()           makes each plugin an operator of PyTorch: torch.ops.<namespace>.MyPlugin
//!   custom_translation_table() what torch.onnx.export(dynamo=True) makes the plugins' nodes by
//!   MyPlugin(alpha=0.5)        a plugin with these fields, for each plugin of the library; called on arrays, it runs
//!   plugins, library, target   the plugins' names, the library's path, "cpu" or "gpu"
//!
//! The module opens the library in its own folder and needs no pluginkit, nor TensorRT, nor CUDA's runtime.
//! pluginkit_add_python_module of pluginkit's CMake package compiles it and writes pluginkit_built.h.
#pragma once

#include <pluginkit/python/library.h>
#include <pluginkit/python/torch.h>
#include <pluginkit_built.h>

#include <pybind11/pybind11.h>

namespace pluginkit
{

namespace python
{

inline void bindLibrary(py::module_& module)
{
    constexpr Built built = PLUGINKIT_BUILT;
    // As long as the process lives: plugins, and registries, point into the library.
    static auto const* const library = new Library{built};

    // Local to the module, since other libraries' modules have a class of this name too.
    py::class_<Layer>(module, "Layer", py::module_local(), "A plugin with its fields.")
        .def(
            "__call__", &Layer::call, py::arg("out") = py::none(), py::arg("stream") = py::none(),
            "Runs the plugin on its inputs: arrays in C order, where the library's target is.\n\n"
            "out: an array for each output; none: new ones of the first input's kind. stream: one of PyCUDA, CuPy or\n"
            "torch, or its handle; none: the stream that the arrays say, else the default stream. Returns the output,\n"
            "or a tuple of them; on a GPU they are done when the stream is.")
        .def("__repr__", &Layer::text);

    py::list names;
    for (Plugin const& plugin : library->plugins())
    {
        names.append(plugin.name);
        module.attr(plugin.name.c_str()) = py::cpp_function(
            [&plugin](py::kwargs const& fields) { return std::make_unique<Layer>(plugin, library->device(), fields); },
            py::name(plugin.name.c_str()), py::scope(module), plugin.signature.doc(plugin.name).c_str());
    }
    module.def(
        "register", [](py::object const& pluginNamespace) { library->enroll(pluginNamespace); },
        py::arg("namespace") = py::none(),
        "Registers the creators with every TensorRT library of the process, under their own namespace or this one.");
    module.def(
        "register_torch", [self = py::handle{module}, built] { return callTorch("register", self, built); },
        "Makes each plugin an operator of PyTorch, torch.ops.<namespace>.<name>, once in a process; returns them.");
    module.def(
        "custom_translation_table",
        [self = py::handle{module}, built] { return callTorch("custom_translation_table", self, built); },
        "What torch.onnx.export(dynamo=True) takes by that name, to make the plugins' nodes of their operators.");
    module.attr("plugins") = py::tuple(names);
    module.attr("library") = library->path();
    module.attr("target") = built.target;
}

} // namespace python

} // namespace pluginkit
