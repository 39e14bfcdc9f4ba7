@% if plugin.vectorized %@
// The formats that go together, each row for a row of kTypes.
struct Combination
{
    int32_t types;
    TensorFormat formats[kNbTensors];
};

// clang-format off
constexpr Combination kCombinations[] = {
@% for row in plugin.combinations %@
    {@{ row.types }@, {@{ row.formats }@}},
@% endfor %@
};
// clang-format on

//! Whether a row of kCombinations starts with the types and formats of the first `count` tensors.
template <typename DescAt>
bool isCombination(int32_t count, DescAt descAt) noexcept
{
    auto const fits = [count, descAt](Combination const& row)
    {
        bool same = true;
        for (int32_t i = 0; i < count; ++i)
        {
            nvinfer1::PluginTensorDesc const desc = descAt(i);
            same = same && desc.type == kTypes[row.types][i] && desc.format == row.formats[i];
        }
        return same;
    };
    return std::any_of(std::begin(kCombinations), std::end(kCombinations), fits);
}

//! How a tensor lies in memory: with `axis` as the channel's dimension, counted from the end, `channels` of them are
//! told in vectors of `lanes`. A vector-minor format is one vector of all channels, rounded up.
@{ plugin.name }@Layout layoutOf(nvinfer1::PluginTensorDesc const& desc) noexcept
{
    int32_t axis = 0;
    int64_t lanes = 1;
    bool minor = false;
    switch (desc.format)
    {
@% for form in plugin.formats %@
    case TensorFormat::@{ form.trt }@:
        axis = @{ form.axis }@;
@% if form.lanes > 1 %@
        lanes = @{ form.lanes }@;
@% endif %@
@% if form.minor %@
        minor = true;
@% endif %@
        break;
@% endfor %@
    default: // linear: vectors of one channel
        break;
    }
    @{ plugin.name }@Layout layout{1, 1, 1};
    if (axis == 0 || desc.dims.nbDims < axis)
    {
        return layout;
    }
    layout.channels = desc.dims.d[desc.dims.nbDims - axis];
    for (int32_t i = desc.dims.nbDims - axis + 1; i < desc.dims.nbDims; ++i)
    {
        layout.inner *= desc.dims.d[i];
    }
    int64_t const vectors = (layout.channels + lanes - 1) / lanes;
    layout.lanes = minor ? vectors * lanes : lanes;
    return layout;
}

@% endif %@
