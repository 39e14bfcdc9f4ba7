#pragma once

#include "descs.h"
#include "expressions.h"

#include <array>
#include <memory>

namespace pluginkit
{

//! An IPluginV3 with an owner: each method is that of the plugin or of one of its capabilities. The classes lie alike
//! in TensorRT 10.0 to 11.x and RTX, so this is compiled once. A destroyed one refuses to be called.
class PyPluginV3
{
public:
    using Info = std::tuple<OptionalText, std::int32_t, std::int32_t>;
    //! (name, nvinfer1::PluginFieldType, length, data): what getFieldsToSerialize lists.
    using Kept = std::tuple<OptionalText, std::int32_t, std::int32_t, std::optional<pybind11::bytes>>;

    explicit PyPluginV3(nvinfer1::IPluginV3* plugin) : mPlugin{plugin} {}

    nvinfer1::IPluginV3& get() const;
    nvinfer1::IPluginV3OneCore& core() const;
    nvinfer1::IPluginV3OneBuild& build() const;
    nvinfer1::IPluginV3OneRuntime& runtime() const;

    //! getInterfaceInfo of the capability of that PluginCapabilityType; nothing where there is none.
    std::optional<Info> capability(std::int32_t type) const;
    std::unique_ptr<PyPluginV3> clone() const;
    //! The plugin for the context, and whether it is this one.
    std::pair<std::unique_ptr<PyPluginV3>, bool> attachToContext() const;
    //! Nothing when the answer is null; else (nbFields, the fields, or nothing when their array is null). Read after
    //! stack and heap were written over, so that fields that don't outlive the call show.
    std::optional<std::pair<std::int32_t, std::optional<std::vector<Kept>>>> fieldsToSerialize() const;
    //! (the answer, a type for each output; -1 where none was written)
    std::pair<std::int32_t, std::vector<std::int32_t>> outputDataTypes(std::int32_t nbOutputs,
                                                                       std::vector<std::int32_t> const& inputs) const;
    //! (the answer, for each output (nbDims, the index of each dimension's node or what came in its place), nodes, the
    //! size tensors as (output, opt, upper, symbol), faults). One symbol for each -1 of `inputs`, then one for each
    //! element of the shape inputs, of which `shapeInputs` has the numbers of elements; all in order.
    pybind11::tuple outputShapes(std::vector<PyDims> const& inputs, std::vector<std::int32_t> const& shapeInputs,
                                 std::int32_t nbOutputs);
    std::vector<std::string> shapeFaults() const;
    void destroy();

private:
    nvinfer1::IPluginCapability* find(nvinfer1::PluginCapabilityType type) const;
    nvinfer1::IPluginCapability& need(nvinfer1::PluginCapabilityType type, char const* name) const;

    nvinfer1::IPluginV3* mPlugin;
    std::vector<std::unique_ptr<ExprSession>> mSessions;
};

} // namespace pluginkit
