// Three good plugins, an IPluginV2DynamicExt, an IPluginV2IOExt and an IPluginV3 of the class that is compiled, of
// which each method ends the process where the environment says so: ENDING_AT names the method (`Dynamic::clone`,
// `IOExt::clone`, `V3::clone`, `DynamicCreator::...`, `static initializer`), ENDING how: crash, hang, exit or memory.
#include "NvInferRuntime.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

using namespace nvinfer1;

namespace
{

__attribute__((noinline)) void end(std::string const& how)
{
    if (how == "crash")
    {
        *static_cast<int volatile*>(nullptr) = 1;
    }
    else if (how == "exit")
    {
        std::exit(3);
    }
    while (how == "hang")
    {
        usleep(1000);
    }
    while (how == "memory")
    {
        auto* const block = static_cast<char volatile*>(std::malloc(1 << 24));
        for (int i = 0; i < 1 << 24; i += 4096)
        {
            block[i] = 1;
        }
    }
}

void at(char const* scope, char const* method)
{
    char const* const where = std::getenv("ENDING_AT");
    char const* const how = std::getenv("ENDING");
    if (where != nullptr && how != nullptr && where == std::string{scope} + "::" + method)
    {
        end(how);
    }
}

//! Whether this is planted: fields (a value that isn't there), serialized (the byte behind them, of two), number (the
//! first of at least eight bytes), slow (three bytes never end), formats (a type as an index of a short table), later
//! (the tensor behind), shapes (divides by one).
bool reads(char const* what)
{
    char const* const chosen = std::getenv("READS");
    return chosen != nullptr && what == std::string{chosen};
}

int volatile gRead = 0;

struct Statics
{
    Statics()
    {
        at("static", "initializer");
    }
    ~Statics()
    {
        at("static", "destructor");
    }
} gStatics;

#define AT at(SCOPE, __func__)

#define SCOPE "Dynamic"
class Dynamic final : public IPluginV2DynamicExt
{
public:
    explicit Dynamic(std::string const& space) : mNamespace{space} {}
    char const* getPluginType() const noexcept override
    {
        AT;
        return "Dynamic";
    }
    char const* getPluginVersion() const noexcept override
    {
        AT;
        return "1";
    }
    std::int32_t getNbOutputs() const noexcept override
    {
        AT;
        return 1;
    }
    void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) noexcept override
    {
        AT;
    }
    void detachFromContext() noexcept override
    {
        AT;
    }
    std::int32_t initialize() noexcept override
    {
        AT;
        return 0;
    }
    void terminate() noexcept override
    {
        AT;
    }
    std::size_t getSerializationSize() const noexcept override
    {
        AT;
        return sizeof mFactor;
    }
    void serialize(void* buffer) const noexcept override
    {
        AT;
        std::memcpy(buffer, &mFactor, sizeof mFactor);
    }
    void destroy() noexcept override
    {
        AT;
        delete this;
    }
    IPluginV2DynamicExt* clone() const noexcept override
    {
        AT;
        return new Dynamic{*this};
    }
    void setPluginNamespace(char const* value) noexcept override
    {
        AT;
        mNamespace = value;
    }
    char const* getPluginNamespace() const noexcept override
    {
        AT;
        return mNamespace.c_str();
    }
    DataType getOutputDataType(std::int32_t, DataType const* types, std::int32_t) const noexcept override
    {
        AT;
        return types[0];
    }
    DimsExprs getOutputDimensions(std::int32_t, DimsExprs const* inputs, std::int32_t, IExprBuilder&) noexcept override
    {
        AT;
        if (reads("shapes") && inputs[0].d[0]->isConstant())
        {
            gRead = static_cast<int>(100 / inputs[0].d[0]->getConstantValue());
        }
        return inputs[0];
    }
    bool supportsFormatCombination(std::int32_t pos, PluginTensorDesc const* inOut, std::int32_t,
                                   std::int32_t) noexcept override
    {
        AT;
        if (reads("formats"))
        {
            static std::vector<int> const sizes{4, 2, 1, 4};
            gRead = sizes.at(static_cast<std::size_t>(inOut[pos].type));
        }
        if (reads("later") && pos == 0 && inOut[1].type == DataType::kFLOAT)
        {
            return inOut[0].type == DataType::kINT8;
        }
        return pos < 2 && inOut[pos].format == TensorFormat::kLINEAR && inOut[pos].type == DataType::kFLOAT;
    }
    void configurePlugin(DynamicPluginTensorDesc const*, std::int32_t, DynamicPluginTensorDesc const*,
                         std::int32_t) noexcept override
    {
        AT;
    }
    std::size_t getWorkspaceSize(PluginTensorDesc const*, std::int32_t, PluginTensorDesc const*,
                                 std::int32_t) const noexcept override
    {
        AT;
        return 0;
    }
    std::int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*, void* const*, void*,
                         cudaStream_t) noexcept override
    {
        AT;
        return 0;
    }

private:
    float mFactor{2};
    std::string mNamespace;
};
#undef SCOPE

