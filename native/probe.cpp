//! A plugin library that stands between a TensorRT library and another plugin library, and writes down every call.
//!
//! By environment variables: PLUGINKIT_PROBE_LIBRARY is the plugin library, PLUGINKIT_PROBE_TRACE the file that gets
//! a JSON object on a line of its own for each call: {"enter": method, "node": layer, ...} before and {"leave": method,
//! ..., "result": n} after it. Each line is written at once, so that the last "enter" without a "leave" names the call
//! that never came back. configurePlugin and onShapeChange are written with all tensors.
//!
//! V3 creators are wrapped, and so is all that they make; others are handed through. Lines come from one process at a
//! time; a builder's threads are kept apart by O_APPEND, each line being one write.
//!
//! Where PLUGINKIT_PROBE_IDENTITY is set there is one creator more: `PluginkitProbe` of probe_identity.h.
#include "probe_identity.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace
{

using namespace nvinfer1;

// ---- the trace

int traceFile() noexcept
{
    static int const file = []
    {
        char const* const path = std::getenv("PLUGINKIT_PROBE_TRACE");
        return path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }();
    return file;
}

void writeLine(std::string line) noexcept
{
    line += '\n';
    // A trace that can't be written shows as missing calls, which the reader reports.
    [[maybe_unused]] auto const written = write(traceFile(), line.data(), line.size());
}

// Bytes above ASCII stay as they are: what TensorRT has as text is UTF-8, and JSON's \u would make letters of its
// bytes.
std::string quoted(char const* text)
{
    std::string out = "\"";
    for (char const* p = text == nullptr ? "" : text; *p != '\0'; ++p)
    {
        auto const c = static_cast<unsigned char>(*p);
        if (c == '"' || c == '\\')
        {
            out += '\\';
        }
        if (c < 0x20 || c == 0x7F)
        {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", c);
            out += code;
        }
        else
        {
            out += static_cast<char>(c);
        }
    }
    return out + '"';
}

std::string json(Dims const& dims)
{
    std::string out = "[";
    for (int32_t i = 0; i < dims.nbDims && i < Dims::MAX_DIMS; ++i)
    {
        out += (i == 0 ? "" : ", ") + std::to_string(dims.d[i]);
    }
    return out + "]";
}

std::string body(PluginTensorDesc const& desc)
{
    char scale[32];
    std::snprintf(scale, sizeof scale, "%.9g", static_cast<double>(desc.scale));
    std::string const number = std::strpbrk(scale, "in") == nullptr ? scale : "null"; // JSON has no inf and no nan
    return "\"dims\": " + json(desc.dims) + ", \"type\": " + std::to_string(static_cast<int32_t>(desc.type)) +
           ", \"format\": " + std::to_string(static_cast<int32_t>(desc.format)) + ", \"scale\": " + number;
}

std::string json(PluginTensorDesc const& desc)
{
    return "{" + body(desc) + "}";
}

std::string json(DynamicPluginTensorDesc const& desc)
{
    return "{" + body(desc.desc) + ", \"min\": " + json(desc.min) + ", \"opt\": " + json(desc.opt) +
           ", \"max\": " + json(desc.max) + "}";
}

template <typename Desc>
std::string tensors(Desc const* in, int32_t nbInputs, Desc const* out, int32_t nbOutputs)
{
    auto const list = [](Desc const* descs, int32_t count)
    {
        std::string text = "[";
        for (int32_t i = 0; i < count; ++i)
        {
            text += (i == 0 ? "" : ", ") + json(descs[i]);
        }
        return text + "]";
    };
    return ", \"inputs\": " + list(in, nbInputs) + ", \"outputs\": " + list(out, nbOutputs);
}

std::string resultText(bool value)
{
    return value ? "true" : "false";
}

template <typename Pointee>
std::string resultText(Pointee* pointer)
{
    return pointer == nullptr ? "null" : "\"object\"";
}

std::string resultText(char const* text)
{
    return text == nullptr ? "null" : quoted(text);
}

template <typename Number>
std::string resultText(Number value)
{
    return std::to_string(value);
}

//! Makes a call between its two lines.
template <typename Function>
auto traced(char const* method, std::string const& node, std::string const& more, Function&& function)
{
    std::string const what = quoted(method) + ", \"node\": " + quoted(node.c_str());
    writeLine("{\"enter\": " + what + more + "}");
    auto const result = function();
    writeLine("{\"leave\": " + what + ", \"result\": " + resultText(result) + "}");
    return result;
}

template <typename Function>
auto traced(char const* method, std::string const& node, Function&& function)
{
    return traced(method, node, std::string{}, std::forward<Function>(function));
}

//! Whether an experiment hides something of the plugin from the builder: PLUGINKIT_PROBE_HIDES lists what, with commas.
bool hides(std::string const& what)
{
    char const* const hidden = std::getenv("PLUGINKIT_PROBE_HIDES");
    return hidden != nullptr && ("," + std::string{hidden} + ",").find("," + what + ",") != std::string::npos;
}

//! The builder's expressions where size tensors are hidden: each is its upper bound.
class Bounded final : public IExprBuilder, public apiv::VExprBuilder
{
public:
    explicit Bounded(IExprBuilder& inner) noexcept : mInner{inner}
    {
        mImpl = this;
    }
    IDimensionExpr const* constant(int64_t value) override
    {
        return mInner.constant(value);
    }
    IDimensionExpr const* operation(DimensionOperation op, IDimensionExpr const& first,
                                    IDimensionExpr const& second) override
    {
        return mInner.operation(op, first, second);
    }
    IDimensionExpr const* declareSizeTensor(int32_t /*outputIndex*/, IDimensionExpr const& /*opt*/,
                                            IDimensionExpr const& upper) override
    {
        return &upper;
    }

private:
    IExprBuilder& mInner;
};

//! Whether a tensor may have its format: PLUGINKIT_PROBE_FORMATS lists the one number for each position, as in "2,2,0".
//! So a builder is held to one layout of those that the plugin offers.
bool wanted(TensorFormat format, int32_t pos)
{
    char const* list = std::getenv("PLUGINKIT_PROBE_FORMATS");
    if (list == nullptr || *list == '\0')
    {
        return true;
    }
    for (int32_t skipped = 0; skipped < pos && list != nullptr; ++skipped)
    {
        list = std::strchr(list, ',');
        list = list != nullptr ? list + 1 : nullptr;
    }
    return list == nullptr || std::strtol(list, nullptr, 10) == static_cast<int32_t>(format);
}

// ---- the wrapped plugin

IPluginV3* wrapped(IPluginV3* plugin, std::string const& node);

class Core final : public IPluginV3OneCore
{
public:
    Core(IPluginV3OneCore& plugin, std::string const& node) : mPlugin(plugin), mNode(node) {}

    AsciiChar const* getPluginName() const noexcept override
    {
        return traced("IPluginV3OneCore::getPluginName", mNode, [&] { return mPlugin.getPluginName(); });
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return traced("IPluginV3OneCore::getPluginVersion", mNode, [&] { return mPlugin.getPluginVersion(); });
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return traced("IPluginV3OneCore::getPluginNamespace", mNode, [&] { return mPlugin.getPluginNamespace(); });
    }

private:
    IPluginV3OneCore& mPlugin;
    std::string const& mNode;
};

//! `Interface` is IPluginV3OneBuild or IPluginV3OneBuildV2: the caller asks getInterfaceInfo() which it has.
template <typename Interface>
class BuildBase : public Interface
{
public:
    BuildBase(Interface& plugin, std::string const& node) : mPlugin(plugin), mNode(node) {}

    int32_t configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs, DynamicPluginTensorDesc const* out,
                            int32_t nbOutputs) noexcept override
    {
        return traced("IPluginV3OneBuild::configurePlugin", mNode, tensors(in, nbInputs, out, nbOutputs),
                      [&] { return mPlugin.configurePlugin(in, nbInputs, out, nbOutputs); });
    }
    int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, DataType const* inputTypes,
                               int32_t nbInputs) const noexcept override
    {
        return traced("IPluginV3OneBuild::getOutputDataTypes", mNode,
                      [&] { return mPlugin.getOutputDataTypes(outputTypes, nbOutputs, inputTypes, nbInputs); });
    }
    int32_t getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const* shapeInputs,
                            int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs,
                            IExprBuilder& exprBuilder) noexcept override
    {
        return traced("IPluginV3OneBuild::getOutputShapes", mNode,
                      [&]
                      {
                          Bounded bounded{exprBuilder};
                          IExprBuilder& builder = hides("sizes") ? bounded : exprBuilder;
                          return mPlugin.getOutputShapes(inputs, nbInputs, shapeInputs, nbShapeInputs, outputs,
                                                         nbOutputs, builder);
                      });
    }
    bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        return traced("IPluginV3OneBuild::supportsFormatCombination", mNode,
                      ", \"pos\": " + std::to_string(pos) + tensors(inOut, nbInputs, inOut + nbInputs, nbOutputs),
                      [&]
                      {
                          return mPlugin.supportsFormatCombination(pos, inOut, nbInputs, nbOutputs) &&
                                 wanted(inOut[pos].desc.format, pos);
                      });
    }
    int32_t getNbOutputs() const noexcept override
    {
        return traced("IPluginV3OneBuild::getNbOutputs", mNode, [&] { return mPlugin.getNbOutputs(); });
    }
    size_t getWorkspaceSize(DynamicPluginTensorDesc const* inputs, int32_t nbInputs,
                            DynamicPluginTensorDesc const* outputs, int32_t nbOutputs) const noexcept override
    {
        auto const size = traced("IPluginV3OneBuild::getWorkspaceSize", mNode,
                                 [&] { return mPlugin.getWorkspaceSize(inputs, nbInputs, outputs, nbOutputs); });
        // An experiment: would the network be built if the plugin wanted none?
        return hides("workspace") ? 0 : size;
    }
    int32_t getValidTactics(int32_t* tactics, int32_t nbTactics) noexcept override
    {
        return traced("IPluginV3OneBuild::getValidTactics", mNode,
                      [&] { return mPlugin.getValidTactics(tactics, nbTactics); });
    }
    int32_t getNbTactics() noexcept override
    {
        return traced("IPluginV3OneBuild::getNbTactics", mNode, [&] { return mPlugin.getNbTactics(); });
    }
    char const* getTimingCacheID() noexcept override
    {
        return traced("IPluginV3OneBuild::getTimingCacheID", mNode, [&] { return mPlugin.getTimingCacheID(); });
    }
    int32_t getFormatCombinationLimit() noexcept override
    {
        return traced("IPluginV3OneBuild::getFormatCombinationLimit", mNode,
                      [&] { return mPlugin.getFormatCombinationLimit(); });
    }
    char const* getMetadataString() noexcept override
    {
        return traced("IPluginV3OneBuild::getMetadataString", mNode, [&] { return mPlugin.getMetadataString(); });
    }

