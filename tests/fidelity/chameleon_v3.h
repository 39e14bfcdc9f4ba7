// The chameleon as an IPluginV3, with aliased outputs and size tensors. It is built and never run.
#pragma once

#include "chameleon.h"

namespace chameleon
{

class ChameleonV3 final : public IPluginV3,
                          public IPluginV3OneCore,
                          public IPluginV3OneBuildV2,
                          public IPluginV3OneRuntime
{
public:
    explicit ChameleonV3(Fields const& fields) : mAnswers{fields} {}

    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        switch (type)
        {
        case PluginCapabilityType::kCORE:
            return static_cast<IPluginV3OneCore*>(this);
        case PluginCapabilityType::kBUILD:
            return mAnswers.is(kNO_BUILD) ? nullptr : static_cast<IPluginV3OneBuildV2*>(this);
        case PluginCapabilityType::kRUNTIME:
            return static_cast<IPluginV3OneRuntime*>(this);
        }
        return nullptr;
    }
    IPluginV3* clone() noexcept override
    {
        return mAnswers.is(kNULL_CLONE) ? nullptr : new ChameleonV3{mAnswers.mFields};
    }

    char const* getPluginName() const noexcept override
    {
        return mAnswers.is(kOTHER_NAME) ? "Impostor" : "ChameleonV3";
    }
    char const* getPluginVersion() const noexcept override
    {
        return mAnswers.is(kOTHER_VERSION) ? "2" : "1";
    }
    char const* getPluginNamespace() const noexcept override
    {
        return "";
    }

    int32_t getNbOutputs() const noexcept override
    {
        return mAnswers.mFields.outputs;
    }
    int32_t getOutputDataTypes(DataType* types, int32_t nbOutputs, DataType const* inputs,
                               int32_t nbInputs) const noexcept override
    {
        for (int32_t i = 0; i < nbOutputs; ++i)
        {
            types[i] = mAnswers.type(i, inputs, nbInputs);
        }
        return mAnswers.is(kTYPES_FAIL) ? 1 : 0;
    }
    int32_t getOutputShapes(DimsExprs const* given, int32_t nbInputs, DimsExprs const* values, int32_t nbValues,
                            DimsExprs* outputs, int32_t nbOutputs, IExprBuilder& builder) noexcept override
    {
        std::vector<DimsExprs> all(given, given + nbInputs);
        all.insert(all.end(), values, values + nbValues);
        DimsExprs const* const inputs = all.data();
        std::array<IDimensionExpr const*, kMAX_OUTPUTS> sizes{};
        for (size_t i = 0; i < sizes.size(); ++i)
        {
            auto const bound = [&](int32_t code)
            { return Answers::expression(static_cast<uint32_t>(code), inputs, nbInputs + nbValues, builder); };
            if (mAnswers.mFields.uppers[i] != 0)
            {
                auto const* const opt = bound(mAnswers.mFields.opts[i]);
                auto const* const upper = bound(mAnswers.mFields.uppers[i]);
                if (opt == nullptr || upper == nullptr)
                {
                    return 1;
                }
                sizes[i] = builder.declareSizeTensor(static_cast<int32_t>(i), *opt, *upper);
            }
        }
        for (int32_t i = 0; i < nbOutputs; ++i)
        {
            outputs[i] = mAnswers.shape(i, inputs, nbInputs, builder, sizes.data(), nbValues);
        }
        return mAnswers.is(kSHAPES_FAIL) ? 1 : 0;
    }
    bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        auto const desc = [inOut](int32_t i) -> PluginTensorDesc const& { return inOut[i].desc; };
        return mAnswers.takes(pos, desc, nbInputs + nbOutputs);
    }
    int32_t configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                            int32_t) noexcept override
    {
        return mAnswers.is(kCONFIGURE_FAILS) ? 1 : 0;
    }
    size_t getWorkspaceSize(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                            int32_t) const noexcept override
    {
        return mAnswers.workspace();
    }
    int32_t getAliasedInput(int32_t index) noexcept override
    {
        return mAnswers.is(kALIAS_BEYOND) ? 7 : mAnswers.mFields.aliases[static_cast<size_t>(index)];
    }

    int32_t setTactic(int32_t) noexcept override
    {
        return 0;
    }
    int32_t onShapeChange(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) noexcept override
    {
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*, void* const*, void*,
                    cudaStream_t) noexcept override
    {
        return -1;
    }
    IPluginV3* attachToContext(IPluginResourceContext*) noexcept override
    {
        return clone();
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        mState = PluginField{"state", &mAnswers.mFields, PluginFieldType::kINT32, static_cast<int32_t>(kNB_NUMBERS)};
        mKept = PluginFieldCollection{1, &mState};
        return &mKept;
    }

private:
    Answers mAnswers;
    PluginField mState{};
    PluginFieldCollection mKept{};
};

class CreatorV3 final : public IPluginCreatorV3One
{
public:
    char const* getPluginName() const noexcept override
    {
        return "ChameleonV3";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    char const* getPluginNamespace() const noexcept override
    {
        return "";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &listed();
    }
    IPluginV3* createPlugin(char const*, PluginFieldCollection const* collection, TensorRTPhase) noexcept override
    {
        Fields const fields = read(*collection);
        return fields.fault == kNULL_PLUGIN ? nullptr : new ChameleonV3{fields};
    }
};

} // namespace chameleon
