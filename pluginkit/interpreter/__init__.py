"""Runs a network on the CPU: ONNX operators by onnx's reference, Loop, If, Scan and plugin nodes by pluginkit."""
