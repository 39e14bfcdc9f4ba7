"""Thrust from NVIDIA's wheel of headers: algorithms on device vectors, with several host threads in each kernel."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pluginkit.process.programs import run

from ..conftest import compile_object, link

pytestmark = [pytest.mark.compile, pytest.mark.slow]


def test_vectors(tmp_path: Path) -> None:
    """In a process that is killed if it hangs, as two host threads once did on the lock of the streams."""
    source = Path(__file__).with_name("thrust_vectors.cu")
    done = compile_object(source, tmp_path / "x.o", flags=["-O1", "-w", "-Wno-error"])
    assert done.ok, done.stderr
    link(tmp_path / "x.o", tmp_path / "x.so")
    program = (
        f"import ctypes; f = ctypes.CDLL({str(tmp_path / 'x.so')!r}).vectors; print([f(30000) for _ in range(20)])"
    )
    for workers in ("1", "4"):
        ran = run([sys.executable, "-S", "-c", program], env={"PLUGINKIT_CPU_WORKERS": workers}, timeout=300)
        assert ran.ok, (ran.stdout, ran.stderr)
        assert ran.stdout == f"{[0] * 20}\n"
