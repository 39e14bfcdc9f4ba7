"""Other ways to write a model, so that NVIDIA's parser and builder take it: the same values by other operators."""
