"""The least sizes of a model's dynamic dimensions, for a profile that makes sense."""
