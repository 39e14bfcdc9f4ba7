//! Plugins as other people write them, without pluginkit's entry: `Shift` (IPluginV2DynamicExt, static field vector,
//! asserts) and `GroupMax` (IPluginV3), with a getCreators of their own; `PairSum` (IPluginV2IOExt) alone in
//! libioext.so. What goes wrong is chosen by the library's file name: lib<fault>.so.
#include <NvInfer.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

using namespace nvinfer1;

namespace
{

std::string fault()
{
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&fault), &info);
    std::string const path{info.dli_fname};
    std::string const name{path.substr(path.rfind('/') + 4)};
    return name.substr(0, name.rfind(".so"));
}

//! `crash-in-X`, `hang-in-X` and `exit-in-X`, at the place X.
void at(char const* place)
{
    std::string const chosen{fault()};
    if (chosen == std::string{"crash-in-"} + place)
    {
        std::abort();
    }
    if (chosen == std::string{"hang-in-"} + place)
    {
        for (;;)
        {
            sleep(1);
        }
    }
    if (chosen == std::string{"exit-in-"} + place)
    {
        std::exit(3);
    }
}

struct Start
{
    Start()
    {
        at("start");
    }
} const gStart;

bool kind(PluginTensorDesc const& desc, DataType type)
{
    return desc.type == type && desc.format == TensorFormat::kLINEAR;
}

class Shift final : public IPluginV2DynamicExt
{
public:
    Shift(float by, int32_t mode, int32_t grow) : mBy{by}, mMode{mode}, mGrow{grow} {}

    char const* getPluginType() const noexcept override
    {
        return "Shift";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        at("outputs");
        return 1;
    }
    int32_t initialize() noexcept override
    {
        return 0;
    }
    void terminate() noexcept override {}
    size_t getSerializationSize() const noexcept override
    {
        return sizeof(mBy) + sizeof(mMode);
    }
    void serialize(void* buffer) const noexcept override
    {
        at("serialize");
        std::memcpy(buffer, &mBy, sizeof(mBy));
        std::memcpy(static_cast<char*>(buffer) + sizeof(mBy), &mMode, sizeof(mMode));
    }
    void destroy() noexcept override
    {
        delete this;
    }
    IPluginV2DynamicExt* clone() const noexcept override
    {
        auto* const copy = new Shift{mBy, mMode, mGrow};
        copy->mNamespace = mNamespace;
        return copy;
    }
    void setPluginNamespace(char const* name) noexcept override
    {
        mNamespace = name;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }
    DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override
    {
        at("types");
        return types[0];
    }
    DimsExprs getOutputDimensions(int32_t, DimsExprs const* inputs, int32_t nbInputs,
                                  IExprBuilder& builder) noexcept override
    {
        at("shapes");
        assert(nbInputs == 2);
        assert(inputs[0].nbDims == 3);
        DimsExprs out{inputs[0]};
        out.d[1] = builder.operation(DimensionOperation::kSUM, *inputs[0].d[1], *inputs[1].d[1]);
        out.d[2] = builder.operation(DimensionOperation::kCEIL_DIV, *inputs[0].d[2], *builder.constant(2));
        out.d[2] = builder.operation(DimensionOperation::kSUM, *out.d[2], *builder.constant(mGrow));
        return out;
    }
    bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        at("formats");
        assert(nbInputs == 2 && nbOutputs == 1);
        assert(pos < 3);
        return kind(inOut[pos], inOut[0].type) &&
               (inOut[0].type == DataType::kFLOAT || inOut[0].type == DataType::kHALF);
    }
    void configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                         int32_t) noexcept override
    {
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*, void* const*, void*,
                    cudaStream_t) noexcept override
    {
        return 1;
    }

private:
    float mBy;
    int32_t mMode;
    int32_t mGrow;
    std::string mNamespace;
};

