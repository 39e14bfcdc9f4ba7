#include "bind.h"
#include "litter.h"
#include "py_plugins.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace py = pybind11;

namespace pluginkit
{

namespace
{

//! A copy that lives as long as the process: no header says for how long a plugin may use what it is given.
char const* kept(std::string const& text)
{
    static auto* const texts = new std::map<std::string, ClosedText>;
    return texts->try_emplace(text, text, "pluginNamespace").first->second.get();
}

//! A clone over memory that holds `fill` wherever the plugin writes nothing.
std::unique_ptr<PyPlugin> cloneOver(PyPlugin const& plugin, int fill)
{
    Littered const littered{fill};
    return plugin.clone();
}

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
        .def("clone_over", &cloneOver, py::arg("fill"))
        .def(
            "set_plugin_namespace", [](PyPlugin const& p, std::string const& value)
            { p.common().setPluginNamespace(kept(value)); }, py::arg("value"))
        .def(
            "keeps_namespace", [](PyPlugin const& p, std::string const& value)
            { return p.common().getPluginNamespace() == kept(value); }, py::arg("value"))
        .def("plugin_namespace", [](PyPlugin const& p) { return text(p.common().getPluginNamespace()); })
        .def(
            "output_data_type",
            [](PyPlugin const& p, std::int32_t index, std::vector<std::int32_t> const& codes)
            {
                auto const types = toTypes(codes, "inputTypes");
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
            { return p.common().supportsFormatCombination(pos, toDescs(inOut, "inOut").data(), nbInputs, nbOutputs); },
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
            {
                p.get().configurePlugin(toDynamicDescs(in, "in").data(), count(in), toDynamicDescs(out, "out").data(),
                                        count(out));
            },
            py::arg("inputs"), py::arg("outputs"))
        .def(
            "workspace_size",
            [](PyDynamicPlugin const& p, std::vector<PyDesc> const& in, std::vector<PyDesc> const& out)
            {
                return p.get().getWorkspaceSize(toDescs(in, "inputs").data(), count(in), toDescs(out, "outputs").data(),
                                                count(out));
            },
            py::arg("inputs"), py::arg("outputs"))
        .def(
            "enqueue",
            [](PyDynamicPlugin const& p, std::vector<PyDesc> const& in, std::vector<PyDesc> const& out,
               std::vector<std::uintptr_t> const& inputs, std::vector<std::uintptr_t> const& outputs,
               std::uintptr_t workspace, std::uintptr_t stream, std::int64_t times)
            {
                auto const inDescs = toDescs(in, "inputDesc");
                auto const outDescs = toDescs(out, "outputDesc");
                auto const from = toPointers(inputs, "inputs");
                auto const to = toPointers(outputs, "outputs");
                return repeated(times,
                                [&]
                                {
                                    return p.get().enqueue(
                                        inDescs.data(), count(inDescs), outDescs.data(), count(outDescs), from.data(),
                                        to.data(), reinterpret_cast<void*>(workspace), reinterpret_cast<void*>(stream));
                                });
            },
            // Two contexts enqueue at once, from two threads.
            py::call_guard<py::gil_scoped_release>(), py::arg("input_descs"), py::arg("output_descs"),
            py::arg("inputs"), py::arg("outputs"), py::arg("workspace"), py::arg("stream"), py::arg("times") = 1);
}

//! What the interfaces with static shapes share: they get no shapes at run time but a batch size.
template <class PyStatic>
py::class_<PyStatic, PyPlugin> bindStatic(py::module_& module, char const* name)
{
    py::class_<PyStatic, PyPlugin> face(module, name);
    face.def(
            "output_dimensions",
            [](PyStatic const& p, std::int32_t index, std::vector<PyDims> const& inputs)
            {
                ClosedArray<nvinfer1::Dims64> const dims{inputs.size(), "inputs"};
                std::transform(inputs.begin(), inputs.end(), dims.begin(), toDims);
                auto const answer = p.get().getOutputDimensions(index, dims.data(), count(dims));
                auto const shown = std::clamp(answer.nbDims, std::int32_t{0}, std::int32_t{nvinfer1::Dims64::MAX_DIMS});
                return std::pair{answer.nbDims, PyDims(answer.d, answer.d + shown)};
            },
            py::arg("index"), py::arg("inputs"))
        .def(
            "is_output_broadcast_across_batch", [](PyStatic const& p, std::int32_t index, std::int32_t nbInputs)
            { return p.get().isOutputBroadcastAcrossBatch(index, nbInputs); }, py::arg("index"), py::arg("nb_inputs"))
        .def(
            "can_broadcast_input_across_batch", [](PyStatic const& p, std::int32_t index)
            { return p.get().canBroadcastInputAcrossBatch(index); }, py::arg("index"))
        .def(
            "workspace_size", [](PyStatic const& p, std::int32_t maxBatchSize)
            { return p.get().getWorkspaceSize(maxBatchSize); }, py::arg("max_batch_size"))
        .def(
            "enqueue",
            [](PyStatic const& p, std::int32_t batchSize, std::vector<std::uintptr_t> const& inputs,
               std::vector<std::uintptr_t> const& outputs, std::uintptr_t workspace, std::uintptr_t stream,
               std::int64_t times)
            {
                auto const from = toPointers(inputs, "inputs");
                auto const to = toPointers(outputs, "outputs");
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
    return face;
}

void bindIOExt(py::module_& module)
{
    bindStatic<PyIOExtPlugin>(module, "IOExtPlugin")
        .def(
            "configure_plugin",
            [](PyIOExtPlugin const& p, std::vector<PyDesc> const& in, std::vector<PyDesc> const& out)
            { p.get().configurePlugin(toDescs(in, "in").data(), count(in), toDescs(out, "out").data(), count(out)); },
            py::arg("inputs"), py::arg("outputs"));
}

template <class PyStatic>
void bindBatched(py::module_& module, char const* name)
{
    bindStatic<PyStatic>(module, name)
        .def(
            "configure",
            [](PyStatic const& p, std::vector<PyDesc> const& in, std::vector<PyDesc> const& out, std::int32_t format,
               std::int32_t maxBatchSize)
            {
                ClosedArray<nvinfer1::Dims64> const inDims{in.size(), "inputDims"};
                ClosedArray<nvinfer1::Dims64> const outDims{out.size(), "outputDims"};
                ClosedArray<nvinfer1::DataType> const inTypes{in.size(), "inputTypes"};
                ClosedArray<nvinfer1::DataType> const outTypes{out.size(), "outputTypes"};
                auto const dims = [](PyDesc const& one) { return toDesc(one).dims; };
                auto const type = [](PyDesc const& one) { return toDesc(one).type; };
                std::transform(in.begin(), in.end(), inDims.begin(), dims);
                std::transform(out.begin(), out.end(), outDims.begin(), dims);
                std::transform(in.begin(), in.end(), inTypes.begin(), type);
                std::transform(out.begin(), out.end(), outTypes.begin(), type);
                p.get().configure(inDims, outDims, inTypes, outTypes, static_cast<nvinfer1::TensorFormat>(format),
                                  maxBatchSize);
            },
            py::arg("inputs"), py::arg("outputs"), py::arg("form"), py::arg("max_batch_size"));
}

} // namespace

void bindPlugin(py::module_& module)
{
    py::register_exception<UseError>(module, "UseError", PyExc_RuntimeError);
    bindCommon(module);
    bindDynamic(module);
    bindIOExt(module);
    bindBatched<PyExtPlugin>(module, "ExtPlugin");
    bindBatched<PyBasicPlugin>(module, "BasicPlugin");
}

} // namespace pluginkit
