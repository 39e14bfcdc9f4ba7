"""Recording, in the Python that has TensorRT 8.5, what it does with cases."""
