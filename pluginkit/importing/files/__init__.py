"""What a person gives as a model: other formats than ONNX, external data, recorded inputs and outputs."""
