"""IPluginV3: the calls of its life, and its methods."""
