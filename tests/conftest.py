"""What all tests share: where `make setup` puts NVIDIA's libraries."""

from __future__ import annotations

import os
from pathlib import Path

NVIDIA = Path(__file__).resolve().parent.parent / ".venv-nvidia"

# tensorrt-lean 10 and 11 have one module name, so each lies in a folder of its own.
os.environ.setdefault("PLUGINKIT_LEAN10", str(NVIDIA / "lean10"))
os.environ.setdefault("PLUGINKIT_LEAN11", str(NVIDIA / "lean11"))
