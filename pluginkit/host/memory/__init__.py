"""Guarded memory of the host or of a GPU, and tensors in each format in it."""
