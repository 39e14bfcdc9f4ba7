// A plugin that is what its creator's fields say: how many outputs, of which shapes and types, which types it takes
// where, and what it does wrong. So one library, compiled once, stands for thousands of plugins. It is built and never
// run. generator.py writes the fields; the expressions' encoding is in signature.py.
#include <NvInfer.h>
#include <pluginkit/entry.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace chameleon
{

using namespace nvinfer1;

constexpr int32_t kMAX_OUTPUTS{3};
constexpr int32_t kMAX_RANK{4};
constexpr int32_t kMAX_TENSORS{6};
constexpr uint32_t kNO_OPERATION{9};

enum Fault : int32_t
{
    kNONE = 0,
    kNULL_PLUGIN = 1,
    kNULL_IN_SHAPE = 2,
    kHUGE_WORKSPACE = 3,
    kOTHER_NAME = 4,
    kOTHER_VERSION = 5,
    kUNSERIALIZABLE = 6,
    kNULL_CLONE = 7,
    kMINUS_ONE_DIMS = 8,
    kNINE_DIMS = 9,
    kUNKNOWN_TYPE = 10,
    kLOOKS_AHEAD = 11,
    kFIRST_TYPE_RULES = 12, // no fault: all tensors have the first one's type
    kNEVER_LINEAR = 13,
};

//! The fields, each an int32 in this order.
struct Fields
{
    int32_t fault{kNONE};
    int32_t outputs{1};
    std::array<int32_t, kMAX_TENSORS> masks{15, 15, 15, 15, 15, 15}; // a bit for each DataType, by position
    std::array<int32_t, kMAX_OUTPUTS> types{};                       // an input's, or 16 + a DataType
    std::array<int32_t, kMAX_OUTPUTS> ranks{};                       //
    std::array<std::array<int32_t, kMAX_RANK>, kMAX_OUTPUTS> dims{}; // expressions
};

constexpr size_t kNB_FIELDS{sizeof(Fields) / sizeof(int32_t)};

std::array<std::string, kNB_FIELDS> const& names()
{
    static auto const all = []
    {
        std::array<std::string, kNB_FIELDS> list{"fault", "count"};
        size_t at = 2;
        auto const row = [&](char const* label, int32_t count)
        {
            for (int32_t i = 0; i < count; ++i)
            {
                list[at++] = label + std::to_string(i);
            }
        };
        row("mask", kMAX_TENSORS);
        row("type", kMAX_OUTPUTS);
        row("rank", kMAX_OUTPUTS);
        for (int32_t i = 0; i < kMAX_OUTPUTS; ++i)
        {
            row(("dim" + std::to_string(i) + "_").c_str(), kMAX_RANK);
        }
        return list;
    }();
    return all;
}

class Chameleon : public IPluginV2DynamicExt
{
public:
    explicit Chameleon(Fields const& fields) : mFields(fields) {}

    char const* getPluginType() const noexcept override
    {
        return mFields.fault == kOTHER_NAME ? "Impostor" : "Chameleon";
    }
    char const* getPluginVersion() const noexcept override
    {
        return mFields.fault == kOTHER_VERSION ? "2" : "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return mFields.outputs;
    }
    int32_t initialize() noexcept override
    {
        return 0;
    }
    void terminate() noexcept override {}
    size_t getSerializationSize() const noexcept override
    {
        return mFields.fault == kUNSERIALIZABLE ? (size_t{1} << 31) + 1 : sizeof mFields;
    }
    void serialize(void* buffer) const noexcept override
    {
        std::memcpy(buffer, &mFields, sizeof mFields);
    }
    void destroy() noexcept override
    {
        delete this;
    }
    IPluginV2DynamicExt* clone() const noexcept override
    {
        if (mFields.fault == kNULL_CLONE)
        {
            return nullptr;
        }
        auto* const copy = new Chameleon(mFields);
        copy->mNamespace = mNamespace;
        return copy;
    }
    void setPluginNamespace(char const* space) noexcept override
    {
        mNamespace = space;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }
    DataType getOutputDataType(int32_t index, DataType const* types, int32_t nbInputs) const noexcept override
    {
        int32_t const rule = index < kMAX_OUTPUTS ? mFields.types[static_cast<size_t>(index)] : 0;
        if (mFields.fault == kUNKNOWN_TYPE)
        {
            return static_cast<DataType>(42);
        }
        return rule >= 16 || rule >= nbInputs ? static_cast<DataType>(rule - 16) : types[rule];
    }
    DimsExprs getOutputDimensions(int32_t index, DimsExprs const* inputs, int32_t nbInputs,
                                  IExprBuilder& builder) noexcept override
    {
        auto const output = static_cast<size_t>(index);
        DimsExprs out{};
        out.nbDims = mFields.ranks[output];
        for (int32_t i = 0; i < out.nbDims; ++i)
        {
            auto const code = static_cast<uint32_t>(mFields.dims[output][static_cast<size_t>(i)]);
            out.d[i] = expression(code, inputs, nbInputs, builder);
        }
        if (mFields.fault == kNULL_IN_SHAPE)
        {
            out.d[0] = nullptr;
        }
        if (mFields.fault == kMINUS_ONE_DIMS || mFields.fault == kNINE_DIMS)
        {
            out.nbDims = mFields.fault == kNINE_DIMS ? Dims::MAX_DIMS + 1 : -1;
        }
        return out;
    }
    bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        auto const type = static_cast<int32_t>(inOut[pos].type);
        bool const linear = inOut[pos].format == TensorFormat::kLINEAR;
        if (type < 0 || type > 3 || linear == (mFields.fault == kNEVER_LINEAR))
        {
            return false;
        }
        if (mFields.fault == kLOOKS_AHEAD && pos == 0 && inOut[nbInputs + nbOutputs - 1].type != inOut[0].type)
        {
            return false;
        }
        if (mFields.fault == kFIRST_TYPE_RULES && inOut[pos].type != inOut[0].type)
        {
            return false;
        }
        return (mFields.masks[static_cast<size_t>(pos)] >> type & 1) != 0;
    }
    void configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                         int32_t) noexcept override
    {
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return mFields.fault == kHUGE_WORKSPACE ? size_t{1} << 60 : 0;
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*, void* const*, void*,
                    cudaStream_t) noexcept override
    {
        return -1;
    }

