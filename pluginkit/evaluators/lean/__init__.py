"""NVIDIA's registries."""
