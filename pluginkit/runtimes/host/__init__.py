"""pluginkit's own host in worker processes."""
