// y = x, FP32, FP16 or INT8; the field `fault` names one thing that it does wrong. An IPluginV2DynamicExt, so that
// pluginkit's host is asked too; what only an IPluginV3 can do wrong is in refused_v3.cpp.
#include <NvInfer.h>
#include <pluginkit/entry.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace refused
{

using namespace nvinfer1;

enum Fault : int32_t
{
    kNONE = 0,
    kNO_FORMAT = 1,
    kLOOKS_AHEAD = 2,
    kWRONG_TYPE = 3,
    kNULL_SHAPE = 4,
    kNULL_PLUGIN = 5,
    kHUGE_WORKSPACE = 6,
    kFP32_ONLY = 7,
    kGROWS = 8,
    kOTHER_NAME = 9,
    kOTHER_VERSION = 10,
    kUNSERIALIZABLE = 11,
    kNULL_CLONE = 12,
    kDIVIDES_BY_ZERO = 13,
    kSHRINKS = 14,
    kCONSTANT = 15,
};

class Refused : public IPluginV2DynamicExt
{
public:
    explicit Refused(int32_t fault) : mFault(fault) {}

    char const* getPluginType() const noexcept override
    {
        return mFault == kOTHER_NAME ? "Impostor" : "Refused";
    }
    char const* getPluginVersion() const noexcept override
    {
        return mFault == kOTHER_VERSION ? "2" : "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    int32_t initialize() noexcept override
    {
        return 0;
    }
    void terminate() noexcept override {}
    size_t getSerializationSize() const noexcept override
    {
        return mFault == kUNSERIALIZABLE ? (size_t{1} << 31) + 1 : sizeof mFault;
    }
    void serialize(void* buffer) const noexcept override
    {
        std::memcpy(buffer, &mFault, sizeof mFault);
    }
    void destroy() noexcept override
    {
        delete this;
    }
    IPluginV2DynamicExt* clone() const noexcept override
    {
        if (mFault == kNULL_CLONE)
        {
            return nullptr;
        }
        auto* copy = new Refused(mFault);
        copy->setPluginNamespace(mNamespace.c_str());
        return copy;
    }
#ifdef REFUSED_FORGETS
    void setPluginNamespace(char const* /*space*/) noexcept override {}
#else
    void setPluginNamespace(char const* space) noexcept override
    {
        mNamespace = space;
    }
#endif
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }
    DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override
    {
        return mFault == kWRONG_TYPE ? DataType::kINT32 : types[0];
    }
    DimsExprs getOutputDimensions(int32_t, DimsExprs const* inputs, int32_t, IExprBuilder& builder) noexcept override
    {
        DimsExprs out = inputs[0];
        switch (mFault)
        {
        case kNULL_SHAPE:
            out.d[0] = nullptr;
            break;
        case kGROWS:
            out.d[0] = builder.operation(DimensionOperation::kSUM, *inputs[0].d[0], *builder.constant(1));
            break;
        case kSHRINKS:
            out.d[1] = builder.operation(DimensionOperation::kSUB, *inputs[0].d[1], *builder.constant(2));
            break;
        case kCONSTANT:
            out.d[0] = builder.constant(3);
            break;
        case kDIVIDES_BY_ZERO:
            out.d[0] = builder.operation(DimensionOperation::kFLOOR_DIV, *inputs[0].d[0], *builder.constant(0));
            break;
        default:
            break;
        }
        return out;
    }
    bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t, int32_t) noexcept override
    {
        PluginTensorDesc const& desc = inOut[pos];
        bool const known = desc.type == DataType::kFLOAT ||
                           (mFault != kFP32_ONLY && (desc.type == DataType::kHALF || desc.type == DataType::kINT8));
        bool const fits = known && desc.format == TensorFormat::kLINEAR && desc.type == inOut[0].type;
        if (mFault == kLOOKS_AHEAD && pos == 0)
        {
            // What stands behind the position asked for is not decided yet.
            return fits && inOut[1].type == inOut[0].type && inOut[1].format == TensorFormat::kLINEAR;
        }
        return mFault != kNO_FORMAT && fits;
    }
    void configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                         int32_t) noexcept override
    {
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return mFault == kHUGE_WORKSPACE ? size_t{1} << 60 : 0;
    }
    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const*, void const* const* inputs,
                    void* const* outputs, void*, cudaStream_t) noexcept override
    {
        size_t count = inputDesc->type == DataType::kFLOAT ? 4 : inputDesc->type == DataType::kHALF ? 2 : 1;
        for (int32_t i = 0; i < inputDesc->dims.nbDims; ++i)
        {
            count *= static_cast<size_t>(inputDesc->dims.d[i]);
        }
        std::memcpy(outputs[0], inputs[0], count);
        return 0;
    }

private:
    int32_t mFault;
    std::string mNamespace;
};

class RefusedCreator : public IPluginCreator
{
public:
    char const* getPluginName() const noexcept override
    {
        return "Refused";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        static PluginField const fields[] = {{"fault", nullptr, PluginFieldType::kINT32, 1}};
        static PluginFieldCollection const collection{1, fields};
        return &collection;
    }
    IPluginV2* createPlugin(char const*, PluginFieldCollection const* collection) noexcept override
    {
        int32_t fault = kNONE;
        for (int32_t i = 0; i < collection->nbFields; ++i)
        {
            if (std::strcmp(collection->fields[i].name, "fault") == 0)
            {
                std::memcpy(&fault, collection->fields[i].data, sizeof fault);
            }
        }
        return fault == kNULL_PLUGIN ? nullptr : new Refused(fault);
    }
    IPluginV2* deserializePlugin(char const*, void const* data, size_t length) noexcept override
    {
        int32_t fault = kNONE;
        if (length != sizeof fault)
        {
            return nullptr;
        }
        std::memcpy(&fault, data, sizeof fault);
        return new Refused(fault);
    }
    void setPluginNamespace(char const* /*space*/) noexcept override {}
    char const* getPluginNamespace() const noexcept override
    {
        return "";
    }
};

} // namespace refused

PLUGINKIT_PLUGINS(Refused, refused::RefusedCreator)
