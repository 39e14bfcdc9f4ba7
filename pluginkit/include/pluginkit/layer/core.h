//! What a layer is, whichever interface it is made into: its fields, its scales, what it keeps in an engine, its run.
//!
//! `Signature` is what the build makes of pluginkit.toml. Everything that it can't say is a method here, to override.
#pragma once

#include <NvInfer.h>
#include <pluginkit/device_list.h>
#include <pluginkit/fields.h>
#include <pluginkit/layer/fields.h>
#include <pluginkit/layer/memory.h>
#include <pluginkit/layer/sizes.h>
#include <pluginkit/layer/tensor.h>
#include <pluginkit/log.h>
#include <pluginkit/serialize.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>

namespace pluginkit
{

//! What a layer has besides its fields, where it has nothing.
struct NoState
{
};

namespace detail
{

constexpr int32_t kFailed = 1;
constexpr int32_t kNoRow = -1;

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

template <typename T>
struct IsArray : std::false_type
{
};
template <typename T, size_t Count>
struct IsArray<std::array<T, Count>> : std::true_type
{
};

} // namespace detail

template <typename Signature_, typename State_>
class LayerCore
{
public:
    using Signature = Signature_;
    using State = State_;
    using Fields = typename Signature::Fields;
    static constexpr int32_t kInputs = Signature::kInputs;
    static constexpr int32_t kOutputs = Signature::kOutputs;
    static constexpr int32_t kTensors = kInputs + kOutputs;

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

    // What pluginkit.toml can't say.

    //! Why a layer can't have these fields; empty where it can. It is said in TensorRT's log.
    virtual std::string problem() const
    {
        return Signature::problem(mFields);
    }

    //! Whether the kernel can run on these shapes. `outputs` are those that the interface's method has promised.
    virtual bool fits(Shape const* inputs, Shape const* outputs) const
    {
        Sizes<kOutputs> sizes{inputs};
        Signature::shapes(sizes, mFields);
        bool good = Signature::fits(sizes, mFields);
        for (int32_t i = 0; i < kOutputs; ++i)
        {
            good = good && isSame(sizes.output(i), outputs[i]);
        }
        return good;
    }

    //! The bytes of scratch memory that a run needs; below 0 where that is no number.
    virtual int64_t workspaceBytes(Shape const* inputs) const
    {
        return Signature::workspace(Sizes<kOutputs>{inputs}, mFields).value();
    }

    // What the interfaces and their creators call.

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
    using Desc = nvinfer1::PluginTensorDesc;

    LayerCore() = default;
    LayerCore(LayerCore const&) = default;
    LayerCore(LayerCore&&) = default;
    LayerCore& operator=(LayerCore const&) = default;
    LayerCore& operator=(LayerCore&&) = default;
    ~LayerCore() = default;

    static void say(std::string const& what)
    {
        logError(std::string{Signature::kName} + ": " + what);
    }

    //! Calls f on each field of the signature.
    template <typename F>
    static void each(F f)
    {
        std::apply([&f](auto const&... one) { (f(one), ...); }, Signature::fields());
    }

    //! The first row of types that starts with the given ones; kNoRow if none does.
    template <typename TypeAt>
    static int32_t findRow(int32_t count, TypeAt typeAt) noexcept
    {
        int32_t row = 0;
        for (auto const& types : Signature::kTypes)
        {
            int32_t same = 0;
            while (same < count && types[same] == static_cast<int32_t>(typeAt(same)))
            {
                ++same;
            }
            if (same == count)
            {
                return row;
            }
            ++row;
        }
        return detail::kNoRow;
    }

    //! The type of an output for inputs of these types. TensorRT may ask before it has chosen them: any row will do
    //! then.
    static nvinfer1::DataType outputType(int32_t output, nvinfer1::DataType const* inputs) noexcept
    {
        int32_t const row = findRow(kInputs, [inputs](int32_t i) { return inputs[i]; });
        return static_cast<nvinfer1::DataType>(Signature::kTypes[row == detail::kNoRow ? 0 : row][kInputs + output]);
    }

