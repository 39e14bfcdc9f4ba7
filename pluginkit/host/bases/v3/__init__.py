"""IPluginV3: its lifecycle and its methods."""
