"""PyTorch: operators of a library's plugins, and projects made from modules."""