protected:
    Interface& mPlugin;
    std::string const& mNode;
};

using Build = BuildBase<IPluginV3OneBuild>;

class BuildV2 final : public BuildBase<IPluginV3OneBuildV2>
{
public:
    using BuildBase::BuildBase;

    int32_t getAliasedInput(int32_t outputIndex) noexcept override
    {
        auto const input =
            traced("IPluginV3OneBuildV2::getAliasedInput", mNode, [&] { return mPlugin.getAliasedInput(outputIndex); });
        return hides("aliases") ? -1 : input;
    }
};

class Runtime final : public IPluginV3OneRuntime
{
public:
    Runtime(IPluginV3OneRuntime& plugin, std::string const& node) : mPlugin(plugin), mNode(node) {}

    int32_t setTactic(int32_t tactic) noexcept override
    {
        return traced("IPluginV3OneRuntime::setTactic", mNode, [&] { return mPlugin.setTactic(tactic); });
    }
    int32_t onShapeChange(PluginTensorDesc const* in, int32_t nbInputs, PluginTensorDesc const* out,
                          int32_t nbOutputs) noexcept override
    {
        return traced("IPluginV3OneRuntime::onShapeChange", mNode, tensors(in, nbInputs, out, nbOutputs),
                      [&] { return mPlugin.onShapeChange(in, nbInputs, out, nbOutputs); });
    }
    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc, void const* const* inputs,
                    void* const* outputs, void* workspace, cudaStream_t stream) noexcept override
    {
        return traced("IPluginV3OneRuntime::enqueue", mNode,
                      [&] { return mPlugin.enqueue(inputDesc, outputDesc, inputs, outputs, workspace, stream); });
    }
    IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override
    {
        return wrapped(
            traced("IPluginV3OneRuntime::attachToContext", mNode, [&] { return mPlugin.attachToContext(context); }),
            mNode);
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        return traced("IPluginV3OneRuntime::getFieldsToSerialize", mNode,
                      [&] { return mPlugin.getFieldsToSerialize(); });
    }