#define SCOPE "DynamicCreator"
class DynamicCreator final : public IPluginCreator
{
public:
    char const* getPluginName() const noexcept override
    {
        AT;
        return "Dynamic";
    }
    char const* getPluginVersion() const noexcept override
    {
        AT;
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        AT;
        return &mFields;
    }
    IPluginV2* createPlugin(char const*, PluginFieldCollection const* fields) noexcept override
    {
        AT;
        if (reads("fields") && fields->nbFields > 0)
        {
            gRead = *static_cast<char const*>(fields->fields[0].data);
        }
        return named();
    }
    IPluginV2* deserializePlugin(char const*, void const* data, std::size_t size) noexcept override
    {
        AT;
        if (reads("serialized") && size == 2)
        {
            gRead = static_cast<char const*>(data)[2];
        }
        if (std::int32_t number = 0; reads("number") && size >= 8)
        {
            std::memcpy(&number, data, sizeof number);
            if (number == 0x706c7567)
            {
                end("crash");
            }
        }
        while (reads("slow") && size == 3)
        {
            usleep(1000);
        }
        return size == sizeof(float) ? named() : nullptr;
    }
    void setPluginNamespace(char const* value) noexcept override
    {
        AT;
        mNamespace = value;
    }
    char const* getPluginNamespace() const noexcept override
    {
        AT;
        return mNamespace.c_str();
    }

private:
    IPluginV2* named() const
    {
        return new Dynamic{mNamespace};
    }
    PluginField mFactor{"factor", nullptr, PluginFieldType::kFLOAT32, 1};
    PluginFieldCollection mFields{1, &mFactor};
    std::string mNamespace{"tests"};
};
#undef SCOPE

#define SCOPE "IOExt"
class IOExt final : public IPluginV2IOExt
{
public:
    explicit IOExt(std::string const& space) : mNamespace{space} {}
    char const* getPluginType() const noexcept override
    {
        AT;
        return "IOExt";
    }
    char const* getPluginVersion() const noexcept override
    {
        AT;
        return "1";
    }
    std::int32_t getNbOutputs() const noexcept override
    {
        AT;
        return 1;
    }
    void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) noexcept override
    {
        AT;
    }
    void detachFromContext() noexcept override
    {
        AT;
    }
    std::int32_t initialize() noexcept override
    {
        AT;
        return 0;
    }
    void terminate() noexcept override
    {
        AT;
    }
    std::size_t getSerializationSize() const noexcept override
    {
        AT;
        return sizeof mFactor;
    }
    void serialize(void* buffer) const noexcept override
    {
        AT;
        std::memcpy(buffer, &mFactor, sizeof mFactor);
    }
    void destroy() noexcept override
    {
        AT;
        delete this;
    }
    IPluginV2IOExt* clone() const noexcept override
    {
        AT;
        return new IOExt{*this};
    }
    void setPluginNamespace(char const* value) noexcept override
    {
        AT;
        mNamespace = value;
    }
    char const* getPluginNamespace() const noexcept override
    {
        AT;
        return mNamespace.c_str();
    }
    DataType getOutputDataType(std::int32_t, DataType const* types, std::int32_t) const noexcept override
    {
        AT;
        return types[0];
    }
    Dims getOutputDimensions(std::int32_t, Dims const* inputs, std::int32_t) noexcept override
    {
        AT;
        return inputs[0];
    }
    bool supportsFormatCombination(std::int32_t pos, PluginTensorDesc const* inOut, std::int32_t,
                                   std::int32_t) const noexcept override
    {
        AT;
        return pos < 2 && inOut[pos].format == TensorFormat::kLINEAR && inOut[pos].type == DataType::kFLOAT;
    }
    void configurePlugin(PluginTensorDesc const*, std::int32_t, PluginTensorDesc const*, std::int32_t) noexcept override
    {
        AT;
    }
    std::size_t getWorkspaceSize(std::int32_t) const noexcept override
    {
        AT;
        return 0;
    }
    std::int32_t enqueue(std::int32_t, void const* const*, void* const*, void*, cudaStream_t) noexcept override
    {
        AT;
        return 0;
    }

private:
    float mFactor{2};
    std::string mNamespace;
};
#undef SCOPE

#define SCOPE "IOExtCreator"
class IOExtCreator final : public IPluginCreator
{
public:
    char const* getPluginName() const noexcept override
    {
        AT;
        return "IOExt";
    }
    char const* getPluginVersion() const noexcept override
    {
        AT;
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        AT;
        return &mFields;
    }
    IPluginV2* createPlugin(char const*, PluginFieldCollection const*) noexcept override
    {
        AT;
        return named();
    }
    IPluginV2* deserializePlugin(char const*, void const*, std::size_t size) noexcept override
    {
        AT;
        return size == sizeof(float) ? named() : nullptr;
    }
    void setPluginNamespace(char const* value) noexcept override
    {
        AT;
        mNamespace = value;
    }
    char const* getPluginNamespace() const noexcept override
    {
        AT;
        return mNamespace.c_str();
    }

private:
    IPluginV2* named() const
    {
        return new IOExt{mNamespace};
    }
    PluginField mFactor{"factor", nullptr, PluginFieldType::kFLOAT32, 1};
    PluginFieldCollection mFields{1, &mFactor};
    std::string mNamespace{"tests"};
};
#undef SCOPE

