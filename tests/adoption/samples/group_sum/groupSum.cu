//! Sums of groups of channels, [n, c, l] -> [n, c / group, l]: an IPluginV3 in one .cu file, as of TensorRT 10's
//! samples.
#include <NvInfer.h>
#include <cuda_runtime_api.h>

#include <cassert>
#include <cstring>
#include <memory>
#include <vector>

using namespace nvinfer1;

__global__ void groupSumKernel(float const* x, float* y, int group, int inChannels, int channels, int length, int total)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total)
    {
        return;
    }
    int const l = i % length;
    int const c = i / length % channels;
    int const n = i / length / channels;
    float sum = 0.F;
    for (int g = 0; g < group; ++g)
    {
        sum += x[(n * inChannels + c * group + g) * length + l];
    }
    y[i] = sum;
}

class GroupSumPlugin : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime
{
public:
    explicit GroupSumPlugin(int32_t group) : mGroup(group)
    {
        initFieldsToSerialize();
    }

    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        if (type == PluginCapabilityType::kBUILD)
        {
            return static_cast<IPluginV3OneBuild*>(this);
        }
        if (type == PluginCapabilityType::kRUNTIME)
        {
            return static_cast<IPluginV3OneRuntime*>(this);
        }
        assert(type == PluginCapabilityType::kCORE);
        return static_cast<IPluginV3OneCore*>(this);
    }

    IPluginV3* clone() noexcept override
    {
        auto clone = std::make_unique<GroupSumPlugin>(*this);
        clone->initFieldsToSerialize();
        return clone.release();
    }

    char const* getPluginName() const noexcept override
    {
        return "GroupSum";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    char const* getPluginNamespace() const noexcept override
    {
        return "";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }

    int32_t configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs, DynamicPluginTensorDesc const* out,
                            int32_t nbOutputs) noexcept override
    {
        assert(nbInputs == 1);
        assert(in[0].desc.dims.nbDims == 3);
        return 0;
    }

    bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        assert(nbInputs == 1 && nbOutputs == 1);
        return inOut[pos].desc.type == DataType::kFLOAT && inOut[pos].desc.format == PluginFormat::kLINEAR;
    }

    int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, DataType const* inputTypes,
                               int32_t nbInputs) const noexcept override
    {
        outputTypes[0] = inputTypes[0];
        return 0;
    }

    int32_t getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const* shapeInputs,
                            int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs,
                            IExprBuilder& exprBuilder) noexcept override
    {
        assert(nbInputs == 1);
        assert(inputs[0].nbDims == 3);
        outputs[0] = inputs[0];
        outputs[0].d[1] =
            exprBuilder.operation(DimensionOperation::kFLOOR_DIV, *inputs[0].d[1], *exprBuilder.constant(mGroup));
        return 0;
    }

    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc, void const* const* inputs,
                    void* const* outputs, void* workspace, cudaStream_t stream) noexcept override
    {
        Dims const& out = outputDesc[0].dims;
        int const total = static_cast<int>(out.d[0] * out.d[1] * out.d[2]);
        if (total > 0)
        {
            groupSumKernel<<<(total + 127) / 128, 128, 0, stream>>>(
                static_cast<float const*>(inputs[0]), static_cast<float*>(outputs[0]), mGroup,
                static_cast<int>(inputDesc[0].dims.d[1]), static_cast<int>(out.d[1]), static_cast<int>(out.d[2]),
                total);
        }
        return cudaGetLastError() != cudaSuccess;
    }

    int32_t onShapeChange(PluginTensorDesc const* in, int32_t nbInputs, PluginTensorDesc const* out,
                          int32_t nbOutputs) noexcept override
    {
        return 0;
    }
    int32_t setTactic(int32_t tactic) noexcept override
    {
        return 0;
    }
    IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override
    {
        return clone();
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        return &mFCToSerialize;
    }

private:
    void initFieldsToSerialize()
    {
        mDataToSerialize.clear();
        mDataToSerialize.emplace_back(PluginField("group", &mGroup, PluginFieldType::kINT32, 1));
        mFCToSerialize.nbFields = mDataToSerialize.size();
        mFCToSerialize.fields = mDataToSerialize.data();
    }

    int32_t mGroup;
    std::vector<PluginField> mDataToSerialize;
    PluginFieldCollection mFCToSerialize;
};

class GroupSumPluginCreator : public IPluginCreatorV3One
{
public:
    GroupSumPluginCreator()
    {
        mPluginAttributes.clear();
        mPluginAttributes.emplace_back(PluginField("group", nullptr, PluginFieldType::kINT32, 1));
        mFC.nbFields = mPluginAttributes.size();
        mFC.fields = mPluginAttributes.data();
    }
    char const* getPluginName() const noexcept override
    {
        return "GroupSum";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    char const* getPluginNamespace() const noexcept override
    {
        return "";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mFC;
    }
    IPluginV3* createPlugin(char const* name, PluginFieldCollection const* fc, TensorRTPhase phase) noexcept override
    {
        int32_t group{2};
        for (int32_t i = 0; i < fc->nbFields; ++i)
        {
            if (!std::strcmp(fc->fields[i].name, "group"))
            {
                assert(fc->fields[i].type == PluginFieldType::kINT32);
                group = *static_cast<int32_t const*>(fc->fields[i].data);
            }
        }
        if (group < 1)
        {
            getLogger()->log(ILogger::Severity::kERROR, "GroupSum: group must be 1 or more");
            return nullptr;
        }
        return new GroupSumPlugin(group);
    }

private:
    static PluginFieldCollection mFC;
    static std::vector<PluginField> mPluginAttributes;
};

PluginFieldCollection GroupSumPluginCreator::mFC{};
std::vector<PluginField> GroupSumPluginCreator::mPluginAttributes;

namespace
{
GroupSumPluginCreator gCreator;
bool const gRegistered = getPluginRegistry()->registerCreator(gCreator, "");
} // namespace