private:
    IPluginV3OneRuntime& mPlugin;
    std::string const& mNode;
};

//! A plugin with its capabilities. Each capability is wrapped when it is first asked for; a null one stays null.
class Plugin final : public IPluginV3
{
public:
    Plugin(IPluginV3* plugin, std::string node) : mPlugin(plugin), mNode(std::move(node)) {}
    Plugin(Plugin const&) = delete;
    Plugin& operator=(Plugin const&) = delete;

    ~Plugin() override
    {
        traced("IPluginV3::~IPluginV3", mNode,
               [&]
               {
                   delete mPlugin;
                   return 0;
               });
    }

    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        auto* const capability = traced("IPluginV3::getCapabilityInterface", mNode,
                                        ", \"type\": " + std::to_string(static_cast<int32_t>(type)),
                                        [&] { return mPlugin->getCapabilityInterface(type); });
        if (capability == nullptr)
        {
            return nullptr;
        }
        switch (type)
        {
        case PluginCapabilityType::kCORE:
            return wrap(mCore, static_cast<IPluginV3OneCore*>(capability));
        case PluginCapabilityType::kBUILD:
            if (capability->getInterfaceInfo().major >= 2)
            {
                return wrap(mBuildV2, static_cast<IPluginV3OneBuildV2*>(capability));
            }
            return wrap(mBuild, static_cast<IPluginV3OneBuild*>(capability));
        case PluginCapabilityType::kRUNTIME:
            return wrap(mRuntime, static_cast<IPluginV3OneRuntime*>(capability));
        }
        return capability;
    }

    IPluginV3* clone() noexcept override
    {
        return wrapped(traced("IPluginV3::clone", mNode, [&] { return mPlugin->clone(); }), mNode);
    }

