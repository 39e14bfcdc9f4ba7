"""Small libraries made by the compiler."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compilers import default_cxx

INCLUDE = Path(__file__).resolve().parents[2] / "pluginkit" / "include"

ENTRIES = """#define SHOWN extern "C" __attribute__((visibility("default")))
SHOWN void* getCreators(int& n) { n = 0; return 0; }
SHOWN void setLoggerFinder(void*) {}
"""

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Compiles C++ text to `name`, with flags."""

    def made(source: str, *flags: str, name: str = "libx.so") -> Path:
        text, out = tmp_path / f"{name}.cpp", tmp_path / name
        text.write_text(source)
        shared = [] if {"-c", "-pie"} & set(flags) else ["-shared"]
        command = [default_cxx(), "-fPIC", *shared, "-o", str(out), str(text), *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return out

    return made
