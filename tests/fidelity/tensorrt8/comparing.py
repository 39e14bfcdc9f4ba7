"""What TensorRT 8.5.3 and the host say to a case, held against one another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.fidelity.tensorrt8.drawing.case import Case
from tests.fidelity.tensorrt8.recording.calls import LETTERS

Answer = Mapping[str, Any]
Kind = Literal["verdict", "outputs", "types", "tensors", "bounds", "scales", "counts", "order"]
TENSOR = re.compile(r"(-?\d+)/(-?\d+)/([^\[]+)((?:\[[^]]*\])+)")
FELL = ("crashed", "hung")


@dataclass(frozen=True)
class Difference:
    """One thing that the two do otherwise: what kind of thing, and what each says."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Tensor:
    """A plugin's tensor as a chameleon was told of it: type and format by their numbers, dims, and at build min and
    max."""

    type: int
    format: int
    scale: float
    dims: tuple[tuple[int, ...], ...]


def tensors(text: str) -> list[Tensor]:
    """Of a line of `configurePlugin` or `enqueue`."""
    found = []
    for kind, form, scale, shapes in TENSOR.findall(text):
        dims = tuple(tuple(int(size) for size in one.split(",") if size) for one in re.findall(r"\[([^]]*)\]", shapes))
        found.append(Tensor(int(kind), int(form), float(scale), dims))
    return found


def outcome(answer: Answer) -> str:
    """`accepts`, `refuses`, or `falls over`."""
    if answer["verdict"] in FELL:
        return "falls over"
    return "accepts" if answer["verdict"] == "built" else "refuses"


def differences(case: Case, trt: Answer, host: Answer) -> list[Difference]:
    """What they do otherwise; where one accepts a case and the other doesn't, that alone."""
    if outcome(trt) != outcome(host):
        said = [
            f"{who} {outcome(one)} it: {one.get('message', '')}" for who, one in (("8.5.3", trt), ("the host", host))
        ]
        return [Difference("verdict", "\n    ".join(said))]
    if outcome(trt) != "accepts":
        return []
    return [*_outputs(case, trt, host), *_configured(case, trt, host), *_ran(case, trt, host), *_order(trt, host)]


def _outputs(case: Case, trt: Answer, host: Answer) -> Iterator[Difference]:
    for number, (its, mine) in enumerate(zip(trt["outputs"], host["outputs"], strict=True)):
        for name in its:
            if name in mine and its[name][0] != mine[name][0]:
                yield Difference("types", f"run {number}, {name} is {its[name][0]}, of the host {mine[name][0]}")
            if problem := _apart(case, its[name], mine.get(name), trt.get("cache", {})):
                yield Difference(
                    "outputs", f"run {number}, {name}: {problem}: 8.5.3 {its[name]}, the host {mine.get(name)}"
                )


def _apart(case: Case, its: Sequence[Any], mine: Sequence[Any] | None, scales: Mapping[str, float]) -> str:
    if mine is None:
        return "the host has no such output"
    if its[1] != list(mine[1]):
        return "another shape"
    # A calibrator's scales are no powers of two: a number may be rounded to the next step.
    step = 1.01 * max(scales.values(), default=0.0)
    count = 1
    for size in its[1]:
        count *= size
    for index, (one, other) in enumerate(zip(its[2], mine[2], strict=True)):
        summed = count > len(its[2]) and index >= len(its[2]) - 2
        allowed = max(1e-3, 1e-3 * abs(one)) + step * (8 * count if summed else 1)
        if not abs(one - other) <= allowed and not (one != one and other != other):
            return "other values"
    return ""


def _configured(case: Case, trt: Answer, host: Answer) -> Iterator[Difference]:
    for node, texts in trt["configured"].items():
        mine = [tensors(text) for text in host["configured"].get(node, [])]
        for its in map(tensors, texts):
            problems = [[*_tensors(case, its, one, "bounds")] for one in mine]
            if problems and not all(problems):
                continue
            fewest = min(problems, key=len, default=[Difference("tensors", "the host has not configured it")])
            yield from (Difference(one.kind, f"{node} at build: {one.text}") for one in fewest)


