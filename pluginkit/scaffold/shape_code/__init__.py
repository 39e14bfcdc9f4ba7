"""Outputs' shape expressions as generated code: in C++ and in NumPy."""