#if PLUGINKIT_TRT_LAYOUT != 8
//! The maximum over groups of channels: [n, c, l] -> [n, c // group, l].
class GroupMax final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime
{
public:
    explicit GroupMax(int32_t group) : mGroup{group} {}

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
        return new GroupMax{mGroup};
    }
    char const* getPluginName() const noexcept override
    {
        return "GroupMax";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "2";
    }
    char const* getPluginNamespace() const noexcept override
    {
        return "";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    int32_t configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                            int32_t) noexcept override
    {
        return 0;
    }
    bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t) noexcept override
    {
        return nbInputs == 1 && kind(inOut[pos].desc, DataType::kFLOAT);
    }
    int32_t getOutputDataTypes(DataType* out, int32_t, DataType const* types, int32_t) const noexcept override
    {
        out[0] = types[0];
        return 0;
    }
    int32_t getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const*, int32_t, DimsExprs* outputs,
                            int32_t, IExprBuilder& builder) noexcept override
    {
        if (nbInputs != 1 || inputs[0].nbDims != 3)
        {
            return 1;
        }
        outputs[0] = inputs[0];
        outputs[0].d[1] = builder.operation(DimensionOperation::kFLOOR_DIV, *inputs[0].d[1], *builder.constant(mGroup));
        return 0;
    }
    int32_t setTactic(int32_t) noexcept override
    {
        return 0;
    }
    int32_t onShapeChange(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) noexcept override
    {
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const* out, void const* const* inputs,
                    void* const* outputs, void*, cudaStream_t) noexcept override
    {
        auto const* const x = static_cast<float const*>(inputs[0]);
        auto* const y = static_cast<float*>(outputs[0]);
        Dims const& small = out[0].dims;
        int64_t const channels = in[0].dims.d[1];
        for (int64_t n = 0; n < small.d[0]; ++n)
        {
            for (int64_t c = 0; c < small.d[1]; ++c)
            {
                for (int64_t l = 0; l < small.d[2]; ++l)
                {
                    float best = x[(n * channels + c * mGroup) * small.d[2] + l];
                    for (int32_t g = 1; g < mGroup; ++g)
                    {
                        best = std::max(best, x[(n * channels + c * mGroup + g) * small.d[2] + l]);
                    }
                    y[(n * small.d[1] + c) * small.d[2] + l] = best;
                }
            }
        }
        return 0;
    }
    IPluginV3* attachToContext(IPluginResourceContext*) noexcept override
    {
        return clone();
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        mKept = {"group", &mGroup, PluginFieldType::kINT32, 1};
        mKeptAll = {1, &mKept};
        return &mKeptAll;
    }

private:
    int32_t mGroup;
    PluginField mKept{};
    PluginFieldCollection mKeptAll{};
};
#endif

//! Sums of neighbours, times a factor, of static shapes: [n, c] -> [n, c // 2].
class PairSum final : public IPluginV2IOExt
{
public:
    explicit PairSum(float factor) : mFactor{factor} {}

