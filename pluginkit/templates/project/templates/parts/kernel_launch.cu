} // namespace

cudaError_t launch@{ plugin.name }@(@{ plugin.name }@Arguments const& args, @{ plugin.name }@Precision precision, cudaStream_t stream) noexcept
{
    switch (precision)
    {
@% for precision in plugin.precisions %@
    case @{ plugin.name }@Precision::@{ precision.trt }@:
        return launch<@{ precision.cpp }@>(args, stream);
@% endfor %@
    }
    return cudaErrorInvalidValue;
}
@% if plugin.tunable %@

int32_t tacticsOf@{ plugin.name }@() noexcept
{
    return kernels::tactics();
}
@% endif %@

} // namespace @{ plugin.namespace_cpp }@