private:
    static IDimensionExpr const* leaf(uint32_t code, DimsExprs const* inputs, int32_t nbInputs, IExprBuilder& builder)
    {
        if (code >= 32)
        {
            return builder.constant(static_cast<int64_t>(code) - 64);
        }
        auto const input = static_cast<int32_t>(code >> 3);
        auto const dim = static_cast<int32_t>(code & 7);
        bool const there = input < nbInputs && dim < inputs[input].nbDims;
        return there ? inputs[input].d[dim] : nullptr;
    }

    //! ((a first b) second c), from the top: first and second 4 bits, a, b and c 8 bits.
    static IDimensionExpr const* expression(uint32_t code, DimsExprs const* inputs, int32_t nbInputs,
                                            IExprBuilder& builder)
    {
        IDimensionExpr const* value = leaf(code >> 16 & 0xFF, inputs, nbInputs, builder);
        for (uint32_t const shift : {0U, 1U})
        {
            uint32_t const operation = code >> (28 - 4 * shift) & 0xF;
            if (operation != kNO_OPERATION && value != nullptr)
            {
                auto const* const other = leaf(code >> (8 - 8 * shift) & 0xFF, inputs, nbInputs, builder);
                value = other == nullptr
                            ? nullptr
                            : builder.operation(static_cast<DimensionOperation>(operation), *value, *other);
            }
        }
        return value;
    }

    Fields mFields;
    std::string mNamespace;
};

class ChameleonCreator : public IPluginCreator
{
public:
    char const* getPluginName() const noexcept override
    {
        return "Chameleon";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        static auto const fields = []
        {
            std::array<PluginField, kNB_FIELDS> list{};
            for (size_t i = 0; i < kNB_FIELDS; ++i)
            {
                list[i] = PluginField{names()[i].c_str(), nullptr, PluginFieldType::kINT32, 1};
            }
            return list;
        }();
        static PluginFieldCollection const collection{static_cast<int32_t>(kNB_FIELDS), fields.data()};
        return &collection;
    }
    IPluginV2* createPlugin(char const*, PluginFieldCollection const* collection) noexcept override
    {
        std::array<int32_t, kNB_FIELDS> values{};
        Fields fields;
        std::memcpy(values.data(), &fields, sizeof fields);
        for (int32_t i = 0; i < collection->nbFields; ++i)
        {
            for (size_t at = 0; at < kNB_FIELDS; ++at)
            {
                if (names()[at] == collection->fields[i].name)
                {
                    std::memcpy(&values[at], collection->fields[i].data, sizeof values[at]);
                }
            }
        }
        std::memcpy(&fields, values.data(), sizeof fields);
        return fields.fault == kNULL_PLUGIN ? nullptr : new Chameleon(fields);
    }
    IPluginV2* deserializePlugin(char const*, void const* data, size_t length) noexcept override
    {
        Fields fields;
        if (length != sizeof fields)
        {
            return nullptr;
        }
        std::memcpy(&fields, data, sizeof fields);
        return new Chameleon(fields);
    }
    void setPluginNamespace(char const* /*space*/) noexcept override {}
    char const* getPluginNamespace() const noexcept override
    {
        return "";
    }
};

} // namespace chameleon

PLUGINKIT_PLUGINS(Chameleon, chameleon::ChameleonCreator)
