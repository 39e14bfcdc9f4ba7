"""The headers that a project's Python module is compiled with."""

from __future__ import annotations

import sysconfig
from pathlib import Path


def headers() -> Path | None:
    """The folder of this Python's Python.h; None where it isn't installed."""
    folder = Path(sysconfig.get_path("include"))
    return folder if (folder / "Python.h").is_file() else None


def suffix() -> str:
    """How the file names of this Python's modules end."""
    return str(sysconfig.get_config_var("EXT_SUFFIX"))