def _ran(case: Case, trt: Answer, host: Answer) -> Iterator[Difference]:
    for number, (its, mine) in enumerate(zip(trt["ran"], host["ran"], strict=True)):
        for node in sorted({*its, *mine}):
            one, other = its.get(node, [0, "", ""]), mine.get(node, [0, "", ""])
            if one[0] != other[0]:
                yield Difference("counts", f"run {number}, {node}: enqueue {one[0]} times, by the host {other[0]}")
            elif one[0]:
                for found in _tensors(case, tensors(one[1]), tensors(other[1]), "tensors"):
                    yield Difference(found.kind, f"run {number}, {node}: {found.text}")


def _tensors(case: Case, its: Sequence[Tensor], mine: Sequence[Tensor], bounds: Kind) -> Iterator[Difference]:
    if len(its) != len(mine):
        yield Difference("tensors", f"{len(its)} tensors, of the host {len(mine)}")
        return
    for index, (one, other) in enumerate(zip(its, mine, strict=True)):
        if not _chosen(case) and (one.type, one.format) != (other.type, other.format):
            yield Difference("tensors", f"tensor {index} has type and format {one.type}/{one.format}, of the host "
                             f"{other.type}/{other.format}")  # fmt: skip
        if not _as_open(one.dims[0], other):
            yield Difference("tensors", f"tensor {index} has dims {one.dims[0]}, of the host {other.dims[0]}")
        elif not _within(one.dims[1:], other.dims[1:]):
            yield Difference(bounds, f"tensor {index} has min and max {one.dims[1:]}, of the host {other.dims[1:]}")
        if abs(one.scale - other.scale) > 1e-4 * abs(one.scale):
            yield Difference(
                "scales", f"tensor {index}, type {one.type}: scale {one.scale:g}, of the host {other.scale:g}"
            )


def _chosen(case: Case) -> bool:
    """Whether the builder chooses types: always of the interfaces that say one type without its tensor."""
    return case.chosen or (case.base in ("v2", "v2ext") and bool(case.flags))


def _as_open(its: Sequence[int], mine: Tensor) -> bool:
    """Whether dims are the host's, or a constant where the host sees bounds: TensorRT simplifies expressions."""
    if its == mine.dims[0] or len(its) != len(mine.dims[0]) or len(mine.dims) != 3:
        return its == mine.dims[0]
    rows = zip(its, *mine.dims, strict=True)
    return all(one == dim or (dim == -1 and low <= one <= high) for one, dim, low, high in rows)


def _within(its: Sequence[Sequence[int]], mine: Sequence[Sequence[int]]) -> bool:
    """Whether min and max are the host's, or within them."""
    if len(its) != len(mine) or len(its) != 2:
        return len(its) == len(mine)
    rows = [*zip(*its, *mine, strict=True)]
    return all(low <= its_low <= its_high <= high for its_low, its_high, low, high in rows)


def _order(trt: Answer, host: Answer) -> Iterator[Difference]:
    mine, its = (
        {event for part in ("lives", "run_lives") for text in one[part] for event in events(text)}
        for one in (host, trt)
    )
    for role, state, method in sorted(its - mine):
        yield Difference("order", f"{method} of {role}{' that was ' if state else ''}{' and '.join(state)}")


STATES = {"C": "configured", "I": "initialized", "A": "attached", "t": "terminated"}
METHODS = {letter: name for name, letter in reversed(LETTERS.items())}


def events(text: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Of a life as `calls.Life.text` tells it: in what state of the object, which method was called.

    Whose clone a clone is, and in which generation, is the builder's own affair.
    """
    origin, _, letters = text.partition(" ")[2].rpartition(": ")
    maker = origin.rpartition(" ")[2]
    role = {"create": "the first object", "deserialize": "an engine's object"}[maker]
    if origin != maker:
        role = "a clone"
    state: list[str] = []
    for letter in letters.replace("*", ""):
        yield role, tuple(state), METHODS[letter]
        if letter in STATES and STATES[letter] not in state:
            state.append(STATES[letter])
            state.sort()
