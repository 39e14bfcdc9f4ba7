constexpr int32_t kNbInputs = @{ plugin.inputs|length }@;
constexpr int32_t kNbOutputs = @{ plugin.outputs|length }@;
constexpr int32_t kNbTensors = kNbInputs + kNbOutputs;
@% if plugin.shape_inputs %@
// Inputs of which getOutputShapes() gets the values; no other method gets them, and kNbInputs doesn't count them.
constexpr int32_t kNbShapeInputs = @{ plugin.shape_inputs|length }@;
@% endif %@

// The types that go together: those of the inputs, then those of the outputs; a row each for the enumerators of
// @{ plugin.name }@Precision, in their order.
// clang-format off
constexpr DataType kTypes[][kNbTensors] = {
@% for precision in plugin.precisions %@
    {@{ precision.row }@},
@% endfor %@
};
// clang-format on
constexpr int32_t kNoRow = -1;

//! The first row of kTypes that starts with the given types; kNoRow if none does.
template <typename TypeAt>
int32_t findRow(int32_t count, TypeAt typeAt) noexcept
{
    int32_t row = 0;
    for (auto const& types : kTypes)
    {
        int32_t same = 0;
        while (same < count && types[same] == typeAt(same))
        {
            ++same;
        }
        if (same == count)
        {
            return row;
        }
        ++row;
    }
    return kNoRow;
}

