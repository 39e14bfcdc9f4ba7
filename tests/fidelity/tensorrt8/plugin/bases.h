// The chameleon by each interface of the second generation; it keeps its calls, and runs.
#pragma once

#include "state.h"

namespace chameleon
{

//! What all have; Derived is the plugin's class.
template <typename Derived, typename Base>
class Common : public Base
{
public:
    Common(State const& state, char const* space, std::string layer)
        : mState{state}, mAnswers{state.fields}, mNamespace{space}, mLayer{std::move(layer)}, mObject{newObject()}
    {
    }

    char const* getPluginType() const noexcept override
    {
        return mAnswers.is(kOTHER_NAME) ? "Impostor" : Derived::kNAME;
    }
    char const* getPluginVersion() const noexcept override
    {
        return mAnswers.is(kOTHER_VERSION) ? "2" : "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        called(mObject, "getNbOutputs");
        return mState.fields.outputs;
    }
    int32_t initialize() noexcept override
    {
        called(mObject, "initialize");
        return mAnswers.is(kINITIALIZE_FAILS) ? 1 : 0;
    }
    void terminate() noexcept override
    {
        called(mObject, "terminate");
    }
    size_t getSerializationSize() const noexcept override
    {
        called(mObject, "getSerializationSize");
        return mAnswers.is(kUNSERIALIZABLE) ? (size_t{1} << 31) + 1 : sizeof(State);
    }
    void serialize(void* buffer) const noexcept override
    {
        called(mObject, "serialize");
        std::memcpy(buffer, &mState, sizeof(State));
    }
    void destroy() noexcept override
    {
        called(mObject, "destroy");
        delete this;
    }
    Base* clone() const noexcept override
    {
        if (mAnswers.is(kNULL_CLONE))
        {
            called(mObject, "clone", "0");
            return nullptr;
        }
        auto* const copy = new Derived{mState, mNamespace.c_str(), mLayer};
        called(mObject, "clone", std::to_string(copy->mObject));
        return copy;
    }
    void setPluginNamespace(char const* space) noexcept override
    {
        called(mObject, "setPluginNamespace");
        mNamespace = space;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }

    int32_t object() const
    {
        return mObject;
    }

protected:
    State mState;
    Answers mAnswers;
    std::string mNamespace;
    std::string mLayer;
    int32_t mObject;
};

//! What the three with static shapes have: the batch apart, and no shapes in enqueue.
template <typename Derived, typename Base>
class Batched : public Common<Derived, Base>
{
public:
    using Common<Derived, Base>::Common;

    Dims getOutputDimensions(int32_t index, Dims const* inputs, int32_t nbInputs) noexcept override
    {
        called(this->mObject, "getOutputDimensions", std::to_string(index));
        return dimsOf(this->mState.fields, index, inputs, nbInputs);
    }
    size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept override
    {
        called(this->mObject, "getWorkspaceSize", std::to_string(maxBatchSize));
        return this->mAnswers.workspace();
    }
    int32_t enqueue(int32_t batchSize, void const* const* inputs, void* const* outputs, void* /*workspace*/,
                    cudaStream_t stream) noexcept override
    {
        called(this->mObject, "enqueue", std::to_string(batchSize));
        return runAll(this->mState, inputs, outputs, batchSize, stream);
    }

protected:
    //! Whether a type is among those of any tensor, in linear memory.
    bool takes(DataType type, TensorFormat format) const
    {
        int32_t any = 0;
        for (int32_t const mask : this->mState.fields.masks)
        {
            any |= mask;
        }
        bool const linear = format == TensorFormat::kLINEAR;
        return linear != this->mAnswers.is(kNEVER_LINEAR) && (any >> static_cast<int32_t>(type) & 1) != 0;
    }
};

template <typename Derived, typename Base>
class Extended : public Batched<Derived, Base>
{
public:
    using Batched<Derived, Base>::Batched;

    DataType getOutputDataType(int32_t index, DataType const* types, int32_t nbInputs) const noexcept override
    {
        called(this->mObject, "getOutputDataType", std::to_string(index));
        return this->mAnswers.type(index, types, nbInputs);
    }
    bool isOutputBroadcastAcrossBatch(int32_t /*index*/, bool const*, int32_t) const noexcept override
    {
        called(this->mObject, "isOutputBroadcastAcrossBatch");
        return false;
    }
    bool canBroadcastInputAcrossBatch(int32_t /*index*/) const noexcept override
    {
        called(this->mObject, "canBroadcastInputAcrossBatch");
        return false;
    }
    void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) noexcept override
    {
        called(this->mObject, "attachToContext");
    }
    void detachFromContext() noexcept override
    {
        called(this->mObject, "detachFromContext");
    }
};

class ChameleonV2 final : public Batched<ChameleonV2, IPluginV2>
{
public:
    static constexpr char const* kNAME{"ChameleonV2"};
    using Batched::Batched;

    bool supportsFormat(DataType type, PluginFormat format) const noexcept override
    {
        called(mObject, "supportsFormat");
        return takes(type, format);
    }
    void configureWithFormat(Dims const* inputs, int32_t nbInputs, Dims const* outputs, int32_t nbOutputs,
                             DataType type, PluginFormat format, int32_t maxBatch) noexcept override
    {
        mState.inputs = nbInputs;
        mState.outputs = nbOutputs;
        std::string text = std::to_string(maxBatch);
        for (int32_t i = 0; i < nbInputs + nbOutputs; ++i)
        {
            Dims const& dims = i < nbInputs ? inputs[i] : outputs[i - nbInputs];
            auto const kind = static_cast<int32_t>(type);
            mState.tensors[static_cast<size_t>(i)] = tensor(kind, static_cast<int32_t>(format), 1.0F, dims);
            text += (i == 0 ? " " : ";") + shown(kind, static_cast<int32_t>(format), 1.0F, dims);
        }
        called(mObject, "configureWithFormat", text);
    }
};

