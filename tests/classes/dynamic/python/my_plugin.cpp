// The Python module my_plugin: import it from build/cpu or build/gpu. pluginkit's docs/python.md says what it does.
#include <pluginkit/python.h>

PYBIND11_MODULE(my_plugin, module)
{
    pluginkit::python::bindLibrary(module);
    // Functions of your own: module.def("name", ...), as pybind11 has it.
}
