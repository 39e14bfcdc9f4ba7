"""A model in an engine of the full TensorRT, where one is here that runs."""
