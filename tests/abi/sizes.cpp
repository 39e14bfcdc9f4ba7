//! Sizes and offsets of what crosses the interface by value or by pointer; see recorded/ for where they come from.
#include <NvInfer.h>

#include <cstddef>
#include <type_traits>

using namespace nvinfer1;

#if PLUGINKIT_TRT_LAYOUT == 8
static_assert(sizeof(Dims) == 36 && alignof(Dims) == 4 && offsetof(Dims, nbDims) == 0 && offsetof(Dims, d) == 4);
static_assert(std::is_same_v<Dims, Dims32> && std::is_same_v<decltype(Dims::d), int32_t[8]>);

static_assert(sizeof(PluginTensorDesc) == 48 && offsetof(PluginTensorDesc, type) == 36);
static_assert(offsetof(PluginTensorDesc, format) == 40 && offsetof(PluginTensorDesc, scale) == 44);
static_assert(sizeof(DynamicPluginTensorDesc) == 120 && offsetof(DynamicPluginTensorDesc, min) == 48);
static_assert(offsetof(DynamicPluginTensorDesc, max) == 84);
#else
static_assert(sizeof(Dims) == 72 && alignof(Dims) == 8 && offsetof(Dims, nbDims) == 0 && offsetof(Dims, d) == 8);
static_assert(std::is_same_v<Dims, Dims64> && std::is_same_v<decltype(Dims::d), int64_t[8]>);

static_assert(sizeof(PluginTensorDesc) == 88 && offsetof(PluginTensorDesc, dims) == 0);
static_assert(offsetof(PluginTensorDesc, type) == 72 && offsetof(PluginTensorDesc, format) == 76);
static_assert(offsetof(PluginTensorDesc, scale) == 80);

// max comes before opt.
static_assert(sizeof(DynamicPluginTensorDesc) == 304 && offsetof(DynamicPluginTensorDesc, desc) == 0);
static_assert(offsetof(DynamicPluginTensorDesc, min) == 88 && offsetof(DynamicPluginTensorDesc, max) == 160);
static_assert(offsetof(DynamicPluginTensorDesc, opt) == 232);
#endif

static_assert(sizeof(PluginField) == 24 && offsetof(PluginField, name) == 0 && offsetof(PluginField, data) == 8);
static_assert(offsetof(PluginField, type) == 16 && offsetof(PluginField, length) == 20);
static_assert(sizeof(PluginFieldCollection) == 16 && offsetof(PluginFieldCollection, fields) == 8);

static_assert(sizeof(DimsExprs) == 72 && offsetof(DimsExprs, nbDims) == 0 && offsetof(DimsExprs, d) == 8);

#if PLUGINKIT_TRT_LAYOUT != 8
// Comes back in registers: it must stay trivial.
static_assert(sizeof(InterfaceInfo) == 16 && std::is_trivially_copyable_v<InterfaceInfo>);
static_assert(offsetof(InterfaceInfo, kind) == 0 && offsetof(InterfaceInfo, major) == 8);
static_assert(offsetof(InterfaceInfo, minor) == 12);
#endif
// These come back by hidden pointer, and must stay trivial too.
static_assert(std::is_trivially_copyable_v<Dims> && std::is_trivially_copyable_v<DimsExprs>);

// Interfaces are a pointer to their table; the two that wrap the library's side hold one more.
static_assert(sizeof(IPluginV2DynamicExt) == 8 && sizeof(IPluginV2IOExt) == 8 && sizeof(IPluginCreator) == 8);
#if PLUGINKIT_TRT_LAYOUT != 8
static_assert(sizeof(IPluginV3) == 8 && sizeof(IPluginV3OneBuild) == 8);
#endif
static_assert(sizeof(IPluginRegistry) == 8);
static_assert(sizeof(ILogger) == 8 && sizeof(ILoggerFinder) == 8 && sizeof(IErrorRecorder) == 8);
static_assert(sizeof(IDimensionExpr) == 16 && sizeof(IExprBuilder) == 16);

static_assert(sizeof(DataType) == 4 && sizeof(TensorFormat) == 4 && sizeof(PluginFieldType) == 4);
static_assert(sizeof(PluginVersion) == 1 && sizeof(DimensionOperation) == 4);

#if PLUGINKIT_TRT_LAYOUT == 8
static_assert(NV_TENSORRT_VERSION == 8503);
#elif PLUGINKIT_TRT_LAYOUT == 10
static_assert(NV_TENSORRT_VERSION == 101600);
#else
static_assert(NV_TENSORRT_VERSION == 110100);
#endif

// An abstract heir: overriding three of the five and nothing else compiles in all layouts.
class Plugin : public IPluginV2DynamicExt
{
public:
    DimsExprs getOutputDimensions(int32_t, DimsExprs const* inputs, int32_t, IExprBuilder&) noexcept override
    {
        return inputs[0];
    }
    bool supportsFormatCombination(int32_t, PluginTensorDesc const*, int32_t, int32_t) noexcept override
    {
        return true;
    }
    void configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                         int32_t) noexcept override
    {
    }
};
static_assert(std::is_abstract_v<Plugin>);
