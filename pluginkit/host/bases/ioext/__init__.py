"""IPluginV2IOExt: the calls of its life, and the methods that it has of its own."""
