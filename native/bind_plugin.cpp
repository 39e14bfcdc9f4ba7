#include "bind.h"
#include "breadcrumb.h"
#include "layout.h"
#include "library.h"
#include "nodes.h"

#include <cstring>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace pluginkit
{

namespace
{

using PyDims = std::vector<std::int64_t>;
//! (dims, nvinfer1::DataType, nvinfer1::TensorFormat, scale)
using PyDesc = std::tuple<PyDims, std::int32_t, std::int32_t, float>;
//! (desc, min, opt, max)
using PyDynamicDesc = std::tuple<PyDesc, PyDims, PyDims, PyDims>;
//! (name, nvinfer1::PluginFieldType, bytes, length)
using PyField = std::tuple<std::string, std::int32_t, std::optional<py::bytes>, std::int32_t>;
using OptionalText = std::optional<std::string>;

OptionalText text(char const* value)
{
    return value == nullptr ? std::nullopt : OptionalText{value};
}

nvinfer1::Dims64 toDims(PyDims const& dims)
{
    if (dims.size() > static_cast<std::size_t>(nvinfer1::Dims64::MAX_DIMS))
    {
        throw std::invalid_argument{"a tensor has at most 8 dimensions, this one " + std::to_string(dims.size())};
    }
    nvinfer1::Dims64 result{};
    result.nbDims = static_cast<std::int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), result.d);
    return result;
}

nvinfer1::PluginTensorDesc toDesc(PyDesc const& desc)
{
    auto const& [dims, type, format, scale] = desc;
    nvinfer1::PluginTensorDesc result{};
    result.dims = toDims(dims);
    result.type = static_cast<nvinfer1::DataType>(type);
    result.format = static_cast<nvinfer1::TensorFormat>(format);
    result.scale = scale;
    return result;
}

std::vector<nvinfer1::PluginTensorDesc> toDescs(std::vector<PyDesc> const& descs)
{
    std::vector<nvinfer1::PluginTensorDesc> result;
    for (auto const& desc : descs)
    {
        result.push_back(toDesc(desc));
    }
    return result;
}

std::vector<nvinfer1::DynamicPluginTensorDesc> toDynamicDescs(std::vector<PyDynamicDesc> const& descs)
{
    std::vector<nvinfer1::DynamicPluginTensorDesc> result;
    for (auto const& [desc, min, opt, max] : descs)
    {
        nvinfer1::DynamicPluginTensorDesc one{};
        one.desc = toDesc(desc);
        one.min = toDims(min);
        one.opt = toDims(opt);
        one.max = toDims(max);
        result.push_back(one);
    }
    return result;
}

template <class T>
std::int32_t count(std::vector<T> const& items)
{
    return static_cast<std::int32_t>(items.size());
}

struct UseError : std::logic_error
{
    using std::logic_error::logic_error;
};

//! A plugin with an owner: a destroyed one refuses to be called.
class PyPlugin
{
public:
    explicit PyPlugin(std::unique_ptr<DynamicPlugin> plugin) : mPlugin{std::move(plugin)} {}

    DynamicPlugin& get() const
    {
        if (mPlugin == nullptr)
        {
            throw UseError{"a plugin was called after its destroy()"};
        }
        return *mPlugin;
    }

    void destroy()
    {
        get().destroy();
        mPlugin.reset();
    }

    //! (nbDims, the index of each dimension's node or what came in its place, nodes, faults). One symbol for each -1 of
    //! `inputs`, in order.
    auto outputDimensions(std::int32_t index, std::vector<PyDims> const& inputs)
    {
        // Kept until the plugin is gone, so that faults of later calls are collected too.
        auto& session = *mSessions.emplace_back(std::make_unique<ExprSession>());
        std::vector<nvinfer1::DimsExprs> exprs;
        for (PyDims const& dims : inputs)
        {
            nvinfer1::DimsExprs one{};
            one.nbDims = toDims(dims).nbDims;
            for (std::size_t i = 0; i < dims.size(); ++i)
            {
                one.d[i] = dims[i] < 0 ? session.symbol() : session.constant(dims[i]);
            }
            exprs.push_back(one);
        }
        auto const answer = get().getOutputDimensions(index, exprs.data(), count(exprs), session.builder());
        session.end();
        std::vector<std::variant<std::int32_t, std::string>> roots;
        for (std::int32_t i = 0; i < answer.nbDims && i < nvinfer1::Dims64::MAX_DIMS; ++i)
        {
            auto const node = session.find(answer.d[i]);
            roots.emplace_back();
            if (node)
            {
                roots.back() = *node;
            }
            else
            {
                roots.back() = ExprSession::describe(answer.d[i]);
            }
        }
        return std::tuple{answer.nbDims, roots, toPython(session.nodes()), session.faults()};
    }

