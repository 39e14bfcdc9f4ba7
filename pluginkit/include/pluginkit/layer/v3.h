//! A layer as an IPluginV3: one object that is the plugin and its three capabilities.
#pragma once

#include <pluginkit/layer/expressions.h>
#include <pluginkit/layer/v2.h>

#include <cstddef>
#include <cstring>

namespace pluginkit
{

namespace detail
{

//! The fields that an engine keeps besides the layer's own; no attributes of a node.
constexpr char const* kScalesField = "pluginkit_scales";
constexpr char const* kOwnStateField = "pluginkit_state";
//! The field in which pluginkit's V3 adapter keeps the bytes of a plugin of the second generation.
constexpr char const* kV2StateField = "pluginkit_v2_state";

template <bool Aliases>
struct BuildInterface
{
    using type = nvinfer1::IPluginV3OneBuild;
};

#if NV_TENSORRT_MAJOR > 10 || NV_TENSORRT_MINOR >= 3
template <>
struct BuildInterface<true>
{
    using type = nvinfer1::IPluginV3OneBuildV2;
};
#endif

//! getAliasedInput, where there is such a method.
template <typename Signature, bool Aliases>
class V3Build : public BuildInterface<false>::type
{
};

#if NV_TENSORRT_MAJOR > 10 || NV_TENSORRT_MINOR >= 3
template <typename Signature>
class V3Build<Signature, true> : public BuildInterface<true>::type
{
public:
    //! The two are one memory, if the builder has the preview feature kALIASED_PLUGIN_IO_10_03; else each has its own,
    //! so every element of the output is written.
    int32_t getAliasedInput(int32_t outputIndex) noexcept override
    {
        bool const is = outputIndex >= 0 && outputIndex < Signature::kOutputs;
        return is ? Signature::kAliasOf[outputIndex] : -1;
    }
};
#endif

} // namespace detail

template <typename Derived, typename Signature, typename State = NoState>
class V3Layer : public nvinfer1::IPluginV3,
                public nvinfer1::IPluginV3OneCore,
                public detail::V3Build<Signature, Signature::kAliased>,
                public nvinfer1::IPluginV3OneRuntime,
                public LayerCore<Signature, State>
{
    using Core = LayerCore<Signature, State>;

public:
    //! Takes what getFieldsToSerialize() gave; false where something is missing or makes no sense.
    virtual bool restore(nvinfer1::PluginFieldCollection const* given) noexcept
    {
        FieldReader const reader{given};
        if (nvinfer1::PluginField const* const old = reader.find(detail::kV2StateField); old != nullptr)
        {
            return restoreV2(old->data, static_cast<size_t>(std::max(old->length, 0)));
        }
        bool read = given != nullptr;
        Signature::each([&](auto const& one) { read = read && this->read(reader, one, true); });
        if constexpr (Signature::kQuantized)
        {
            read = read && reader.required(detail::kScalesField, this->mScales);
        }
        if constexpr (Core::stateBytes() > 0)
        {
            nvinfer1::PluginField const* const kept = reader.find(detail::kOwnStateField);
            read = read && kept != nullptr && kept->data != nullptr &&
                   kept->length == static_cast<int32_t>(Core::stateBytes());
            if (read)
            {
                std::memcpy(&this->mState, kept->data, Core::stateBytes());
            }
        }
        return this->restored(read, read ? this->keptBytes() : 0);
    }

    //! Not TensorRT's: the creator gives its own.
    void setPluginNamespace(char const* pluginNamespace) noexcept
    {
        detail::setNamespace(mNamespace, pluginNamespace);
    }

    // The plugin.

    nvinfer1::IPluginCapability* getCapabilityInterface(nvinfer1::PluginCapabilityType type) noexcept override
    {
        switch (type)
        {
        case nvinfer1::PluginCapabilityType::kCORE:
            return static_cast<nvinfer1::IPluginV3OneCore*>(this);
        case nvinfer1::PluginCapabilityType::kBUILD:
            return static_cast<nvinfer1::IPluginV3OneBuild*>(this);
        case nvinfer1::PluginCapabilityType::kRUNTIME:
            return static_cast<nvinfer1::IPluginV3OneRuntime*>(this);
        }
        return nullptr;
    }

    nvinfer1::IPluginV3* clone() noexcept override
    {
        try
        {
            return new Derived{static_cast<Derived const&>(*this)};
        }
        catch (std::exception const&)
        {
            return nullptr; // no memory; no exception may leave a plugin
        }
    }

    // Its core: what it is called.

    char const* getPluginName() const noexcept override
    {
        return Signature::kName;
    }

    char const* getPluginVersion() const noexcept override
    {
        return Signature::kVersion;
    }

    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }

