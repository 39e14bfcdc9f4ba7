//! max(x + shift, low), an IPluginV2DynamicExt as plugins of TensorRT 8 and 10 are usually written.
#include "NvInferPlugin.h"

#include <cassert>
#include <cstring>
#include <string>
#include <vector>

using namespace nvinfer1;

int launchClipShift(void const* x, void* y, float low, float shift, int n, bool half, cudaStream_t stream);

namespace
{
char const* const kNAME{"ClipShift_TRT"};
char const* const kVERSION{CLIP_SHIFT_VERSION};

template <typename T>
void write(char*& buffer, T const& value)
{
    std::memcpy(buffer, &value, sizeof(T));
    buffer += sizeof(T);
}

template <typename T>
T read(char const*& buffer)
{
    T value;
    std::memcpy(&value, buffer, sizeof(T));
    buffer += sizeof(T);
    return value;
}
} // namespace

class ClipShiftPlugin : public IPluginV2DynamicExt
{
public:
    ClipShiftPlugin(float low, float shift) : mLow(low), mShift(shift) {}

    ClipShiftPlugin(void const* data, size_t length)
    {
        char const* d = static_cast<char const*>(data);
        char const* const a = d;
        mLow = read<float>(d);
        mShift = read<float>(d);
        assert(d == a + length);
    }

    ClipShiftPlugin() = delete;

    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }

    DimsExprs getOutputDimensions(int32_t index, DimsExprs const* inputs, int32_t nbInputs,
                                  IExprBuilder& builder) noexcept override
    {
        assert(nbInputs == 1);
        assert(index == 0);
        return inputs[0];
    }

    bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        assert(nbInputs == 1 && nbOutputs == 1 && pos < nbInputs + nbOutputs);
        return (inOut[pos].type == DataType::kFLOAT || inOut[pos].type == DataType::kHALF) &&
               inOut[pos].format == PluginFormat::kLINEAR && inOut[pos].type == inOut[0].type;
    }

    void configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs, DynamicPluginTensorDesc const* out,
                         int32_t nbOutputs) noexcept override
    {
        assert(nbInputs == 1);
        assert(nbOutputs == 1);
    }

    size_t getWorkspaceSize(PluginTensorDesc const* inputs, int32_t nbInputs, PluginTensorDesc const* outputs,
                            int32_t nbOutputs) const noexcept override
    {
        return 0;
    }

    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc, void const* const* inputs,
                    void* const* outputs, void* workspace, cudaStream_t stream) noexcept override
    {
        int32_t n = 1;
        for (int32_t i = 0; i < inputDesc[0].dims.nbDims; ++i)
        {
            n *= inputDesc[0].dims.d[i];
        }
        return launchClipShift(inputs[0], outputs[0], mLow, mShift, n, inputDesc[0].type == DataType::kHALF, stream);
    }

    DataType getOutputDataType(int32_t index, DataType const* inputTypes, int32_t nbInputs) const noexcept override
    {
        return inputTypes[0];
    }

    char const* getPluginType() const noexcept override
    {
        return kNAME;
    }
    char const* getPluginVersion() const noexcept override
    {
        return kVERSION;
    }
    int32_t initialize() noexcept override
    {
        return 0;
    }
    void terminate() noexcept override {}
    size_t getSerializationSize() const noexcept override
    {
        return 2 * sizeof(float);
    }
    void serialize(void* buffer) const noexcept override
    {
        char* d = static_cast<char*>(buffer);
        char const* const a = d;
        write(d, mLow);
        write(d, mShift);
        assert(d == a + getSerializationSize());
    }
    void destroy() noexcept override
    {
        delete this;
    }
    IPluginV2DynamicExt* clone() const noexcept override
    {
        auto* plugin = new ClipShiftPlugin(mLow, mShift);
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin;
    }
    void setPluginNamespace(char const* pluginNamespace) noexcept override
    {
        mNamespace = pluginNamespace;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }

private:
    float mLow;
    float mShift;
    std::string mNamespace;
};

class ClipShiftPluginCreator : public IPluginCreator
{
public:
    ClipShiftPluginCreator()
    {
        mPluginAttributes.clear();
        mPluginAttributes.emplace_back(PluginField("low", nullptr, PluginFieldType::kFLOAT32, 1));
        mPluginAttributes.emplace_back(PluginField("shift", nullptr, PluginFieldType::kFLOAT32, 1));
        mFC.nbFields = mPluginAttributes.size();
        mFC.fields = mPluginAttributes.data();
    }

    char const* getPluginName() const noexcept override
    {
        return kNAME;
    }
    char const* getPluginVersion() const noexcept override
    {
        return kVERSION;
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mFC;
    }

    IPluginV2* createPlugin(char const* name, PluginFieldCollection const* fc) noexcept override
    {
        float low{0.F};
        float shift{0.5F};
        for (int32_t i = 0; i < fc->nbFields; ++i)
        {
            if (!std::strcmp(fc->fields[i].name, "low"))
            {
                assert(fc->fields[i].type == PluginFieldType::kFLOAT32);
                low = *static_cast<float const*>(fc->fields[i].data);
            }
            else if (!std::strcmp(fc->fields[i].name, "shift"))
            {
                assert(fc->fields[i].type == PluginFieldType::kFLOAT32);
                shift = *static_cast<float const*>(fc->fields[i].data);
            }
        }
        auto* plugin = new ClipShiftPlugin(low, shift);
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin;
    }

    IPluginV2* deserializePlugin(char const* name, void const* data, size_t length) noexcept override
    {
        auto* plugin = new ClipShiftPlugin(data, length);
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin;
    }

    void setPluginNamespace(char const* pluginNamespace) noexcept override
    {
        mNamespace = pluginNamespace;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }

private:
    static PluginFieldCollection mFC;
    static std::vector<PluginField> mPluginAttributes;
    std::string mNamespace;
};

PluginFieldCollection ClipShiftPluginCreator::mFC{};
std::vector<PluginField> ClipShiftPluginCreator::mPluginAttributes;

REGISTER_TENSORRT_PLUGIN(ClipShiftPluginCreator);
