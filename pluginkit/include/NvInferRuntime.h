//! Shape expressions, IPluginV2DynamicExt and the capabilities of IPluginV3.
#ifndef PLUGINKIT_NV_INFER_RUNTIME_H
#define PLUGINKIT_NV_INFER_RUNTIME_H

#include "NvInferRuntimeCommon.h"

namespace nvinfer1
{

enum class DimensionOperation : int32_t
{
    kSUM = 0,
    kPROD = 1,
    kMAX = 2,
    kMIN = 3,
    kSUB = 4,
    kEQUAL = 5,
    kLESS = 6,
    kFLOOR_DIV = 7,
    kCEIL_DIV = 8,
};

template <>
constexpr inline int32_t EnumMax<DimensionOperation>() noexcept
{
    return 9;
}

class IDimensionExpr;
class IExprBuilder;

namespace apiv
{

// The library's side of the two expression interfaces: their wrappers call these, so these tables are the ABI.
class VRoot
{
public:
    virtual ~VRoot() noexcept = default;
};

class VDimensionExpr : public VRoot
{
public:
    virtual bool isConstant() const = 0;
    virtual pluginkit::Extent getConstantValue() const = 0;
#if PLUGINKIT_TRT_LAYOUT != 8
    virtual bool isSizeTensor() const = 0;
#endif
};

class VExprBuilder : public VRoot
{
public:
    virtual IDimensionExpr const* constant(pluginkit::Extent value) = 0;
    virtual IDimensionExpr const* operation(DimensionOperation op, IDimensionExpr const& first,
                                            IDimensionExpr const& second) = 0;
#if PLUGINKIT_TRT_LAYOUT != 8
    virtual IDimensionExpr const* declareSizeTensor(int32_t outputIndex, IDimensionExpr const& opt,
                                                    IDimensionExpr const& upper) = 0;
#endif
};

} // namespace apiv

//! Constant values, as plugins keep them: `count` elements of `type`. Who made them owns them.
class Weights
{
public:
    DataType type;
    void const* values;
    int64_t count;
};

class INoCopy
{
protected:
    INoCopy() = default;
    virtual ~INoCopy() = default;
    INoCopy(INoCopy const&) = delete;
    INoCopy(INoCopy&&) = delete;
    INoCopy& operator=(INoCopy const&) = delete;
    INoCopy& operator=(INoCopy&&) = delete;
};

//! A dimension as an expression of the inputs' dimensions. Belongs to the builder.
class IDimensionExpr : public INoCopy
{
public:
    bool isConstant() const noexcept
    {
        return mImpl->isConstant();
    }
    int64_t getConstantValue() const noexcept
    {
        return mImpl->getConstantValue();
    }
#if PLUGINKIT_TRT_LAYOUT != 8
    bool isSizeTensor() const noexcept
    {
        return mImpl->isSizeTensor();
    }
#endif

protected:
    apiv::VDimensionExpr* mImpl;
    ~IDimensionExpr() noexcept override = default;
};

//! Makes dimension expressions.
class IExprBuilder : public INoCopy
{
public:
    IDimensionExpr const* constant(int64_t value) noexcept
    {
        return mImpl->constant(static_cast<pluginkit::Extent>(value));
    }
    IDimensionExpr const* operation(DimensionOperation op, IDimensionExpr const& first,
                                    IDimensionExpr const& second) noexcept
    {
        return mImpl->operation(op, first, second);
    }
#if PLUGINKIT_TRT_LAYOUT != 8
    IDimensionExpr const* declareSizeTensor(int32_t outputIndex, IDimensionExpr const& opt,
                                            IDimensionExpr const& upper) noexcept
    {
        return mImpl->declareSizeTensor(outputIndex, opt, upper);
    }
#endif

protected:
    apiv::VExprBuilder* mImpl;
    ~IExprBuilder() noexcept override = default;
};

class DimsExprs
{
public:
    int32_t nbDims;
    IDimensionExpr const* d[Dims::MAX_DIMS];
};

class IPluginV2DynamicExt : public IPluginV2Ext
{
public:
    IPluginV2DynamicExt* clone() const noexcept override = 0;
    virtual DimsExprs getOutputDimensions(int32_t outputIndex, DimsExprs const* inputs, int32_t nbInputs,
                                          IExprBuilder& exprBuilder) noexcept = 0;
    static constexpr int32_t kFORMAT_COMBINATION_LIMIT = 100;
    virtual bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs,
                                           int32_t nbOutputs) noexcept = 0;
    virtual void configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs,
                                 DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept = 0;
    virtual size_t getWorkspaceSize(PluginTensorDesc const* inputs, int32_t nbInputs, PluginTensorDesc const* outputs,
                                    int32_t nbOutputs) const noexcept = 0;
    virtual int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc,
                            void const* const* inputs, void* const* outputs, void* workspace,
                            cudaStream_t stream) noexcept = 0;
    IPluginV2DynamicExt() = default;
    ~IPluginV2DynamicExt() override = default;

protected:
    int32_t getTensorRTVersion() const noexcept override
    {
        return (static_cast<int32_t>(PluginVersion::kV2_DYNAMICEXT) << 24) | static_cast<int32_t>(NV_TENSORRT_VERSION);
    }
    IPluginV2DynamicExt(IPluginV2DynamicExt const&) = default;
    IPluginV2DynamicExt(IPluginV2DynamicExt&&) = default;
    IPluginV2DynamicExt& operator=(IPluginV2DynamicExt const&) & = default;
    IPluginV2DynamicExt& operator=(IPluginV2DynamicExt&&) & = default;

