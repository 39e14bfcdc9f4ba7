"""Sorts of the whole device by CUB and Thrust, from NVIDIA's wheel of headers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pluginkit.process.programs import run

from ..conftest import compile_object, link

pytestmark = [pytest.mark.compile, pytest.mark.slow]


def test_radix_sort_and_merge_sort(tmp_path: Path) -> None:
    """In a process of its own: a kernel that doesn't end is killed with it."""
    source = Path(__file__).with_name("device_sorts.cu")
    done = compile_object(source, tmp_path / "x.o", flags=["-O1", "-w", "-Wno-error"])
    assert done.ok, done.stderr
    link(tmp_path / "x.o", tmp_path / "x.so")
    counts = (1, 2, 33, 1000, 30000)
    program = f"import ctypes; f = ctypes.CDLL({str(tmp_path / 'x.so')!r}).sorts; print([f(n) for n in {counts}])"
    for workers in ("1", "4"):
        ran = run([sys.executable, "-S", "-c", program], env={"PLUGINKIT_CPU_WORKERS": workers}, timeout=300)
        assert ran.ok, (ran.stdout, ran.stderr)
        assert ran.stdout == f"{[0] * len(counts)}\n"
