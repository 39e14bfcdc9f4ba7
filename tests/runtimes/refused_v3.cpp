// y = x as an IPluginV3 of its own, without the adapter: what only an IPluginV3 can do wrong.
#include <NvInfer.h>

#include <cstdint>
#include <cstring>

namespace
{

using namespace nvinfer1;

enum Fault : int32_t
{
    kNONE = 0,
    kCONFIGURE_ERROR = 1,
    kSHAPES_ERROR = 2,
    kTYPES_ERROR = 3,
    kNULL_FIELDS = 4,
    kDIVIDES_BY_ZERO = 5,
    kNULL_DIMENSION = 6,
};

class Refused final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime
{
public:
    explicit Refused(int32_t fault) : mFault(fault) {}

    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        switch (type)
        {
        case PluginCapabilityType::kCORE:
            return static_cast<IPluginV3OneCore*>(this);
        case PluginCapabilityType::kBUILD:
            return static_cast<IPluginV3OneBuild*>(this);
        case PluginCapabilityType::kRUNTIME:
            return static_cast<IPluginV3OneRuntime*>(this);
        }
        return nullptr;
    }
    IPluginV3* clone() noexcept override
    {
        return new Refused(mFault);
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return "Refused";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    int32_t getOutputDataTypes(DataType* out, int32_t, DataType const* in, int32_t) const noexcept override
    {
        out[0] = in[0];
        return mFault == kTYPES_ERROR ? 1 : 0;
    }
    int32_t getOutputShapes(DimsExprs const* in, int32_t, DimsExprs const*, int32_t, DimsExprs* out, int32_t,
                            IExprBuilder& builder) noexcept override
    {
        out[0] = in[0];
        if (mFault == kDIVIDES_BY_ZERO)
        {
            out[0].d[0] = builder.operation(DimensionOperation::kFLOOR_DIV, *in[0].d[0], *builder.constant(0));
        }
        if (mFault == kNULL_DIMENSION)
        {
            out[0].d[0] = nullptr;
        }
        return mFault == kSHAPES_ERROR ? 1 : 0;
    }
    bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t,
                                   int32_t) noexcept override
    {
        DataType const type = inOut[pos].desc.type;
        return (type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kINT8) &&
               type == inOut[0].desc.type && inOut[pos].desc.format == TensorFormat::kLINEAR;
    }
    int32_t configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                            int32_t) noexcept override
    {
        return mFault == kCONFIGURE_ERROR ? 1 : 0;
    }
    size_t getWorkspaceSize(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                            int32_t) const noexcept override
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
        return 0;
    }
    IPluginV3* attachToContext(IPluginResourceContext*) noexcept override
    {
        return clone();
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        mField = PluginField{"fault", &mFault, PluginFieldType::kINT32, 1};
        mFields = PluginFieldCollection{1, &mField};
        return mFault == kNULL_FIELDS ? nullptr : &mFields;
    }

private:
    int32_t mFault;
    PluginField mField{};
    PluginFieldCollection mFields{};
};

class Creator final : public IPluginCreatorV3One
{
public:
    IPluginV3* createPlugin(AsciiChar const*, PluginFieldCollection const* fields, TensorRTPhase) noexcept override
    {
        int32_t fault = kNONE;
        for (int32_t i = 0; i < fields->nbFields; ++i)
        {
            if (std::strcmp(fields->fields[i].name, "fault") == 0)
            {
                std::memcpy(&fault, fields->fields[i].data, sizeof fault);
            }
        }
        return new Refused(fault);
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        static PluginField const fields[] = {{"fault", nullptr, PluginFieldType::kINT32, 1}};
        static PluginFieldCollection const collection{1, fields};
        return &collection;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return "Refused";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "";
    }
};

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void setLoggerFinder(ILoggerFinder*) {}

EXPORT IPluginCreatorInterface* const* getCreators(int32_t& count)
{
    static Creator creator;
    static IPluginCreatorInterface* const creators[] = {&creator};
    count = 1;
    return creators;
}