private:
    // What IPluginV2DynamicExt replaces; nobody calls these.
    void configurePlugin(Dims const*, int32_t, Dims const*, int32_t, DataType const*, DataType const*, bool const*,
                         bool const*, PluginFormat, int32_t) noexcept override final
    {
    }
    bool supportsFormat(DataType, PluginFormat) const noexcept override final
    {
        return false;
    }
    Dims getOutputDimensions(int32_t, Dims const*, int32_t) noexcept override final
    {
        return Dims{-1, {}};
    }
#if PLUGINKIT_TRT_LAYOUT <= 10
    bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const noexcept override final
    {
        return false;
    }
    bool canBroadcastInputAcrossBatch(int32_t) const noexcept override final
    {
        return true;
    }
#endif
    size_t getWorkspaceSize(int32_t) const noexcept override final
    {
        return 0;
    }
    int32_t enqueue(int32_t, void const* const*, void* const*, void*, cudaStream_t) noexcept override final
    {
        return 1;
    }
};

#if PLUGINKIT_TRT_LAYOUT != 8

//! What a V3 plugin is handed when it is attached to an execution context.
class IPluginResourceContext
{
public:
    virtual IGpuAllocator* getGpuAllocator() const noexcept = 0;
    virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
    virtual ~IPluginResourceContext() noexcept = default;

protected:
    IPluginResourceContext() = default;
    IPluginResourceContext(IPluginResourceContext const&) = default;
    IPluginResourceContext(IPluginResourceContext&&) = default;
    IPluginResourceContext& operator=(IPluginResourceContext const&) & = default;
    IPluginResourceContext& operator=(IPluginResourceContext&&) & = default;
};

namespace v_1_0
{

class IPluginV3OneCore : public IPluginCapability
{
public:
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3ONE_CORE", 1, 0};
    }
    virtual AsciiChar const* getPluginName() const noexcept = 0;
    virtual AsciiChar const* getPluginVersion() const noexcept = 0;
    virtual AsciiChar const* getPluginNamespace() const noexcept = 0;
};

class IPluginV3OneBuild : public IPluginCapability
{
public:
    static constexpr int32_t kDEFAULT_FORMAT_COMBINATION_LIMIT = 100;
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3ONE_BUILD", 1, 0};
    }
    virtual int32_t configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs,
                                    DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept = 0;
    virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, DataType const* inputTypes,
                                       int32_t nbInputs) const noexcept = 0;
    virtual int32_t getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const* shapeInputs,
                                    int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs,
                                    IExprBuilder& exprBuilder) noexcept = 0;
    virtual bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t nbInputs,
                                           int32_t nbOutputs) noexcept = 0;
    virtual int32_t getNbOutputs() const noexcept = 0;
    virtual size_t getWorkspaceSize(DynamicPluginTensorDesc const* /*inputs*/, int32_t /*nbInputs*/,
                                    DynamicPluginTensorDesc const* /*outputs*/, int32_t /*nbOutputs*/) const noexcept
    {
        return 0;
    }
    virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept
    {
        return 0;
    }
    virtual int32_t getNbTactics() noexcept
    {
        return 0;
    }
    virtual char const* getTimingCacheID() noexcept
    {
        return nullptr;
    }
    virtual int32_t getFormatCombinationLimit() noexcept
    {
        return kDEFAULT_FORMAT_COMBINATION_LIMIT;
    }
    virtual char const* getMetadataString() noexcept
    {
        return nullptr;
    }
};

class IPluginV3OneRuntime : public IPluginCapability
{
public:
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3ONE_RUNTIME", 1, 0};
    }
    virtual int32_t setTactic(int32_t /*tactic*/) noexcept
    {
        return 0;
    }
    virtual int32_t onShapeChange(PluginTensorDesc const* in, int32_t nbInputs, PluginTensorDesc const* out,
                                  int32_t nbOutputs) noexcept = 0;
    virtual int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc,
                            void const* const* inputs, void* const* outputs, void* workspace,
                            cudaStream_t stream) noexcept = 0;
    virtual IPluginV3* attachToContext(IPluginResourceContext* context) noexcept = 0;
    virtual PluginFieldCollection const* getFieldsToSerialize() noexcept = 0;
};

} // namespace v_1_0

namespace v_2_0
{

//! Adds outputs that share an input's memory.
class IPluginV3OneBuild : public v_1_0::IPluginV3OneBuild
{
public:
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3ONE_BUILD", 2, 0};
    }
    virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept
    {
        return -1;
    }
};

} // namespace v_2_0

using IPluginV3OneCore = v_1_0::IPluginV3OneCore;
using IPluginV3OneBuild = v_1_0::IPluginV3OneBuild;
using IPluginV3OneBuildV2 = v_2_0::IPluginV3OneBuild;
using IPluginV3OneRuntime = v_1_0::IPluginV3OneRuntime;

#endif

} // namespace nvinfer1

#include "pluginkit/registered.h" // REGISTER_TENSORRT_PLUGIN

#endif
