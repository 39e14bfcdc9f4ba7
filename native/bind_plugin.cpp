#include "bind.h"
#include "py_plugins.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <memory>
#include <set>
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
    static auto* const texts = new std::set<std::string>;
    return texts->insert(text).first->c_str();
}

//! Leaves a byte in the stack below its caller, where the next call's variables begin.
__attribute__((noinline)) void fillStack(int fill)
{
    constexpr std::size_t kBytes = std::size_t{16} * 1024;
    std::array<unsigned char volatile, kBytes> below;
    for (std::size_t i = 0; i < kBytes; ++i)
    {
        below[i] = static_cast<unsigned char>(fill);
    }
}

//! Leaves a byte in what malloc gives next: of small blocks glibc keeps some apart, which M_PERTURB doesn't reach.
void fillHeap(int fill)
{
    constexpr std::size_t kLargest = 1040;
    constexpr std::size_t kStep = 16;
    constexpr int kKept = 7;
    std::vector<void*> blocks;
    for (std::size_t size = kStep; size <= kLargest; size += kStep)
    {
        for (int i = 0; i < kKept; ++i)
        {
            if (void* const block = std::malloc(size - sizeof(std::size_t)); block != nullptr)
            {
                blocks.push_back(std::memset(block, fill, size - sizeof(std::size_t)));
            }
        }
    }
    for (void* const block : blocks)
    {
        std::free(block);
    }
}

//! A clone over memory that holds `fill` wherever the plugin writes nothing.
std::unique_ptr<PyPlugin> cloneOver(PyPlugin const& plugin, int fill)
{
    // glibc writes the complement of it into what it allocates.
    ::mallopt(M_PERTURB, ~fill & 0xFF);
    fillHeap(fill);
    fillStack(fill);
    auto copy = plugin.clone();
    ::mallopt(M_PERTURB, 0);
    return copy;
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
    return face;
}

void bindIOExt(py::module_& module)
{
    bindStatic<PyIOExtPlugin>(module, "IOExtPlugin")
        .def(
            "configure_plugin",
            [](PyIOExtPlugin const& p, std::vector<PyDesc> const& in, std::vector<PyDesc> const& out)
            { p.get().configurePlugin(toDescs(in).data(), count(in), toDescs(out).data(), count(out)); },
            py::arg("inputs"), py::arg("outputs"));
}

//! Dimensions and types of tensors, of which the plugin gets no more.
std::pair<std::vector<nvinfer1::Dims64>, std::vector<nvinfer1::DataType>> plain(std::vector<PyDesc> const& given)
{
    std::pair<std::vector<nvinfer1::Dims64>, std::vector<nvinfer1::DataType>> found;
    for (auto const& one : toDescs(given))
    {
        found.first.push_back(one.dims);
        found.second.push_back(one.type);
    }
    return found;
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
                auto const [inDims, inTypes] = plain(in);
                auto const [outDims, outTypes] = plain(out);
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
