"""pluginkit's host: runs each case and compares."""
