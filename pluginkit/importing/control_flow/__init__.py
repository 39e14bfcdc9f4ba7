"""What TensorRT allows in loops and conditionals, and the types in their bodies."""
