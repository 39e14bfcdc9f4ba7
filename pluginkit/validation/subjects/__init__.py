"""What checks are asked of besides the library itself: manifests, models, and what test runs have shown."""
