"""Which names a project can carry: they become C++ classes and members, Python arguments, files, CMake targets."""

from __future__ import annotations

import builtins
import difflib
import keyword
import re
import sys
from collections.abc import Iterable
from functools import cache

from pluginkit.build.signature.cpp_names import HEADER_NAMES, check_cpp
from pluginkit.errors import UsageError
from pluginkit.manifest import slug
from pluginkit.paths import include_dir

_TYPES = frozenset(["Input", "Output", "Inputs", "Outputs", "int8_t", "int32_t", "int64_t", "uint32_t", "size_t"])
_NAMESPACES = frozenset(["pluginkit", "nvinfer1", "std"])
"""What a class's own name must not hide from its methods."""
_LOCALS = ["np", "total", "positive", "shape", "reference", *(f"result{number}" for number in range(1, 100))]
_FREE = frozenset(["filter", "id", "input", "round", "slice", "sorted"])
"""Python's own functions that no generated line calls, and that are attributes' names, as Unique's `sorted`."""
_PYTHON = frozenset([*_LOCALS, *(name for name in dir(builtins) if name.islower())]) - _FREE
# fmt: off
_TARGETS = frozenset([
    "all", "help", "install", "preinstall", "clean", "edit_cache", "rebuild_cache", "test", "package",
    "package_source",
])
# fmt: on
"""What CMake reserves (its policy CMP0037)."""
# fmt: off
_LIBRARIES = frozenset([
    "c", "m", "dl", "rt", "pthread", "stdc++", "gcc_s", "cudart", "cuda", "nvinfer", "nvinfer_plugin",
])
# fmt: on
_FILES = frozenset(["entry"])
_PACKAGES = frozenset(["cupy", "numpy", "onnx", "pluginkit", "pycuda", "pytest", "scipy", "tensorrt", "torch"])
"""Packages that are imported along with a project's module in Python."""

MAX_SLUG = 100
"""File names have at most 255 bytes, and the slug is a part of several."""


def check_plugin(name: str) -> None:
    """Refuse a plugin name that cannot be a C++ class, a namespace, a folder and a library.

    Raises:
        UsageError: with the reason, and an example of a name that works.
    """
    hint = "A plugin's name is a C++ class name, such as MyPlugin or RMSNorm2d."
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise UsageError(f"'{name}' cannot be a plugin's name: it is not a C++ identifier.", hint=hint)
    check_cpp(name, "a plugin's name", hint)
    if name in HEADER_NAMES | _NAMESPACES:
        problem = "its header has that name for something else" if name in HEADER_NAMES else "C++ has a namespace of it"
        raise UsageError(f"'{name}' cannot be a plugin's name: {problem}.", hint=f"Try {name.capitalize()}Plugin.")
    short = slug(name)
    owners = {"CMake has a target": _TARGETS, "the system has a library": _LIBRARIES, "a project has a file": _FILES}
    for owner, taken in owners.items():
        if short in taken:
            message = f"'{name}' cannot be a plugin's name: {owner} of the name '{short}'."
            raise UsageError(message, hint=f"Try {name}Plugin.")
    if taken_by_tensorrt := {name, f"{name}Creator", f"{name}Parameters"} & _tensorrt_types():
        problem = f"TensorRT's headers have a type {taken_by_tensorrt.pop()}"
        raise UsageError(f"'{name}' cannot be a plugin's name: {problem}.", hint=f"Try {name}Plugin.")
    if len(short) > MAX_SLUG:
        raise UsageError(f"The plugin's name is too long: {len(short)} characters, at most {MAX_SLUG}.", hint=hint)


@cache
def _tensorrt_types() -> frozenset[str]:
    """What TensorRT's headers declare in namespace nvinfer1: generated code uses that namespace's names as they are."""
    declared = re.compile(r"^ *(?:class|struct|enum class|using) +(\w+)", re.MULTILINE)
    texts = (file.read_text(encoding="utf-8") for file in include_dir().glob("NvInfer*.h"))
    return frozenset(name for text in texts for name in declared.findall(text))


def check_member(name: str, what: str) -> None:
    """Refuse a tensor's or field's name that cannot be a member of a C++ struct and an argument in Python.

    Raises:
        UsageError: with the reason.
    """
    hint = "Such names are letters, digits and underscores, as x, input_ids or alpha."
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise UsageError(f"'{name}' cannot be {what}'s name: it is not a C++ identifier.", hint=hint)
    check_cpp(name, f"{what}'s name", hint)
    if keyword.iskeyword(name) or name in _PYTHON:
        kind = "a Python keyword" if keyword.iskeyword(name) else "taken in reference.py"
        raise UsageError(f"'{name}' cannot be {what}'s name: it is {kind}.", hint=f"Try {name.lower()}_.")
    if name in _TYPES:
        raise UsageError(f"'{name}' cannot be {what}'s name: the generated C++ has a type of that name.", hint=hint)


def python_module(name: str) -> str:
    """The name of a library's Python module: its plugin's slug, or that and `_plugin` where another module has it."""
    short = slug(name)
    taken = keyword.iskeyword(short) or short in sys.stdlib_module_names or short in _PACKAGES
    return f"{short}_plugin" if taken else short


def close_to(name: str, known: Iterable[str]) -> str:
    """How a sentence ends that says there is no such name."""
    close = difflib.get_close_matches(name.lower(), known, n=1)
    return f"; did you mean '{close[0]}'?" if close else "."


def check_text(value: str, what: str, limit: int) -> None:
    """Refuse a version or namespace that no C++ string, TOML string or TensorRT name can hold.

    Raises:
        UsageError: unprintable characters, or more than `limit` bytes.
    """
    if not value.isprintable():
        raise UsageError(
            f"The {what} {value!r} has characters that cannot be printed.", hint="Use letters, digits and punctuation."
        )
    if not value.isascii():
        raise UsageError(
            f"The {what} {value!r} has characters that are not ASCII.",
            hint="TensorRT's names, versions and namespaces are ASCII (nvinfer1::AsciiChar).",
        )
    size = len(value.encode())
    if size > limit:
        raise UsageError(f"The {what} is too long: {size} bytes.", hint=f"TensorRT's limit is {limit} bytes.")
