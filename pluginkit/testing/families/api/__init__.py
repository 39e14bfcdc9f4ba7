"""Families of networks that ONNX cannot say: made by NVIDIA's network API."""
