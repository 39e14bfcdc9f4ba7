@% if plugin.quantized %@
//! Whether a scale says something: TensorRT gives 0, -1 or NaN where there is none.
bool isScale(float scale) noexcept
{
    return std::isfinite(scale) && scale > 0.0F;
}

@% if not plugin.one_quantized %@
//! Whether an element of a type stands for a number by a scale.
bool isQuantized(DataType type) noexcept
{
    return type == DataType::kINT8 || type == DataType::kFP8;
}

@% endif %@
@% if plugin.described %@
void takeScale(float& scale, nvinfer1::PluginTensorDesc const& desc) noexcept
{
    if (desc.type == DataType::kINT8 && isScale(desc.scale))
    {
        scale = desc.scale;
    }
}

@% endif %@
@% endif %@
@% if plugin.checks %@
bool isValid(@{ plugin.name }@Parameters const& parameters) noexcept
{
@% for check in plugin.checks %@
    if (@{ check }@)
    {
        return false;
    }
@% endfor %@
    return true;
}

@% endif %@
