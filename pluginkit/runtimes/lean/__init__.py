"""NVIDIA's plugin registries of tensorrt-lean in worker processes."""
