"""Runs a network with a plugin's nodes: ONNX by its reference, Loop, If, Scan and plugin nodes by our own code."""