    //! Whether types and formats up to `pos` are the beginning of some combination. What stands behind is not looked
    //! at.
    template <typename DescAt>
    static bool takes(int32_t pos, int32_t nbInputs, int32_t nbOutputs, DescAt descAt) noexcept
    {
        if (nbInputs != kInputs || nbOutputs != kOutputs || pos < 0 || pos >= kTensors)
        {
            return false;
        }
        auto const fits = [pos, &descAt](auto const& row)
        {
            bool same = true;
            for (int32_t i = 0; i <= pos && same; ++i)
            {
                Desc const& desc = descAt(i);
                same = static_cast<int32_t>(desc.type) == Signature::kTypes[row[0]][i] &&
                       static_cast<int32_t>(desc.format) == row[1 + i];
            }
            return same;
        };
        return std::any_of(std::begin(Signature::kFormats), std::end(Signature::kFormats), fits);
    }

    //! Whether each input has as many dimensions as pluginkit.toml says.
    template <typename RankAt>
    static bool hasRanks(RankAt rankAt) noexcept
    {
        bool good = true;
        int32_t more = -1;
        for (int32_t i = 0; i < kInputs; ++i)
        {
            Rank const& rank = Signature::kRanks[i];
            int32_t const beyond = rankAt(i) - rank.least;
            good = good && (rank.open ? beyond >= 0 : beyond == 0);
            if (rank.open)
            {
                // "..." stands for as many dimensions in each input.
                good = good && (more < 0 || beyond == more);
                more = beyond;
            }
        }
        return good;
    }

