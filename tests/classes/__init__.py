"""Plugins that are classes of their own, of each base, as `pluginkit new` wrote them before there were layers.

They are what many people have, and what has each mistake that a person can make in a class: faults are planted in them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

HERE = Path(__file__).parent


def project(folder: Path, base: str = "dynamic") -> Path:
    """A copy of the project MyPlugin in a folder of `folder`; its path.

    Args:
        folder: where.
        base: which one; `formats` is dynamic too, with chw32 and a workspace.
    """
    return Path(shutil.copytree(HERE / base, folder / "my_plugin", ignore=shutil.ignore_patterns("build")))
