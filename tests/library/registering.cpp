// A library that registers its plugins itself, as those do that are built against NVIDIA's headers alone: by a static
// object (as REGISTER_TENSORRT_PLUGIN makes one), by an init function with -DINIT, or by both. Layouts 8, 10 and 11.
#include <NvInfer.h>

#include <cstring>
#include <string>

using namespace nvinfer1;

#ifdef GPU
extern "C" int cudaMalloc(void** pointer, size_t size);
#endif
#ifdef DRIVER
extern "C" int cuInit(unsigned flags);
#endif

namespace
{

class Shifting : public IPluginV2DynamicExt
{
public:
    explicit Shifting(float by) : mBy{by} {}
    IPluginV2DynamicExt* clone() const noexcept override
    {
        return new Shifting(*this);
    }
    DimsExprs getOutputDimensions(int32_t, DimsExprs const* in, int32_t, IExprBuilder&) noexcept override
    {
        return in[0];
    }
    bool supportsFormatCombination(int32_t at, PluginTensorDesc const* all, int32_t, int32_t) noexcept override
    {
        return all[at].type == DataType::kFLOAT && all[at].format == TensorFormat::kLINEAR;
    }
    void configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                         int32_t) noexcept override
    {
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
                    void* const* outputs, void*, cudaStream_t) noexcept override
    {
        auto const* x = static_cast<float const*>(inputs[0]);
        auto* y = static_cast<float*>(outputs[0]);
        int64_t count = 1;
        for (int32_t i = 0; i < in[0].dims.nbDims; ++i)
        {
            count *= in[0].dims.d[i];
        }
        for (int64_t i = 0; i < count; ++i)
        {
            y[i] = x[i] + mBy;
        }
        return 0;
    }
    DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override
    {
        return types[0];
    }
    char const* getPluginType() const noexcept override
    {
        return "Shifting";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    int32_t initialize() noexcept override
    {
#ifdef GPU
        void* memory = nullptr;
        return cudaMalloc(&memory, 64);
#else
        return 0;
#endif
    }
    void terminate() noexcept override {}
    size_t getSerializationSize() const noexcept override
    {
        return sizeof mBy;
    }
    void serialize(void* buffer) const noexcept override
    {
        std::memcpy(buffer, &mBy, sizeof mBy);
    }
    void destroy() noexcept override
    {
        delete this;
    }
    void setPluginNamespace(char const* space) noexcept override
    {
        mSpace = space;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mSpace.c_str();
    }

private:
    float mBy;
    std::string mSpace;
};

class ShiftingCreator : public IPluginCreator
{
public:
    ShiftingCreator(char const* version = "1") : mVersion{version} {}
    char const* getPluginName() const noexcept override
    {
        return "Shifting";
    }
    char const* getPluginVersion() const noexcept override
    {
        return mVersion;
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mFields;
    }
    IPluginV2* createPlugin(char const*, PluginFieldCollection const* given) noexcept override
    {
        float by = 1.0F;
        for (int32_t i = 0; i < given->nbFields; ++i)
        {
            if (std::strcmp(given->fields[i].name, "by") == 0 && given->fields[i].length == 1)
            {
                by = *static_cast<float const*>(given->fields[i].data);
            }
        }
#ifdef DRIVER
        static_cast<void>(cuInit(0));
#endif
        return placed(new Shifting(by));
    }
    IPluginV2* deserializePlugin(char const*, void const* data, size_t size) noexcept override
    {
        float by = 0.0F;
        if (size != sizeof by)
        {
            return nullptr;
        }
        std::memcpy(&by, data, sizeof by);
        return placed(new Shifting(by));
    }
    void setPluginNamespace(char const* space) noexcept override
    {
        mSpace = space;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mSpace.c_str();
    }

private:
    IPluginV2* placed(IPluginV2* plugin) const
    {
        plugin->setPluginNamespace(mSpace.c_str());
        return plugin;
    }

    char const* mVersion;
    PluginField mField{"by", nullptr, PluginFieldType::kFLOAT32, 1};
    PluginFieldCollection mFields{1, &mField};
    std::string mSpace;
};

#ifndef INIT
struct Registrar
{
    Registrar()
    {
        getPluginRegistry()->registerCreator(mCreator, "");
    }
    ShiftingCreator mCreator;
};
Registrar gRegistrar;
#endif

} // namespace

#ifdef INIT
extern "C" __attribute__((visibility("default"))) bool initShiftingPlugins(void* logger, char const* space)
{
    static ShiftingCreator first;
    static ShiftingCreator second{"2"};
    static ShiftingCreator again;
    if (logger == nullptr || space == nullptr)
    {
        return false;
    }
    static_cast<ILogger*>(logger)->log(ILogger::Severity::kVERBOSE, "registering");
    getPluginRegistry()->registerCreator(first, space);
    getPluginRegistry()->registerCreator(second, space);
    getPluginRegistry()->registerCreator(again, space);
    return getLogger() != nullptr;
}
#endif
