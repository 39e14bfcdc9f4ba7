#include "backtrace.h"
#include "bind.h"
#include "buffer.h"
#include "call_file.h"
#include "heap.h"
#include "library.h"
#include "paged_buffer.h"
#include "stand_ins.h"

#include <utility>

#include <pybind11/stl.h>

namespace py = pybind11;
using namespace pluginkit;

PYBIND11_MODULE(_native, module)
{
    module.doc() = "The plugin host: each method of a creator or plugin, one to one. See _native.pyi.";
    static PyObject* const loadError = PyErr_NewException("pluginkit._native.LoadError", PyExc_RuntimeError, nullptr);
    module.attr("LoadError") = py::handle{loadError};
    py::register_exception_translator(
        [](std::exception_ptr error)
        {
            try
            {
                std::rethrow_exception(std::move(error));
            }
            catch (LoadError const& e)
            {
                py::tuple const args = py::make_tuple(e.step, e.what());
                PyErr_SetObject(loadError, args.ptr());
            }
        });
    module.attr("INTERFACE") = kINTERFACE;
    module.attr("CALL_FILE_BYTES") = kCALL_FILE_BYTES;
    module.attr("GUARD_BYTES") = kGUARD_BYTES;
    module.def("set_call_file", &setCallFile, py::arg("path"));
    module.def("set_backtrace_file", &setBacktraceFile, py::arg("path"));
    module.def("host_version", &hostVersion);
    module.def("layout_of", &layoutOf, py::arg("version"));
    module.def("provided_functions", &providedFunctions);
    module.def("absent_function", &absentFunction, py::arg("name"), py::arg("library"), py::arg("answer"),
               py::arg("noted"));
    module.def("absent_call", &absentCall);
    module.def("forget_absent_call", &forgetAbsentCall);
    module.attr("ABSENT_AT") = kABSENT_AT;
    module.attr("BEYOND_AT") = kBEYOND_AT;
    module.def("take_log",
               []
               {
                   py::list lines;
                   for (auto const& [severity, text] : takeLog())
                   {
                       // A plugin may log any bytes.
                       auto const size = static_cast<py::ssize_t>(text.size());
                       PyObject* const read = PyUnicode_DecodeUTF8(text.data(), size, "backslashreplace");
                       lines.append(py::make_tuple(severity, py::reinterpret_steal<py::object>(read)));
                   }
                   return lines;
               });
    py::class_<Buffer>(module, "Buffer", py::buffer_protocol())
        .def(py::init<std::size_t>(), py::arg("size"))
        .def_property_readonly("address",
                               [](Buffer& buffer) { return reinterpret_cast<std::uintptr_t>(buffer.data()); })
        .def_property_readonly("size", &Buffer::size)
        .def("damage",
             [](Buffer const& buffer)
             {
                 auto const damage = buffer.damage();
                 return damage ? std::optional{std::pair{damage->offset, damage->found}} : std::nullopt;
             })
        .def_buffer([](Buffer& buffer)
                    { return py::buffer_info(buffer.data(), static_cast<py::ssize_t>(buffer.size()), false); });
    py::class_<PagedBuffer>(module, "PagedBuffer", py::buffer_protocol())
        .def(py::init(
                 [](std::size_t size, bool atStart, py::bytes const& around)
                 {
                     std::string_view const bytes{around};
                     guard::Pattern pattern{};
                     pattern.count = std::min(bytes.size(), pattern.bytes.size());
                     std::copy_n(bytes.begin(), pattern.count, pattern.bytes.begin());
                     return std::make_unique<PagedBuffer>(size, atStart, pattern);
                 }),
             py::arg("size"), py::arg("at_start"), py::arg("around"))
        .def_property_readonly("address",
                               [](PagedBuffer& buffer) { return reinterpret_cast<std::uintptr_t>(buffer.data()); })
        .def_property_readonly("size", &PagedBuffer::size)
        .def("damage",
             [](PagedBuffer const& buffer)
             {
                 auto const damage = buffer.damage();
                 return damage ? std::optional{std::pair{damage->offset, damage->found}} : std::nullopt;
             })
        .def("touched", &PagedBuffer::touched)
        .def_buffer([](PagedBuffer& buffer)
                    { return py::buffer_info(buffer.data(), static_cast<py::ssize_t>(buffer.size()), false); });
    py::class_<HeapCount>(module, "HeapCount")
        .def(py::init<std::string const&>(), py::arg("library"))
        .def("last", &HeapCount::last)
        .def("stop", &HeapCount::stop)
        .def(
            "left",
            [](HeapCount const& heap, std::uint64_t after)
            {
                std::vector<std::pair<std::size_t, std::vector<std::size_t>>> found;
                for (auto const& block : heap.left(after))
                {
                    found.emplace_back(block.size, block.offsets);
                }
                return found;
            },
            py::arg("after"));
    bindExpressions(module);
    bindPluginV3(module);
    bindPlugin(module);
    bindCreator(module);
}
