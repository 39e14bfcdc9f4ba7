"""What needs an NVIDIA GPU; `tests/conftest.py` skips it where there is none."""
