//! What a layer is, whichever interface it is made into: its types, formats and shapes, and its run.
//!
//! `Signature` is what the build makes of pluginkit.toml. Everything that it can't say is a method, to override:
//! problem(), of `LayerState`, fits() and workspaceBytes().
#pragma once

#include <pluginkit/layer/memory.h>
#include <pluginkit/layer/sizes.h>
#include <pluginkit/layer/state.h>
#include <pluginkit/layer/tensor.h>

#include <algorithm>
#include <limits>

namespace pluginkit
{

namespace detail
{

//! What put() writes of a tensor, member by member: between them there may be bytes that nobody has written.
constexpr size_t kSeenBytes = sizeof(Shape::rank) + sizeof(Shape::dims) + sizeof(Seen::type) + sizeof(Seen::format);

inline void put(Writer& writer, Seen const& seen) noexcept
{
    writer.put(seen.shape.rank);
    writer.put(seen.shape.dims);
    writer.put(seen.type);
    writer.put(seen.format);
}

inline bool get(Reader& reader, Seen& seen) noexcept
{
    return reader.get(seen.shape.rank) && reader.get(seen.shape.dims) && reader.get(seen.type) &&
           reader.get(seen.format) && seen.shape.rank >= -1 && seen.shape.rank <= Shape::kMaxRank;
}

constexpr int32_t kFailed = 1;
constexpr int32_t kNoRow = -1;

} // namespace detail

template <typename Signature, typename State>
class LayerCore : public LayerState<Signature, State>
{
    using Kept = LayerState<Signature, State>;

public:
    static constexpr int32_t kInputs = Signature::kInputs;
    static constexpr int32_t kOutputs = Signature::kOutputs;
    static constexpr int32_t kTensors = Signature::kTensors;

    //! Whether the kernel can run on these shapes. `outputs` are those that the interface's method has promised.
    virtual bool fits(Shape const* inputs, Shape const* outputs) const
    {
        Sizes<kOutputs> sizes{inputs};
        Signature::shapes(sizes, mFields);
        bool good = Signature::fits(sizes, mFields);
        for (int32_t i = 0; i < kOutputs; ++i)
        {
            // An output of which a shape input says the size has the one that getOutputShapes() has promised.
            good = good && (!Signature::kIsKnown[i] || isSame(sizes.output(i), outputs[i]));
        }
        return good;
    }

    //! The bytes of scratch memory that a run needs; below 0 where that is not a number.
    virtual int64_t workspaceBytes(Shape const* inputs) const
    {
        return Signature::workspace(Sizes<kOutputs>{inputs}, mFields).value();
    }

protected:
    using Desc = nvinfer1::PluginTensorDesc;

    using Kept::mFields;
    using Kept::mScales;

    LayerCore() = default;
    LayerCore(LayerCore const&) = default;
    LayerCore(LayerCore&&) = default;
    LayerCore& operator=(LayerCore const&) = default;
    LayerCore& operator=(LayerCore&&) = default;
    ~LayerCore() = default;

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
        for (auto const& row : Signature::kFormats)
        {
            bool same = true;
            for (int32_t i = 0; i <= pos && same; ++i)
            {
                Desc const& desc = descAt(i);
                same = static_cast<int32_t>(desc.type) == Signature::kTypes[row[0]][i] &&
                       static_cast<int32_t>(desc.format) == row[1 + i];
            }
            if (same)
            {
                return true;
            }
        }
        return false;
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

    //! What getWorkspaceSize() answers: where the bytes are not a number, more than any device has, so that no engine
    //! is built.
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

private:
    bool start(std::array<detail::Seen, kTensors>& seen, int32_t row, void const* const* inputs, void* const* outputs,
               void* workspace, int32_t tactic, cudaStream_t stream) const
    {
        std::array<Shape, kInputs> in{};
        std::array<Shape, kOutputs> out{};
        for (size_t i = 0; i < in.size(); ++i)
        {
            in[i] = seen[i].shape;
        }
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
        bool known = true;
        for (size_t i = 0; i < seen.size(); ++i)
        {
            known = known && detail::isKnown(seen[i].shape);
            if (i >= in.size())
            {
                out[i - in.size()] = seen[i].shape;
            }
        }
        if (!known || !fits(in.data(), out.data()))
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
                tensor.channels = {this->channelScales(i), Signature::channelScales(mFields, i).count, 1};
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
};

} // namespace pluginkit
