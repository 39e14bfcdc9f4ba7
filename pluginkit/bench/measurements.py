"""Measurements and their results, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, PluginCrashed
from pluginkit.field_types import Value
from pluginkit.manifest.bench_section import Allowed


@dataclass(frozen=True)
class BenchCase:
    """A shape in a precision.

    Attributes:
        shape: its name: of `[bench]`, or the profile's and the point's.
        precision: what the plugin computes in.
        symbols: each symbol's value.
        fields: the creator's fields that are not as they are by default.
        baseline: `torch: EXPRESSION`, or nothing.
        allowed: how far off an output may be; None: by `[tolerances]`.
        bytes: what must be moved at least: each input once, each output once.
    """

    shape: str
    precision: DType
    symbols: Mapping[str, int]
    fields: Mapping[str, Value]
    baseline: str
    allowed: Allowed | None
    bytes: int

    @property
    def id(self) -> str:
        """As `large/float16`."""
        return f"{self.shape}/{self.precision.value}"


@dataclass(frozen=True)
class Times:
    """Seconds of one enqueue, over many.

    Attributes:
        median, low, high: the middle, and what one in ten lies below and above.
        samples: how many were timed.
        enqueues: how many are in each of them: 1 by events around it, more in a replayed graph.
    """

    median: float
    low: float
    high: float
    samples: int
    enqueues: int = 1

    @property
    def spread(self) -> float:
        """From `low` to `high`, in parts of the median."""
        return (self.high - self.low) / self.median


@dataclass(frozen=True)
class Baseline:
    """What the plugin is compared with: its times, or why it has none.

    Attributes:
        name: `torch`, `torch.compile`, or the file name of another library.
        expression: what torch computes, or the other library's path.
    """

    name: str
    expression: str
    times: Times | None = None
    problem: str = ""


@dataclass(frozen=True)
class Result:
    """A case's measurement.

    Attributes:
        case: what was measured.
        times: None where the output was wrong, or nothing could be measured: then `problem` is the reason.
        buffers: how many sets of inputs and outputs were taken in turn.
        turn_bytes: how much memory lies between two enqueues on the same set.
        empty: the same for an empty kernel, where a graph was replayed.
        copy: those of a copy within the device that moves as many bytes; only in a sweep.
        baselines: the manifest's, if it gives one, and what else was asked for.
        problem: what is wrong.
        note: what else to know.
        crashed: whether the problem is that the process ended or hung.
    """

    case: BenchCase
    times: Times | None = None
    buffers: int = 0
    turn_bytes: int = 0
    empty: Times | None = None
    copy: Times | None = None
    baselines: tuple[Baseline, ...] = ()
    problem: str = ""
    note: str = ""
    crashed: bool = False

    @property
    def bandwidth(self) -> float | None:
        """Bytes a second that the plugin must have moved at least; None without a right output."""
        return None if self.times is None else self.case.bytes / self.times.median

    def share(self, copy_rate: float) -> float | None:
        """The bandwidth in parts of a copy's: of one that moves as many bytes in a sweep, else of `copy_rate`."""
        if self.times is None or self.bandwidth is None:
            return None
        if self.copy is not None:
            return self.copy.median / self.times.median
        return self.bandwidth / copy_rate if copy_rate else None

    def to_json(self, copy_rate: float) -> dict[str, Any]:
        """Plain data."""
        found = asdict(self)
        case = found.pop("case")
        case["allowed"] = self.case.allowed.model_dump() if self.case.allowed else None
        return {
            "id": self.case.id,
            **case,
            **found,
            "bandwidth": self.bandwidth,
            "share_of_copy": self.share(copy_rate),
        }


@dataclass(frozen=True)
class Machine:
    """What was measured on. `copy_rate` is in bytes a second, read and written, of device-to-device copies."""

    device: str
    capability: str
    driver: str
    l2_bytes: int
    copy_rate: float
    copy_bytes: int


@dataclass(frozen=True)
class BenchReport:
    """A run."""

    plugin: str
    library: str
    sha256: str
    machine: Machine
    results: tuple[Result, ...] = field(default=())

    def compared(self) -> list[str]:
        """The names of what the plugin is compared with."""
        return list(dict.fromkeys(one.name for result in self.results for one in result.baselines))

    @property
    def exit_code(self) -> int:
        """0 if every case was measured, else the exit code by `pluginkit.errors`."""
        bad = [result for result in self.results if result.times is None]
        if any(result.crashed for result in bad):
            return PluginCrashed.exit_code
        return CheckFailed.exit_code if bad else 0

    def to_json(self) -> dict[str, Any]:
        """Plain data; seconds, bytes, and bytes a second."""
        rate = self.machine.copy_rate
        return {
            "plugin": self.plugin,
            "library": self.library,
            "sha256": self.sha256,
            **asdict(self.machine),
            "results": [result.to_json(rate) for result in self.results],
        }
