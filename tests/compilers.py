"""The compilers that tests call themselves: those that pluginkit would use on this machine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from pluginkit.build import coverage, toolchain
from pluginkit.errors import ToolMissing


@cache
def default_cxx() -> str:
    """The path of the C++ compiler: $CXX, else g++, clang++, or a numbered one.

    Raises:
        ToolMissing: there is none; the message says how to get one.
    """
    return str(toolchain.cxx_compiler().best().path)


def no_unique() -> list[str]:
    """What keeps static objects of templates out of the process-wide table; g++ alone has them there."""
    return ["-fno-gnu-unique"] if toolchain.cxx_compiler().best().note == "g++" else []


def nvcc() -> Path:
    """The path of an nvcc that works; without one, the test is skipped. A script of that name alone doesn't count."""
    try:
        return toolchain.nvcc().best().path
    except ToolMissing:
        pytest.skip("nvcc is not on this machine")


def libfuzzer() -> coverage.FuzzerArchive:
    """clang's libFuzzer; without one, the test is skipped."""
    try:
        return coverage.find()
    except ToolMissing:
        pytest.skip("no clang++ with libFuzzer is on this machine")
