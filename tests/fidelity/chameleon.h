// What a chameleon's fields say: how many outputs, of which shapes and types, which types it takes where, and what it
// does wrong. chameleon_v2.h and chameleon_v3.h are the plugins. signatures.py draws the values and signature.py has
// the expressions' encoding.
#pragma once

#include <NvInfer.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace chameleon
{

using namespace nvinfer1;

constexpr int32_t kMAX_OUTPUTS{3};
constexpr int32_t kMAX_RANK{8};
constexpr int32_t kMAX_TENSORS{6};
constexpr uint32_t kNO_OPERATION{9};
constexpr uint32_t kFIRST_SIZE{253}; // a leaf: what the size tensor of output 0 carries

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
    // Of IPluginV3 alone:
    kTYPES_FAIL = 14,
    kSHAPES_FAIL = 15,
    kCONFIGURE_FAILS = 16,
    kALIAS_BEYOND = 17,
    kNO_BUILD = 18,
    // Of the plugins that run (tensorrt8/plugin) alone:
    kINITIALIZE_FAILS = 19,
    kENQUEUE_FAILS = 20,
};

//! How an output's shape is said: by its dimensions' expressions, or by a text.
enum Rule : int32_t
{
    kDIMS = 0,
    kBROADCAST = 1, // as NumPy's of all inputs
    kLAST = 2,      // the last input's
};

using PerOutput = std::array<int32_t, kMAX_OUTPUTS>;

//! The fields, each an int32 in this order.
struct Fields
{
    int32_t fault{kNONE};
    int32_t outputs{1};
    int32_t workspace{0};
    std::array<int32_t, kMAX_TENSORS> masks{511, 511, 511, 511, 511, 511}; // a bit for each DataType, by position
    PerOutput types{};                                                     // an input's, or 16 + a DataType
    PerOutput ranks{};
    PerOutput aliases{-1, -1, -1}; // the input whose memory it is
    PerOutput uppers{};            // of a size tensor: the expression of its bound; 0: it is none
    PerOutput opts{};
    PerOutput rules{};
    std::array<std::array<int32_t, kMAX_RANK>, kMAX_OUTPUTS> dims{}; // expressions
    // Of the plugins that run (tensorrt8/plugin) alone: output i is factor * input of that number + offset.
    PerOutput sources{};
    PerOutput factors{1, 1, 1};
    PerOutput offsets{};
    int32_t format{0}; // of all tensors
};

constexpr size_t kNB_NUMBERS{sizeof(Fields) / sizeof(int32_t)};
using Numbers = std::array<int32_t, kNB_NUMBERS>;

//! A field of the creator: which of the numbers it is.
struct Entry
{
    std::string name;
    size_t at;
    int32_t count;   // 1: a number; more: a list of at most so many
    bool text;       // names a Rule
    int32_t ranks{}; // of a list of dimensions: the number that becomes its length
};

//! Numbers one by one and as lists: a network may give either.
inline std::vector<Entry> const& entries()
{
    static auto const all = []
    {
        std::vector<Entry> list;
        size_t at = 0;
        auto const one = [&](std::string const& name) { list.push_back({name, at++, 1, false}); };
        auto const row = [&](char const* label, char const* plural, int32_t count)
        {
            list.push_back({plural, at, count, false});
            for (int32_t i = 0; i < count; ++i)
            {
                one(label + std::to_string(i));
            }
        };
        one("fault");
        one("count");
        one("workspace");
        row("mask", "masks", kMAX_TENSORS);
        row("type", "types", kMAX_OUTPUTS);
        auto const ranks = static_cast<int32_t>(at);
        row("rank", "ranks", kMAX_OUTPUTS);
        row("alias", "aliases", kMAX_OUTPUTS);
        row("upper", "uppers", kMAX_OUTPUTS);
        row("opt", "opts", kMAX_OUTPUTS);
        for (int32_t i = 0; i < kMAX_OUTPUTS; ++i)
        {
            list.push_back({"rule" + std::to_string(i), at++, 1, true});
        }
        for (int32_t i = 0; i < kMAX_OUTPUTS; ++i)
        {
            auto const label = "dim" + std::to_string(i) + "_";
            row(label.c_str(), ("dims" + std::to_string(i)).c_str(), kMAX_RANK);
            list[list.size() - kMAX_RANK - 1].ranks = ranks + i;
        }
        row("source", "sources", kMAX_OUTPUTS);
        row("factor", "factors", kMAX_OUTPUTS);
        row("offset", "offsets", kMAX_OUTPUTS);
        one("format");
        list.push_back({"state", 0, static_cast<int32_t>(kNB_NUMBERS), false});
        return list;
    }();
    return all;
}

