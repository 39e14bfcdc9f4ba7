#include "bind.h"
#include "call_file.h"
#include "given_fields.h"
#include "library.h"
#include "litter.h"
#include "plugin_v3.h"
#include "py_plugins.h"

#include <cstring>

namespace py = pybind11;

namespace pluginkit
{

namespace
{

constexpr char const* kLAYER{"the layer's name"};

//! A creator of a library that is kept loaded as long as the creator is known.
class PyCreator
{
public:
    PyCreator(std::shared_ptr<Library> library, void* creator) : mLibrary{std::move(library)}
    {
        if (!mLibrary->face().versioned)
        {
            mV2 = mLibrary->face().wrapCreator(creator);
            return;
        }
        mCreator = static_cast<nvinfer1::IPluginCreatorInterface*>(creator);
        {
            Call const call{"IPluginCreatorInterface::getInterfaceInfo"};
            mInfo = mCreator->getInterfaceInfo();
        }
        if (mInfo.kind != nullptr && std::strcmp(mInfo.kind, "PLUGIN CREATOR_V1") == 0)
        {
            mV2 = mLibrary->face().wrapCreator(static_cast<nvinfer1::IPluginCreator*>(mCreator));
        }
    }

    std::tuple<OptionalText, std::int32_t, std::int32_t> interfaceInfo() const
    {
        return {text(mInfo.kind), mInfo.major, mInfo.minor};
    }

