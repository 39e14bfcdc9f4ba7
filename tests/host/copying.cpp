// Calls a copying plugin (tests/gpu/controls8/plugin.py) as C++ does, by the classes of layout 8. Each function gives
// the number of the first statement that doesn't hold, or 0.

#include <NvInfer.h>

#include <cstring>

using namespace nvinfer1;

namespace
{

Dims shape()
{
    Dims dims{};
    dims.nbDims = 4;
    int const sizes[] = {2, 3, 1, 2};
    std::memcpy(dims.d, sizes, sizeof sizes);
    return dims;
}

bool isShape(Dims const& dims)
{
    Dims const wanted = shape();
    return dims.nbDims == wanted.nbDims && std::memcmp(dims.d, wanted.d, 4 * sizeof(wanted.d[0])) == 0;
}

#define HOLDS(condition)                                                                                               \
    if (!(condition))                                                                                                  \
    {                                                                                                                  \
        return __LINE__;                                                                                               \
    }

int common(IPluginV2Ext& plugin, PluginVersion version)
{
    HOLDS(static_cast<IPluginV2&>(plugin).getTensorRTVersion() == ((static_cast<int>(version) << 24) | 8503))
    HOLDS(std::strcmp(plugin.getPluginType(), "Copying") == 0)
    HOLDS(std::strcmp(plugin.getPluginVersion(), "1") == 0)
    plugin.setPluginNamespace("acme");
    HOLDS(std::strcmp(plugin.getPluginNamespace(), "acme") == 0)
    HOLDS(plugin.getNbOutputs() == 1)
    DataType const type = DataType::kHALF;
    HOLDS(plugin.getOutputDataType(0, &type, 1) == DataType::kHALF)
    bool const broadcast = false;
    HOLDS(!plugin.isOutputBroadcastAcrossBatch(0, &broadcast, 1))
    HOLDS(plugin.canBroadcastInputAcrossBatch(0))
    HOLDS(plugin.initialize() == 7)
    plugin.attachToContext(nullptr, nullptr, nullptr);
    plugin.detachFromContext();
    auto* const copy = static_cast<IPluginV2Ext*>(plugin.clone());
    HOLDS(copy != nullptr && copy != &plugin && std::strcmp(copy->getPluginNamespace(), "acme") == 0)
    HOLDS(copy->getSerializationSize() == sizeof(PluginTensorDesc))
    copy->terminate();
    copy->destroy();
    return 0;
}

template <class Plugin>
int formats(Plugin& plugin, PluginTensorDesc (&descs)[2])
{
    HOLDS(plugin.supportsFormatCombination(0, descs, 1, 1))
    HOLDS(plugin.supportsFormatCombination(1, descs, 1, 1))
    descs[1].type = DataType::kFLOAT;
    HOLDS(!plugin.supportsFormatCombination(1, descs, 1, 1))
    descs[1] = descs[0];
    descs[1].format = TensorFormat::kHWC8;
    HOLDS(!plugin.supportsFormatCombination(1, descs, 1, 1))
    descs[1] = descs[0];
    return 0;
}

} // namespace

extern "C" int dynamic(IPluginCreator& creator, void const* from, void* to)
{
    HOLDS(creator.getTensorRTVersion() == 8503)
    HOLDS(std::strcmp(creator.getPluginName(), "Copying") == 0)
    HOLDS(std::strcmp(creator.getFieldNames()->fields[0].name, "alpha") == 0)
    float const alpha[] = {1.0F, 2.0F};
    PluginField const field{"alpha", alpha, PluginFieldType::kFLOAT32, 2};
    PluginFieldCollection const fields{1, &field};
    auto& plugin = *static_cast<IPluginV2DynamicExt*>(creator.createPlugin("layer", &fields));
    if (int const line = common(plugin, PluginVersion::kV2_DYNAMICEXT))
    {
        return line;
    }
    PluginTensorDesc descs[2] = {{shape(), DataType::kHALF, TensorFormat::kCHW4, 0.5F}, {}};
    descs[1] = descs[0];
    if (int const line = formats(plugin, descs))
    {
        return line;
    }
    DimsExprs exprs{};
    exprs.nbDims = 1;
    exprs.d[0] = reinterpret_cast<IDimensionExpr const*>(&descs);
    struct Builder : IExprBuilder
    {
    };
    DimsExprs const answer = plugin.getOutputDimensions(0, &exprs, 1, *reinterpret_cast<Builder*>(&exprs));
    HOLDS(answer.nbDims == 1 && answer.d[0] == exprs.d[0])
    DynamicPluginTensorDesc const configured{descs[0], shape(), shape()};
    plugin.configurePlugin(&configured, 1, &configured, 1);
    HOLDS(plugin.getWorkspaceSize(descs, 1, descs + 1, 1) == 256)
    HOLDS(plugin.enqueue(descs, descs + 1, &from, &to, nullptr, nullptr) == 0)
    PluginTensorDesc stored{};
    plugin.serialize(&stored);
    HOLDS(stored.format == TensorFormat::kCHW4 && isShape(stored.dims))
    auto* const restored = creator.deserializePlugin("layer", &stored, sizeof stored);
    HOLDS(restored != nullptr && restored->getNbOutputs() == 1)
    return 0;
}

extern "C" int ioext(IPluginCreator& creator, void const* from, void* to)
{
    PluginFieldCollection const none{};
    auto& plugin = *static_cast<IPluginV2IOExt*>(creator.createPlugin("layer", &none));
    if (int const line = common(plugin, PluginVersion::kV2_IOEXT))
    {
        return line;
    }
    PluginTensorDesc descs[2] = {{shape(), DataType::kHALF, TensorFormat::kCHW4, 0.5F}, {}};
    descs[1] = descs[0];
    if (int const line = formats(plugin, descs))
    {
        return line;
    }
    Dims const given = shape();
    HOLDS(isShape(plugin.getOutputDimensions(0, &given, 1)))
    plugin.configurePlugin(descs, 1, descs + 1, 1);
    HOLDS(plugin.getWorkspaceSize(4) == 256)
    HOLDS(plugin.enqueue(1, &from, &to, nullptr, nullptr) == 0)
    return 0;
}

extern "C" int ext(IPluginCreator& creator, void const* from, void* to)
{
    PluginFieldCollection const none{};
    auto& plugin = *static_cast<IPluginV2Ext*>(creator.createPlugin("layer", &none));
    if (int const line = common(plugin, PluginVersion::kV2_EXT))
    {
        return line;
    }
    HOLDS(plugin.supportsFormat(DataType::kHALF, TensorFormat::kCHW4))
    HOLDS(!plugin.supportsFormat(DataType::kHALF, TensorFormat::kLINEAR))
    Dims const given = shape();
    DataType const type = DataType::kHALF;
    bool const broadcast = true;
    plugin.configurePlugin(&given, 1, &given, 1, &type, &type, &broadcast, &broadcast, TensorFormat::kCHW4, 4);
    HOLDS(plugin.enqueue(1, &from, &to, nullptr, nullptr) == 0)
    return 0;
}
