@{ plugin.name }@::@{ plugin.name }@(@{ plugin.name }@Parameters const& parameters) : mParameters{parameters}, mNamespace{kNamespace}@{ "" if plugin.scaled or plugin.channels else " {}" }@
@% if plugin.scaled or plugin.channels %@
{
@% for tensor in plugin.scaled %@
    mScales[@{ tensor.index }@] = parameters.@{ tensor.scale }@;
@% endfor %@
@% for tensor in plugin.channels %@
    mScales[@{ tensor.index }@] = 1.0F; // each channel has its own, in @{ tensor.scale }@
@% endfor %@
}
@% endif %@

size_t @{ plugin.name }@::getSerializationSize() const noexcept
{
@% if plugin.static %@
    constexpr size_t shapes = sizeof mRow + sizeof mCounts@{ " + sizeof mSizes" if plugin.workspace_places }@;
    return @{ plugin.serialized_size }@ + shapes;
@% else %@
    return @{ plugin.serialized_size }@;
@% endif %@
}

void @{ plugin.name }@::serialize(void* buffer) const noexcept
{
    pluginkit::Writer writer{buffer, getSerializationSize(), kSerialVersion};
@% for field in plugin.fields %@
    writer.put(mParameters.@{ field.name }@);
@% endfor %@
@% if plugin.quantized %@
    for (float const scale : mScales)
    {
        writer.put(scale);
    }
@% endif %@
@% if plugin.static %@
    writer.put(mRow);
    writer.put(mCounts);
@% if plugin.workspace_places %@
    writer.put(mSizes);
@% endif %@
@% endif %@
}

bool @{ plugin.name }@::restore(void const* data, size_t length) noexcept
{
    pluginkit::Reader reader{data, length, kSerialVersion};
    bool read = true;
@% for field in plugin.fields %@
    read = read && reader.get(mParameters.@{ field.name }@@{ field.stored_bounds }@);
@% endfor %@
@% if plugin.quantized %@
    for (float& scale : mScales)
    {
        read = read && reader.get(scale) && std::isfinite(scale) && scale >= 0.0F;
    }
@% endif %@
@% if plugin.static %@
    read = read && reader.get(mRow) && mRow >= kNoRow && mRow < static_cast<int32_t>(std::size(kTypes));
    read = read && reader.get(mCounts) && *std::min_element(mCounts.begin(), mCounts.end()) >= 0;
@% if plugin.workspace_places %@
    read = read && reader.get(mSizes) && *std::min_element(mSizes.begin(), mSizes.end()) >= 0;
@% endif %@
@% endif %@
    return read && reader.finished()@{ " && isValid(mParameters)" if plugin.checks }@;
}

char const* @{ plugin.name }@::getPluginType() const noexcept
{
    return kName;
}

char const* @{ plugin.name }@::getPluginVersion() const noexcept
{
    return kVersion;
}

void @{ plugin.name }@::setPluginNamespace(char const* pluginNamespace) noexcept
{
    try
    {
        mNamespace = asNamespace(pluginNamespace);
    }
    catch (std::exception const&)
    {
        mNamespace.clear(); // no memory; no exception may leave a plugin
    }
}

char const* @{ plugin.name }@::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

