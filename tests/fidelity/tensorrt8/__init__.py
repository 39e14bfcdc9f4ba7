"""Drawn networks with plugins of the second generation, given to TensorRT 8.5 on a GPU, and to pluginkit's host."""
