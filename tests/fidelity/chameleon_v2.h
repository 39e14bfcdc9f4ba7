// The chameleon as an IPluginV2DynamicExt. It is built and never run.
#pragma once

#include "chameleon.h"

namespace chameleon
{

class ChameleonV2 final : public IPluginV2DynamicExt
{
public:
    explicit ChameleonV2(Fields const& fields) : mAnswers{fields} {}

    char const* getPluginType() const noexcept override
    {
        return mAnswers.is(kOTHER_NAME) ? "Impostor" : "Chameleon";
    }
    char const* getPluginVersion() const noexcept override
    {
        return mAnswers.is(kOTHER_VERSION) ? "2" : "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return mAnswers.mFields.outputs;
    }
    int32_t initialize() noexcept override
    {
        return 0;
    }
    void terminate() noexcept override {}
    size_t getSerializationSize() const noexcept override
    {
        return mAnswers.is(kUNSERIALIZABLE) ? (size_t{1} << 31) + 1 : sizeof(Fields);
    }
    void serialize(void* buffer) const noexcept override
    {
        std::memcpy(buffer, &mAnswers.mFields, sizeof(Fields));
    }
    void destroy() noexcept override
    {
        delete this;
    }
    IPluginV2DynamicExt* clone() const noexcept override
    {
        if (mAnswers.is(kNULL_CLONE))
        {
            return nullptr;
        }
        auto* const copy = new ChameleonV2{mAnswers.mFields};
        copy->mNamespace = mNamespace;
        return copy;
    }
    void setPluginNamespace(char const* space) noexcept override
    {
        mNamespace = space;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }
    DataType getOutputDataType(int32_t index, DataType const* types, int32_t nbInputs) const noexcept override
    {
        return mAnswers.type(index, types, nbInputs);
    }
    DimsExprs getOutputDimensions(int32_t index, DimsExprs const* inputs, int32_t nbInputs,
                                  IExprBuilder& builder) noexcept override
    {
        return mAnswers.shape(index, inputs, nbInputs, builder);
    }
    bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        auto const desc = [inOut](int32_t i) -> PluginTensorDesc const& { return inOut[i]; };
        return mAnswers.takes(pos, desc, nbInputs + nbOutputs);
    }
    void configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                         int32_t) noexcept override
    {
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return mAnswers.workspace();
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*, void* const*, void*,
                    cudaStream_t) noexcept override
    {
        return -1;
    }

private:
    Answers mAnswers;
    std::string mNamespace;
};

class CreatorV2 final : public IPluginCreator
{
public:
    char const* getPluginName() const noexcept override
    {
        return "Chameleon";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &listed();
    }
    IPluginV2* createPlugin(char const*, PluginFieldCollection const* collection) noexcept override
    {
        Fields const fields = read(*collection);
        return fields.fault == kNULL_PLUGIN ? nullptr : new ChameleonV2{fields};
    }
    IPluginV2* deserializePlugin(char const*, void const* data, size_t length) noexcept override
    {
        Fields fields;
        if (length != sizeof fields)
        {
            return nullptr;
        }
        std::memcpy(&fields, data, sizeof fields);
        return new ChameleonV2{fields};
    }
    void setPluginNamespace(char const* /*space*/) noexcept override {}
    char const* getPluginNamespace() const noexcept override
    {
        return "";
    }
};

} // namespace chameleon