class ChameleonExt final : public Extended<ChameleonExt, IPluginV2Ext>
{
public:
    static constexpr char const* kNAME{"ChameleonExt"};
    using Extended::Extended;

    bool supportsFormat(DataType type, PluginFormat format) const noexcept override
    {
        called(mObject, "supportsFormat");
        return takes(type, format);
    }
    void configurePlugin(Dims const* inputs, int32_t nbInputs, Dims const* outputs, int32_t nbOutputs,
                         DataType const* inputTypes, DataType const* outputTypes, bool const*, bool const*,
                         PluginFormat format, int32_t maxBatch) noexcept override
    {
        mState.inputs = nbInputs;
        mState.outputs = nbOutputs;
        std::string text = std::to_string(maxBatch);
        for (int32_t i = 0; i < nbInputs + nbOutputs; ++i)
        {
            Dims const& dims = i < nbInputs ? inputs[i] : outputs[i - nbInputs];
            auto const kind = static_cast<int32_t>(i < nbInputs ? inputTypes[i] : outputTypes[i - nbInputs]);
            mState.tensors[static_cast<size_t>(i)] = tensor(kind, static_cast<int32_t>(format), 1.0F, dims);
            text += (i == 0 ? " " : ";") + shown(kind, static_cast<int32_t>(format), 1.0F, dims);
        }
        called(mObject, "configurePlugin", text);
    }
};

//! Of IPluginV2IOExt and IPluginV2DynamicExt: types by position, and one format of all tensors that isn't an integer's.
inline bool takesAll(Answers const& answers, int32_t pos, PluginTensorDesc const* inOut, int32_t nbTensors)
{
    int32_t const asked = answers.mFields.format;
    if (asked == 0)
    {
        auto const desc = [inOut](int32_t i) -> PluginTensorDesc const& { return inOut[i]; };
        return answers.takes(pos, desc, nbTensors);
    }
    auto const type = static_cast<int32_t>(inOut[pos].type);
    bool const formatted = static_cast<int32_t>(inOut[pos].format) == asked;
    return formatted && type >= 0 && type <= 8 && (answers.mFields.masks[static_cast<size_t>(pos)] >> type & 1) != 0;
}

class ChameleonIOExt final : public Extended<ChameleonIOExt, IPluginV2IOExt>
{
public:
    static constexpr char const* kNAME{"ChameleonIOExt"};
    using Extended::Extended;

    bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) const noexcept override
    {
        called(mObject, "supportsFormatCombination", std::to_string(pos));
        return takesAll(mAnswers, pos, inOut, nbInputs + nbOutputs);
    }
    void configurePlugin(PluginTensorDesc const* in, int32_t nbInputs, PluginTensorDesc const* out,
                         int32_t nbOutputs) noexcept override
    {
        mState.inputs = nbInputs;
        mState.outputs = nbOutputs;
        for (int32_t i = 0; i < nbInputs + nbOutputs; ++i)
        {
            mState.tensors[static_cast<size_t>(i)] = tensor(i < nbInputs ? in[i] : out[i - nbInputs]);
        }
        called(mObject, "configurePlugin", shown(in, nbInputs) + ";" + shown(out, nbOutputs));
    }
};

class ChameleonDynamic final : public Common<ChameleonDynamic, IPluginV2DynamicExt>
{
public:
    static constexpr char const* kNAME{"ChameleonDynamic"};
    using Common::Common;

    DataType getOutputDataType(int32_t index, DataType const* types, int32_t nbInputs) const noexcept override
    {
        called(mObject, "getOutputDataType", std::to_string(index));
        return mAnswers.type(index, types, nbInputs);
    }
    DimsExprs getOutputDimensions(int32_t index, DimsExprs const* inputs, int32_t nbInputs,
                                  IExprBuilder& builder) noexcept override
    {
        called(mObject, "getOutputDimensions", std::to_string(index));
        return mAnswers.shape(index, inputs, nbInputs, builder);
    }
    bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        called(mObject, "supportsFormatCombination", std::to_string(pos));
        return takesAll(mAnswers, pos, inOut, nbInputs + nbOutputs);
    }
    void configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs, DynamicPluginTensorDesc const* out,
                         int32_t nbOutputs) noexcept override
    {
        mState.inputs = nbInputs;
        called(mObject, "configurePlugin", shown(in, nbInputs) + ";" + shown(out, nbOutputs));
    }
    size_t getWorkspaceSize(PluginTensorDesc const* in, int32_t nbInputs, PluginTensorDesc const* out,
                            int32_t nbOutputs) const noexcept override
    {
        called(mObject, "getWorkspaceSize", shown(in, nbInputs) + ";" + shown(out, nbOutputs));
        return mAnswers.workspace();
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const* out, void const* const* inputs,
                    void* const* outputs, void* /*workspace*/, cudaStream_t stream) noexcept override
    {
        State now{mState};
        now.outputs = now.fields.outputs;
        int32_t const nbInputs = now.inputs;
        for (int32_t i = 0; i < nbInputs + now.outputs; ++i)
        {
            now.tensors[static_cast<size_t>(i)] = tensor(i < nbInputs ? in[i] : out[i - nbInputs]);
        }
        called(mObject, "enqueue", shown(in, nbInputs) + ";" + shown(out, now.outputs));
        return runAll(now, inputs, outputs, 1, stream);
    }
    void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) noexcept override
    {
        called(mObject, "attachToContext");
    }
    void detachFromContext() noexcept override
    {
        called(mObject, "detachFromContext");
    }
};

} // namespace chameleon
