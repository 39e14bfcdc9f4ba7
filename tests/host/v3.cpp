// One IPluginV3 for the host's tests: y = x * factor. The field `mode` chooses an optional part of the interface, the
// field `fault` makes exactly one thing wrong. No pluginkit/entry.h: what the user's own library has. Compiled by nvcc
// it computes on the GPU, by one thread.
#include "NvInferRuntime.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

using namespace nvinfer1;

namespace
{

enum Mode : int32_t
{
    kPLAIN = 0,
    kTACTICS = 1,     // 3 and 7
    kALIAS = 2,       // y is x's memory
    kSHAPE_INPUT = 3, // y has k rows, k being the shape input's element
    kSIZE = 4,        // y holds the elements above 0, output 1 how many there are
};

// The order is that of FAULTS in test_v3.py.
enum Fault : int32_t
{
    none,
    create_null,
    no_build,
    name_other,
    clone_null,
    clone_other,
    outputs_zero,
    types_fail,
    type_unwritten,
    type_bool,
    type_int4,
    types_change,
    shapes_change,
    asks_constant,
    formats_change,
    shapes_fail,
    shape_unwritten,
    shape_foreign,
    size_output,
    size_opt,
    size_dims,
    format_none,
    format_later,
    configure_fails,
    workspace_shrinks,
    tactics_many,
    tactic_zero,
    tactic_negative,
    tactics_change,
    tactic_twice,
    tactics_fail,
    tactic_uncounted,
    tactic_refused,
    tactic_wrong,
    limit_zero,
    metadata_changes,
    alias_bad,
    kept_null,
    kept_dangles,
    kept_name_null,
    kept_no_data,
    kept_type,
    kept_changes,
    restored_otherwise,
    kept_loses,
    restore_null,
    attach_null,
    attach_self,
    attach_other,
    shape_change_fails,
    enqueue_fails,
    modified,
    size_large,
    size_negative,
    beyond,
    core_kind,
    crash_shape_change,
};

#ifdef __CUDACC__
#define ANYWHERE __host__ __device__
#else
#define ANYWHERE
#endif

// What enqueue has to compute: of y = x * factor all, or with `size` what is above 0 and how much that is.
struct Work
{
    float const* x;
    float* y;
    int32_t* size;
    int64_t count;
    int64_t written;
    float factor;
    bool modifies;
    int32_t wrongSize; // 0: none

    ANYWHERE void run() const
    {
        int32_t above = 0;
        for (int64_t i = 0; size != nullptr && i < count; ++i)
        {
            if (x[i] > 0.0F)
            {
                y[above++] = x[i] * factor;
            }
        }
        if (size != nullptr)
        {
            *size = wrongSize != 0 ? wrongSize : above;
            return;
        }
        for (int64_t i = 0; i < written; ++i)
        {
            y[i] = x[i % count] * factor;
        }
        if (modifies)
        {
            const_cast<float*>(x)[0] = 99.0F;
        }
    }
};

#ifdef __CUDACC__
__global__ void runWork(Work work)
{
    work.run();
}
#endif

// A fault that is chosen without the field: that of callers which guess fields.
int32_t planted(char const* name)
{
    char const* const value = std::getenv(name);
    return value == nullptr ? 0 : std::atoi(value);
}

struct State
{
    int32_t mode{kPLAIN};
    int32_t fault{none};
    float factor{1.0F};
    bool restored{false};
};

class Plugin final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuildV2, public IPluginV3OneRuntime
{
public:
    explicit Plugin(State const& state) : mState{state} {}

