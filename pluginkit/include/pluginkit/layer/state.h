//! A layer's fields, its scales, and what it keeps in an engine.
#pragma once

#include <NvInfer.h>
#include <pluginkit/device_list.h>
#include <pluginkit/fields.h>
#include <pluginkit/layer/fields.h>
#include <pluginkit/log.h>
#include <pluginkit/serialize.h>

#include <array>
#include <cmath>
#include <exception>
#include <string>
#include <type_traits>

namespace pluginkit
{

//! What a layer has besides its fields, where it has nothing.
struct NoState
{
};

namespace detail
{

//! Whether a scale says something: TensorRT gives 0, -1 or NaN where there is none.
inline bool isScale(float scale) noexcept
{
    return std::isfinite(scale) && scale > 0.0F;
}

template <typename T>
struct IsOpenEnded : std::false_type
{
};
template <typename T>
struct IsOpenEnded<std::vector<T>> : std::true_type
{
};
template <>
struct IsOpenEnded<std::string> : std::true_type
{
};

} // namespace detail

template <typename Signature_, typename State_>
class LayerState
{
public:
    using Signature = Signature_;
    using State = State_;
    using Fields = typename Signature::Fields;
    static constexpr int32_t kTensors = Signature::kTensors;

    //! The attributes of the node that made the layer.
    Fields const& fields() const noexcept
    {
        return mFields;
    }

    //! What is kept in an engine besides the fields: a type of your own, whose bytes are written.
    State& state() noexcept
    {
        return mState;
    }
    State const& state() const noexcept
    {
        return mState;
    }

    //! Why a layer can't have these fields; empty where it can. It is said in TensorRT's log.
    virtual std::string problem() const
    {
        return Signature::problem(mFields);
    }

    // What creators call.

    //! Takes a node's attributes; false, and a message in the log, where they make no layer.
    bool create(nvinfer1::PluginFieldCollection const* given) noexcept
    {
        try
        {
            std::string wrong = given == nullptr ? "createPlugin got no fields" : unread(*given);
            wrong = wrong.empty() ? problem() : wrong;
            if (!wrong.empty())
            {
                say(wrong);
                return false;
            }
            Signature::scales(mFields, mScales.data());
            return true;
        }
        catch (std::exception const&)
        {
            return false; // no memory for words
        }
    }

protected:
    LayerState() = default;
    LayerState(LayerState const&) = default;
    LayerState(LayerState&&) = default;
    LayerState& operator=(LayerState const&) = default;
    LayerState& operator=(LayerState&&) = default;
    ~LayerState() = default;

    static void say(std::string const& what)
    {
        logError(std::string{Signature::kName} + ": " + what);
    }

    //! Takes an INT8 scale from a descriptor. One that the node's attributes give wins. In implicit quantization
    //! TensorRT knows the scales; in explicit quantization (Q/DQ) it doesn't: then attributes are the only place for
    //! them.
    void takeScale(int32_t tensor, nvinfer1::PluginTensorDesc const& desc) noexcept
    {
        if constexpr (Signature::kQuantized)
        {
            std::array<float, kTensors> given{};
            Signature::scales(mFields, given.data());
            auto const at = static_cast<size_t>(tensor);
            if (Signature::kScaleAxes[tensor] == kOneScale && !detail::isScale(given[at]) &&
                desc.type == nvinfer1::DataType::kINT8 && detail::isScale(desc.scale))
            {
                mScales[at] = desc.scale;
            }
        }
    }

    //! Puts the scales of channels into device memory, unless they are there; false without memory for them.
    bool upload() noexcept
    {
        bool good = true;
        if constexpr (channelTensors() > 0)
        {
            for (int32_t i = 0; i < kTensors; ++i)
            {
                if (Signature::kScaleAxes[i] >= 0)
                {
                    good = good && mChannels[slotOf(i)].upload(Signature::channelScales(mFields, i));
                }
            }
        }
        return good;
    }

    //! Gives the device memory back.
    void unload() noexcept
    {
        for (auto& list : mChannels)
        {
            list.clear();
        }
    }

    //! Where a tensor's scales of channels lie on the device.
    float const* channelScales(int32_t tensor) const noexcept
    {
        return mChannels[slotOf(tensor)].data();
    }