    // What TensorRT asks when it builds an engine.

    int32_t getNbOutputs() const noexcept override
    {
        return Core::kOutputs;
    }

    int32_t getOutputDataTypes(nvinfer1::DataType* outputTypes, int32_t nbOutputs, nvinfer1::DataType const* inputTypes,
                               int32_t nbInputs) const noexcept override
    {
        if (outputTypes == nullptr || inputTypes == nullptr || nbInputs != Core::kInputs || nbOutputs != Core::kOutputs)
        {
            return detail::kFailed;
        }
        for (int32_t i = 0; i < Core::kOutputs; ++i)
        {
            outputTypes[i] = this->outputType(i, inputTypes);
        }
        return 0;
    }

    int32_t getOutputShapes(nvinfer1::DimsExprs const* inputs, int32_t nbInputs, nvinfer1::DimsExprs const* shapeInputs,
                            int32_t nbShapeInputs, nvinfer1::DimsExprs* outputs, int32_t nbOutputs,
                            nvinfer1::IExprBuilder& exprBuilder) noexcept override
    {
        constexpr int32_t kShapeInputs = Signature::kShapeInputs;
        bool good = inputs != nullptr && outputs != nullptr && nbInputs == Core::kInputs &&
                    nbShapeInputs == kShapeInputs && nbOutputs == Core::kOutputs &&
                    (kShapeInputs == 0 || shapeInputs != nullptr);
        for (int32_t i = 0; good && i < kShapeInputs; ++i)
        {
            // Their elements come in the place of dimensions.
            good = shapeInputs[i].nbDims == Signature::kShapeInputElements[i];
        }
        if (!good || !this->hasRanks([inputs](int32_t i) { return inputs[i].nbDims; }))
        {
            return detail::kFailed;
        }
        Expressions expressions{exprBuilder, inputs, shapeInputs, outputs, 0, nbOutputs};
        Signature::shapes(expressions, this->fields());
        return expressions.good() ? 0 : detail::kFailed;
    }

    bool supportsFormatCombination(int32_t pos, nvinfer1::DynamicPluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        return inOut != nullptr &&
               this->takes(pos, nbInputs, nbOutputs, [inOut](int32_t i) -> auto& { return inOut[i].desc; });
    }

    int32_t configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, int32_t nbInputs,
                            nvinfer1::DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept override
    {
        if (in == nullptr || out == nullptr || nbInputs != Core::kInputs || nbOutputs != Core::kOutputs)
        {
            return detail::kFailed;
        }
        for (int32_t i = 0; i < Core::kTensors; ++i)
        {
            this->takeScale(i, i < nbInputs ? in[i].desc : out[i - nbInputs].desc);
        }
        return 0;
    }

    size_t getWorkspaceSize(nvinfer1::DynamicPluginTensorDesc const* inputs, int32_t nbInputs,
                            nvinfer1::DynamicPluginTensorDesc const* /*outputs*/,
                            int32_t /*nbOutputs*/) const noexcept override
    {
        std::array<Shape, Core::kInputs> shapes{};
        if (inputs == nullptr || nbInputs != Core::kInputs)
        {
            return 0;
        }
        // TensorRT asks once for a profile: each of its runs gets what the largest needs.
        for (size_t i = 0; i < shapes.size(); ++i)
        {
            shapes[i] = shapeOf(inputs[i].max);
        }
        return this->workspaceFor(shapes);
    }

    int32_t getNbTactics() noexcept override
    {
        return Signature::kTactics; // TensorRT times each
    }

    int32_t getValidTactics(int32_t* tactics, int32_t nbTactics) noexcept override
    {
        if (nbTactics > 0 && tactics == nullptr)
        {
            return detail::kFailed;
        }
        for (int32_t i = 0; i < nbTactics; ++i)
        {
            tactics[i] = i + 1;
        }
        return 0;
    }

    // What happens when the engine is written, loaded and run.

    int32_t setTactic(int32_t tactic) noexcept override
    {
        mTactic = tactic; // one that this library has no more is taken as 0
        return 0;
    }