    std::vector<std::string> shapeFaults() const
    {
        std::vector<std::string> all;
        for (auto const& session : mSessions)
        {
            all.insert(all.end(), session->faults().begin(), session->faults().end());
        }
        return all;
    }

private:
    std::unique_ptr<DynamicPlugin> mPlugin;
    std::vector<std::unique_ptr<ExprSession>> mSessions;
};

//! A creator of a library that is kept loaded as long as the creator is known.
class PyCreator
{
public:
    PyCreator(std::shared_ptr<Library> library, nvinfer1::IPluginCreatorInterface* creator)
        : mLibrary{std::move(library)}, mCreator{creator}
    {
        Call const call{"IPluginCreatorInterface::getInterfaceInfo"};
        mInfo = mCreator->getInterfaceInfo();
    }

    std::tuple<OptionalText, std::int32_t, std::int32_t> interfaceInfo() const
    {
        return {text(mInfo.kind), mInfo.major, mInfo.minor};
    }

    bool isV2() const
    {
        return mInfo.kind != nullptr && std::strcmp(mInfo.kind, "PLUGIN CREATOR_V1") == 0;
    }

    bool isV3() const
    {
        return mInfo.kind != nullptr && std::strcmp(mInfo.kind, "PLUGIN CREATOR_V3ONE") == 0;
    }

    OptionalText name() const
    {
        Call const call{"IPluginCreator::getPluginName"};
        return text(isV3() ? v3().getPluginName() : v2().getPluginName());
    }

    OptionalText version() const
    {
        Call const call{"IPluginCreator::getPluginVersion"};
        return text(isV3() ? v3().getPluginVersion() : v2().getPluginVersion());
    }

    OptionalText pluginNamespace() const
    {
        Call const call{"IPluginCreator::getPluginNamespace"};
        return text(isV3() ? v3().getPluginNamespace() : v2().getPluginNamespace());
    }

    void setNamespace(std::string const& value) const
    {
        Call const call{"IPluginCreator::setPluginNamespace"};
        v2().setPluginNamespace(value.c_str());
    }

    //! Nothing when the answer is null; else (nbFields, the fields, or nothing when their array is null).
    std::optional<
        std::pair<std::int32_t, std::optional<std::vector<std::tuple<OptionalText, std::int32_t, std::int32_t>>>>>
    fieldNames() const
    {
        nvinfer1::PluginFieldCollection const* answer = nullptr;
        {
            Call const call{"IPluginCreator::getFieldNames"};
            answer = isV3() ? v3().getFieldNames() : v2().getFieldNames();
        }
        if (answer == nullptr)
        {
            return std::nullopt;
        }
        if (answer->fields == nullptr)
        {
            return std::pair{answer->nbFields, std::nullopt};
        }
        std::vector<std::tuple<OptionalText, std::int32_t, std::int32_t>> fields;
        for (std::int32_t i = 0; i < answer->nbFields; ++i)
        {
            auto const& field = answer->fields[i];
            fields.emplace_back(text(field.name), static_cast<std::int32_t>(field.type), field.length);
        }
        return std::pair{answer->nbFields, std::optional{fields}};
    }

    std::unique_ptr<PyPlugin> create(std::string const& layer, std::vector<PyField> const& fields)
    {
        // Owned here and wiped after the call: what a plugin keeps a pointer to is not what it was (rule F5).
        std::vector<std::string> names;
        std::vector<std::vector<char>> values;
        std::vector<nvinfer1::PluginField> list;
        names.reserve(fields.size());
        values.reserve(fields.size());
        for (auto const& [name, type, value, length] : fields)
        {
            names.push_back(name);
            std::string const bytes = value ? std::string{*value} : std::string{};
            values.emplace_back(bytes.begin(), bytes.end());
            list.push_back({names.back().c_str(), value ? values.back().data() : nullptr,
                            static_cast<nvinfer1::PluginFieldType>(type), length});
        }
        nvinfer1::PluginFieldCollection collection{};
        collection.nbFields = count(list);
        collection.fields = list.data();
        nvinfer1::IPluginV2* made = nullptr;
        {
            Call const call{"IPluginCreator::createPlugin"};
            made = v2().createPlugin(layer.c_str(), &collection);
        }
        for (auto& value : values)
        {
            std::fill(value.begin(), value.end(), static_cast<char>(0xEE));
        }
        for (auto& name : names)
        {
            std::fill(name.begin(), name.end(), '~');
        }
        // Not freed: a plugin that kept a pointer reads the wiped bytes, and not what the heap puts there next.
        mWipedNames.push_back(std::move(names));
        mWipedValues.push_back(std::move(values));
        return wrap(made);
    }

