"""IPluginV2: its lifecycle, and its methods besides those of every V2 plugin."""
