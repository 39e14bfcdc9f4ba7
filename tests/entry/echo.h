//! A plugin for the tests of pluginkit/entry.h: y = alpha * x, and twice = x after x along the first dimension.
//!
//! It has no kernel: enqueue reads and writes host memory. What it is asked is written to the file that the environment
//! variable ECHO_TRACE names, so that a test sees which calls came through a library of NVIDIA's.
#pragma once

#include <NvInfer.h>
#include <pluginkit/fields.h>
#include <pluginkit/serialize.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace echo
{

__attribute__((format(printf, 1, 2))) inline void trace(char const* format, ...)
{
    char const* const path = std::getenv("ECHO_TRACE");
    if (path == nullptr)
    {
        return;
    }
    if (std::FILE* const file = std::fopen(path, "a"))
    {
        std::va_list values;
        va_start(values, format);
        std::vfprintf(file, format, values);
        va_end(values);
        std::fputc('\n', file);
        std::fclose(file);
    }
}

class Echo final : public nvinfer1::IPluginV2DynamicExt
{
public:
    explicit Echo(float alpha) : mAlpha(alpha) {}

    char const* getPluginType() const noexcept override
    {
        return "Echo";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 2;
    }
    int32_t initialize() noexcept override
    {
        trace("initialize");
        return 0;
    }
    void terminate() noexcept override
    {
        trace("terminate");
    }
    size_t getSerializationSize() const noexcept override
    {
        return pluginkit::serializedSize<float>();
    }
    void serialize(void* buffer) const noexcept override
    {
        trace("serialize %g", static_cast<double>(mAlpha));
        pluginkit::Writer writer(buffer, getSerializationSize(), kVERSION);
        writer.put(mAlpha);
    }
    void destroy() noexcept override
    {
        trace("destroy");
        delete this;
    }
    void setPluginNamespace(char const* pluginNamespace) noexcept override
    {
        mNamespace = pluginNamespace;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }
    nvinfer1::DataType getOutputDataType(int32_t, nvinfer1::DataType const* types, int32_t) const noexcept override
    {
        return types[0];
    }
    void attachToContext(cudnnContext* cudnn, cublasContext* cublas, nvinfer1::IGpuAllocator*) noexcept override
    {
        trace("attach %d %d", cudnn != nullptr, cublas != nullptr);
    }
    void detachFromContext() noexcept override
    {
        trace("detach");
    }
    Echo* clone() const noexcept override
    {
        trace("clone");
        auto* const copy = new Echo(mAlpha);
        copy->mNamespace = mNamespace;
        return copy;
    }
    nvinfer1::DimsExprs getOutputDimensions(int32_t index, nvinfer1::DimsExprs const* inputs, int32_t,
                                            nvinfer1::IExprBuilder& builder) noexcept override
    {
        nvinfer1::DimsExprs dims = inputs[0];
        if (index == 1)
        {
            dims.d[0] = builder.operation(nvinfer1::DimensionOperation::kSUM, *dims.d[0], *dims.d[0]);
        }
        return dims;
    }
    bool supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t,
                                   int32_t) noexcept override
    {
        auto const type = inOut[pos].type;
        bool const known = type == nvinfer1::DataType::kFLOAT || type == nvinfer1::DataType::kHALF ||
                           type == nvinfer1::DataType::kINT8;
        trace("format %d type %d scale %g", pos, static_cast<int>(type), static_cast<double>(inOut[pos].scale));
        return known && type == inOut[0].type && inOut[pos].format == nvinfer1::TensorFormat::kLINEAR;
    }
    void configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, int32_t,
                         nvinfer1::DynamicPluginTensorDesc const* out, int32_t) noexcept override
    {
        auto const first = [](nvinfer1::Dims const& dims) { return static_cast<long long>(dims.d[0]); };
        auto const opt = [](nvinfer1::DynamicPluginTensorDesc const& tensor)
        {
#if NV_TENSORRT_MAJOR == 8
            return tensor.max; // TensorRT 8 tells no opt
#else
            return tensor.opt;
#endif
        };
        trace("configure type %d scale %g in %lld %lld %lld twice %lld %lld %lld", static_cast<int>(in[0].desc.type),
              static_cast<double>(in[0].desc.scale), first(in[0].min), first(opt(in[0])), first(in[0].max),
              first(out[1].min), first(opt(out[1])), first(out[1].max));
    }
    size_t getWorkspaceSize(nvinfer1::PluginTensorDesc const* inputs, int32_t, nvinfer1::PluginTensorDesc const*,
                            int32_t) const noexcept override
    {
        return static_cast<size_t>(inputs[0].dims.d[0]) * 16;
    }
    int32_t enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const*,
                    void const* const* inputs, void* const* outputs, void*, cudaStream_t) noexcept override
    {
        trace("enqueue");
        auto const* const x = static_cast<float const*>(inputs[0]);
        auto* const y = static_cast<float*>(outputs[0]);
        auto* const twice = static_cast<float*>(outputs[1]);
        int64_t count{1};
        for (int32_t i = 0; i < inputDesc[0].dims.nbDims; ++i)
        {
            count *= inputDesc[0].dims.d[i];
        }
        for (int64_t i = 0; i < count; ++i)
        {
            y[i] = mAlpha * x[i];
            twice[i] = twice[count + i] = x[i];
        }
        return 0;
    }

    static constexpr uint32_t kVERSION{1};

private:
    float mAlpha;
    std::string mNamespace;
};

class EchoCreator final : public nvinfer1::IPluginCreator
{
public:
    char const* getPluginName() const noexcept override
    {
        return "Echo";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mFields;
    }
    nvinfer1::IPluginV2* createPlugin(char const*, nvinfer1::PluginFieldCollection const* fields) noexcept override
    {
        float alpha{0.5F};
        if (!pluginkit::FieldReader(fields).optional("alpha", alpha))
        {
            return nullptr;
        }
        return new Echo(alpha);
    }
    nvinfer1::IPluginV2* deserializePlugin(char const*, void const* data, size_t length) noexcept override
    {
        pluginkit::Reader reader(data, length, Echo::kVERSION);
        float alpha{0.0F};
        return reader.get(alpha) && reader.finished() ? new Echo(alpha) : nullptr;
    }
    void setPluginNamespace(char const* pluginNamespace) noexcept override
    {
        mNamespace = pluginNamespace;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }

private:
    nvinfer1::PluginField mField{"alpha", nullptr, nvinfer1::PluginFieldType::kFLOAT32, 1};
    nvinfer1::PluginFieldCollection mFields{1, &mField};
    std::string mNamespace;
};

} // namespace echo
