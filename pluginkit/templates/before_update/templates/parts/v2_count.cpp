int64_t elementCount(nvinfer1::PluginTensorDesc const& desc) noexcept
{
    int64_t count = 1;
    for (int32_t i = 0; i < desc.dims.nbDims; ++i)
    {
        count *= desc.dims.d[i];
    }
    return count;
}

