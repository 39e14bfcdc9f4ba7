"""A plugin of TensorRT 8 that copies its input, and keeps what it is asked: for controls."""

from __future__ import annotations

NAME = "Copying"
"""Its plugin type; the version is 1, the namespace is empty."""
