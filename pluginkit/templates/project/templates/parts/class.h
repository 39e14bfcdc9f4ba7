namespace @{ plugin.namespace_cpp }@
{

//! An @{ plugin.interface }@ with pluginkit.toml's signature and @{ plugin.slug }@.cu's kernels. Override its methods here.
class @{ plugin.name }@ final : public pluginkit::Layer<@{ plugin.name }@, Signature>
{
};

} // namespace @{ plugin.namespace_cpp }@

