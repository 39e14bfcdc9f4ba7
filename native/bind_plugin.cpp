#include "bind.h"
#include "py_plugins.h"

namespace py = pybind11;

namespace pluginkit
{

namespace
{

void bindCommon(py::module_& module)
{
    py::class_<PyPlugin>(module, "Plugin")
        .def("tensorrt_version", [](PyPlugin const& p) { return p.common().getTensorRTVersion(); })
        .def("plugin_type", [](PyPlugin const& p) { return text(p.common().getPluginType()); })
        .def("plugin_version", [](PyPlugin const& p) { return text(p.common().getPluginVersion()); })
        .def("nb_outputs", [](PyPlugin const& p) { return p.common().getNbOutputs(); })
        .def("initialize", [](PyPlugin const& p) { return p.common().initialize(); })
        .def("terminate", [](PyPlugin const& p) { p.common().terminate(); })
        .def("serialization_size", [](PyPlugin const& p) { return p.common().getSerializationSize(); })
        .def(
            "serialize", [](PyPlugin const& p, std::uintptr_t buffer)
            { p.common().serialize(reinterpret_cast<void*>(buffer)); }, py::arg("buffer"))
        .def("destroy", &PyPlugin::destroy)
        .def("clone", &PyPlugin::clone)
        .def(
            "set_plugin_namespace", [](PyPlugin const& p, std::string const& value)
            { p.common().setPluginNamespace(value.c_str()); }, py::arg("value"))
        .def("plugin_namespace", [](PyPlugin const& p) { return text(p.common().getPluginNamespace()); })
        .def(
            "output_data_type",
            [](PyPlugin const& p, std::int32_t index, std::vector<std::int32_t> const& codes)
            {
                std::vector<nvinfer1::DataType> types;
                for (auto const code : codes)
                {
                    types.push_back(static_cast<nvinfer1::DataType>(code));
                }
                return static_cast<std::int32_t>(p.common().getOutputDataType(index, types.data(), count(types)));
            },
            py::arg("index"), py::arg("input_types"))
        .def(
            "attach_to_context", [](PyPlugin const& p, std::uintptr_t cudnn, std::uintptr_t cublas)
            { p.common().attachToContext(reinterpret_cast<void*>(cudnn), reinterpret_cast<void*>(cublas)); },
            py::arg("cudnn"), py::arg("cublas"))
        .def("detach_from_context", [](PyPlugin const& p) { p.common().detachFromContext(); })
        .def(
            "supports_format_combination",
            [](PyPlugin const& p, std::int32_t pos, std::vector<PyDesc> const& inOut, std::int32_t nbInputs,
               std::int32_t nbOutputs)
            { return p.common().supportsFormatCombination(pos, toDescs(inOut).data(), nbInputs, nbOutputs); },
            py::arg("pos"), py::arg("in_out"), py::arg("nb_inputs"), py::arg("nb_outputs"));
}

void bindDynamic(py::module_& module)
{
    py::class_<PyDynamicPlugin, PyPlugin>(module, "DynamicPlugin")
        .def("output_dimensions", &PyDynamicPlugin::outputDimensions, py::arg("index"), py::arg("inputs"))
        .def("shape_faults", &PyDynamicPlugin::shapeFaults)
        .def(
            "configure_plugin",
            [](PyDynamicPlugin const& p, std::vector<PyDynamicDesc> const& in, std::vector<PyDynamicDesc> const& out)
            { p.get().configurePlugin(toDynamicDescs(in).data(), count(in), toDynamicDescs(out).data(), count(out)); },
            py::arg("inputs"), py::arg("outputs"))
        .def(
            "workspace_size",
            [](PyDynamicPlugin const& p, std::vector<PyDesc> const& in, std::vector<PyDesc> const& out)
            { return p.get().getWorkspaceSize(toDescs(in).data(), count(in), toDescs(out).data(), count(out)); },
            py::arg("inputs"), py::arg("outputs"))
        .def(
            "enqueue",
            [](PyDynamicPlugin const& p, std::vector<PyDesc> const& in, std::vector<PyDesc> const& out,
               std::vector<std::uintptr_t> const& inputs, std::vector<std::uintptr_t> const& outputs,
               std::uintptr_t workspace, std::uintptr_t stream, std::int64_t times)
            {
                auto const inDescs = toDescs(in);
                auto const outDescs = toDescs(out);
                auto const from = toPointers(inputs);
                auto const to = toPointers(outputs);
                return repeated(times,
                                [&]
                                {
                                    return p.get().enqueue(inDescs.data(), outDescs.data(), from.data(), to.data(),
                                                           reinterpret_cast<void*>(workspace),
                                                           reinterpret_cast<void*>(stream));
                                });
            },
            // Two contexts enqueue at once, from two threads.
            py::call_guard<py::gil_scoped_release>(), py::arg("input_descs"), py::arg("output_descs"),
            py::arg("inputs"), py::arg("outputs"), py::arg("workspace"), py::arg("stream"), py::arg("times") = 1);
}

void bindIOExt(py::module_& module)
{
    py::class_<PyIOExtPlugin, PyPlugin>(module, "IOExtPlugin")
        .def(
            "output_dimensions",
            [](PyIOExtPlugin const& p, std::int32_t index, std::vector<PyDims> const& inputs)
            {
                std::vector<nvinfer1::Dims64> dims;
                for (PyDims const& one : inputs)
                {
                    dims.push_back(toDims(one));
                }
                auto const answer = p.get().getOutputDimensions(index, dims.data(), count(dims));
                auto const shown = std::clamp(answer.nbDims, std::int32_t{0}, std::int32_t{nvinfer1::Dims64::MAX_DIMS});
                return std::pair{answer.nbDims, PyDims(answer.d, answer.d + shown)};
            },
            py::arg("index"), py::arg("inputs"))
        .def(
            "is_output_broadcast_across_batch", [](PyIOExtPlugin const& p, std::int32_t index, std::int32_t nbInputs)
            { return p.get().isOutputBroadcastAcrossBatch(index, nbInputs); }, py::arg("index"), py::arg("nb_inputs"))
        .def(
            "can_broadcast_input_across_batch", [](PyIOExtPlugin const& p, std::int32_t index)
            { return p.get().canBroadcastInputAcrossBatch(index); }, py::arg("index"))
        .def(
            "configure_plugin",
            [](PyIOExtPlugin const& p, std::vector<PyDesc> const& in, std::vector<PyDesc> const& out)
            { p.get().configurePlugin(toDescs(in).data(), count(in), toDescs(out).data(), count(out)); },
            py::arg("inputs"), py::arg("outputs"))
        .def(
            "workspace_size", [](PyIOExtPlugin const& p, std::int32_t maxBatchSize)
            { return p.get().getWorkspaceSize(maxBatchSize); }, py::arg("max_batch_size"))
        .def(
            "enqueue",
            [](PyIOExtPlugin const& p, std::int32_t batchSize, std::vector<std::uintptr_t> const& inputs,
               std::vector<std::uintptr_t> const& outputs, std::uintptr_t workspace, std::uintptr_t stream,
               std::int64_t times)
            {
                auto const from = toPointers(inputs);
                auto const to = toPointers(outputs);
                return repeated(times,
                                [&]
                                {
                                    return p.get().enqueue(batchSize, from.data(), to.data(),
                                                           reinterpret_cast<void*>(workspace),
                                                           reinterpret_cast<void*>(stream));
                                });
            },
            py::call_guard<py::gil_scoped_release>(), py::arg("batch_size"), py::arg("inputs"), py::arg("outputs"),
            py::arg("workspace"), py::arg("stream"), py::arg("times") = 1);
}

} // namespace

void bindPlugin(py::module_& module)
{
    py::register_exception<UseError>(module, "UseError", PyExc_RuntimeError);
    bindCommon(module);
    bindDynamic(module);
    bindIOExt(module);
}

} // namespace pluginkit
