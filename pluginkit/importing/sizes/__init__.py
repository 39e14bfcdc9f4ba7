"""The least sizes of a model's open dimensions, for a profile that makes sense."""