    bool is(Fault fault) const
    {
        return mState.fault == fault;
    }

    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        switch (static_cast<int32_t>(type))
        {
        case 0:
            return is(core_kind) ? static_cast<IPluginCapability*>(static_cast<IPluginV3OneRuntime*>(this))
                                 : static_cast<IPluginV3OneCore*>(this);
        case 1:
            return is(no_build) ? nullptr : static_cast<IPluginV3OneBuildV2*>(this);
        case 2:
            return static_cast<IPluginV3OneRuntime*>(this);
        default:
            std::abort(); // as NVIDIA's own plugins do, for no header says what else: the host may not ask
        }
    }
    IPluginV3* clone() noexcept override
    {
        if (is(clone_null))
        {
            return nullptr;
        }
        auto* const copy = new Plugin{*this};
        copy->mState.factor += is(clone_other) ? 1.0F : 0.0F;
        return copy;
    }

    char const* getPluginName() const noexcept override
    {
        return is(name_other) ? "Other" : "ProbeV3";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    char const* getPluginNamespace() const noexcept override
    {
        return "tests";
    }

    int32_t getNbOutputs() const noexcept override
    {
        return is(outputs_zero) ? 0 : mState.mode == kSIZE ? 2 : 1;
    }
    int32_t getOutputDataTypes(DataType* types, int32_t nbOutputs, DataType const* inputs,
                               int32_t) const noexcept override
    {
        if (!is(type_unwritten))
        {
            types[0] = is(type_bool) ? DataType::kBOOL : is(type_int4) ? DataType::kINT4 : inputs[0];
            static int32_t turn = 0;
            types[0] = is(types_change) && turn++ % 2 == 1 ? DataType::kHALF : types[0];
        }
        if (nbOutputs == 2)
        {
            types[1] = DataType::kINT32;
        }
        return is(types_fail) ? 5 : 0;
    }
    int32_t getOutputShapes(DimsExprs const* inputs, int32_t, DimsExprs const* shapeInputs, int32_t nbShapeInputs,
                            DimsExprs* outputs, int32_t, IExprBuilder& builder) noexcept override
    {
        if (is(shape_unwritten))
        {
            return 0;
        }
        outputs[0] = inputs[0];
        static int32_t turn = 0;
        if (is(shapes_change) && turn++ % 2 == 1)
        {
            outputs[0].d[1] =
                builder.operation(DimensionOperation::kSUM, *inputs[0].d[0],
                                  *builder.operation(DimensionOperation::kSUB, *inputs[0].d[1], *inputs[0].d[0]));
        }
        if (is(asks_constant) && inputs[0].d[0]->getConstantValue() != std::numeric_limits<int64_t>::min())
        {
            return 1;
        }
        if (mState.mode == kSHAPE_INPUT)
        {
            if (nbShapeInputs != 1)
            {
                return 1;
            }
            outputs[0].d[0] = shapeInputs[0].d[0];
        }
        if (mState.mode == kSIZE)
        {
            auto const* const all = builder.operation(DimensionOperation::kPROD, *inputs[0].d[0], *inputs[0].d[1]);
            auto const* const half = builder.operation(DimensionOperation::kFLOOR_DIV, *all, *builder.constant(2));
            auto const* size = builder.declareSizeTensor(is(size_output) ? 2 : 1, *half, *all);
            if (is(size_opt))
            {
                size = builder.declareSizeTensor(0, *size, *all);
            }
            outputs[0].nbDims = 1;
            outputs[0].d[0] = size;
            outputs[1].nbDims = is(size_dims) ? 1 : 0;
            outputs[1].d[0] = builder.constant(1);
        }
        if (is(shape_foreign))
        {
            static IDimensionExpr const* stale = nullptr;
            stale = stale == nullptr ? builder.constant(2) : stale;
            outputs[0].d[0] = reinterpret_cast<IDimensionExpr const*>(&mState);
        }
        return is(shapes_fail) ? 3 : 0;
    }
    bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        if (is(format_none) && pos == 1)
        {
            return false;
        }
        if (is(format_later) && inOut[nbInputs + nbOutputs - 1].desc.type == inOut[0].desc.type)
        {
            return false;
        }
        static int32_t turn = 0;
        if (is(formats_change) && pos == 0 && turn++ == 2)
        {
            return false;
        }
        bool const count = pos == nbInputs + 1;
        return inOut[pos].desc.format == TensorFormat::kLINEAR &&
               inOut[pos].desc.type == (count ? DataType::kINT32 : DataType::kFLOAT);
    }
    int32_t configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                            int32_t) noexcept override
    {
        return is(configure_fails) ? 9 : 0;
    }
    size_t getWorkspaceSize(DynamicPluginTensorDesc const* in, int32_t, DynamicPluginTensorDesc const*,
                            int32_t) const noexcept override
    {
        return is(workspace_shrinks) ? static_cast<size_t>(1000 - in[0].max.d[0]) : 64;
    }
    int32_t getNbTactics() noexcept override
    {
        return is(tactics_many) ? -1 : mState.mode == kTACTICS ? 2 : 0;
    }
    int32_t getValidTactics(int32_t* tactics, int32_t nbTactics) noexcept override
    {
        if (nbTactics == 2)
        {
            tactics[0] = is(tactic_zero) ? 0 : 3;
            tactics[1] = is(tactic_twice) ? 3 : is(tactic_negative) ? -7 : 7;
            static int32_t turn = 0;
            if (is(tactics_change) && turn++ % 2 == 1)
            {
                std::swap(tactics[0], tactics[1]);
            }
        }
        if (is(tactic_uncounted))
        {
            tactics[nbTactics] = 9;
        }
        return is(tactics_fail) ? 2 : 0;
    }
    char const* getTimingCacheID() noexcept override
    {
        return "probe";
    }
    int32_t getFormatCombinationLimit() noexcept override
    {
        return is(limit_zero) ? 0 : kDEFAULT_FORMAT_COMBINATION_LIMIT;
    }
    char const* getMetadataString() noexcept override
    {
        mMetadata += is(metadata_changes) ? "+" : "";
        return mMetadata.c_str();
    }
    int32_t getAliasedInput(int32_t index) noexcept override
    {
        return is(alias_bad) ? 1 : mState.mode == kALIAS && index == 0 ? 0 : -1;
    }

    int32_t setTactic(int32_t tactic) noexcept override
    {
        mTactic = tactic;
        bool const known = mState.mode == kTACTICS ? tactic == 3 || tactic == 7 || tactic == -7 : tactic == 0;
        return !known || (is(tactic_refused) && tactic == 7) ? 4 : 0;
    }
    int32_t onShapeChange(PluginTensorDesc const* in, int32_t, PluginTensorDesc const*, int32_t) noexcept override
    {
        if (is(crash_shape_change))
        {
            std::abort();
        }
        mColumns = in[0].dims.d[1];
        return is(shape_change_fails) ? 6 : 0;
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const* out, void const* const* inputs,
                    void* const* outputs, void* workspace, cudaStream_t stream) noexcept override
    {
        if (mTactic < 0 || mColumns != in[0].dims.d[1] || workspace == nullptr)
        {
            return 77; // not set up: see the assertions in test_v3.py
        }
        Work work{};
        work.x = static_cast<float const*>(inputs[0]);
        work.y = static_cast<float*>(outputs[0]);
        work.size = mState.mode == kSIZE ? static_cast<int32_t*>(outputs[1]) : nullptr;
        work.count = in[0].dims.d[0] * in[0].dims.d[1];
        work.written = mState.mode == kSHAPE_INPUT ? out[0].dims.d[0] * out[0].dims.d[1] : work.count;
        work.written += is(beyond) ? 1 : 0;
        work.factor = mState.factor + (is(tactic_wrong) && mTactic == 7 ? 1.0F : 0.0F);
        work.modifies = is(modified);
        work.wrongSize = is(size_large) ? 1000 : is(size_negative) ? -1 : 0;
#ifdef __CUDACC__
        runWork<<<1, 1, 0, stream>>>(work);
        return is(enqueue_fails) ? 1 : static_cast<int32_t>(cudaGetLastError());
#else
        static_cast<void>(stream);
        work.run();
        return is(enqueue_fails) ? 1 : 0;
#endif
    }
    IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override
    {
        // This host's context is there, and empty.
        if (is(attach_null) || context == nullptr || context->getErrorRecorder() != nullptr)
        {
            return nullptr;
        }
        if (is(attach_self))
        {
            return this;
        }
        auto* const copy = new Plugin{*this};
        copy->mState.factor += is(attach_other) ? 1.0F : 0.0F;
        return copy;
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        if (is(kept_null))
        {
            return nullptr;
        }
        mKept[0] = PluginField{"mode", &mState.mode, PluginFieldType::kINT32, 1};
        mKept[1] = PluginField{"fault", &mState.fault, PluginFieldType::kINT32, 1};
        mKept[2] = PluginField{"factor", is(kept_no_data) ? nullptr : &mState.factor, PluginFieldType::kFLOAT32, 1};
        mKept[3] = PluginField{is(kept_name_null) ? nullptr : "extra", &mExtra,
                               is(kept_type) ? static_cast<PluginFieldType>(99) : PluginFieldType::kINT32, 1};
        bool const four = is(kept_name_null) || is(kept_type) || is(kept_changes) || is(restored_otherwise);
        mExtra = is(kept_changes) ? (mExtra + 1) % 2 : mState.restored && is(restored_otherwise) ? 7 : 0;
        mFields = {is(kept_loses) ? 2 : four ? 4 : 3, mKept.data()};
        if (is(kept_dangles))
        {
            // What a vector that is local to the function leaves behind.
            auto* const local = new std::vector<float>(4, mState.factor);
            mKept[2].data = local->data();
            mKept[2].length = 4;
            delete local;
        }
        return &mFields;
    }

