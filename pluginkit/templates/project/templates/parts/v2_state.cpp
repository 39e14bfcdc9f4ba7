@{ cookiecutter.name }@::@{ cookiecutter.name }@(@{ cookiecutter.name }@Parameters const& parameters) : mParameters{parameters}, mNamespace{kNamespace}@{ "" if cookiecutter.scaled else " {}" }@
@% if cookiecutter.scaled %@
{
@% for tensor in cookiecutter.scaled %@
    mScales[@{ tensor.index }@] = parameters.@{ tensor.scale }@;
@% endfor %@
}
@% endif %@

size_t @{ cookiecutter.name }@::getSerializationSize() const noexcept
{
@% if cookiecutter.static %@
    constexpr size_t shapes = sizeof mRow + sizeof mCounts;
    return @{ cookiecutter.serialized_size }@ + shapes;
@% else %@
    return @{ cookiecutter.serialized_size }@;
@% endif %@
}

void @{ cookiecutter.name }@::serialize(void* buffer) const noexcept
{
    pluginkit::Writer writer{buffer, getSerializationSize(), kSerialVersion};
@% for field in cookiecutter.fields %@
    writer.put(mParameters.@{ field.name }@);
@% endfor %@
@% if cookiecutter.int8 %@
    for (float const scale : mScales)
    {
        writer.put(scale);
    }
@% endif %@
@% if cookiecutter.static %@
    writer.put(mRow);
    writer.put(mCounts);
@% endif %@
}

bool @{ cookiecutter.name }@::restore(void const* data, size_t length) noexcept
{
    pluginkit::Reader reader{data, length, kSerialVersion};
    bool read = true;
@% for field in cookiecutter.fields %@
    read = read && reader.get(mParameters.@{ field.name }@);
@% endfor %@
@% if cookiecutter.int8 %@
    for (float& scale : mScales)
    {
        read = read && reader.get(scale) && std::isfinite(scale) && scale >= 0.0F;
    }
@% endif %@
@% if cookiecutter.static %@
    read = read && reader.get(mRow) && mRow >= kNoRow && mRow < static_cast<int32_t>(std::size(kTypes));
    read = read && reader.get(mCounts) && *std::min_element(mCounts.begin(), mCounts.end()) >= 0;
@% endif %@
    return read && reader.finished()@{ " && isValid(mParameters)" if cookiecutter.checks }@;
}

char const* @{ cookiecutter.name }@::getPluginType() const noexcept
{
    return kName;
}

char const* @{ cookiecutter.name }@::getPluginVersion() const noexcept
{
    return kVersion;
}

void @{ cookiecutter.name }@::setPluginNamespace(char const* pluginNamespace) noexcept
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

char const* @{ cookiecutter.name }@::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