inline void read(PluginField const& field, Numbers& values)
{
    for (Entry const& entry : entries())
    {
        if (entry.name != field.name)
        {
            continue;
        }
        if (entry.text)
        {
            auto const* const letters = static_cast<char const*>(field.data);
            std::string text{letters, letters + field.length};
            text = text.c_str(); // it may count a zero byte
            values[entry.at] = text == "broadcast" ? kBROADCAST : text == "last" ? kLAST : kDIMS;
            continue;
        }
        int32_t const length = std::min(field.length, entry.count);
        if (entry.ranks > 0)
        {
            values[static_cast<size_t>(entry.ranks)] = length;
        }
        if (length > 0)
        {
            std::memcpy(&values[entry.at], field.data, static_cast<size_t>(length) * sizeof(int32_t));
        }
    }
}

inline Fields read(PluginFieldCollection const& collection)
{
    Fields fields;
    Numbers values{};
    std::memcpy(values.data(), &fields, sizeof fields);
    for (int32_t i = 0; i < collection.nbFields; ++i)
    {
        read(collection.fields[i], values);
    }
    std::memcpy(static_cast<void*>(&fields), values.data(), sizeof fields);
    return fields;
}

inline PluginFieldCollection const& listed()
{
    static auto const fields = []
    {
        std::vector<PluginField> list;
        for (Entry const& entry : entries())
        {
            auto const type = entry.text ? PluginFieldType::kCHAR : PluginFieldType::kINT32;
            list.emplace_back(entry.name.c_str(), nullptr, type, entry.count > 1 || entry.text ? 0 : 1);
        }
        return list;
    }();
    static PluginFieldCollection const collection{static_cast<int32_t>(fields.size()), fields.data()};
    return collection;
}

//! What a plugin of these fields answers, whichever its base.
class Answers
{
public:
    explicit Answers(Fields const& fields) : mFields{fields} {}

    bool is(Fault fault) const
    {
        return mFields.fault == fault;
    }

    DataType type(int32_t index, DataType const* types, int32_t nbInputs) const
    {
        int32_t const rule = index < kMAX_OUTPUTS ? mFields.types[static_cast<size_t>(index)] : 0;
        if (is(kUNKNOWN_TYPE))
        {
            return static_cast<DataType>(42);
        }
        return rule >= 16 || rule >= nbInputs ? static_cast<DataType>(rule - 16) : types[rule];
    }

    //! `sizes`: what a size tensor of each output carries. Behind the inputs there may be `nbValues` shape inputs, with
    //! their elements in the place of dimensions.
    DimsExprs shape(int32_t index, DimsExprs const* inputs, int32_t nbInputs, IExprBuilder& builder,
                    IDimensionExpr const* const* sizes = nullptr, int32_t nbValues = 0) const
    {
        auto const output = static_cast<size_t>(index);
        DimsExprs out{};
        if (mFields.rules[output] == kLAST)
        {
            out = inputs[nbInputs - 1];
        }
        else if (mFields.rules[output] == kBROADCAST)
        {
            out = broadcast(inputs, nbInputs, builder);
        }
        else
        {
            out.nbDims = mFields.ranks[output];
            for (int32_t i = 0; i < out.nbDims; ++i)
            {
                auto const code = static_cast<uint32_t>(mFields.dims[output][static_cast<size_t>(i)]);
                out.d[i] = expression(code, inputs, nbInputs + nbValues, builder, sizes);
            }
        }
        if (is(kNULL_IN_SHAPE))
        {
            out.d[0] = nullptr;
        }
        if (is(kMINUS_ONE_DIMS) || is(kNINE_DIMS))
        {
            out.nbDims = is(kNINE_DIMS) ? Dims::MAX_DIMS + 1 : -1;
        }
        return out;
    }

