"""NVIDIA's builder, TensorRT-RTX, in worker processes; its engines where a GPU runs them."""
