// An IPluginV2IOExt for the host's tests: y = x, FP32 or INT8. The field `fault` says which one thing it does wrong.
#include <NvInfer.h>

#include <cstdlib>
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

enum class Fault : std::int32_t
{
    kNONE,
    kNEGATIVE_DIMENSION,
    kNINE_DIMENSIONS,
    kOTHER_DIMENSIONS_EACH_TIME,
    kLARGER_OUTPUT,
    kSMALLER_OUTPUT,
    kLOOKS_AHEAD,
    kBROADCAST,
    kWORKSPACE_SHRINKS,
    kNO_CONFIGURE_AT_ALL,
    kFORGETS_SHAPES,
    kFIRST_BATCH_ONLY,
    kENQUEUE_FAILS,
    kOTHER_CLONE,
};

struct State
{
    std::int32_t fault;
    std::int64_t bytes;
};

class Plugin final : public IPluginV2IOExt
{
public:
    explicit Plugin(State const& state) : mState{state} {}

    AsciiChar const* getPluginType() const noexcept override
    {
        return "IOProbe";
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
        pluginkit::Extent& last = dims.d[dims.nbDims - 1];
        if (is(Fault::kNINE_DIMENSIONS))
        {
            dims.nbDims = 9;
        }
        last = is(Fault::kNEGATIVE_DIMENSION) ? -3 : last;
        last += is(Fault::kOTHER_DIMENSIONS_EACH_TIME) ? mAsked++ : 0;
        last += is(Fault::kLARGER_OUTPUT) ? 1 : 0;
        last -= is(Fault::kSMALLER_OUTPUT) ? 1 : 0;
        return dims;
    }
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
        return is(Fault::kENQUEUE_FAILS) ? 3 : 0;
    }
    size_t getSerializationSize() const noexcept override
    {
        return sizeof mState;
    }
    void serialize(void* buffer) const noexcept override
    {
        State state{};
        std::memset(&state, 0, sizeof state);
        state.fault = mState.fault;
        state.bytes = is(Fault::kFORGETS_SHAPES) ? 0 : mState.bytes;
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
    DataType getOutputDataType(std::int32_t, DataType const* types, std::int32_t) const noexcept override
    {
        return types[0];
    }
#if PLUGINKIT_TRT_LAYOUT <= 10
    bool isOutputBroadcastAcrossBatch(std::int32_t, bool const*, std::int32_t) const noexcept override
    {
        return is(Fault::kBROADCAST);
    }
    bool canBroadcastInputAcrossBatch(std::int32_t) const noexcept override
    {
        return false;
    }
#endif
    IPluginV2IOExt* clone() const noexcept override
    {
        State state = mState;
        state.fault = is(Fault::kOTHER_CLONE) ? 0 : state.fault;
        auto* const copy = new Plugin{state};
        copy->mNamespace = mNamespace;
        return copy;
    }
    void configurePlugin(PluginTensorDesc const* in, std::int32_t, PluginTensorDesc const*,
                         std::int32_t) noexcept override
    {
        mState.bytes = in[0].type == DataType::kINT8 ? 1 : 4;
        for (std::int32_t i = 0; i < in[0].dims.nbDims; ++i)
        {
            mState.bytes *= in[0].dims.d[i];
        }
        mState.bytes = is(Fault::kNO_CONFIGURE_AT_ALL) ? 0 : mState.bytes;
    }
    bool supportsFormatCombination(std::int32_t pos, PluginTensorDesc const* inOut, std::int32_t,
                                   std::int32_t) const noexcept override
    {
        std::int32_t const other = is(Fault::kLOOKS_AHEAD) ? 1 - pos : 0;
        bool const known = inOut[pos].type == DataType::kFLOAT || inOut[pos].type == DataType::kINT8;
        return known && inOut[pos].format == TensorFormat::kLINEAR && inOut[pos].type == inOut[other].type;
    }

private:
    bool is(Fault fault) const noexcept
    {
        return mState.fault == static_cast<std::int32_t>(fault);
    }

    State mState;
    std::string mNamespace;
    std::int32_t mAsked{0};
};

class Creator final : public IPluginCreator
{
public:
    AsciiChar const* getPluginName() const noexcept override
    {
        return "IOProbe";
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
        std::memcpy(&state.fault, fields->fields[0].data, sizeof state.fault);
        if (char const* const planted = std::getenv("PROBE_FAULT")) // for callers that guess fields
        {
            state.fault = std::atoi(planted);
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