    //! `desc(i)` is the i-th tensor's description.
    template <typename Desc>
    bool takes(int32_t pos, Desc const& desc, int32_t nbTensors) const
    {
        auto const type = static_cast<int32_t>(desc(pos).type);
        bool const linear = desc(pos).format == TensorFormat::kLINEAR;
        if (type < 0 || type > 8 || linear == is(kNEVER_LINEAR))
        {
            return false;
        }
        if (is(kLOOKS_AHEAD) && pos == 0 && desc(nbTensors - 1).type != desc(0).type)
        {
            return false;
        }
        if (is(kFIRST_TYPE_RULES) && desc(pos).type != desc(0).type)
        {
            return false;
        }
        return (mFields.masks[static_cast<size_t>(pos)] >> type & 1) != 0;
    }

    size_t workspace() const
    {
        return is(kHUGE_WORKSPACE) ? size_t{1} << 60 : static_cast<size_t>(mFields.workspace);
    }

    //! ((a first b) second c), from the top: first and second 4 bits, a, b and c 8 bits.
    static IDimensionExpr const* expression(uint32_t code, DimsExprs const* inputs, int32_t nbInputs,
                                            IExprBuilder& builder, IDimensionExpr const* const* sizes = nullptr)
    {
        IDimensionExpr const* value = leaf(code >> 16 & 0xFF, inputs, nbInputs, builder, sizes);
        for (uint32_t const shift : {0U, 1U})
        {
            uint32_t const operation = code >> (28 - 4 * shift) & 0xF;
            if (operation != kNO_OPERATION && value != nullptr)
            {
                auto const* const other = leaf(code >> (8 - 8 * shift) & 0xFF, inputs, nbInputs, builder, sizes);
                value = other == nullptr
                            ? nullptr
                            : builder.operation(static_cast<DimensionOperation>(operation), *value, *other);
            }
        }
        return value;
    }

    Fields mFields;

private:
    static IDimensionExpr const* leaf(uint32_t code, DimsExprs const* inputs, int32_t nbInputs, IExprBuilder& builder,
                                      IDimensionExpr const* const* sizes)
    {
        if (code >= kFIRST_SIZE)
        {
            return sizes == nullptr ? nullptr : sizes[code - kFIRST_SIZE];
        }
        if (code >= 32)
        {
            return builder.constant(static_cast<int64_t>(code) - 64);
        }
        auto const input = static_cast<int32_t>(code >> 3);
        auto const dim = static_cast<int32_t>(code & 7);
        bool const there = input < nbInputs && dim < inputs[input].nbDims;
        return there ? inputs[input].d[dim] : nullptr;
    }

    //! Each dimension as pluginkit writes a broadcast: max(a, b) * min(1, min(a, b)).
    static DimsExprs broadcast(DimsExprs const* inputs, int32_t nbInputs, IExprBuilder& builder)
    {
        DimsExprs out = inputs[0];
        for (int32_t i = 1; i < nbInputs; ++i)
        {
            DimsExprs const& longer = inputs[i].nbDims > out.nbDims ? inputs[i] : out;
            DimsExprs const& shorter = inputs[i].nbDims > out.nbDims ? out : inputs[i];
            DimsExprs both = longer;
            int32_t const more = longer.nbDims - shorter.nbDims;
            for (int32_t dim = 0; dim < shorter.nbDims; ++dim)
            {
                IDimensionExpr const &a = *longer.d[more + dim], &b = *shorter.d[dim];
                auto const* const least = builder.operation(DimensionOperation::kMIN, *builder.constant(1),
                                                            *builder.operation(DimensionOperation::kMIN, a, b));
                both.d[more + dim] = builder.operation(DimensionOperation::kPROD,
                                                       *builder.operation(DimensionOperation::kMAX, a, b), *least);
            }
            out = both;
        }
        return out;
    }
};

} // namespace chameleon