    bool isV2() const
    {
        return mV2 != nullptr;
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
        ClosedText const given{value, "pluginNamespace"};
        Call const call{"IPluginCreator::setPluginNamespace"};
        v2().setPluginNamespace(given.get());
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

    py::object create(std::string const& layer, std::vector<PyField> const& fields)
    {
        auto& given = keep(fields);
        nvinfer1::IPluginV2* made = nullptr;
        {
            ClosedText const name{layer, kLAYER};
            Call const call{"IPluginCreator::createPlugin"};
            made = v2().createPlugin(name.get(), given.get());
        }
        given.wipe();
        return wrap(made);
    }

    //! `phase`: nvinfer1::TensorRTPhase. Null stays null.
    std::unique_ptr<PyPluginV3> createV3(std::string const& layer, std::vector<PyField> const& fields,
                                         std::int32_t phase)
    {
        auto& given = keep(fields);
        nvinfer1::IPluginV3* made = nullptr;
        {
            ClosedText const name{layer, kLAYER};
            Call const call{"IPluginCreatorV3One::createPlugin"};
            made = v3().createPlugin(name.get(), given.get(), static_cast<nvinfer1::TensorRTPhase>(phase));
        }
        given.wipe();
        return made == nullptr ? nullptr : std::make_unique<PyPluginV3>(made);
    }

    //! As `create`, over memory that holds `fill` wherever the plugin writes nothing.
    py::object createOver(std::string const& layer, std::vector<PyField> const& fields, int fill)
    {
        Littered const littered{fill};
        return create(layer, fields);
    }

    //! As `deserialize`; a read beyond the bytes ends the process. No bytes lie at null.
    py::object deserializeClosed(std::string const& layer, py::bytes const& data) const
    {
        nvinfer1::IPluginV2* made = nullptr;
        {
            ClosedCopy const bytes{std::string_view{data}, "the serialized bytes"};
            ClosedText const name{layer, kLAYER};
            Call const call{"IPluginCreator::deserializePlugin"};
            auto const size = static_cast<std::size_t>(PyBytes_Size(data.ptr()));
            made = v2().deserializePlugin(name.get(), size == 0 ? nullptr : bytes.data(), size);
        }
        return wrap(made);
    }

    py::object deserialize(std::string const& layer, py::bytes const& data) const
    {
        std::string const text{data};
        // A heap copy of just that size: tools that watch the heap see a read beyond it, and it is gone afterwards.
        std::vector<char> bytes(text.begin(), text.end());
        nvinfer1::IPluginV2* made = nullptr;
        {
            ClosedText const name{layer, kLAYER};
            Call const call{"IPluginCreator::deserializePlugin"};
            made = v2().deserializePlugin(name.get(), bytes.data(), bytes.size());
        }
        std::fill(bytes.begin(), bytes.end(), static_cast<char>(0xEE));
        return wrap(made);
    }

private:
    //! Those of the last calls: a plugin that keeps a pointer reads what was wiped. Not of all, which could be many.
    GivenFields& keep(std::vector<PyField> const& fields)
    {
        constexpr std::size_t kMOST = 16;
        if (mGiven.size() == kMOST)
        {
            mGiven.pop_front();
        }
        return mGiven.emplace_back(fields);
    }

    void checkLoaded() const
    {
        if (!mLibrary->loaded())
        {
            throw UseError{"a creator was called after its library was closed"};
        }
    }

    V2Creator& v2() const
    {
        checkLoaded();
        if (!isV2())
        {
            throw UseError{"this creator is not an IPluginCreator: its interface kind is " +
                           std::string{mInfo.kind == nullptr ? "null" : mInfo.kind}};
        }
        return *mV2;
    }

    nvinfer1::IPluginCreatorV3One& v3() const
    {
        checkLoaded();
        if (!isV3())
        {
            throw UseError{"this creator is not an IPluginCreatorV3One: its interface kind is " +
                           std::string{mInfo.kind == nullptr ? "null" : mInfo.kind}};
        }
        return *static_cast<nvinfer1::IPluginCreatorV3One*>(mCreator);
    }

    //! Null is None. Throws std::invalid_argument for a plugin of another layout than this host's, or of an interface
    //! that it doesn't know: the only methods that may be called on it then are those of IPluginV2.
    py::object wrap(nvinfer1::IPluginV2* made) const
    {
        if (made == nullptr)
        {
            return py::none();
        }
        std::int32_t version = 0;
        {
            Call const call{"IPluginV2::getTensorRTVersion"};
            version = made->getTensorRTVersion();
        }
        std::int32_t const base = version >> 24;
        std::int32_t const compiled = version & 0xFFFFFF;
        LayoutFace const& face = mLibrary->face();
        bool const dynamic = base == static_cast<std::int32_t>(nvinfer1::PluginVersion::kV2_DYNAMICEXT);
        bool const ioext = base == static_cast<std::int32_t>(nvinfer1::PluginVersion::kV2_IOEXT);
        bool const ext = base == static_cast<std::int32_t>(nvinfer1::PluginVersion::kV2_EXT);
        bool const known = dynamic || ioext || ext || base == static_cast<std::int32_t>(nvinfer1::PluginVersion::kV2);
        if (!known || layoutOf(compiled) != face.layout)
        {
            Call const call{"IPluginV2::destroy"};
            made->destroy();
            throw std::invalid_argument{
                known ? "getTensorRTVersion answered " + std::to_string(compiled) + ", but the host is of version " +
                            std::to_string(mLibrary->version()) + " and calls the vtable of layout " +
                            std::to_string(face.layout)
                      : "getTensorRTVersion answered the base " + std::to_string(base) +
                            " in its top byte, expected 3 (IPluginV2DynamicExt), 2 (IPluginV2IOExt), 1 (IPluginV2Ext) "
                            "or 0 (IPluginV2)"};
        }
        if (dynamic)
        {
            auto plugin = face.wrapDynamic(made);
            return py::cast(std::make_unique<PyDynamicPlugin>(std::move(plugin)));
        }
        if (ioext)
        {
            auto plugin = face.wrapIOExt(made);
            return py::cast(std::make_unique<PyIOExtPlugin>(std::move(plugin)));
        }
        if (ext)
        {
            auto plugin = face.wrapExt(made);
            return py::cast(std::make_unique<PyExtPlugin>(std::move(plugin)));
        }
        auto plugin = face.wrapBasic(made);
        return py::cast(std::make_unique<PyBasicPlugin>(std::move(plugin)));
    }

    std::shared_ptr<Library> mLibrary;
    nvinfer1::IPluginCreatorInterface* mCreator{nullptr};
    nvinfer1::InterfaceInfo mInfo{};
    std::unique_ptr<V2Creator> mV2;
    std::deque<GivenFields> mGiven;
};

} // namespace

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
        .def("create_over", &PyCreator::createOver, py::arg("layer"), py::arg("fields"), py::arg("fill"))
        .def("create_v3", &PyCreator::createV3, py::arg("layer"), py::arg("fields"), py::arg("phase"))
        .def("deserialize", &PyCreator::deserialize, py::arg("layer"), py::arg("data"))
        .def("deserialize_closed", &PyCreator::deserializeClosed, py::arg("layer"), py::arg("data"));
    py::class_<Library, std::shared_ptr<Library>>(module, "Library")
        .def(py::init([](std::string const& path, std::int32_t version, bool registers,
                         std::vector<std::string> const& initFunctions, bool lazy)
                      { return std::make_shared<Library>(path, version, Loading{registers, initFunctions, lazy}); }),
             py::arg("path"), py::arg("version"), py::arg("registers") = false,
             py::arg("init_functions") = std::vector<std::string>{}, py::arg("lazy") = true)
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
        .def_property_readonly("unresolved",
                               [](std::shared_ptr<Library> const& library) { return library->unresolved(); })
        .def("close", &Library::close);
}

} // namespace pluginkit
