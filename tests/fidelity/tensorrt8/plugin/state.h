// What a plugin is, and what it keeps of its configuration: bytes that are serialized as they are.
#pragma once

#include "../../chameleon.h"
#include "calls.h"

namespace chameleon
{

struct State
{
    Fields fields;
    int32_t inputs{0};
    int32_t outputs{0};
    std::array<Tensor, kMAX_TENSORS> tensors{};
};

inline Tensor tensor(int32_t type, int32_t format, float scale, Dims const& dims)
{
    Tensor made{type, format, scale, dims.nbDims, {}};
    for (int32_t i = 0; i < dims.nbDims && i < 8; ++i)
    {
        made.dims[i] = static_cast<int32_t>(dims.d[i]);
    }
    return made;
}

inline Tensor tensor(PluginTensorDesc const& desc)
{
    return tensor(static_cast<int32_t>(desc.type), static_cast<int32_t>(desc.format), desc.scale, desc.dims);
}

//! An expression of chameleon.h where the dimensions are numbers.
inline int32_t leafValue(uint32_t code, Dims const* inputs, int32_t nbInputs)
{
    if (code >= 32)
    {
        return static_cast<int32_t>(code) - 64;
    }
    auto const input = static_cast<int32_t>(code >> 3);
    auto const dim = static_cast<int32_t>(code & 7);
    return input < nbInputs && dim < inputs[input].nbDims ? static_cast<int32_t>(inputs[input].d[dim]) : -1;
}

inline int32_t floorDiv(int32_t a, int32_t b)
{
    return a / b - static_cast<int32_t>(a % b != 0 && (a < 0) != (b < 0));
}

inline int32_t applied(uint32_t operation, int32_t a, int32_t b)
{
    switch (operation)
    {
    case 0:
        return a + b;
    case 1:
        return a * b;
    case 2:
        return a > b ? a : b;
    case 3:
        return a < b ? a : b;
    case 4:
        return a - b;
    case 5:
        return static_cast<int32_t>(a == b);
    case 6:
        return static_cast<int32_t>(a < b);
    case 7:
        return b == 0 ? -1 : floorDiv(a, b);
    default:
        return b == 0 ? -1 : -floorDiv(-a, b);
    }
}

inline int32_t valueOf(uint32_t code, Dims const* inputs, int32_t nbInputs)
{
    int32_t value = leafValue(code >> 16 & 0xFF, inputs, nbInputs);
    for (uint32_t const shift : {0U, 1U})
    {
        uint32_t const operation = code >> (28 - 4 * shift) & 0xF;
        if (operation != kNO_OPERATION)
        {
            value = applied(operation, value, leafValue(code >> (8 - 8 * shift) & 0xFF, inputs, nbInputs));
        }
    }
    return value;
}

inline Dims dimsOf(Fields const& fields, int32_t index, Dims const* inputs, int32_t nbInputs)
{
    Dims out{};
    auto const output = static_cast<size_t>(index);
    out.nbDims = fields.ranks[output];
    for (int32_t i = 0; i < out.nbDims; ++i)
    {
        auto const code = static_cast<uint32_t>(fields.dims[output][static_cast<size_t>(i)]);
        out.d[i] = valueOf(code, inputs, nbInputs);
    }
    if (fields.fault == kMINUS_ONE_DIMS || fields.fault == kNINE_DIMS)
    {
        out.nbDims = fields.fault == kNINE_DIMS ? Dims::MAX_DIMS + 1 : -1;
    }
    return out;
}

//! Runs each output; 0 if all is well.
inline int32_t runAll(State const& state, void const* const* inputs, void* const* outputs, int32_t samples,
                      cudaStream_t stream)
{
    for (int32_t i = 0; i < state.outputs; ++i)
    {
        auto const output = static_cast<size_t>(i);
        auto const source = static_cast<size_t>(state.fields.sources[output]) % static_cast<size_t>(state.inputs);
        Work const work{state.tensors[source], state.tensors[static_cast<size_t>(state.inputs) + output],
                        state.fields.factors[output], state.fields.offsets[output]};
        if (int32_t const error = run(work, inputs[source], outputs[i], samples, stream))
        {
            return error;
        }
    }
    return state.fields.fault == kENQUEUE_FAILS ? 1 : 0;
}

} // namespace chameleon
