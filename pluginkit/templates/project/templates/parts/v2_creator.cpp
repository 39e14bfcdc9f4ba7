@{ plugin.name }@Creator::@{ plugin.name }@Creator() noexcept
{
@% if plugin.fields %@
    // Each field's name, type and number of elements; the values come from the node.
@% for field in plugin.fields %@
    mFields[@{ loop.index0 }@] = {"@{ field.name }@", nullptr, PluginFieldType::@{ field.trt }@, @{ field.length }@};
@% endfor %@
    mFieldNames.nbFields = static_cast<int32_t>(mFields.size());
    mFieldNames.fields = mFields.data();
@% endif %@
    setPluginNamespace(kNamespace);
}

char const* @{ plugin.name }@Creator::getPluginName() const noexcept
{
    return kName;
}

char const* @{ plugin.name }@Creator::getPluginVersion() const noexcept
{
    return kVersion;
}

nvinfer1::PluginFieldCollection const* @{ plugin.name }@Creator::getFieldNames() noexcept
{
    return &mFieldNames;
}

nvinfer1::IPluginV2* @{ plugin.name }@Creator::createPlugin(char const* /*name*/, nvinfer1::PluginFieldCollection const* fields) noexcept
{
@% if plugin.fields %@
    if (fields == nullptr)
    {
        return nullptr;
    }
@% if plugin.wide %@
    try
    {
@% endif %@
    // A field that is absent keeps its default; one of a wrong type or length makes no plugin.
    pluginkit::FieldReader const reader{fields};
    @{ plugin.name }@Parameters parameters;
    bool read = true;
@% for field in plugin.fields %@
    read = read && reader.@{ field.reader }@("@{ field.name }@", parameters.@{ field.name }@@{ field.bounds }@@{ field.also }@);
@% endfor %@
    if (!read@{ " || !isValid(parameters)" if plugin.checks }@)
    {
        return nullptr;
    }
@% else %@
    if (fields == nullptr)
    {
        return nullptr;
    }
    @{ plugin.name }@Parameters const parameters;
@% endif %@
@% if not plugin.wide %@
    try
    {
@% endif %@
        auto plugin = std::make_unique<@{ plugin.name }@>(parameters);
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin.release();
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

nvinfer1::IPluginV2* @{ plugin.name }@Creator::deserializePlugin(char const* /*name*/, void const* data, size_t length) noexcept
{
    try
    {
        auto plugin = std::make_unique<@{ plugin.name }@>(@{ plugin.name }@Parameters{});
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin->restore(data, length) ? plugin.release() : nullptr;
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void @{ plugin.name }@Creator::setPluginNamespace(char const* pluginNamespace) noexcept
{
    try
    {
        mNamespace = asNamespace(pluginNamespace);
    }
    catch (std::exception const&)
    {
        mNamespace.clear();
    }
}

char const* @{ plugin.name }@Creator::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

