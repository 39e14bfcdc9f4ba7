namespace @{ plugin.namespace_cpp }@
{

//! An @{ plugin.interface }@, made of pluginkit.toml and @{ plugin.slug }@.cu. Each of its methods may be overridden here.
class @{ plugin.name }@ final : public pluginkit::Layer<@{ plugin.name }@, Signature>
{
};

} // namespace @{ plugin.namespace_cpp }@

