// The Python module add_rms_norm: import it from build/cpu or build/gpu. pluginkit's docs/python.md says what it does.
#include <pluginkit/python.h>

PYBIND11_MODULE(add_rms_norm, module)
{
    pluginkit::python::bindLibrary(module);
    // Functions of your own: module.def("name", ...), as pybind11 has it.
}