    //! Reads a field; where it isn't there, its value stays as it is, and that is wrong if it is required.
    template <typename F>
    bool read(FieldReader const& reader, F const& one, bool required) noexcept
    {
        auto& value = mFields.*(one.member);
        using Value = std::decay_t<decltype(value)>;
        [[maybe_unused]] auto const also = static_cast<nvinfer1::PluginFieldType>(one.type);
        [[maybe_unused]] Length const length{one.least, one.most};
        if constexpr (std::is_same_v<Value, std::string>)
        {
            return required ? reader.required(one.name, value, length) : reader.optional(one.name, value, length);
        }
        else if constexpr (detail::IsOpenEnded<Value>::value)
        {
            return required ? reader.required(one.name, value, length, also)
                            : reader.optional(one.name, value, length, also);
        }
        else
        {
            return required ? reader.required(one.name, value, also) : reader.optional(one.name, value, also);
        }
    }

    //! The bytes of what put() writes.
    size_t keptBytes() const noexcept
    {
        size_t bytes = serializedSize<>() + (Signature::kQuantized ? sizeof mScales : 0) + stateBytes();
        Signature::each(
            [&](auto const& one)
            {
                auto const& value = mFields.*(one.member);
                if constexpr (detail::IsOpenEnded<std::decay_t<decltype(value)>>::value)
                {
                    bytes += storedSize(value);
                }
                else
                {
                    bytes += sizeof value;
                }
            });
        return bytes;
    }

    void put(Writer& writer) const noexcept
    {
        Signature::each([&](auto const& one) { writer.put(mFields.*(one.member)); });
        if constexpr (Signature::kQuantized)
        {
            writer.put(mScales);
        }
        if constexpr (stateBytes() > 0)
        {
            writer.put(mState);
        }
    }

    //! Reads what put() wrote; whether it makes sense is asked by `restored`.
    bool get(Reader& reader) noexcept
    {
        bool read = true;
        Signature::each(
            [&](auto const& one)
            {
                auto& value = mFields.*(one.member);
                if constexpr (detail::IsOpenEnded<std::decay_t<decltype(value)>>::value)
                {
                    read = read && reader.get(value, static_cast<size_t>(one.least), static_cast<size_t>(one.most));
                }
                else
                {
                    read = read && reader.get(value);
                }
            });
        if constexpr (Signature::kQuantized)
        {
            read = read && reader.get(mScales);
        }
        if constexpr (stateBytes() > 0)
        {
            read = read && reader.get(mState);
        }
        return read;
    }

    //! Whether what was read from an engine makes a layer; it is said in the log where it doesn't.
    bool restored(bool read, size_t length) const noexcept
    {
        try
        {
            if (!read)
            {
                say(std::to_string(length) + " serialized bytes are not a layer of this version, which has " +
                    std::to_string(keptBytes()));
                return false;
            }
            bool scaled = true;
            for (float const scale : mScales)
            {
                scaled = scaled && std::isfinite(scale) && scale >= 0.0F;
            }
            std::string const wrong = scaled ? problem() : "a scale is none";
            if (!wrong.empty())
            {
                say("what is serialized is damaged: " + wrong);
            }
            return wrong.empty();
        }
        catch (std::exception const&)
        {
            return false;
        }
    }

    static constexpr size_t stateBytes() noexcept
    {
        return std::is_empty_v<State> ? 0 : sizeof(State);
    }

    Fields mFields{};
    //! What an INT8 or FP8 step is worth in each input, then in each output; 0 is not known.
    std::array<float, kTensors> mScales{};
    State mState{};

private:
    static_assert(std::is_trivially_copyable_v<State>, "a layer's state is kept as bytes");

    static constexpr size_t channelTensors() noexcept
    {
        size_t count = 0;
        for (int32_t const axis : Signature::kScaleAxes)
        {
            count += axis >= 0 ? 1 : 0;
        }
        return count;
    }

    //! Which of mChannels is a tensor's.
    static constexpr size_t slotOf(int32_t tensor) noexcept
    {
        size_t slot = 0;
        for (int32_t i = 0; i < tensor; ++i)
        {
            slot += Signature::kScaleAxes[i] >= 0 ? 1 : 0;
        }
        return slot;
    }

    //! Takes the fields over; what is wrong with the first that can't be read, or nothing.
    std::string unread(nvinfer1::PluginFieldCollection const& given)
    {
        FieldReader const reader{&given};
        std::string wrong;
        Signature::each(
            [&](auto const& one)
            {
                if (wrong.empty() && !read(reader, one, one.required))
                {
                    bool const there = reader.find(one.name) != nullptr;
                    wrong = std::string{one.name} + (there ? " must be " : " must be given: ") + one.what;
                }
            });
        return wrong;
    }

    //! The scales of channels in device memory, for each tensor that has such.
    std::array<DeviceList, channelTensors()> mChannels;
};

} // namespace pluginkit
