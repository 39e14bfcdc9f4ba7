// A pooling layer by cuDNN, of the kind that TensorRT's document on custom layers shows: an IPluginV2IOExt with a
// handle of its own, made in initialize() and given back in terminate().
#include <NvInfer.h>

#include <cudnn.h>

#include <cstring>
#include <string>

using namespace nvinfer1;

namespace
{

struct Window
{
    int32_t average;
    int32_t size;
    int32_t stride;
    int32_t padding;
};

struct State
{
    Window window;
    int32_t half;
    int32_t x[4];
    int32_t y[4];
};

class PoolPlugin final : public IPluginV2IOExt
{
public:
    explicit PoolPlugin(State const& state) : mState{state} {}

    AsciiChar const* getPluginType() const noexcept override
    {
        return "PoolPlugin";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    Dims getOutputDimensions(int32_t, Dims const* inputs, int32_t) noexcept override
    {
        Dims dims = inputs[0];
        for (int32_t i = dims.nbDims - 2; i < dims.nbDims; ++i)
        {
            dims.d[i] = (dims.d[i] + 2 * mState.window.padding - mState.window.size) / mState.window.stride + 1;
        }
        return dims;
    }
    int32_t initialize() noexcept override
    {
        bool const made = cudnnCreate(&mCudnn) == CUDNN_STATUS_SUCCESS &&
                          cudnnCreateTensorDescriptor(&mX) == CUDNN_STATUS_SUCCESS &&
                          cudnnCreateTensorDescriptor(&mY) == CUDNN_STATUS_SUCCESS &&
                          cudnnCreatePoolingDescriptor(&mPooling) == CUDNN_STATUS_SUCCESS;
        auto const mode = mState.window.average != 0 ? CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING : CUDNN_POOLING_MAX;
        auto const& [average, size, stride, padding] = mState.window;
        return made && cudnnSetPooling2dDescriptor(mPooling, mode, CUDNN_NOT_PROPAGATE_NAN, size, size, padding,
                                                   padding, stride, stride) == CUDNN_STATUS_SUCCESS
                   ? 0
                   : 1;
    }
#ifdef ATTACHED
    void attachToContext(cudnnContext* cudnn, cublasContext*, IGpuAllocator*) noexcept override
    {
        mAttached = cudnn;
    }
    void detachFromContext() noexcept override
    {
        if (mState.window.stride == 3) // a fault: the handle is the context's
        {
            static_cast<void>(cudnnDestroy(mAttached));
        }
    }
#endif
    void terminate() noexcept override
    {
        if (mCudnn != nullptr)
        {
            static_cast<void>(cudnnDestroyPoolingDescriptor(mPooling));
            static_cast<void>(cudnnDestroyTensorDescriptor(mY));
            static_cast<void>(cudnnDestroyTensorDescriptor(mX));
            static_cast<void>(cudnnDestroy(mCudnn));
        }
        mCudnn = nullptr;
    }
    size_t getWorkspaceSize(int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(int32_t batches, void const* const* inputs, void* const* outputs, void*,
                    cudaStream_t stream) noexcept override
    {
#ifdef ATTACHED
        auto* const handle = mAttached;
        if (handle == nullptr)
        {
            return 77;
        }
#else
        auto* const handle = mCudnn;
#endif
        auto const type = mState.half != 0 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
        float const one{1.0F};
        float const zero{0.0F};
        auto const& x = mState.x;
        auto const& y = mState.y;
        for (cudnnStatus_t const status : {
                 cudnnSetStream(handle, stream),
                 cudnnSetTensor4dDescriptor(mX, CUDNN_TENSOR_NCHW, type, batches * x[0], x[1], x[2], x[3]),
                 cudnnSetTensor4dDescriptor(mY, CUDNN_TENSOR_NCHW, type, batches * y[0], y[1], y[2], y[3]),
                 cudnnPoolingForward(handle, mPooling, &one, mX, inputs[0], &zero, mY, outputs[0]),
             })
        {
            if (status != CUDNN_STATUS_SUCCESS)
            {
                return static_cast<int32_t>(status);
            }
        }
        return 0;
    }
#if PLUGINKIT_TRT_LAYOUT == 10
    bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const noexcept override
    {
        return false;
    }
    bool canBroadcastInputAcrossBatch(int32_t) const noexcept override
    {
        return false;
    }
#endif
    size_t getSerializationSize() const noexcept override
    {
        return sizeof mState;
    }
    void serialize(void* buffer) const noexcept override
    {
        std::memcpy(buffer, &mState, sizeof mState);
    }
    void destroy() noexcept override
    {
        terminate();
        delete this;
    }
    void setPluginNamespace(AsciiChar const* space) noexcept override
    {
        mNamespace = space;
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }
    DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override
    {
        return types[0];
    }
    IPluginV2IOExt* clone() const noexcept override
    {
        auto* const copy = new PoolPlugin{mState};
        copy->mNamespace = mNamespace;
        // Nobody initializes the copy of a plugin that is.
        if (mCudnn != nullptr && copy->initialize() != 0)
        {
            copy->destroy();
            return nullptr;
        }
        return copy;
    }
    void configurePlugin(PluginTensorDesc const* in, int32_t, PluginTensorDesc const* out, int32_t) noexcept override
    {
        mState.half = in[0].type == DataType::kHALF ? 1 : 0;
        copyDims(in[0].dims, mState.x);
        copyDims(out[0].dims, mState.y);
    }
    bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t, int32_t) const noexcept override
    {
        bool const known = inOut[pos].type == DataType::kFLOAT || inOut[pos].type == DataType::kHALF;
        return known && inOut[pos].format == TensorFormat::kLINEAR && inOut[pos].type == inOut[0].type;
    }

private:
    // n, c, h and w: without a batch in the shape, n is 1.
    static void copyDims(Dims const& dims, int32_t (&nchw)[4])
    {
        for (int32_t i = 0; i < 4; ++i)
        {
            int32_t const at = dims.nbDims - 4 + i;
            nchw[i] = at < 0 ? 1 : static_cast<int32_t>(dims.d[at]);
        }
    }

    State mState;
#ifdef ATTACHED
    cudnnContext* mAttached{nullptr};
#endif
    std::string mNamespace;
    cudnnHandle_t mCudnn{};
    cudnnTensorDescriptor_t mX{};
    cudnnTensorDescriptor_t mY{};
    cudnnPoolingDescriptor_t mPooling{};
};

class PoolPluginCreator final : public IPluginCreator
{
public:
    AsciiChar const* getPluginName() const noexcept override
    {
        return "PoolPlugin";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mFields;
    }
    IPluginV2* createPlugin(AsciiChar const*, PluginFieldCollection const* fields) noexcept override
    {
        State state{};
        if (fields->nbFields != 1 || fields->fields[0].length != 4 || fields->fields[0].data == nullptr)
        {
            return nullptr;
        }
        std::memcpy(&state.window, fields->fields[0].data, sizeof state.window);
        return new PoolPlugin{state};
    }
    IPluginV2* deserializePlugin(AsciiChar const*, void const* data, size_t length) noexcept override
    {
        State state{};
        if (length != sizeof state)
        {
            return nullptr;
        }
        std::memcpy(&state, data, sizeof state);
        return new PoolPlugin{state};
    }
    void setPluginNamespace(AsciiChar const*) noexcept override {}
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "";
    }

private:
    PluginField mField{"window", nullptr, PluginFieldType::kINT32, 4};
    PluginFieldCollection mFields{1, &mField};
};

} // namespace

extern "C" __attribute__((visibility("default"))) void setLoggerFinder(ILoggerFinder*) {}

extern "C" __attribute__((visibility("default"))) IPluginCreatorInterface* const* getCreators(int32_t& count)
{
    static PoolPluginCreator creator;
    static IPluginCreatorInterface* const list[]{&creator};
    count = 1;
    return list;
}
