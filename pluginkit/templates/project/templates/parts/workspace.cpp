@% if plugin.workspace %@
@% set made = plugin.workspace %@
//! What a run needs as workspace, in bytes: @{ made.text }@. No number where that overflows or divides by zero.
@% if plugin.static %@
//! `sizes` are those that configurePlugin() keeps.
pluginkit::Dimension workspaceBytes(@{ plugin.name }@Parameters const& @{ "parameters" if made.parameters else "/*parameters*/" }@@% if plugin.workspace_places %@, std::array<int64_t, @{ plugin.workspace_places|length }@> const& sizes@% endif %@, int32_t @{ "batchSize" if made.batch else "/*batchSize*/" }@) noexcept
{
    return @{ made.bytes }@;
}

@% else %@
pluginkit::Dimension workspaceBytes(@{ plugin.name }@Parameters const& @{ "parameters" if made.parameters else "/*parameters*/" }@, std::array<nvinfer1::Dims, kNbInputs> const& @{ "inputs" if plugin.workspace_places else "/*inputs*/" }@) noexcept
{
@% if plugin.workspace_places %@
    auto const at = [&inputs](int32_t input, int32_t dim) { return inputs[static_cast<size_t>(input)].d[dim]; };
@% endif %@
    return @{ made.bytes }@;
}

@% endif %@
//! The answer of getWorkspaceSize(): where the bytes are no number, more than any device has, so that no engine is built.
size_t answered(pluginkit::Dimension bytes) noexcept
{
    int64_t const some = bytes.isNumber() ? std::max(bytes.value(), int64_t{0}) : std::numeric_limits<int64_t>::max();
    return static_cast<size_t>(some);
}

@% endif %@