    nvinfer1::PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        [[maybe_unused]] auto next = mKept.begin();
        Signature::each([&](auto const& one) { *next++ = kept(one); });
        if constexpr (Signature::kQuantized)
        {
            *next++ = {detail::kScalesField, this->mScales.data(), nvinfer1::PluginFieldType::kFLOAT32, Core::kTensors};
        }
        if constexpr (Core::stateBytes() > 0)
        {
            *next++ = {detail::kOwnStateField, &this->mState, nvinfer1::PluginFieldType::kCHAR,
                       static_cast<int32_t>(Core::stateBytes())};
        }
        mKeptFields.nbFields = static_cast<int32_t>(mKept.size());
        mKeptFields.fields = mKept.data();
        return &mKeptFields;
    }

    nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext* /*context*/) noexcept override
    {
        // Each context has a plugin of its own; scales of channels lie on the device once.
        return this->upload() ? clone() : nullptr;
    }

    int32_t onShapeChange(nvinfer1::PluginTensorDesc const* /*in*/, int32_t /*nbInputs*/,
                          nvinfer1::PluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept override
    {
        return 0; // enqueue() gets the shapes too
    }

    int32_t enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc,
                    void const* const* inputs, void* const* outputs, void* workspace,
                    cudaStream_t stream) noexcept override
    {
        return this->run(inputDesc, outputDesc, inputs, outputs, workspace, mTactic, stream);
    }

private:
    //! Takes what the layer serialized when its base was dynamic or ioext.
    bool restoreV2(void const* data, size_t length) noexcept
    {
        Reader reader{data, length, Signature::kSerialVersion};
        bool read = this->get(reader);
        if (read && !reader.finished())
        {
            // What an IPluginV2IOExt knew from configurePlugin() only; enqueue() is told it now.
            std::array<std::byte, sizeof(int32_t) + Core::kTensors * detail::kSeenBytes> shapes{};
            read = reader.get(shapes) && reader.finished();
        }
        return this->restored(read, length);
    }

    template <typename F>
    nvinfer1::PluginField kept(F const& one) const noexcept
    {
        auto const& value = this->mFields.*(one.member);
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>)
        {
            return {one.name, value.data(), nvinfer1::PluginFieldType::kCHAR, static_cast<int32_t>(value.size())};
        }
        else if constexpr (std::is_arithmetic_v<Value>)
        {
            return {one.name, &value, fieldTypeOf<Value>(), 1};
        }
        else
        {
            return {one.name, value.data(), fieldTypeOf<typename Value::value_type>(),
                    static_cast<int32_t>(value.size())};
        }
    }

    static constexpr size_t kKeptFields =
        Signature::kFields + (Signature::kQuantized ? 1 : 0) + (Core::stateBytes() > 0 ? 1 : 0);

    std::string mNamespace{Signature::kNamespace};
    //! What getFieldsToSerialize() answers lives here; its data are the layer's members.
    std::array<nvinfer1::PluginField, kKeptFields> mKept{};
    nvinfer1::PluginFieldCollection mKeptFields{};
    int32_t mTactic{0};
};

//! Makes the plugin: from the attributes of a node when a network is built, from the fields that the plugin gave when
//! an engine is loaded.
template <typename Layer>
class V3Creator final : public nvinfer1::IPluginCreatorV3One
{
    using Signature = typename Layer::Signature;

public:
    char const* getPluginName() const noexcept override
    {
        return Signature::kName;
    }

    char const* getPluginVersion() const noexcept override
    {
        return Signature::kVersion;
    }

    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }

    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override
    {
        return mFields.collection();
    }

    nvinfer1::IPluginV3* createPlugin(char const* /*name*/, nvinfer1::PluginFieldCollection const* fields,
                                      nvinfer1::TensorRTPhase phase) noexcept override
    {
        try
        {
            auto layer = std::make_unique<Layer>();
            layer->setPluginNamespace(mNamespace.c_str());
            bool const made =
                phase == nvinfer1::TensorRTPhase::kRUNTIME ? layer->restore(fields) : layer->create(fields);
            return made ? layer.release() : nullptr;
        }
        catch (std::exception const&)
        {
            return nullptr;
        }
    }

    //! Not TensorRT's: the init function registers a creator under another namespace by it.
    void setPluginNamespace(char const* pluginNamespace) noexcept
    {
        detail::setNamespace(mNamespace, pluginNamespace);
    }

private:
    detail::FieldNames<Signature> mFields;
    std::string mNamespace{Signature::kNamespace};
};

} // namespace pluginkit
