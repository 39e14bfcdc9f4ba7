"""The rules of `pluginkit import`: `table` lists them, the others look for what breaks them."""
