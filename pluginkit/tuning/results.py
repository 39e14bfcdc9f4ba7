"""What is asked of `pluginkit tune`, and what it found, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pluginkit.dtypes import DType
from pluginkit.manifest.tuning.section import Kept, Values

VARIABLE = "PLUGINKIT_TUNING_SET"
"""Of the environment: which candidate launches take (pluginkit/kernels/tuning.cuh)."""


def named(values: Values) -> str:
    """A set of values on a line."""
    return ", ".join(f"{name} = {value}" for name, value in values.items()) or "usual"


@dataclass(frozen=True)
class TuneOptions:
    """What is measured.

    Attributes:
        project: the folder with `pluginkit.toml`.
        precisions: None means all that the manifest declares.
        only: patterns of case ids, as `large/*`; none means all.
        dry_run: pluginkit.toml stays as it is.
        timeout: seconds until a plugin hangs.
    """

    project: Path = Path()
    precisions: tuple[DType, ...] | None = None
    only: tuple[str, ...] = ()
    dry_run: bool = False
    timeout: float = 60.0


@dataclass(frozen=True)
class Compared:
    """Sets of values, measured in turn.

    Attributes:
        times: of each set, by its number, the median seconds of an enqueue in each round.
        wrong: what is wrong with a set: its outputs, or that it can't be launched. It has no times.
    """

    times: Mapping[int, Sequence[float]]
    wrong: Mapping[int, str]


@dataclass(frozen=True)
class Tuned:
    """What was found on the GPUs of one architecture.

    Attributes:
        arch: as `sm_90`.
        gpu: the GPU's name.
        candidates: the sets of values that were measured; the first is the usual one.
        cases: what was measured, by the case's id: a set's number, and its median seconds.
        wrong: the sets that are out of question, and why.
        best: the candidate that is fastest over all cases, by its number; 0: the usual values.
        gain: how many times faster than the usual values it is, in rounds of their own.
        noise: how far the usual values' own rounds are from their median at most, in parts of it.
        also: candidates that are faster than that one in some case by more than the noise, by their numbers.
        kept: what now stands in pluginkit.toml; None: nothing was written.
        removed: the candidate, by its number, of the section that pluginkit.toml had and that is no gain now: it is
            removed, unless the run is a dry one. None: there is none.
    """

    arch: str
    gpu: str
    candidates: Sequence[Values]
    cases: Mapping[str, Mapping[int, float]]
    wrong: Mapping[int, str]
    best: int
    gain: float
    noise: float
    also: Sequence[int] = ()
    kept: Kept | None = None
    removed: int | None = None


@dataclass(frozen=True)
class TuneReport:
    """A run.

    Attributes:
        plugin: its name.
        found: an architecture each.
        left: architectures in pluginkit.toml that no GPU here has: they stay as they are.
        largest_bytes: what the largest case moves.
    """

    plugin: str
    found: tuple[Tuned, ...]
    left: Mapping[str, Kept]
    largest_bytes: int

    def to_json(self) -> dict[str, Any]:
        """Plain data; seconds."""
        return {
            "plugin": self.plugin,
            "found": [{**asdict(one), "kept": one.kept and one.kept.model_dump()} for one in self.found],
            "left": {arch: kept.model_dump() for arch, kept in self.left.items()},
        }
