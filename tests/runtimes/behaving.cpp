// y = x (times alpha in FP32), and side = x; the field `fault` makes it do something wrong instead.
#include <NvInfer.h>
#include <pluginkit/entry.h>
#include <pluginkit/log.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace behaving
{

using namespace nvinfer1;

enum Fault : int32_t
{
    kNONE = 0,
    kCONFIGURE_SEGFAULT = 1,
    kNO_FORMAT = 2,
    kENQUEUE_SEGFAULT = 3,
    kENQUEUE_EXIT = 4,
    kENQUEUE_HANG = 5,
    kENQUEUE_ERROR = 6,
    kCONFIGURE_HANG = 7,
    kFORMATS_ABORT = 8,
    kCREATE_NULL = 9,
    kDESERIALIZE_NULL = 10,
    kSERIALIZE_OTHER = 11,
    kUNWRITTEN = 12,
    kLAST_PROFILE = 13, // takes its size from what was configured last, whichever object that was
    kCOUNTS = 14,       // goes wrong after so many calls
    kBELOW_MAX = 15,    // needs a max at run time that is larger than the shape
    kNEEDS_NUMBERS = 16 // ends the process where the first element is no number
};

struct State
{
    float alpha{1.F};
    int32_t fault{kNONE};
};

inline void crash()
{
    std::raise(SIGSEGV);
}

class Behaving : public IPluginV2DynamicExt
{
public:
    explicit Behaving(State state) : mState(state) {}

    char const* getPluginType() const noexcept override
    {
        return "Behaving";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 2;
    }
    int32_t initialize() noexcept override
    {
        return 0;
    }
    void terminate() noexcept override {}
    size_t getSerializationSize() const noexcept override
    {
        return sizeof mState;
    }
    void serialize(void* buffer) const noexcept override
    {
        State state = mState;
        static float drift = 0.F;
        state.alpha += mState.fault == kSERIALIZE_OTHER ? (drift = drift == 1.F ? 2.F : 1.F) : 0.F;
        std::memcpy(buffer, &state, sizeof state);
    }
    void destroy() noexcept override
    {
        delete this;
    }
    IPluginV2DynamicExt* clone() const noexcept override
    {
        auto* copy = new Behaving(mState);
        copy->setPluginNamespace(mNamespace.c_str());
        return copy;
    }
    void setPluginNamespace(char const* space) noexcept override
    {
        mNamespace = space == nullptr ? "" : space;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }
    DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override
    {
        return types[0];
    }
    DimsExprs getOutputDimensions(int32_t, DimsExprs const* inputs, int32_t, IExprBuilder&) noexcept override
    {
        return inputs[0];
    }
    bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t, int32_t) noexcept override
    {
        if (mState.fault == kFORMATS_ABORT)
        {
            std::abort();
        }
        PluginTensorDesc const& desc = inOut[pos];
        bool const known =
            desc.type == DataType::kFLOAT || desc.type == DataType::kHALF || desc.type == DataType::kINT8;
        return mState.fault != kNO_FORMAT && known && desc.format == TensorFormat::kLINEAR &&
               desc.type == inOut[0].type;
    }
    void configurePlugin(DynamicPluginTensorDesc const* in, int32_t, DynamicPluginTensorDesc const*,
                         int32_t) noexcept override
    {
        gLast = in->desc.dims.d[0];
        mBelowMax = in->desc.dims.d[0] < in->max.d[0];
        if (mState.fault == kCONFIGURE_SEGFAULT)
        {
            crash();
        }
        hangIf(kCONFIGURE_HANG);
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const*, void const* const* inputs,
                    void* const* outputs, void*, cudaStream_t) noexcept override
    {
        if (mState.fault == kENQUEUE_SEGFAULT)
        {
            crash();
        }
        if (mState.fault == kENQUEUE_EXIT)
        {
            std::_Exit(0);
        }
        hangIf(kENQUEUE_HANG);
        size_t count = 1;
        for (int32_t i = 0; i < inputDesc->dims.nbDims; ++i)
        {
            count *= static_cast<size_t>(inputDesc->dims.d[i]);
        }
        size_t const size = inputDesc->type == DataType::kFLOAT ? 4 : inputDesc->type == DataType::kHALF ? 2 : 1;
        if (mState.fault == kNEEDS_NUMBERS && inputDesc->type == DataType::kFLOAT &&
            std::isnan(static_cast<float const*>(inputs[0])[0]))
        {
            crash();
        }
        bool const wrong = (mState.fault == kLAST_PROFILE && gLast != inputDesc->dims.d[0]) ||
                           (mState.fault == kCOUNTS && ++mCalls > 50) || (mState.fault == kBELOW_MAX && !mBelowMax);
        std::memcpy(outputs[0], inputs[0], count * size);
        std::memcpy(outputs[1], inputs[0], (mState.fault == kUNWRITTEN ? count - 1 : count) * size);
        for (size_t i = 0; inputDesc->type == DataType::kFLOAT && i < count; ++i)
        {
            static_cast<float*>(outputs[0])[i] *= wrong ? -2.F : mState.alpha;
        }
        return mState.fault == kENQUEUE_ERROR ? 1 : 0;
    }

private:
    static inline std::int64_t gLast = 0;
    int mCalls{0};
    bool mBelowMax{true};

    void hangIf(int32_t fault) const
    {
        while (mState.fault == fault)
        {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }

    State mState;
    std::string mNamespace;
};

class BehavingCreator : public IPluginCreator
{
public:
    char const* getPluginName() const noexcept override
    {
        return "Behaving";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        static PluginField const fields[] = {{"alpha", nullptr, PluginFieldType::kFLOAT32, 1},
                                             {"fault", nullptr, PluginFieldType::kINT32, 1}};
        static PluginFieldCollection const collection{2, fields};
        return &collection;
    }
    IPluginV2* createPlugin(char const*, PluginFieldCollection const* collection) noexcept override
    {
        State state;
        for (int32_t i = 0; i < collection->nbFields; ++i)
        {
            PluginField const& field = collection->fields[i];
            void* const place = std::strcmp(field.name, "alpha") == 0   ? static_cast<void*>(&state.alpha)
                                : std::strcmp(field.name, "fault") == 0 ? static_cast<void*>(&state.fault)
                                                                        : nullptr;
            if (place != nullptr)
            {
                std::memcpy(place, field.data, 4);
            }
        }
        if (state.fault == kCREATE_NULL)
        {
            // Both ways in which plugins say why.
            pluginkit::logError("libnothing.so.8 is older than needed");
            static_cast<void>(std::fputs("Failed to load libnothing.so.8\n", stdout));
            return nullptr;
        }
        return named(state);
    }
    IPluginV2* deserializePlugin(char const*, void const* data, size_t length) noexcept override
    {
        State state;
        if (length != sizeof state)
        {
            return nullptr;
        }
        std::memcpy(&state, data, sizeof state);
        return state.fault == kDESERIALIZE_NULL ? nullptr : named(state);
    }
    void setPluginNamespace(char const* space) noexcept override
    {
        mNamespace = space == nullptr ? "" : space;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }

private:
    IPluginV2* named(State state) const
    {
        auto* plugin = new Behaving(state);
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin;
    }

    std::string mNamespace;
};

class NextVersionCreator : public BehavingCreator
{
public:
    char const* getPluginVersion() const noexcept override
    {
        return "2";
    }
};

} // namespace behaving

#ifdef BEHAVING_TWICE
PLUGINKIT_PLUGINS(Behaving, behaving::BehavingCreator, behaving::NextVersionCreator)
#else
PLUGINKIT_PLUGINS(Behaving, behaving::BehavingCreator)
#endif