private:
    template <typename Wrapper, typename Capability>
    Wrapper* wrap(std::unique_ptr<Wrapper>& place, Capability* capability)
    {
        if (place == nullptr)
        {
            place = std::make_unique<Wrapper>(*capability, mNode);
        }
        return place.get();
    }

    IPluginV3* mPlugin;
    std::string mNode;
    std::unique_ptr<Core> mCore;
    std::unique_ptr<Build> mBuild;
    std::unique_ptr<BuildV2> mBuildV2;
    std::unique_ptr<Runtime> mRuntime;
};

IPluginV3* wrapped(IPluginV3* plugin, std::string const& node)
{
    return plugin == nullptr ? nullptr : new Plugin(plugin, node);
}

class Creator final : public IPluginCreatorV3One
{
public:
    explicit Creator(IPluginCreatorV3One& creator) : mCreator(creator) {}

    IPluginV3* createPlugin(AsciiChar const* name, PluginFieldCollection const* fields,
                            TensorRTPhase phase) noexcept override
    {
        std::string const node = name == nullptr ? "" : name;
        return wrapped(traced("IPluginCreatorV3One::createPlugin", node,
                              ", \"phase\": " + std::to_string(static_cast<int32_t>(phase)),
                              [&] { return mCreator.createPlugin(name, fields, phase); }),
                       node);
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return traced("IPluginCreatorV3One::getFieldNames", {}, [&] { return mCreator.getFieldNames(); });
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return mCreator.getPluginName();
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return mCreator.getPluginVersion();
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mCreator.getPluginNamespace();
    }

private:
    IPluginCreatorV3One& mCreator;
};

// ---- the library behind

void* library() noexcept
{
    static void* const handle = []() -> void*
    {
        char const* const path = std::getenv("PLUGINKIT_PROBE_LIBRARY");
        void* const opened = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY | RTLD_LOCAL);
        if (opened == nullptr)
        {
            std::fprintf(stderr, "pluginkit probe: %s\n", path == nullptr ? "no library is named" : dlerror());
        }
        return opened;
    }();
    return handle;
}

template <typename Function>
Function* exported(char const* name) noexcept
{
    void* const symbol = library() == nullptr ? nullptr : dlsym(library(), name);
    Function* function = nullptr;
    std::memcpy(&function, &symbol, sizeof function);
    return function;
}

struct Creators
{
    std::vector<std::unique_ptr<Creator>> wrappers;
    std::vector<IPluginCreatorInterface*> list;
};

Creators wrapCreators()
{
    Creators made;
    auto* const get = exported<IPluginCreatorInterface* const*(int32_t&)>("getCreators");
    int32_t count = 0;
    IPluginCreatorInterface* const* const theirs = get == nullptr ? nullptr : get(count);
    for (int32_t i = 0; theirs != nullptr && i < count; ++i)
    {
        if (std::strcmp(theirs[i]->getInterfaceInfo().kind, "PLUGIN CREATOR_V3ONE") == 0)
        {
            made.wrappers.push_back(std::make_unique<Creator>(*static_cast<IPluginCreatorV3One*>(theirs[i])));
            made.list.push_back(made.wrappers.back().get());
        }
        else
        {
            made.list.push_back(theirs[i]);
        }
    }
    if (std::getenv("PLUGINKIT_PROBE_IDENTITY") != nullptr)
    {
        made.wrappers.push_back(std::make_unique<Creator>(identity::creator()));
        made.list.push_back(made.wrappers.back().get());
    }
    return made;
}

} // namespace

#define PROBE_EXPORT extern "C" __attribute__((visibility("default")))

//! The loading library's own finder goes through, so that the plugin library sees who loads it.
PROBE_EXPORT void setLoggerFinder(ILoggerFinder* finder)
{
    if (auto* const set = exported<void(ILoggerFinder*)>("setLoggerFinder"))
    {
        set(finder);
    }
}

PROBE_EXPORT IPluginCreatorInterface* const* getCreators(int32_t& nbCreators)
{
    static Creators const creators = wrapCreators();
    nbCreators = static_cast<int32_t>(creators.list.size());
    return creators.list.data();
}
