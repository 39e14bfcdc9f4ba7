#include "bind.h"
#include "call_file.h"
#include "plugin_v3.h"

#include <limits>

#include <pybind11/stl.h>

namespace py = pybind11;

namespace pluginkit
{

namespace
{

using Plugin = PyPluginV3;

constexpr std::int32_t kUNWRITTEN_TACTIC = std::numeric_limits<std::int32_t>::min();
using Descs = std::vector<PyDesc>;
using DynamicDescs = std::vector<PyDynamicDesc>;

bool supportsFormatCombination(Plugin const& plugin, std::int32_t pos, DynamicDescs const& inOut, std::int32_t nbInputs,
                               std::int32_t nbOutputs)
{
    auto const descs = toDynamicDescs(inOut, "inOut");
    auto& build = plugin.build();
    Call const call{"IPluginV3OneBuild::supportsFormatCombination"};
    return build.supportsFormatCombination(pos, descs.data(), nbInputs, nbOutputs);
}

std::int32_t configurePlugin(Plugin const& plugin, DynamicDescs const& in, DynamicDescs const& out)
{
    auto const inputs = toDynamicDescs(in, "in");
    auto const outputs = toDynamicDescs(out, "out");
    auto& build = plugin.build();
    Call const call{"IPluginV3OneBuild::configurePlugin"};
    return build.configurePlugin(inputs.data(), count(inputs), outputs.data(), count(outputs));
}

std::size_t getWorkspaceSize(Plugin const& plugin, DynamicDescs const& in, DynamicDescs const& out)
{
    auto const inputs = toDynamicDescs(in, "inputs");
    auto const outputs = toDynamicDescs(out, "outputs");
    auto& build = plugin.build();
    Call const call{"IPluginV3OneBuild::getWorkspaceSize"};
    return build.getWorkspaceSize(inputs.data(), count(inputs), outputs.data(), count(outputs));
}

//! (the answer, as many tactics as getNbTactics answered and kUNWRITTEN_TACTIC behind them, where nothing may be
//! written)
std::pair<std::int32_t, std::vector<std::int32_t>> getValidTactics(Plugin const& plugin, std::int32_t nbTactics)
{
    std::vector<std::int32_t> tactics(static_cast<std::size_t>(nbTactics) + 1, kUNWRITTEN_TACTIC);
    auto& build = plugin.build();
    Call const call{"IPluginV3OneBuild::getValidTactics"};
    auto const code = build.getValidTactics(tactics.data(), nbTactics);
    return {code, tactics};
}

//! Only where the build capability's major version is 2.
std::int32_t getAliasedInput(Plugin const& plugin, std::int32_t index)
{
    auto& build = static_cast<nvinfer1::IPluginV3OneBuildV2&>(plugin.build());
    Call const call{"IPluginV3OneBuildV2::getAliasedInput"};
    return build.getAliasedInput(index);
}

std::int32_t onShapeChange(Plugin const& plugin, Descs const& in, Descs const& out)
{
    auto const inputs = toDescs(in, "in");
    auto const outputs = toDescs(out, "out");
    auto& runtime = plugin.runtime();
    Call const call{"IPluginV3OneRuntime::onShapeChange"};
    return runtime.onShapeChange(inputs.data(), count(inputs), outputs.data(), count(outputs));
}

std::int32_t enqueue(Plugin const& plugin, Descs const& in, Descs const& out, std::vector<std::uintptr_t> const& inputs,
                     std::vector<std::uintptr_t> const& outputs, std::uintptr_t workspace, std::uintptr_t stream,
                     std::int64_t times)
{
    auto const inDescs = toDescs(in, "inputDesc");
    auto const outDescs = toDescs(out, "outputDesc");
    auto const from = toPointers(inputs, "inputs");
    auto const to = toPointers(outputs, "outputs");
    auto& runtime = plugin.runtime();
    return repeated(times,
                    [&]
                    {
                        Call const call{"IPluginV3OneRuntime::enqueue"};
                        return runtime.enqueue(inDescs.data(), outDescs.data(), from.data(), to.data(),
                                               reinterpret_cast<void*>(workspace),
                                               reinterpret_cast<cudaStream_t>(stream));
                    });
}

//! Calls a method without arguments of one capability.
template <auto Capability, auto Method>
auto ask(char const* name)
{
    return [name](Plugin const& plugin)
    {
        auto& from = (plugin.*Capability)();
        Call const call{name};
        return (from.*Method)();
    };
}

template <auto Capability, auto Method>
auto askText(char const* name)
{
    return [name](Plugin const& plugin)
    {
        auto& from = (plugin.*Capability)();
        Call const call{name};
        return text((from.*Method)());
    };
}

} // namespace

void bindPluginV3(py::module_& module)
{
    using Core = nvinfer1::IPluginV3OneCore;
    using Build = nvinfer1::IPluginV3OneBuild;
    py::class_<Plugin>(module, "PluginV3")
        .def("capability", &Plugin::capability, py::arg("kind"))
        .def("clone", &Plugin::clone)
        .def("destroy", &Plugin::destroy)
        .def("name", askText<&Plugin::core, &Core::getPluginName>("IPluginV3OneCore::getPluginName"))
        .def("version", askText<&Plugin::core, &Core::getPluginVersion>("IPluginV3OneCore::getPluginVersion"))
        .def("namespace", askText<&Plugin::core, &Core::getPluginNamespace>("IPluginV3OneCore::getPluginNamespace"))
        .def("nb_outputs", ask<&Plugin::build, &Build::getNbOutputs>("IPluginV3OneBuild::getNbOutputs"))
        .def("output_data_types", &Plugin::outputDataTypes, py::arg("nb_outputs"), py::arg("input_types"))
        .def("output_shapes", &Plugin::outputShapes, py::arg("inputs"), py::arg("shape_inputs"), py::arg("nb_outputs"))
        .def("shape_faults", &Plugin::shapeFaults)
        .def("supports_format_combination", &supportsFormatCombination, py::arg("pos"), py::arg("in_out"),
             py::arg("nb_inputs"), py::arg("nb_outputs"))
        .def("configure_plugin", &configurePlugin, py::arg("inputs"), py::arg("outputs"))
        .def("workspace_size", &getWorkspaceSize, py::arg("inputs"), py::arg("outputs"))
        .def("nb_tactics", ask<&Plugin::build, &Build::getNbTactics>("IPluginV3OneBuild::getNbTactics"))
        .def("valid_tactics", &getValidTactics, py::arg("nb_tactics"))
        .def("timing_cache_id",
             askText<&Plugin::build, &Build::getTimingCacheID>("IPluginV3OneBuild::getTimingCacheID"))
        .def("format_combination_limit",
             ask<&Plugin::build, &Build::getFormatCombinationLimit>("IPluginV3OneBuild::getFormatCombinationLimit"))
        .def("metadata_string",
             askText<&Plugin::build, &Build::getMetadataString>("IPluginV3OneBuild::getMetadataString"))
        .def("aliased_input", &getAliasedInput, py::arg("index"))
        .def(
            "set_tactic",
            [](Plugin const& plugin, std::int32_t tactic)
            {
                auto& runtime = plugin.runtime();
                Call const call{"IPluginV3OneRuntime::setTactic"};
                return runtime.setTactic(tactic);
            },
            py::arg("tactic"))
        .def("on_shape_change", &onShapeChange, py::arg("inputs"), py::arg("outputs"))
        .def("enqueue", &enqueue, py::call_guard<py::gil_scoped_release>(), py::arg("input_descs"),
             py::arg("output_descs"), py::arg("inputs"), py::arg("outputs"), py::arg("workspace"), py::arg("stream"),
             py::arg("times") = 1)
        .def("attach_to_context", &Plugin::attachToContext)
        .def("fields_to_serialize", &Plugin::fieldsToSerialize);
}

} // namespace pluginkit
