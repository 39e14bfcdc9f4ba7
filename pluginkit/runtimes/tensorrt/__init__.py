"""The full TensorRT in worker processes."""
