@% if plugin.channels %@
bool @{ plugin.name }@::upload() noexcept
{
@% for tensor in plugin.channels %@
    if (!mChannelScales[@{ loop.index0 }@].upload(mParameters.@{ tensor.scale }@))
    {
        return false;
    }
@% endfor %@
    return true;
}

@% endif %@
