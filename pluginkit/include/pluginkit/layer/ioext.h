//! A layer as an IPluginV2IOExt. Its shapes are static: what configurePlugin() says of them is kept, serialized, and is
//! all that enqueue() knows.
#pragma once

#include <pluginkit/layer/v2.h>

namespace pluginkit
{

//! The batch is the first of the dimensions, or it stands beside them (batchSize): TensorRT's documents say both. A
//! kernel gets it as the first dimension always.
template <typename Derived, typename Signature, typename State = NoState>
class IOExtLayer : public V2Layer<nvinfer1::IPluginV2IOExt, Derived, Signature, State>
{
    using Core = LayerCore<Signature, State>;
    using Base = V2Layer<nvinfer1::IPluginV2IOExt, Derived, Signature, State>;

public:
    nvinfer1::Dims getOutputDimensions(int32_t index, nvinfer1::Dims const* inputs, int32_t nbInputs) noexcept override
    {
        nvinfer1::Dims const impossible{-1, {}};
        if (index < 0 || index >= Core::kOutputs || inputs == nullptr || nbInputs != Core::kInputs)
        {
            return impossible;
        }
        std::array<Shape, Core::kInputs> shapes{};
        bool const beside = isBeside(inputs[0].nbDims);
        for (int32_t i = 0; i < Core::kInputs; ++i)
        {
            shapes[static_cast<size_t>(i)] = withBatch(shapeOf(inputs[i]), 1, beside);
        }
        if (!this->hasRanks([&shapes](int32_t i) { return shapes[static_cast<size_t>(i)].rank; }))
        {
            return impossible;
        }
        Sizes<Core::kOutputs> sizes{shapes.data()};
        Signature::shapes(sizes, this->fields());
        Shape const& output = sizes.output(index);
        // Lists of as many elements as the batch has can't be held against it here, where it stands beside the
        // dimensions.
        if (output.rank < 0 || (!beside && !Signature::fits(sizes, this->fields())))
        {
            return impossible;
        }
        Shape without{output};
        if (beside && output.rank > 0)
        {
            std::copy(output.dims + 1, output.dims + output.rank, without.dims);
            --without.rank;
        }
        return dimsOf<nvinfer1::Dims>(without);
    }

    bool supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) const noexcept override
    {
        return inOut != nullptr &&
               this->takes(pos, nbInputs, nbOutputs, [inOut](int32_t i) -> auto& { return inOut[i]; });
    }

    void configurePlugin(nvinfer1::PluginTensorDesc const* in, int32_t nbInputs, nvinfer1::PluginTensorDesc const* out,
                         int32_t nbOutputs) noexcept override
    {
        mRow = detail::kNoRow;
        if (in == nullptr || out == nullptr || nbInputs != Core::kInputs || nbOutputs != Core::kOutputs)
        {
            return;
        }
        for (int32_t i = 0; i < Core::kTensors; ++i)
        {
            nvinfer1::PluginTensorDesc const& desc = i < nbInputs ? in[i] : out[i - nbInputs];
            mSeen[static_cast<size_t>(i)] = {shapeOf(desc.dims), static_cast<int32_t>(desc.type),
                                             static_cast<int32_t>(desc.format)};
            this->takeScale(i, desc);
        }
        mRow = this->findRow(Core::kTensors, [this](int32_t i) { return mSeen[static_cast<size_t>(i)].type; });
    }

    size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept override
    {
        std::array<Shape, Core::kInputs> shapes{};
        auto const seen = withBatch(maxBatchSize);
        for (size_t i = 0; i < shapes.size(); ++i)
        {
            shapes[i] = seen[i].shape;
        }
        return this->workspaceFor(shapes);
    }

#if NV_TENSORRT_MAJOR < 11
    // TensorRT 10 asks for these; nothing has been broadcast across a batch since 10.0, and 11 has dropped them.
    bool isOutputBroadcastAcrossBatch(int32_t /*index*/, bool const* /*inputIsBroadcast*/,
                                      int32_t /*nbInputs*/) const noexcept override
    {
        return false;
    }

    bool canBroadcastInputAcrossBatch(int32_t /*index*/) const noexcept override
    {
        return false;
    }
#endif

    size_t getSerializationSize() const noexcept override
    {
        return this->keptBytes() + sizeof mRow + mSeen.size() * detail::kSeenBytes;
    }

    void serialize(void* buffer) const noexcept override
    {
        Writer writer{buffer, getSerializationSize(), Signature::kSerialVersion};
        this->put(writer);
        writer.put(mRow);
        for (detail::Seen const& seen : mSeen)
        {
            detail::put(writer, seen);
        }
    }

    bool restore(void const* data, size_t length) noexcept override
    {
        Reader reader{data, length, Signature::kSerialVersion};
        bool read = this->get(reader) && reader.get(mRow);
        for (detail::Seen& seen : mSeen)
        {
            read = read && detail::get(reader, seen);
        }
        read = read && mRow >= detail::kNoRow && mRow < static_cast<int32_t>(std::size(Signature::kTypes));
        return this->restored(read && reader.finished(), length);
    }

    int32_t enqueue(int32_t batchSize, void const* const* inputs, void* const* outputs, void* workspace,
                    cudaStream_t stream) noexcept override
    {
        if (batchSize < 0 || inputs == nullptr || outputs == nullptr)
        {
            return detail::kFailed;
        }
        auto seen = withBatch(batchSize);
        return this->run(seen, mRow, inputs, outputs, workspace, 0, stream);
    }

protected:
    // The overload that IPluginV2IOExt has closed.
    using nvinfer1::IPluginV2Ext::configurePlugin;

private:
    //! Whether the batch stands beside the dimensions: the first input has not as many as pluginkit.toml says.
    static bool isBeside(int32_t rank) noexcept
    {
        Rank const& declared = Signature::kRanks[0];
        return Signature::kBatched && !declared.open && rank != declared.least;
    }

    static Shape withBatch(Shape const& shape, int64_t batch, bool beside) noexcept
    {
        Shape made{shape};
        if (beside && shape.rank >= 0 && shape.rank < Shape::kMaxRank)
        {
            std::copy(shape.dims, shape.dims + shape.rank, made.dims + 1);
            made.dims[0] = batch;
            ++made.rank;
        }
        else if (shape.rank > 0)
        {
            made.dims[0] *= batch;
        }
        return made;
    }

    std::array<detail::Seen, Core::kTensors> withBatch(int32_t batch) const noexcept
    {
        bool const beside = isBeside(mSeen[0].shape.rank);
        auto seen = mSeen;
        for (detail::Seen& one : seen)
        {
            one.shape = withBatch(one.shape, batch, beside);
        }
        return seen;
    }

    //! The types that were chosen, and what configurePlugin() said of the inputs, then of the outputs.
    int32_t mRow{detail::kNoRow};
    std::array<detail::Seen, Core::kTensors> mSeen{};
};

} // namespace pluginkit
