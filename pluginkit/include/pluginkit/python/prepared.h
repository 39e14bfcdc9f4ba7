//! A plugin made ready for inputs of certain types and shapes, by the calls that TensorRT makes in that order:
//! analysis, formats, configurePlugin, what an engine keeps, a plugin made of that, a context's plugin, the shapes.
#pragma once

#include <pluginkit/python/constants.h>
#include <pluginkit/python/types.h>

#include <memory>
#include <mutex>
#include <pybind11/pybind11.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace pluginkit
{

namespace python
{

using Descs = std::vector<nvinfer1::PluginTensorDesc>;

namespace detail
{

//! What a plugin gets with a context: no allocator and no recorder, as this is not an engine.
class NoResources final : public nvinfer1::IPluginResourceContext
{
public:
    nvinfer1::IGpuAllocator* getGpuAllocator() const noexcept override
    {
        return nullptr;
    }
    nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override
    {
        return nullptr;
    }
};

inline void expectZero(int32_t answer, std::string const& plugin, char const* method)
{
    if (answer != 0)
    {
        throw std::runtime_error(plugin + "'s " + method + " answered " + std::to_string(answer) + ", not 0.");
    }
}

inline std::vector<nvinfer1::DynamicPluginTensorDesc> settled(Descs const& from)
{
    std::vector<nvinfer1::DynamicPluginTensorDesc> descs;
    for (nvinfer1::PluginTensorDesc const& desc : from)
    {
        descs.push_back({desc, desc.dims, desc.dims, desc.dims});
    }
    return descs;
}

template <typename T>
int32_t count(std::vector<T> const& items) noexcept
{
    return static_cast<int32_t>(items.size());
}

} // namespace detail

struct Prepared
{
    std::string name; //!< the plugin's
    std::unique_ptr<nvinfer1::IPluginV3> engine;
    std::unique_ptr<nvinfer1::IPluginV3> context; //!< goes before the engine's
    nvinfer1::IPluginV3OneRuntime* runtime{nullptr};
    Descs in;
    Descs out;
    std::vector<int32_t> aliases; //!< for each output the input whose memory it has, or -1
    size_t workspace{0};
    std::mutex enqueuing; //!< a context's plugin is for one thread at a time

    //! Raises TypeError for types that the plugin doesn't take, ValueError for shapes, RuntimeError for other answers
    //! that are none. `tensors` are the inputs' names for errors, then those of the outputs.
    Prepared(std::string plugin, nvinfer1::IPluginCreatorV3One& creator, nvinfer1::IPluginV3& network, Descs inputs,
             std::vector<std::string> const& inputNames)
        : name{std::move(plugin)}, in{std::move(inputs)}
    {
        std::unique_ptr<nvinfer1::IPluginV3> const built{network.clone()};
        auto* const build =
            capability<nvinfer1::IPluginV3OneBuild>(built.get(), nvinfer1::PluginCapabilityType::kBUILD, "clone");
        analyse(*build);
        checkFormats(*build, inputNames);
        std::vector<nvinfer1::DynamicPluginTensorDesc> const ins = detail::settled(in);
        std::vector<nvinfer1::DynamicPluginTensorDesc> const outs = detail::settled(out);
        int32_t const nbIn = detail::count(in);
        int32_t const nbOut = detail::count(out);
        detail::expectZero(build->configurePlugin(ins.data(), nbIn, outs.data(), nbOut), name, "configurePlugin");
        std::vector<int32_t> tactics(static_cast<size_t>(std::max(build->getNbTactics(), 0)));
        detail::expectZero(build->getValidTactics(tactics.data(), detail::count(tactics)), name, "getValidTactics");
        workspace = build->getWorkspaceSize(ins.data(), nbIn, outs.data(), nbOut);

        auto* const kept = capability<nvinfer1::IPluginV3OneRuntime>(
            built.get(), nvinfer1::PluginCapabilityType::kRUNTIME, "getCapabilityInterface");
        nvinfer1::PluginFieldCollection const* const state = kept->getFieldsToSerialize();
        engine.reset(state != nullptr ? creator.createPlugin("eager", state, nvinfer1::TensorRTPhase::kRUNTIME)
                                      : nullptr);
        auto* const restored = capability<nvinfer1::IPluginV3OneRuntime>(
            engine.get(), nvinfer1::PluginCapabilityType::kRUNTIME, "createPlugin with what it serialized");
        static detail::NoResources resources;
        nvinfer1::IPluginV3* const attached = restored->attachToContext(&resources);
        // The same plugin again has an owner already.
        context.reset(attached != engine.get() ? attached : nullptr);
        runtime = capability<nvinfer1::IPluginV3OneRuntime>(context.get(), nvinfer1::PluginCapabilityType::kRUNTIME,
                                                            "attachToContext");
        detail::expectZero(runtime->setTactic(tactics.empty() ? 0 : tactics.front()), name, "setTactic");
        detail::expectZero(runtime->onShapeChange(in.data(), nbIn, out.data(), nbOut), name, "onShapeChange");
    }
    Prepared(Prepared const&) = delete;
    Prepared& operator=(Prepared const&) = delete;

private:
    template <typename Capability>
    Capability* capability(nvinfer1::IPluginV3* plugin, nvinfer1::PluginCapabilityType type, char const* method) const
    {
        auto* const found =
            plugin != nullptr ? static_cast<Capability*>(plugin->getCapabilityInterface(type)) : nullptr;
        if (found == nullptr)
        {
            throw std::runtime_error(name + "'s " + method + " gave no plugin.");
        }
        return found;
    }

    void analyse(nvinfer1::IPluginV3OneBuild& build)
    {
        int32_t const nbOut = build.getNbOutputs();
        if (nbOut < 1)
        {
            throw std::runtime_error(name + "'s getNbOutputs answered " + std::to_string(nbOut) + ".");
        }
        std::vector<nvinfer1::DataType> given;
        std::vector<nvinfer1::DimsExprs> shapes;
        Constants numbers;
        for (nvinfer1::PluginTensorDesc const& desc : in)
        {
            given.push_back(desc.type);
            nvinfer1::DimsExprs& exprs = shapes.emplace_back();
            exprs.nbDims = desc.dims.nbDims;
            for (int32_t i = 0; i < desc.dims.nbDims; ++i)
            {
                exprs.d[i] = numbers.constant(desc.dims.d[i]);
            }
        }
        std::vector<nvinfer1::DataType> types(static_cast<size_t>(nbOut), nvinfer1::DataType::kFLOAT);
        detail::expectZero(build.getOutputDataTypes(types.data(), nbOut, given.data(), detail::count(given)), name,
                           "getOutputDataTypes");
        std::vector<nvinfer1::DimsExprs> outputs(types.size());
        int32_t const answer =
            build.getOutputShapes(shapes.data(), detail::count(shapes), nullptr, 0, outputs.data(), nbOut, numbers);
        if (numbers.sized())
        {
            throw std::runtime_error(name + " has outputs whose sizes only enqueue knows, which an eager call has not: "
                                            "run it in an engine.");
        }
        for (size_t i = 0; i < types.size(); ++i)
        {
            out.push_back(
                {answer == 0 ? dimsOf(outputs[i]) : refused(), types[i], nvinfer1::TensorFormat::kLINEAR, 1.0F});
        }
        aliases.assign(types.size(), -1);
        if (build.getInterfaceInfo().major >= 2)
        {
            for (size_t i = 0; i < types.size(); ++i)
            {
                int32_t const source =
                    static_cast<nvinfer1::v_2_0::IPluginV3OneBuild&>(build).getAliasedInput(static_cast<int32_t>(i));
                aliases[i] = source < detail::count(in) ? source : -1;
            }
        }
    }

    nvinfer1::Dims dimsOf(nvinfer1::DimsExprs const& exprs) const
    {
        nvinfer1::Dims dims{};
        dims.nbDims = exprs.nbDims;
        bool fine = exprs.nbDims >= 0 && exprs.nbDims <= nvinfer1::Dims::MAX_DIMS;
        for (int32_t i = 0; fine && i < exprs.nbDims; ++i)
        {
            fine = exprs.d[i] != nullptr && exprs.d[i]->getConstantValue() >= 0;
            dims.d[i] = fine ? exprs.d[i]->getConstantValue() : 0;
        }
        return fine ? dims : refused();
    }

    [[noreturn]] nvinfer1::Dims refused() const
    {
        std::string shapes;
        for (nvinfer1::PluginTensorDesc const& desc : in)
        {
            shapes += (shapes.empty() ? "" : ", ") + shapeText(desc.dims);
        }
        throw pybind11::value_error(name + " has no output shapes for inputs of the shapes " + shapes +
                                    ": its getOutputShapes, or V2's getOutputDimensions, takes none of them.");
    }

    void checkFormats(nvinfer1::IPluginV3OneBuild& build, std::vector<std::string> const& inputNames)
    {
        Descs all{in};
        all.insert(all.end(), out.begin(), out.end());
        auto asked = detail::settled(all);
        auto const takes = [&](int32_t pos)
        { return build.supportsFormatCombination(pos, asked.data(), detail::count(in), detail::count(out)); };
        for (int32_t pos = 0; pos < detail::count(asked); ++pos)
        {
            if (takes(pos))
            {
                continue;
            }
            auto& type = asked[static_cast<size_t>(pos)].desc.type;
            nvinfer1::DataType const was = type;
            std::string others;
            for (ElementType const& one : kTypes)
            {
                type = one.type;
                others += takes(pos) ? (others.empty() ? "" : ", ") + std::string{one.name} : "";
            }
            bool const input = pos < detail::count(in);
            std::string const what =
                input ? inputNames[static_cast<size_t>(pos)] : "output " + std::to_string(pos - detail::count(in));
            std::string const before = pos > 0 ? " after the tensors before it" : "";
            throw pybind11::type_error(
                name + " takes no " + nameOf(was) + " as " + what +
                (others.empty() ? ", nor any other linear tensor" + before : before + "; it takes " + others) + ".");
        }
    }
};

} // namespace python

} // namespace pluginkit
