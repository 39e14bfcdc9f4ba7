"""One process of NVIDIA's for all models."""

from __future__ import annotations

from tests.importing.conftest import one_process, session

__all__ = ["one_process", "session"]
