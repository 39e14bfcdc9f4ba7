"""Fields: from `--field` to `pluginkit.toml`, and from there to C++."""
