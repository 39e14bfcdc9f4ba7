"""Writes down what NVIDIA's bindings offer, as a stub file for mypy: run as a program with a module's name, prints it.

All comes from the real classes: which names there are, and the signatures that pybind11 wrote into the docstrings.
"""

from __future__ import annotations

import ast
import ctypes
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

HEAD = """\
# ruff: noqa
import builtins
import collections.abc
import typing
import typing_extensions
import numpy
import numpy.typing
capsule = object
"""
SPECIAL = {"__init__", "__int__", "__len__", "__getitem__"}
UNKNOWN = "typing.Any"
TAKES = {
    # pybind11 converts these arguments (py::implicitly_convertible, in TensorRT's python/src/infer).
    "Dims": "Dims | collections.abc.Sequence[int]",
    "FallbackString": "FallbackString | str",
    # So is an array a buffer; NumPy says so to type checkers from Python 3.12 on.
    "typing_extensions.Buffer": "typing_extensions.Buffer | numpy.typing.NDArray[typing.Any]",
    "Weights": "Weights | numpy.typing.NDArray[typing.Any]",
}


def describe(module: ModuleType) -> Iterator[str]:
    """The stub's lines."""
    yield HEAD
    yield "__version__: str"
    for name, value in vars(module).items():
        if name.startswith("_") or not name.isidentifier():
            continue
        if inspect.isclass(value):
            yield from _class(name, value)
        elif isinstance(getattr(type(value), "__members__", None), dict):
            yield f"{name}: {type(value).__qualname__}"
        elif inspect.isbuiltin(value):
            yield from _callable(name, value.__doc__ or "", bound=False)
        elif inspect.isfunction(value):
            parameters = ", ".join(f"{parameter}: {UNKNOWN}" for parameter in inspect.signature(value).parameters)
            yield f"def {name}({parameters}) -> {UNKNOWN}: ..."


def _class(name: str, cls: type, outer: str = "") -> Iterator[str]:
    bases = [base.__name__ for base in cls.__bases__ if base.__module__.startswith("tensorrt")]
    yield f"class {name}({', '.join(bases)}):"
    yield "    def __enter__(self) -> typing_extensions.Self: ..."
    members: dict[str, Any] = getattr(cls, "__members__", {})
    for member in members:
        yield f"    {member}: typing.ClassVar[{outer}{name}]"
    if _is_buffer(cls):
        yield "    def __buffer__(self, flags: int, /) -> memoryview: ..."
    for key, value in vars(cls).items():
        if key not in members and (not key.startswith("_") or key in SPECIAL):
            yield from (f"    {line}" for line in _member(f"{outer}{name}", cls, key, value))


def _member(path: str, cls: type, key: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield from _class(key, value, f"{path}.")
    elif isinstance(value, property):
        yield from _property(key, value)
    elif isinstance(getattr(type(value), "__members__", None), dict):
        yield f"{key}: typing.ClassVar[{type(value).__qualname__}]"
    elif callable(value) or isinstance(value, staticmethod):
        function = value.__func__ if isinstance(value, staticmethod) else value
        if (function.__doc__ or "").startswith("Initialize self."):
            return  # object's own: the class can't be made from Python
        yield from _callable(key, function.__doc__ or "", "@staticmethod" if isinstance(value, staticmethod) else "")
        if key == "__getitem__" and not hasattr(cls, "__iter__"):
            # Python iterates over these by number.
            one = re.search(r"SupportsInt[^)]*\) -> (.+)", function.__doc__ or "")
            yield f"def __iter__(self) -> collections.abc.Iterator[{_type(one[1]) if one else UNKNOWN}]: ..."


def _is_buffer(cls: type) -> bool:
    """Whether objects give their memory out: `tp_as_buffer->bf_getbuffer` of CPython's PyTypeObject (64 bits)."""
    table = ctypes.c_void_p.from_address(id(cls) + 160).value
    return bool(table and ctypes.c_void_p.from_address(table).value)


def _property(name: str, value: property) -> Iterator[str]:
    found = re.search(r"-> (.+)", (value.fget.__doc__ if value.fget else "") or "")
    kind = _type(found[1]) if found else "typing.Any"
    yield "@property"
    yield f"def {name}(self) -> {kind}: ..."
    if value.fset is not None:
        yield f"@{name}.setter"
        yield f"def {name}(self, value: {TAKES.get(kind, kind)}) -> None: ..."


def _callable(name: str, doc: str, decorator: str = "", *, bound: bool = True) -> Iterator[str]:
    """One definition, or one an overload. What has no signature takes anything: see test_api.py, which counts those."""
    signatures = re.findall(rf"^(?:\d+\. )?({re.escape(name)}\(.*\) -> .+)$", doc, re.MULTILINE)
    made = list(filter(None, (_definition(signature) for signature in signatures)))
    self = "self, " if bound else ""
    made = made or [f"def {name}({self}*args: {UNKNOWN}, **kwargs: {UNKNOWN}) -> {UNKNOWN}: ..."]
    for definition in made:
        if len(made) > 1:
            yield "@typing.overload"
        if decorator:
            yield decorator
        yield definition


def _definition(signature: str) -> str:
    plain = re.sub(r"<[^<>]*>", "...", _type(signature))
    try:
        (function,) = ast.parse(f"def {plain}: ...").body
    except SyntaxError:
        return ""
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        if argument.annotation is not None:
            kind = ast.unparse(argument.annotation)
            argument.annotation = ast.parse(TAKES.get(kind, kind), mode="eval").body
    arguments.defaults = [ast.Constant(...) for _ in arguments.defaults]
    arguments.kw_defaults = [default and ast.Constant(...) for default in arguments.kw_defaults]
    return ast.unparse(function).replace(":\n    ...", ": ...")


def _type(text: str) -> str:
    # NVIDIA registers some classes after the functions that take them: their C++ names stand in the docstrings.
    text = text.replace("nvonnxparser::IParserError", "ParserError")
    text = re.sub(r"\bbool\b", "builtins.bool", text)  # the module has a DataType of that name
    text = re.sub(
        r"tensorrt(_rtx)?_bindings\.tensorrt(_rtx)?\.|nvinfer1::(v_\d_\d::)?|nvonnxparser::", "", text.strip()
    )
    return re.sub(r"\bbuffer\b", "typing_extensions.Buffer", text)


if __name__ == "__main__":
    sys.stdout.write("\n".join(describe(importlib.import_module(sys.argv[1]))) + "\n")
