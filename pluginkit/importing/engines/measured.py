"""What a measurement of engines gives: times with intervals, layers by their role, and whether a plugin pays."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pluginkit.errors import CheckFailed
from pluginkit.importing.engines.whole import Status

Role = Literal["plugin", "reformat", "layer"]
FUSED = (" + ", "{ForeignNode[", "PWN(")
"""What the names of layers contain that TensorRT 8.5.3 made of several."""
REFORMAT = "Reformat"
PLUGIN = "PluginV2"
"""LayerType in the JSON of 8.5.3's engine inspector."""
CONFIDENCE = 1.96
"""Standard deviations of a normal distribution that hold 95 % of it."""


@dataclass(frozen=True)
class Interval:
    """The median of some samples, and the bounds between which the true median lies with 95 %.

    The bounds are order statistics: the number of samples below the median is binomial with p = 1/2.
    """

    median: float
    low: float
    high: float
    samples: int


def interval(samples: Sequence[float]) -> Interval:
    """The median of samples, which there is at least one of, and its bounds."""
    ordered = sorted(samples)
    count = len(ordered)
    away = CONFIDENCE * math.sqrt(count) / 2
    low, high = max(0, math.floor(count / 2 - away)), min(count - 1, math.ceil(count / 2 + away))
    return Interval(statistics.median(ordered), ordered[low], ordered[high], count)


@dataclass(frozen=True)
class EngineLayer:
    """A layer of an engine.

    Attributes:
        name: TensorRT's, of a fused layer those of its parts.
        role: `plugin`, `reformat` (copies a tensor into another type or format), or `layer`.
        milliseconds: the median by TensorRT's profiler.
        formats: types and formats of its inputs, then of its outputs, in TensorRT's words.
        beside: of a reformat, whether one of its tensors is a plugin's.
    """

    name: str
    role: Role
    milliseconds: float
    formats: tuple[str, ...] = ()
    beside: bool = False

    @property
    def fused(self) -> bool:
        """Whether TensorRT made it of several layers, by its name."""
        return any(part in self.name for part in FUSED)


def layers(times: Sequence[tuple[str, float]], inspected: Sequence[dict[str, Any]]) -> tuple[EngineLayer, ...]:
    """The layers that the profiler timed, with what the engine inspector tells of them."""
    known = {str(one["Name"]): one for one in inspected}
    plugins = {tensor for one in inspected if one.get("LayerType") == PLUGIN for tensor in _tensors(one)}
    found = []
    for name, milliseconds in times:
        one = known.get(name, {})
        kind = one.get("LayerType", "")
        role: Role = "plugin" if kind == PLUGIN else "reformat" if kind == REFORMAT else "layer"
        formats = tuple(str(tensor.get("Format/Datatype", "")) for tensor in _sides(one))
        beside = role == "reformat" and bool(plugins & {*_tensors(one)})
        found.append(EngineLayer(name, role, milliseconds, formats, beside))
    return tuple(found)


def _sides(layer: dict[str, Any]) -> list[dict[str, Any]]:
    return [*layer.get("Inputs", ()), *layer.get("Outputs", ())]


def _tensors(layer: dict[str, Any]) -> list[str]:
    return [str(tensor["Name"]) for tensor in _sides(layer)]


@dataclass(frozen=True)
class EngineSide:
    """A model's engine in a precision, at a point of its profile.

    Attributes:
        model: the file's name.
        status: `compared` or `ran`: built, run and timed; else why it has no time.
        message: the comparison's, or what happened.
        build_seconds: those of the build.
        engine_bytes: of the serialized engine.
        memory_bytes: of device memory that a context needs, besides weights and bindings.
        times: milliseconds of an enqueue.
        layers: in the engine's order.
        fix: what to do about a refusal; empty where that isn't known.
    """

    model: str
    status: Status
    message: str = ""
    build_seconds: float = 0.0
    engine_bytes: int = 0
    memory_bytes: int = 0
    times: Interval | None = None
    layers: tuple[EngineLayer, ...] = ()
    fix: str = ""

    def of(self, role: Role) -> list[EngineLayer]:
        """Its layers of a role."""
        return [one for one in self.layers if one.role == role]

    @property
    def because(self) -> list[EngineLayer]:
        """The reformats at a plugin's tensors."""
        return [one for one in self.layers if one.beside]


