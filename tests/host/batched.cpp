// An IPluginV2Ext, or with -DBASIC an IPluginV2, for the tests of the host and of adopt: y = x, FP32 or FP16.
// The field `fault` says which one thing it does wrong.
#include <NvInfer.h>

#include <cstring>
#include <string>

#if PLUGINKIT_TRT_LAYOUT == 8
#define GET_CREATORS getPluginCreators
#else
#define GET_CREATORS getCreators
#endif

using namespace nvinfer1;

namespace
{

#ifdef BASIC
using Base = IPluginV2;
#else
using Base = IPluginV2Ext;
#endif

enum class Fault : std::int32_t
{
    kNONE,
    kCOUNTS_THE_BATCH,
    kNEGATIVE_DIMENSION,
    kREFUSES_FORMAT,
    kWORKSPACE_SHRINKS,
    kFORGETS_SHAPES,
    kFIRST_BATCH_ONLY,
    kENQUEUE_FAILS,
    kOTHER_CLONE,
    kBROADCAST,
    kOTHER_TYPE,
};

struct State
{
    std::int32_t fault;
    std::int32_t maxBatch;
    std::int64_t bytes;
};

class Plugin final : public Base
{
public:
    explicit Plugin(State const& state) : mState{state} {}

    AsciiChar const* getPluginType() const noexcept override
    {
        return "BatchProbe";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    std::int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    Dims getOutputDimensions(std::int32_t, Dims const* inputs, std::int32_t) noexcept override
    {
        Dims dims = inputs[0];
        if (is(Fault::kCOUNTS_THE_BATCH))
        {
            dims.d[dims.nbDims++] = 2;
        }
        dims.d[0] = is(Fault::kNEGATIVE_DIMENSION) ? -3 : dims.d[0];
        return dims;
    }
    bool supportsFormat(DataType type, PluginFormat format) const noexcept override
    {
        bool const known = type == DataType::kFLOAT || type == DataType::kHALF;
        return known && format == PluginFormat::kLINEAR && !is(Fault::kREFUSES_FORMAT);
    }
#ifdef BASIC
    void configureWithFormat(Dims const* inputs, std::int32_t, Dims const*, std::int32_t, DataType type, PluginFormat,
                             std::int32_t maxBatch) noexcept override
    {
        configure(inputs[0], type, maxBatch);
    }
    IPluginV2* clone() const noexcept override
    {
        return copy();
    }
#else
    void configurePlugin(Dims const* inputs, std::int32_t, Dims const*, std::int32_t, DataType const* types,
                         DataType const*, bool const* in, bool const* out, PluginFormat,
                         std::int32_t maxBatch) noexcept override
    {
        configure(inputs[0], types[0], in[0] || out[0] ? -1 : maxBatch);
    }
    DataType getOutputDataType(std::int32_t, DataType const* types, std::int32_t) const noexcept override
    {
        return is(Fault::kOTHER_TYPE) ? DataType::kINT32 : types[0];
    }
#if PLUGINKIT_TRT_LAYOUT <= 10
    bool isOutputBroadcastAcrossBatch(std::int32_t, bool const*, std::int32_t) const noexcept override
    {
        return is(Fault::kBROADCAST);
    }
    bool canBroadcastInputAcrossBatch(std::int32_t) const noexcept override
    {
        return true;
    }
#endif
    IPluginV2Ext* clone() const noexcept override
    {
        return copy();
    }
#endif
    std::int32_t initialize() noexcept override
    {
        return 0;
    }
    void terminate() noexcept override {}
    size_t getWorkspaceSize(std::int32_t batches) const noexcept override
    {
        return is(Fault::kWORKSPACE_SHRINKS) ? 64U / static_cast<size_t>(batches) : 0;
    }
    std::int32_t enqueue(std::int32_t batches, void const* const* inputs, void* const* outputs, void*,
                         cudaStream_t) noexcept override
    {
        auto const run = is(Fault::kFIRST_BATCH_ONLY) ? 1 : batches;
        std::memcpy(outputs[0], inputs[0], static_cast<size_t>(mState.bytes * run));
        return is(Fault::kENQUEUE_FAILS) || batches > mState.maxBatch ? 3 : 0;
    }
    size_t getSerializationSize() const noexcept override
    {
        return sizeof mState;
    }
    void serialize(void* buffer) const noexcept override
    {
        State state{mState};
        state.bytes = is(Fault::kFORGETS_SHAPES) ? 0 : state.bytes;
        std::memcpy(buffer, &state, sizeof state);
    }
    void destroy() noexcept override
    {
        delete this;
    }
    void setPluginNamespace(AsciiChar const* value) noexcept override
    {
        mNamespace = value;
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }

private:
    bool is(Fault fault) const
    {
        return mState.fault == static_cast<std::int32_t>(fault);
    }
    void configure(Dims const& dims, DataType type, std::int32_t maxBatch)
    {
        mState.maxBatch = maxBatch;
        mState.bytes = type == DataType::kHALF ? 2 : 4;
        for (std::int32_t i = 0; i < dims.nbDims; ++i)
        {
            mState.bytes *= dims.d[i];
        }
    }
    Plugin* copy() const
    {
        auto* const made = new Plugin{mState};
        made->mNamespace = mNamespace;
        made->mState.bytes += is(Fault::kOTHER_CLONE) ? 1 : 0;
        return made;
    }

    State mState;
    std::string mNamespace;
};

class Creator final : public IPluginCreator
{
public:
    AsciiChar const* getPluginName() const noexcept override
    {
        return "BatchProbe";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mFields;
    }
    IPluginV2* createPlugin(AsciiChar const*, PluginFieldCollection const* fields) noexcept override
    {
        State state{};
        if (fields->nbFields > 0)
        {
            std::memcpy(&state.fault, fields->fields[0].data, sizeof state.fault);
        }
        return made(state);
    }
    IPluginV2* deserializePlugin(AsciiChar const*, void const* data, size_t) noexcept override
    {
        State state{};
        std::memcpy(&state, data, sizeof state);
        return made(state);
    }
    void setPluginNamespace(AsciiChar const* value) noexcept override
    {
        mNamespace = value;
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }

private:
    Plugin* made(State const& state) const
    {
        auto* const plugin = new Plugin{state};
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin;
    }

    std::string mNamespace;
    PluginField mField{"fault", nullptr, PluginFieldType::kINT32, 1};
    PluginFieldCollection mFields{1, &mField};
};

} // namespace

extern "C" __attribute__((visibility("default"))) void setLoggerFinder(ILoggerFinder*) {}

extern "C" __attribute__((visibility("default"))) pluginkit::detail::AnyCreator* const*
GET_CREATORS(std::int32_t& count)
{
    static Creator creator;
    static pluginkit::detail::AnyCreator* const list[]{&creator};
    count = 1;
    return list;
}