private:
    State mState;
    std::string mMetadata{"probe"};
    std::array<PluginField, 4> mKept;
    PluginFieldCollection mFields{};
    int32_t mExtra{0};
    int32_t mTactic{-1};
    int64_t mColumns{-1};
};

class Creator final : public IPluginCreatorV3One
{
public:
    Creator()
    {
        mFields[0] = PluginField{"mode", nullptr, PluginFieldType::kINT32, 1};
        mFields[1] = PluginField{"fault", nullptr, PluginFieldType::kINT32, 1};
        mFields[2] = PluginField{"factor", nullptr, PluginFieldType::kFLOAT32, 1};
        mNames = {3, mFields.data()};
    }
    IPluginV3* createPlugin(char const*, PluginFieldCollection const* fields, TensorRTPhase phase) noexcept override
    {
        State state;
        int32_t found = 0;
        for (int32_t i = 0; i < fields->nbFields; ++i)
        {
            PluginField const& field = fields->fields[i];
            for (auto const& [name, to] : {std::pair{"mode", static_cast<void*>(&state.mode)},
                                           std::pair{"fault", static_cast<void*>(&state.fault)},
                                           std::pair{"factor", static_cast<void*>(&state.factor)}})
            {
                if (std::strcmp(field.name, name) == 0)
                {
                    std::memcpy(to, field.data, 4);
                    ++found;
                }
            }
        }
        state.fault = std::max(state.fault, planted("PROBE_FAULT"));
        state.mode = std::max(state.mode, planted("PROBE_MODE"));
        bool const runtime = phase == TensorRTPhase::kRUNTIME;
        if (state.fault == create_null || (runtime && (state.fault == restore_null || found != 3)))
        {
            return nullptr;
        }
        state.restored = runtime;
        return new Plugin{state};
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNames;
    }
    char const* getPluginName() const noexcept override
    {
        return "ProbeV3";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    char const* getPluginNamespace() const noexcept override
    {
        return "tests";
    }

private:
    std::array<PluginField, 3> mFields;
    PluginFieldCollection mNames{};
};

} // namespace

extern "C" __attribute__((visibility("default"))) void setLoggerFinder(ILoggerFinder*) {}

extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(int32_t& count)
{
    static Creator creator;
    static IPluginCreatorInterface* const list[] = {&creator};
    count = 1;
    return list;
}
