"""`pluginkit adopt`: drafts `pluginkit.toml` and `reference.py` for a plugin library that exists."""
