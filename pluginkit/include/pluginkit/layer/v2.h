//! What IPluginV2DynamicExt and IPluginV2IOExt have in common, and the creator of both.
#pragma once

#include <pluginkit/layer/core.h>

#include <memory>

namespace pluginkit
{

namespace detail
{

//! TensorRT's limit of a namespace, without the closing zero.
constexpr size_t kMaxNamespace = 1023;

//! Takes a namespace as TensorRT allows it: never null, never too long.
inline void setNamespace(std::string& kept, char const* pluginNamespace) noexcept
{
    try
    {
        kept = std::string{pluginNamespace != nullptr ? pluginNamespace : ""}.substr(0, kMaxNamespace);
    }
    catch (std::exception const&)
    {
        kept.clear(); // no memory; no exception may leave a plugin
    }
}

//! The fields of a signature as a creator lists them; the values come from the node.
template <typename Signature>
class FieldNames
{
public:
    FieldNames() noexcept
    {
        [[maybe_unused]] auto next = mFields.begin();
        Signature::each(
            [&next](auto const& one)
            { *next++ = {one.name, nullptr, static_cast<nvinfer1::PluginFieldType>(one.type), one.length}; });
        mCollection.nbFields = static_cast<int32_t>(mFields.size());
        mCollection.fields = mFields.data();
    }
    FieldNames(FieldNames const&) = delete;
    FieldNames& operator=(FieldNames const&) = delete;

    nvinfer1::PluginFieldCollection const* collection() const noexcept
    {
        return &mCollection;
    }

private:
    std::array<nvinfer1::PluginField, Signature::kFields> mFields;
    nvinfer1::PluginFieldCollection mCollection{};
};

} // namespace detail

//! A layer as an interface of the second generation. It has no device memory but what its clones share, so that copying
//! its members is all that a clone takes.
template <typename Interface, typename Derived, typename Signature, typename State>
class V2Layer : public Interface, public LayerCore<Signature, State>
{
    using Core = LayerCore<Signature, State>;

public:
    //! What serialize() wrote, with what the interface keeps besides; false where the bytes are not from there.
    virtual bool restore(void const* data, size_t length) noexcept
    {
        Reader reader{data, length, Signature::kSerialVersion};
        bool const read = this->get(reader) && reader.finished();
        return this->restored(read, length);
    }

    char const* getPluginType() const noexcept override
    {
        return Signature::kName;
    }

    char const* getPluginVersion() const noexcept override
    {
        return Signature::kVersion;
    }

    void setPluginNamespace(char const* pluginNamespace) noexcept override
    {
        detail::setNamespace(mNamespace, pluginNamespace);
    }

    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }

    Interface* clone() const noexcept override
    {
        try
        {
            return new Derived{static_cast<Derived const&>(*this)};
        }
        catch (std::exception const&)
        {
            return nullptr;
        }
    }

    void destroy() noexcept override
    {
        delete this;
    }

    int32_t getNbOutputs() const noexcept override
    {
        return Core::kOutputs;
    }

    nvinfer1::DataType getOutputDataType(int32_t index, nvinfer1::DataType const* inputTypes,
                                         int32_t nbInputs) const noexcept override
    {
        bool const asked = index >= 0 && index < Core::kOutputs && inputTypes != nullptr && nbInputs == Core::kInputs;
        return asked ? this->outputType(index, inputTypes) : nvinfer1::DataType::kFLOAT;
    }

    size_t getSerializationSize() const noexcept override
    {
        return this->keptBytes();
    }

    void serialize(void* buffer) const noexcept override
    {
        Writer writer{buffer, getSerializationSize(), Signature::kSerialVersion};
        this->put(writer);
    }

    int32_t initialize() noexcept override
    {
        return this->upload() ? 0 : detail::kFailed;
    }

    void terminate() noexcept override
    {
        this->unload();
    }

private:
    std::string mNamespace{Signature::kNamespace};
};

//! Makes the plugin: from the attributes of a node when a network is built, from bytes when an engine is loaded.
template <typename Layer>
class V2Creator final : public nvinfer1::IPluginCreator
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

    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override
    {
        return mFields.collection();
    }

    nvinfer1::IPluginV2* createPlugin(char const* /*name*/,
                                      nvinfer1::PluginFieldCollection const* fields) noexcept override
    {
        return make([fields](Layer& layer) { return layer.create(fields); });
    }

    nvinfer1::IPluginV2* deserializePlugin(char const* /*name*/, void const* data, size_t length) noexcept override
    {
        return make([data, length](Layer& layer) { return layer.restore(data, length); });
    }

    void setPluginNamespace(char const* pluginNamespace) noexcept override
    {
        detail::setNamespace(mNamespace, pluginNamespace);
    }

    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }

private:
    template <typename Fill>
    nvinfer1::IPluginV2* make(Fill fill) const noexcept
    {
        try
        {
            auto layer = std::make_unique<Layer>();
            layer->setPluginNamespace(mNamespace.c_str());
            return fill(*layer) ? layer.release() : nullptr;
        }
        catch (std::exception const&)
        {
            return nullptr;
        }
    }

    detail::FieldNames<Signature> mFields;
    std::string mNamespace{Signature::kNamespace};
};

} // namespace pluginkit
