"""What the user gives as a model: other formats than ONNX, external data, recorded inputs and outputs."""
