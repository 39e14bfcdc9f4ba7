"""The interfaces that the host drives: a folder each, called as in `pluginkit.bases`, found by `lifecycles`.

A folder has two modules: `plugin`, the plugin's methods one by one in a class that `PLUGIN` names; and `lifecycle`, the
calls in TensorRT's order, as `lifecycles.Lifecycle` says. `v2_plugin` and `v2_lifecycle` have what the interfaces
of the second generation share.
"""
