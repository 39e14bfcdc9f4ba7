"""The binary layouts of TensorRT's plugin classes: what differs between them, by its major version.

A new one is a row here, a branch in the headers (`PLUGINKIT_TRT_LAYOUT`), a row of `kLIBRARIES` in
`include/pluginkit/loader.h` and a recorded file in `tests/abi/recorded`: docs/extending/layout.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pluginkit.dtypes import DType
from pluginkit.errors import UsageError

LayoutNumber = Literal[8, 10, 11]
"""TensorRT's major version."""


@dataclass(frozen=True)
class Layout:
    """One layout.

    Attributes:
        number: TensorRT's major version.
        serves: TensorRT's versions, for the user.
        first_minor: the first minor version of that major that it serves.
        host_version: what getInferLibVersion() answers in pluginkit's host of this layout.
        dimension: the element type of Dims.
        creator: the class that a registry hands over.
        creators_by: the function that IPluginRegistry::loadLibrary takes a library's creators from.
        loading: how a library's creators come into a registry, for the user.
        recorded: the versions whose binary interface `tests/abi/recorded` has.
        has_v3: whether it has IPluginV3.
        implicit_batch: whether networks may have an implicit batch dimension.
        hands_handles: whether attachToContext may get handles of cuDNN and cuBLAS.
        weakly_typed: whether there are networks whose builder chooses precisions.
        lacks: the element types that a plugin can't have there.
        by_default: whether `build` puts it into a library that does not say which layouts it wants.
    """

    number: LayoutNumber
    serves: str
    first_minor: int
    host_version: int
    dimension: Literal["int32", "int64"]
    creator: str
    creators_by: str
    loading: str
    recorded: tuple[str, ...]
    has_v3: bool = True
    implicit_batch: bool = True
    hands_handles: bool = True
    weakly_typed: bool = True
    lacks: frozenset[DType] = frozenset()
    by_default: bool = True


LAYOUTS: tuple[Layout, ...] = (
    Layout(11, "11.0 and later", 0, 110100, "int64", "IPluginCreatorInterface", "getCreators",
           "loadLibrary, or the init function", ("11.1",), implicit_batch=False, hands_handles=False,
           weakly_typed=False),
    Layout(10, "10.0 to 10.16", 0, 101600, "int64", "IPluginCreatorInterface", "getCreators",
           "loadLibrary, or the init function", ("10.3", "10.16")),
    Layout(8, "8.5 and 8.6", 5, 8503, "int32", "IPluginCreator", "getPluginCreators",
           "the init function; loadLibrary from 8.6 on", ("8.5", "8.6"), has_v3=False,
           lacks=frozenset({DType.INT64, DType.BFLOAT16, DType.FLOAT8}), by_default=False),
)  # fmt: skip
"""The newest first: the order in which the host tries them."""

NUMBERS: tuple[LayoutNumber, ...] = tuple(one.number for one in LAYOUTS)
DEFAULT: tuple[LayoutNumber, ...] = tuple(one.number for one in LAYOUTS if one.by_default)
assert set(NUMBERS) == set(get_args(LayoutNumber))

IMPLICIT_BATCH = next(one for one in LAYOUTS if one.implicit_batch)
"""The newest layout whose networks may have an implicit batch dimension."""

BEFORE_V3 = next(one for one in LAYOUTS if not one.has_v3)
"""The layout without IPluginV3: that of TensorRT 8, whose Python API is another, too."""

RTX_HOST = 10701
"""What getInferLibVersion() answers in pluginkit's host that plays TensorRT-RTX."""

_BY_NUMBER = {one.number: one for one in LAYOUTS}


def layout(number: int) -> Layout:
    """The layout of a major version.

    Raises:
        KeyError: there is none.
    """
    return _BY_NUMBER[number]  # type: ignore[index]


def of(major: int, minor: int) -> Layout | None:
    """The layout that serves a version of TensorRT; None where none does."""
    found = _BY_NUMBER.get(major)  # type: ignore[call-overload]
    return found if found is not None and minor >= found.first_minor else None


def majors() -> str:
    """The major versions for a sentence: `8, 10 or 11`."""
    *first, last = sorted(NUMBERS)
    return f"{', '.join(map(str, first))} or {last}"


def table() -> list[str]:
    """The rows as docs/extending/layout.md has them, in Markdown."""
    head = "| TensorRT | elements of Dims | a registry hands over | a library's creators come by | not there |"
    rows = [
        f"| {one.serves} | {one.dimension} | {one.creator} | {one.loading} | "
        f"{', '.join([*([] if one.has_v3 else ['IPluginV3']), *sorted(kind.short for kind in one.lacks)]) or '-'} |"
        for one in LAYOUTS
    ]
    return [head, "| --- | --- | --- | --- | --- |", *rows]


TargetName = Literal["8.5", "10", "11", "rtx"]
"""A TensorRT that a plugin or a model is for, as `[targets]` of pluginkit.toml and `--for` have it."""


@dataclass(frozen=True)
class TargetTensorRT:
    """One of them.

    Attributes:
        name: as pluginkit.toml has it.
        title: for people, with the version that sentences on it are true of.
        number: the layout of its plugin classes.
    """

    name: TargetName
    title: str
    number: LayoutNumber

    @property
    def layout(self) -> Layout:
        """What differs in its plugin classes."""
        return layout(self.number)


TARGETS: dict[TargetName, TargetTensorRT] = {
    one.name: one
    for one in (
        TargetTensorRT("8.5", "TensorRT 8.5.3", 8),
        TargetTensorRT("10", "TensorRT 10", 10),
        TargetTensorRT("11", "TensorRT 11", 11),
        TargetTensorRT("rtx", "TensorRT-RTX 1.7.1", 11),
    )
}
DEFAULT_TARGETS: tuple[TargetName, ...] = ("10", "11", "rtx")
"""Where pluginkit.toml and the command say nothing."""


def targets(texts: Sequence[str]) -> tuple[TargetName, ...]:
    """What `--for` was given, each a list by commas; empty if it was not.

    Raises:
        UsageError: a TensorRT that isn't known.
    """
    found: dict[TargetName, None] = {}
    for text in (part.strip() for given in texts for part in given.split(",")):
        name = next((name for name in TARGETS if name == text), None)
        if name is None:
            raise UsageError(f"--for {text}: that is none of {', '.join(TARGETS)}.", hint="For example: --for 8.5,rtx")
        found[name] = None
    return tuple(found)