#define SCOPE "V3"
class V3 final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime
{
public:
    V3() = default;
    V3(V3 const&) = default;
    ~V3() override
    {
        at(SCOPE, "destructor");
    }
    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        AT;
        return type == PluginCapabilityType::kCORE
                   ? static_cast<IPluginCapability*>(static_cast<IPluginV3OneCore*>(this))
               : type == PluginCapabilityType::kBUILD
                   ? static_cast<IPluginV3OneBuild*>(this)
                   : static_cast<IPluginCapability*>(static_cast<IPluginV3OneRuntime*>(this));
    }
    IPluginV3* clone() noexcept override
    {
        AT;
        return new V3{*this};
    }
    char const* getPluginName() const noexcept override
    {
        AT;
        return "V3";
    }
    char const* getPluginVersion() const noexcept override
    {
        AT;
        return "1";
    }
    char const* getPluginNamespace() const noexcept override
    {
        AT;
        return "tests";
    }
    std::int32_t configurePlugin(DynamicPluginTensorDesc const*, std::int32_t, DynamicPluginTensorDesc const*,
                                 std::int32_t) noexcept override
    {
        AT;
        return 0;
    }
    std::int32_t getOutputDataTypes(DataType* types, std::int32_t, DataType const* inputs,
                                    std::int32_t) const noexcept override
    {
        AT;
        types[0] = inputs[0];
        return 0;
    }
    std::int32_t getOutputShapes(DimsExprs const* inputs, std::int32_t, DimsExprs const*, std::int32_t,
                                 DimsExprs* outputs, std::int32_t, IExprBuilder&) noexcept override
    {
        AT;
        outputs[0] = inputs[0];
        return 0;
    }
    bool supportsFormatCombination(std::int32_t pos, DynamicPluginTensorDesc const* inOut, std::int32_t,
                                   std::int32_t) noexcept override
    {
        AT;
        return pos < 2 && inOut[pos].desc.format == TensorFormat::kLINEAR && inOut[pos].desc.type == DataType::kFLOAT;
    }
    std::int32_t getNbOutputs() const noexcept override
    {
        AT;
        return 1;
    }
    std::size_t getWorkspaceSize(DynamicPluginTensorDesc const*, std::int32_t, DynamicPluginTensorDesc const*,
                                 std::int32_t) const noexcept override
    {
        AT;
        return 0;
    }
    std::int32_t getValidTactics(std::int32_t* tactics, std::int32_t) noexcept override
    {
        AT;
        tactics[0] = 1;
        return 0;
    }
    std::int32_t getNbTactics() noexcept override
    {
        AT;
        return 1;
    }
    char const* getTimingCacheID() noexcept override
    {
        AT;
        return "endings";
    }
    std::int32_t getFormatCombinationLimit() noexcept override
    {
        AT;
        return kDEFAULT_FORMAT_COMBINATION_LIMIT;
    }
    char const* getMetadataString() noexcept override
    {
        AT;
        return "endings";
    }
    std::int32_t setTactic(std::int32_t) noexcept override
    {
        AT;
        return 0;
    }
    std::int32_t onShapeChange(PluginTensorDesc const*, std::int32_t, PluginTensorDesc const*,
                               std::int32_t) noexcept override
    {
        AT;
        return 0;
    }
    std::int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*, void* const*, void*,
                         cudaStream_t) noexcept override
    {
        AT;
        return 0;
    }
    IPluginV3* attachToContext(IPluginResourceContext*) noexcept override
    {
        AT;
        return new V3{*this};
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        AT;
        return &mFields;
    }

private:
    PluginFieldCollection mFields{0, nullptr};
};
#undef SCOPE

#define SCOPE "V3Creator"
class V3Creator final : public IPluginCreatorV3One
{
public:
    IPluginV3* createPlugin(char const*, PluginFieldCollection const*, TensorRTPhase) noexcept override
    {
        AT;
        return new V3;
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        AT;
        return &mFields;
    }
    char const* getPluginName() const noexcept override
    {
        AT;
        return "V3";
    }
    char const* getPluginVersion() const noexcept override
    {
        AT;
        return "1";
    }
    char const* getPluginNamespace() const noexcept override
    {
        AT;
        return "tests";
    }

private:
    PluginFieldCollection mFields{0, nullptr};
};
#undef SCOPE

} // namespace

#define SCOPE "library"
extern "C" __attribute__((visibility("default"))) void setLoggerFinder(ILoggerFinder*)
{
    AT;
}

extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(std::int32_t& count)
{
    AT;
    static DynamicCreator dynamic;
    static V3Creator v3;
    static IOExtCreator ioext;
    static IPluginCreatorInterface* const list[]{&dynamic, &v3, &ioext};
    count = 3;
    return list;
}
