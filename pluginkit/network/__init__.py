"""What a test network is, as plain data: ONNX models, calls of NVIDIA's API, profiles. No plugin, no process."""
