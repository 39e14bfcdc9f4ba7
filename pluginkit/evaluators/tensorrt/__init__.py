"""The full TensorRT: builds, runs and compares."""
