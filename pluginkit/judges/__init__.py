"""Who judges a plugin: pluginkit's host, NVIDIA's builder, its engines, its registries, the full TensorRT."""