    //! Takes an INT8 scale from a descriptor. One that the node's attributes give wins. In implicit quantization
    //! TensorRT knows the scales; in explicit quantization (Q/DQ) it doesn't: then attributes are the only place for
    //! them.
    void takeScale(int32_t tensor, Desc const& desc) noexcept
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
        for (int32_t i = 0; i < kTensors; ++i)
        {
            if (Signature::kScaleAxes[i] >= 0)
            {
                good = good && mChannels[slotOf(i)].upload(Signature::channelScales(mFields, i));
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

    //! What getWorkspaceSize() answers: where the bytes are no number, more than any device has, so that no engine is
    //! built.
    size_t workspaceFor(std::array<Shape, kInputs> const& inputs) const noexcept
    {
        int64_t bytes = -1;
        try
        {
            bytes = workspaceBytes(inputs.data());
        }
        catch (std::exception const&)
        {
            bytes = -1;
        }
        return static_cast<size_t>(bytes < 0 ? std::numeric_limits<int64_t>::max() : bytes);
    }

    //! Starts the kernel. `seen` are the inputs, then the outputs; of an output that has a size which the kernel finds,
    //! the shape is filled in: as large as it may be.
    int32_t run(std::array<detail::Seen, kTensors>& seen, int32_t row, void const* const* inputs, void* const* outputs,
                void* workspace, int32_t tactic, cudaStream_t stream) const noexcept
    {
        try
        {
            return row != detail::kNoRow && start(seen, row, inputs, outputs, workspace, tactic, stream)
                       ? 0
                       : detail::kFailed;
        }
        catch (std::exception const&)
        {
            return detail::kFailed; // no exception may leave a plugin
        }
    }

    //! Of descriptors, where TensorRT gives them at each run.
    int32_t run(Desc const* inputDesc, Desc const* outputDesc, void const* const* inputs, void* const* outputs,
                void* workspace, int32_t tactic, cudaStream_t stream) const noexcept
    {
        if (inputDesc == nullptr || outputDesc == nullptr || inputs == nullptr || outputs == nullptr)
        {
            return detail::kFailed;
        }
        std::array<detail::Seen, kTensors> seen{};
        for (int32_t i = 0; i < kTensors; ++i)
        {
            Desc const& desc = i < kInputs ? inputDesc[i] : outputDesc[i - kInputs];
            seen[static_cast<size_t>(i)] = {shapeOf(desc.dims), static_cast<int32_t>(desc.type),
                                            static_cast<int32_t>(desc.format)};
        }
        int32_t const row = findRow(kTensors, [&seen](int32_t i) { return seen[static_cast<size_t>(i)].type; });
        return run(seen, row, inputs, outputs, workspace, tactic, stream);
    }

    //! The bytes of what put() writes.
    size_t keptBytes() const noexcept
    {
        size_t bytes = serializedSize<>() + (Signature::kQuantized ? sizeof mScales : 0) + stateBytes();
        each(
            [this, &bytes](auto const& one)
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
        each([this, &writer](auto const& one) { writer.put(mFields.*(one.member)); });
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
        each(
            [this, &reader, &read](auto const& one)
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
                say(std::to_string(length) + " serialized bytes are no layer of this version, which has " +
                    std::to_string(keptBytes()));
                return false;
            }
            bool const scaled = std::all_of(mScales.begin(), mScales.end(),
                                            [](float scale) { return std::isfinite(scale) && scale >= 0.0F; });
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
        each(
            [this, &reader, &wrong](auto const& one)
            {
                if (wrong.empty() && !read(reader, one, one.required))
                {
                    bool const there = reader.find(one.name) != nullptr;
                    wrong = std::string{one.name} + (there ? " must be " : " must be given: ") + one.what;
                }
            });
        return wrong;
    }

protected:
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

private:
    bool start(std::array<detail::Seen, kTensors>& seen, int32_t row, void const* const* inputs, void* const* outputs,
               void* workspace, int32_t tactic, cudaStream_t stream) const
    {
        std::array<Shape, kInputs> in{};
        std::array<Shape, kOutputs> out{};
        std::transform(seen.begin(), seen.begin() + kInputs, in.begin(), [](auto const& one) { return one.shape; });
        std::array<int64_t, kOutputs> uppers{};
        if constexpr (Signature::kSized)
        {
            Sizes<kOutputs> sizes{in.data()};
            Signature::shapes(sizes, mFields);
            uppers = sizes.uppers();
            for (int32_t i = 0; i < kOutputs; ++i)
            {
                if (Signature::kIsSized[i])
                {
                    seen[static_cast<size_t>(kInputs + i)].shape = sizes.output(i);
                }
            }
        }
        std::transform(seen.begin() + kInputs, seen.end(), out.begin(), [](auto const& one) { return one.shape; });
        auto const isShape = [](Shape const& shape)
        {
            return shape.rank >= 0 &&
                   std::all_of(shape.dims, shape.dims + shape.rank, [](int64_t d) { return d >= 0; });
        };
        if (!std::all_of(in.begin(), in.end(), isShape) || !std::all_of(out.begin(), out.end(), isShape) ||
            !fits(in.data(), out.data()))
        {
            return false;
        }
        int64_t const bytes = workspaceBytes(in.data());
        if (bytes < 0 || (bytes > 0 && workspace == nullptr))
        {
            return false;
        }
        Launch launch{0, workspace, bytes, tactic, stream};
        std::array<Input, kInputs> given{};
        std::array<Output, kOutputs> made{};
        for (int32_t i = 0; i < kTensors; ++i)
        {
            bool const isInput = i < kInputs;
            Tensor& tensor = isInput ? static_cast<Tensor&>(given[static_cast<size_t>(i)])
                                     : static_cast<Tensor&>(made[static_cast<size_t>(i - kInputs)]);
            auto const at = static_cast<size_t>(i);
            detail::describe(tensor, seen[at]);
            tensor.scale = mScales[at];
            bool const quantized = seen[at].type == 2 || seen[at].type == 6; // kINT8, kFP8
            if (quantized && Signature::kScaleAxes[i] != kNoScale && !detail::isScale(tensor.scale))
            {
                return false; // nobody said what the values stand for
            }
            if (Signature::kScaleAxes[i] >= 0)
            {
                tensor.channels = {mChannels[slotOf(i)].data(), Signature::channelScales(mFields, i).count, 1};
                for (int32_t k = Signature::kScaleAxes[i] + 1; k < tensor.shape.rank; ++k)
                {
                    tensor.channels.inner *= tensor.shape.dims[k];
                }
            }
            if (isInput)
            {
                given[at].data = inputs[i];
                continue;
            }
            made[at - kInputs].data = outputs[i - kInputs];
            made[at - kInputs].upper = uppers[at - kInputs];
            launch.count = std::max(launch.count, tensor.count);
        }
        return Signature::run(launch, mFields, row, given.data(), made.data()) == cudaSuccess;
    }

    //! The scales of channels in device memory, for each tensor that has such.
    std::array<DeviceList, channelTensors()> mChannels;
};

} // namespace pluginkit
