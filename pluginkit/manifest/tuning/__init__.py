"""The part `[tuning]` of a `pluginkit.toml`."""