    std::unique_ptr<PyPlugin> deserialize(std::string const& layer, py::bytes const& data) const
    {
        std::string const text{data};
        // A heap copy of just that size: tools that watch the heap see a read beyond it, and it is gone afterwards.
        std::vector<char> bytes(text.begin(), text.end());
        nvinfer1::IPluginV2* made = nullptr;
        {
            Call const call{"IPluginCreator::deserializePlugin"};
            made = v2().deserializePlugin(layer.c_str(), bytes.data(), bytes.size());
        }
        std::fill(bytes.begin(), bytes.end(), static_cast<char>(0xEE));
        return wrap(made);
    }

private:
    void checkLoaded() const
    {
        if (!mLibrary->loaded())
        {
            throw UseError{"a creator was called after its library was closed"};
        }
    }

    nvinfer1::IPluginCreator& v2() const
    {
        checkLoaded();
        if (!isV2())
        {
            throw UseError{"this creator is no IPluginCreator: its interface kind is " +
                           std::string{mInfo.kind == nullptr ? "null" : mInfo.kind}};
        }
        return *static_cast<nvinfer1::IPluginCreator*>(mCreator);
    }

    nvinfer1::IPluginCreatorV3One& v3() const
    {
        checkLoaded();
        return *static_cast<nvinfer1::IPluginCreatorV3One*>(mCreator);
    }

    //! Null stays null. Throws std::invalid_argument for a plugin that is no IPluginV2DynamicExt of this host's layout:
    //! the only methods that may be called on it then are those of IPluginV2.
    std::unique_ptr<PyPlugin> wrap(nvinfer1::IPluginV2* made) const
    {
        if (made == nullptr)
        {
            return nullptr;
        }
        std::int32_t version = 0;
        {
            Call const call{"IPluginV2::getTensorRTVersion"};
            version = made->getTensorRTVersion();
        }
        std::int32_t const base = version >> 24;
        std::int32_t const compiled = version & 0xFFFFFF;
        std::int32_t const layout = layoutOf(mLibrary->version());
        bool const dynamic = base == static_cast<std::int32_t>(nvinfer1::PluginVersion::kV2_DYNAMICEXT);
        if (!dynamic || (compiled >= 110000 ? 11 : 10) != layout)
        {
            Call const call{"IPluginV2::destroy"};
            made->destroy();
            throw std::invalid_argument{dynamic ? "getTensorRTVersion answered " + std::to_string(compiled) +
                                                      ", but the host is of version " +
                                                      std::to_string(mLibrary->version()) +
                                                      " and calls the vtable of layout " + std::to_string(layout)
                                                : "getTensorRTVersion answered the base " + std::to_string(base) +
                                                      " in its top byte, expected 3 (IPluginV2DynamicExt)"};
        }
        return std::make_unique<PyPlugin>(layout == 10 ? layout10::wrapDynamic(made) : layout11::wrapDynamic(made));
    }

    std::shared_ptr<Library> mLibrary;
    nvinfer1::IPluginCreatorInterface* mCreator;
    nvinfer1::InterfaceInfo mInfo;
    std::vector<std::vector<std::string>> mWipedNames;
    std::vector<std::vector<std::vector<char>>> mWipedValues;
};

std::vector<void*> toPointers(std::vector<std::uintptr_t> const& addresses)
{
    std::vector<void*> result;
    for (auto const address : addresses)
    {
        result.push_back(reinterpret_cast<void*>(address));
    }
    return result;
}

void bindCreator(py::module_& module)
{
    py::class_<PyCreator>(module, "Creator")
        .def_property_readonly("interface_info", &PyCreator::interfaceInfo)
        .def_property_readonly("is_v2", &PyCreator::isV2)
        .def_property_readonly("is_v3", &PyCreator::isV3)
        .def("name", &PyCreator::name)
        .def("version", &PyCreator::version)
        .def("namespace", &PyCreator::pluginNamespace)
        .def("set_namespace", &PyCreator::setNamespace, py::arg("value"))
        .def("field_names", &PyCreator::fieldNames)
        .def("create", &PyCreator::create, py::arg("layer"), py::arg("fields"))
        .def("deserialize", &PyCreator::deserialize, py::arg("layer"), py::arg("data"));
    py::class_<Library, std::shared_ptr<Library>>(module, "Library")
        .def(py::init<std::string const&, std::int32_t>(), py::arg("path"), py::arg("version"))
        .def("creators",
             [](std::shared_ptr<Library> const& library)
             {
                 std::vector<std::unique_ptr<PyCreator>> creators;
                 for (auto* const creator : library->creators())
                 {
                     creators.push_back(std::make_unique<PyCreator>(library, creator));
                 }
                 return creators;
             })
        .def("close", &Library::close);
}

} // namespace

