"""Kernels in the shapes people write them, each with its NumPy oracle: on the CPU target, and on a GPU by `gpu.py`."""
