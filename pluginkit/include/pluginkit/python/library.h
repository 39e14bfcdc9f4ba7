//! The plugin library next to the module: its creators, and its registration.
#pragma once

#include <pluginkit/cpu/control.h>
#include <pluginkit/loader.h>
#include <pluginkit/python/device.h>
#include <pluginkit/python/layer.h>
#include <pluginkit/v3_adapter.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <memory>
#include <string>

namespace pluginkit
{

namespace python
{

//! What the build records of the module.
struct Built
{
    char const* library;   //!< the plugin library's file name
    char const* init;      //!< its function that registers creators
    char const* target;    //!< cpu or gpu
    char const* signature; //!< see Signature::find
    char const* torch;     //!< Python code that makes PyTorch's operators of the plugins
};

class Library
{
public:
    //! Opens the library in the folder of this module; raises ImportError where that fails.
    explicit Library(Built const& built) : mPath{beside(built.library)}
    {
        void* const handle = dlopen(mPath.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr)
        {
            char const* const why = dlerror();
            throw py::import_error(std::string{"The plugin library can't be opened: "} +
                                   (why != nullptr ? why : mPath.c_str()) +
                                   ". pluginkit build puts it beside this module; keep them together.");
        }
        load(handle, built.init, mInit);
        void (*hear)(void*){nullptr};
        load(handle, "setLoggerFinder", hear);
        nvinfer1::IPluginCreatorInterface* const* (*creators)(int32_t&){nullptr};
        load(handle, "getCreators", creators);
        // No host that the library could know: so it gives its own creators, those of V2 in TensorRT 11's layout, and
        // its log stays where it was. A registry that loads the library later says again which host it is.
        hear(nullptr);
        int32_t count{0};
        nvinfer1::IPluginCreatorInterface* const* const list = creators(count);
        for (int32_t i = 0; list != nullptr && i < count; ++i)
        {
            nvinfer1::IPluginCreatorV3One* const creator = asV3(list[i]);
            std::string const name = creator->getPluginName();
            mPlugins.push_back({name, creator->getPluginNamespace(), creator, Signature::find(built.signature, name)});
        }
        if (mPlugins.empty())
        {
            throw py::import_error(mPath +
                                   " has no creators for TensorRT 11's layout: build it by pluginkit_add_plugin.");
        }
        if (std::strcmp(built.target, "gpu") == 0)
        {
            mDevice = std::make_unique<GpuDevice>();
            return;
        }
        PluginkitCpuControl const* (*control)(int){nullptr};
        load(handle, "pluginkit_cpu_control", control);
        mDevice = std::make_unique<HostDevice>(control(PLUGINKIT_CPU_CONTROL_VERSION));
    }
    Library(Library const&) = delete;
    Library& operator=(Library const&) = delete;

    std::string const& path() const noexcept
    {
        return mPath;
    }
    std::deque<Plugin> const& plugins() const noexcept
    {
        return mPlugins;
    }
    Device const& device() const noexcept
    {
        return *mDevice;
    }

    //! Registers all creators under a namespace, None for their own, in every TensorRT library of the process.
    //! Raises RuntimeError where there is none, or one refuses.
    void enroll(py::object const& asked) const
    {
        std::string pluginNamespace = mPlugins.front().pluginNamespace;
        for (Plugin const& plugin : mPlugins)
        {
            if (asked.is_none() && plugin.pluginNamespace != pluginNamespace)
            {
                throw py::value_error("The library's plugins have the namespaces '" + pluginNamespace + "' and '" +
                                      plugin.pluginNamespace + "': say which one to register them under.");
            }
        }
        pluginNamespace = asked.is_none() ? pluginNamespace : asked.cast<std::string>();
        auto const found = pluginkit::detail::findRegistries();
        if (found.empty())
        {
            throw std::runtime_error("There is no TensorRT in this process to register with: import tensorrt, "
                                     "tensorrt_rtx or tensorrt_lean first.");
        }
        if (!mInit(nullptr, pluginNamespace.c_str()))
        {
            std::string versions;
            for (auto const& one : found)
            {
                versions += (versions.empty() ? "" : ", ") + versionText(one.version);
            }
            throw std::runtime_error(
                "The registry of " + versions + " refuses a creator under the namespace '" + pluginNamespace +
                "': it has one of the same name and version there already, or is older than TensorRT 10.");
        }
    }

private:
    template <typename Function>
    void load(void* handle, char const* name, Function& function) const
    {
        void* const symbol = dlsym(handle, name);
        if (symbol == nullptr)
        {
            throw py::import_error(mPath + " does not export " + name + ": build it and this module by one pluginkit.");
        }
        std::memcpy(&function, &symbol, sizeof symbol);
    }

    static std::string beside(char const* file)
    {
        Dl_info info{};
        static char here{};
        if (dladdr(&here, &info) == 0 || info.dli_fname == nullptr)
        {
            throw py::import_error("The module can't find its own folder.");
        }
        std::unique_ptr<char, decltype(&std::free)> const real{realpath(info.dli_fname, nullptr), &std::free};
        std::string const path = real != nullptr ? real.get() : info.dli_fname;
        return path.substr(0, path.rfind('/') + 1) + file;
    }

    static nvinfer1::IPluginCreatorV3One* asV3(nvinfer1::IPluginCreatorInterface* creator)
    {
        if (std::strcmp(creator->getInterfaceInfo().kind, "PLUGIN CREATOR_V3ONE") == 0)
        {
            return static_cast<nvinfer1::IPluginCreatorV3One*>(creator);
        }
        // Kept as long as the process lives, as the library is.
        return new pluginkit::detail::V3AdapterCreator{*static_cast<nvinfer1::IPluginCreator*>(creator)};
    }

    static std::string versionText(int32_t version)
    {
        return (version < 100000 ? "TensorRT-RTX " : "TensorRT ") + std::to_string(version / 10000) + "." +
               std::to_string(version / 100 % 100);
    }

    std::string mPath;
    bool (*mInit)(void*, char const*){nullptr};
    std::deque<Plugin> mPlugins;
    std::unique_ptr<Device> mDevice;
};

} // namespace python

} // namespace pluginkit