    char const* getPluginType() const noexcept override
    {
        return "PairSum";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    Dims getOutputDimensions(int32_t, Dims const* inputs, int32_t nbInputs) noexcept override
    {
        assert(nbInputs == 1);
        Dims out{inputs[0]};
        out.d[out.nbDims - 1] /= 2;
        return out;
    }
    int32_t initialize() noexcept override
    {
        return 0;
    }
    void terminate() noexcept override {}
    size_t getWorkspaceSize(int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(int32_t batch, void const* const* inputs, void* const* outputs, void*,
                    cudaStream_t) noexcept override
    {
        auto const* const x = static_cast<float const*>(inputs[0]);
        auto* const y = static_cast<float*>(outputs[0]);
        for (int64_t row = 0; row < batch * mRows; ++row)
        {
            for (int64_t c = 0; c < mColumns / 2; ++c)
            {
                y[row * (mColumns / 2) + c] = mFactor * (x[row * mColumns + 2 * c] + x[row * mColumns + 2 * c + 1]);
            }
        }
        return 0;
    }
    size_t getSerializationSize() const noexcept override
    {
        return sizeof(mFactor) + sizeof(mRows) + sizeof(mColumns);
    }
    void serialize(void* buffer) const noexcept override
    {
        auto* const bytes = static_cast<char*>(buffer);
        std::memcpy(bytes, &mFactor, sizeof(mFactor));
        std::memcpy(bytes + sizeof(mFactor), &mRows, sizeof(mRows));
        std::memcpy(bytes + sizeof(mFactor) + sizeof(mRows), &mColumns, sizeof(mColumns));
    }
    void read(void const* data)
    {
        auto const* const bytes = static_cast<char const*>(data);
        std::memcpy(&mFactor, bytes, sizeof(mFactor));
        std::memcpy(&mRows, bytes + sizeof(mFactor), sizeof(mRows));
        std::memcpy(&mColumns, bytes + sizeof(mFactor) + sizeof(mRows), sizeof(mColumns));
    }
    void destroy() noexcept override
    {
        delete this;
    }
    IPluginV2IOExt* clone() const noexcept override
    {
        return new PairSum{*this};
    }
    void setPluginNamespace(char const* name) noexcept override
    {
        mNamespace = name;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }
    DataType getOutputDataType(int32_t, DataType const*, int32_t) const noexcept override
    {
        return DataType::kFLOAT;
    }
#if PLUGINKIT_TRT_LAYOUT <= 10
    bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const noexcept override
    {
        return false;
    }
    bool canBroadcastInputAcrossBatch(int32_t) const noexcept override
    {
        return false;
    }
#endif
    void configurePlugin(PluginTensorDesc const* in, int32_t, PluginTensorDesc const*, int32_t) noexcept override
    {
        Dims const& dims = in[0].dims;
        mColumns = dims.d[dims.nbDims - 1];
        mRows = 1;
        for (int32_t i = 0; i < dims.nbDims - 1; ++i)
        {
            mRows *= dims.d[i];
        }
    }
    bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t) const noexcept override
    {
        return nbInputs == 1 && kind(inOut[pos], DataType::kFLOAT);
    }

private:
    float mFactor;
    int64_t mRows{};
    int64_t mColumns{};
    std::string mNamespace;
};

class ShiftCreator final : public IPluginCreator
{
public:
    ShiftCreator()
    {
        mAttributes.clear();
        mAttributes.emplace_back(PluginField{"by", nullptr, PluginFieldType::kFLOAT32, 1});
        mAttributes.emplace_back(PluginField{"mode", nullptr, PluginFieldType::kINT32, 1});
        mAttributes.emplace_back(PluginField{"table", nullptr, PluginFieldType::kFLOAT32, 4});
        mAttributes.emplace_back(PluginField{"grow", nullptr, PluginFieldType::kINT32, 2});
        mCollection = {static_cast<int32_t>(mAttributes.size()), mAttributes.data()};
    }
    char const* getPluginName() const noexcept override
    {
        at("name");
        return "Shift";
    }
    char const* getPluginVersion() const noexcept override
    {
        at("version");
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        at("fields");
        return &mCollection;
    }
    IPluginV2* createPlugin(char const*, PluginFieldCollection const* given) noexcept override
    {
        at("create");
        float by{0.25F};
        int32_t mode{7};
        int32_t grow{0};
        bool two{false};
        for (int32_t i = 0; i < given->nbFields; ++i)
        {
            if (std::strcmp(given->fields[i].name, "by") == 0)
            {
                assert(given->fields[i].type == PluginFieldType::kFLOAT32);
                by = *static_cast<float const*>(given->fields[i].data);
                if (fault() == "two-of-a-listed-one")
                {
                    two = static_cast<float const volatile*>(given->fields[i].data)[1] != 0.0F;
                }
            }
            if (std::strcmp(given->fields[i].name, "mode") == 0)
            {
                assert(given->fields[i].type == PluginFieldType::kINT32);
                mode = *static_cast<int32_t const*>(given->fields[i].data);
            }
            if (std::strcmp(given->fields[i].name, "grow") == 0)
            {
                grow = static_cast<int32_t const*>(given->fields[i].data)[1];
            }
        }
        return two || fault() != "two-of-a-listed-one" ? new Shift{by, mode, grow} : nullptr;
    }
    IPluginV2* deserializePlugin(char const*, void const*, size_t) noexcept override
    {
        return new Shift{0.25F, 7, 0};
    }
    void setPluginNamespace(char const*) noexcept override {}
    char const* getPluginNamespace() const noexcept override
    {
        at("namespace");
        return "";
    }

private:
    static std::vector<PluginField> mAttributes;
    static PluginFieldCollection mCollection;
};

std::vector<PluginField> ShiftCreator::mAttributes;
PluginFieldCollection ShiftCreator::mCollection{};

#if PLUGINKIT_TRT_LAYOUT != 8
class GroupMaxCreator final : public IPluginCreatorV3One
{
public:
    char const* getPluginName() const noexcept override
    {
        return "GroupMax";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "2";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mCollection;
    }
    IPluginV3* createPlugin(char const*, PluginFieldCollection const* given, TensorRTPhase) noexcept override
    {
        assert(given->nbFields == 1);
        assert(given->fields[0].type == PluginFieldType::kINT32);
        return new GroupMax{*static_cast<int32_t const*>(given->fields[0].data)};
    }
    char const* getPluginNamespace() const noexcept override
    {
        return "";
    }

private:
    PluginField mGroup{"group", nullptr, PluginFieldType::kINT32, 1};
    PluginFieldCollection mCollection{1, &mGroup};
};
#endif

class PairSumCreator final : public IPluginCreator
{
public:
    char const* getPluginName() const noexcept override
    {
        return "PairSum";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mCollection;
    }
    IPluginV2* createPlugin(char const*, PluginFieldCollection const* given) noexcept override
    {
        return named(new PairSum{given->nbFields > 0 ? *static_cast<float const*>(given->fields[0].data) : 2.F});
    }
    IPluginV2* deserializePlugin(char const*, void const* data, size_t) noexcept override
    {
        auto* const plugin = new PairSum{0.F};
        plugin->read(data);
        return named(plugin);
    }
    void setPluginNamespace(char const* name) noexcept override
    {
        mNamespace = name;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }

private:
    IPluginV2* named(PairSum* plugin) const
    {
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin;
    }

    std::string mNamespace;
    PluginField mFactor{"factor", nullptr, PluginFieldType::kFLOAT32, 1};
    PluginFieldCollection mCollection{1, &mFactor};
};

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void setLoggerFinder(ILoggerFinder*) {}

#if PLUGINKIT_TRT_LAYOUT == 8
using AnyCreator = IPluginCreator;
#define GET_CREATORS getPluginCreators
#else
using AnyCreator = IPluginCreatorInterface;
#define GET_CREATORS getCreators
#endif

EXPORTED AnyCreator* const* GET_CREATORS(int32_t& count)
{
    at("list");
    static ShiftCreator shift;
    static PairSumCreator pairs;
#if PLUGINKIT_TRT_LAYOUT == 8
    static AnyCreator* const all[] = {&shift};
#else
    static GroupMaxCreator maximum;
    static AnyCreator* const all[] = {&shift, &maximum};
#endif
    static AnyCreator* const alone[] = {&pairs};
    // A registry is given a copy too, which has another name.
    bool const one = fault().find("ioext") != std::string::npos;
    count = fault() == "no-creators" ? 0 : one ? 1 : static_cast<int32_t>(std::size(all));
    return one ? alone : all;
}
