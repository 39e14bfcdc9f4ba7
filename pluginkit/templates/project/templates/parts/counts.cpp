int64_t elementCount(nvinfer1::PluginTensorDesc const& desc) noexcept
{
    int64_t count = 1;
    for (int32_t i = 0; i < desc.dims.nbDims; ++i)
    {
        count *= desc.dims.d[i];
    }
    return count;
}

@% if plugin.channels %@
//! How many elements of a channel follow one another: those of the dimensions behind the axis.
int64_t innerCount(nvinfer1::PluginTensorDesc const& desc, int32_t axis) noexcept
{
    int64_t count = 1;
    for (int32_t i = axis + 1; i < desc.dims.nbDims; ++i)
    {
        count *= desc.dims.d[i];
    }
    return count;
}

@% endif %@