void bindPlugin(py::module_& module)
{
    py::register_exception<UseError>(module, "UseError", PyExc_RuntimeError);
    bindCreator(module);
    py::class_<PyPlugin>(module, "Plugin")
        .def("tensorrt_version", [](PyPlugin const& p) { return p.get().getTensorRTVersion(); })
        .def("plugin_type", [](PyPlugin const& p) { return text(p.get().getPluginType()); })
        .def("plugin_version", [](PyPlugin const& p) { return text(p.get().getPluginVersion()); })
        .def("nb_outputs", [](PyPlugin const& p) { return p.get().getNbOutputs(); })
        .def("initialize", [](PyPlugin const& p) { return p.get().initialize(); })
        .def("terminate", [](PyPlugin const& p) { p.get().terminate(); })
        .def("serialization_size", [](PyPlugin const& p) { return p.get().getSerializationSize(); })
        .def(
            "serialize", [](PyPlugin const& p, std::uintptr_t buffer)
            { p.get().serialize(reinterpret_cast<void*>(buffer)); }, py::arg("buffer"))
        .def("destroy", &PyPlugin::destroy)
        .def("clone",
             [](PyPlugin const& p) -> std::unique_ptr<PyPlugin>
             {
                 auto copy = p.get().clone();
                 return copy == nullptr ? nullptr : std::make_unique<PyPlugin>(std::move(copy));
             })
        .def(
            "set_plugin_namespace", [](PyPlugin const& p, std::string const& value)
            { p.get().setPluginNamespace(value.c_str()); }, py::arg("value"))
        .def("plugin_namespace", [](PyPlugin const& p) { return text(p.get().getPluginNamespace()); })
        .def(
            "output_data_type",
            [](PyPlugin const& p, std::int32_t index, std::vector<std::int32_t> const& codes)
            {
                std::vector<nvinfer1::DataType> types;
                for (auto const code : codes)
                {
                    types.push_back(static_cast<nvinfer1::DataType>(code));
                }
                return static_cast<std::int32_t>(p.get().getOutputDataType(index, types.data(), count(types)));
            },
            py::arg("index"), py::arg("input_types"))
        .def("attach_to_context", [](PyPlugin const& p) { p.get().attachToContext(); })
        .def("detach_from_context", [](PyPlugin const& p) { p.get().detachFromContext(); })
        .def("output_dimensions", &PyPlugin::outputDimensions, py::arg("index"), py::arg("inputs"))
        .def("shape_faults", &PyPlugin::shapeFaults)
        .def(
            "supports_format_combination",
            [](PyPlugin const& p, std::int32_t pos, std::vector<PyDesc> const& inOut, std::int32_t nbInputs,
               std::int32_t nbOutputs)
            { return p.get().supportsFormatCombination(pos, toDescs(inOut).data(), nbInputs, nbOutputs); },
            py::arg("pos"), py::arg("in_out"), py::arg("nb_inputs"), py::arg("nb_outputs"))
        .def(
            "configure_plugin",
            [](PyPlugin const& p, std::vector<PyDynamicDesc> const& in, std::vector<PyDynamicDesc> const& out)
            { p.get().configurePlugin(toDynamicDescs(in).data(), count(in), toDynamicDescs(out).data(), count(out)); },
            py::arg("inputs"), py::arg("outputs"))
        .def(
            "workspace_size", [](PyPlugin const& p, std::vector<PyDesc> const& in, std::vector<PyDesc> const& out)
            { return p.get().getWorkspaceSize(toDescs(in).data(), count(in), toDescs(out).data(), count(out)); },
            py::arg("inputs"), py::arg("outputs"))
        .def(
            "enqueue",
            [](PyPlugin const& p, std::vector<PyDesc> const& in, std::vector<PyDesc> const& out,
               std::vector<std::uintptr_t> const& inputs, std::vector<std::uintptr_t> const& outputs,
               std::uintptr_t workspace, std::uintptr_t stream)
            {
                return p.get().enqueue(toDescs(in).data(), toDescs(out).data(), toPointers(inputs).data(),
                                       toPointers(outputs).data(), reinterpret_cast<void*>(workspace),
                                       reinterpret_cast<void*>(stream));
            },
            py::arg("input_descs"), py::arg("output_descs"), py::arg("inputs"), py::arg("outputs"),
            py::arg("workspace"), py::arg("stream"));
}

} // namespace pluginkit