@dataclass(frozen=True)
class EnginePoint:
    """One measurement.

    Attributes:
        precision: `float32`, `float16`, `int8`: the most that the builder is allowed.
        point: `min`, `opt` or `max` of the profile.
        shapes: the inputs', as `x:1x3`.
        mine: the model with the plugin.
        without: the other; None if none was asked for.
        ratio: the time without the plugin over the time with it, of neighbouring runs; None unless both have times.
    """

    precision: str
    point: str
    shapes: tuple[str, ...]
    mine: EngineSide
    without: EngineSide | None = None
    ratio: Interval | None = None

    @property
    def label(self) -> str:
        """As `opt/float16`."""
        return f"{self.point}/{self.precision}"

    @property
    def lost(self) -> list[str]:
        """The layers that TensorRT made of several without the plugin, and not with it."""
        if self.without is None or not (self.mine.times and self.without.times):
            return []
        mine = {one.name for one in self.mine.layers}
        return [one.name for one in self.without.layers if one.fused and one.name not in mine]

    @property
    def answer(self) -> Literal["faster", "slower", "equal", ""]:
        """What the plugin does to the engine, as far as the interval tells."""
        if self.ratio is None:
            return ""
        return "faster" if self.ratio.low > 1 else "slower" if self.ratio.high < 1 else "equal"


@dataclass(frozen=True)
class EngineBench:
    """A run of `pluginkit bench MODEL.onnx --engine`.

    Attributes:
        tensorrt: TensorRT's version.
        gpu: the GPU's name.
        lacking: tactic sources that were switched off, since their libraries aren't here.
        points: what was measured.
    """

    tensorrt: str
    gpu: str
    lacking: tuple[str, ...]
    points: tuple[EnginePoint, ...]

    @property
    def exit_code(self) -> int:
        """0 if all that was asked for has a time, else 1."""
        sides = [side for one in self.points for side in (one.mine, one.without) if side is not None]
        return 0 if all(side.times for side in sides) else CheckFailed.exit_code

    @property
    def verdict(self) -> str:
        """One sentence: whether the plugin pays."""
        compared = [one for one in self.points if one.ratio is not None]
        if not compared:
            timed = [one for one in self.points if one.mine.times]
            if not timed:
                return "Nothing was measured."
            each = [f"{one.mine.times.median:.4g} ms at {one.label}" for one in timed if one.mine.times]
            return f"The engine takes {', '.join(each)}; --without MODEL.onnx says whether the plugin pays."
        parts = [_said(one) for one in compared]
        paid = sum(one.answer == "faster" for one in compared)
        if len(compared) == 1:
            return f"The plugin {'pays' if paid else 'does not pay'}: the engine with it is {parts[0]}."
        where = f"pays at {paid} of {len(compared)} points" if paid else "pays at no point"
        return f"The plugin {where}; the engine with it is {'; '.join(parts)}."

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        points = [{"id": one.label, **asdict(one), "answer": one.answer, "lost": one.lost} for one in self.points]
        return {**asdict(self), "points": points, "verdict": self.verdict, "exit_code": self.exit_code}


def _said(one: EnginePoint) -> str:
    ratio = one.ratio
    assert ratio is not None
    bounds = f"95 %: {ratio.low:.3f} to {ratio.high:.3f}"
    if one.answer == "equal":
        return f"as fast at {one.label}, as far as {ratio.samples} pairs of runs tell ({bounds})"
    if one.answer == "faster":
        return f"{ratio.median:.3f} times as fast at {one.label} ({bounds})"
    return f"slower at {one.label}, {ratio.median:.3f} times as fast ({bounds})"
