} // namespace

cudaError_t launch(Run const& run) noexcept
{
    switch (run.precision)
    {
@% for precision in plugin.precisions %@
    case Precision::@{ precision.trt }@:
        return start<@{ precision.cpp }@>(run);
@% endfor %@
    }
    return cudaErrorInvalidValue;
}

} // namespace @{ plugin.namespace_cpp }@
