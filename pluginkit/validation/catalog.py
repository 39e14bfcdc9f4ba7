"""Every check: its id, level and kind, what it needs, the sentence that it rests on, and what asks it.

A check with the id of a demand of the host asks the same. Breaking a `contract`, or what the project has `declared`, is
a failure; breaking `robustness` is a warning, and a failure with `--strict` alone.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pluginkit.demands import DEMANDS, NAMES
from pluginkit.errors import NothingSelected, UsageError

Kind = Literal["contract", "robustness", "declared"]
Need = Literal[
    "file",
    "loaded",
    "plugin",
    "model",
    "manifest",
    "run",
    "sanitizers",
    "gpu",
    "gpu-sanitizers",
    "builder",
    "engines",
    "registries",
]
NEEDS: dict[Need, str] = {
    "file": "the library's file alone, which isn't loaded",
    "loaded": "the library in a worker process",
    "plugin": "a plugin of the creator: values for its fields",
    "model": "an ONNX model with nodes of the plugin: `--model`",
    "manifest": "a `pluginkit.toml`",
    "run": "kernels on target cpu, in networks made from a `pluginkit.toml`",
    "sanitizers": "the same with checks compiled in, which takes the sources",
    "gpu": "a GPU, and the library built for it",
    "gpu-sanitizers": "the same with compute-sanitizer",
    "builder": "NVIDIA's builder, TensorRT-RTX, and a `pluginkit.toml`",
    "engines": "the same with a GPU, for its engines",
    "registries": "NVIDIA's plugin registries: tensorrt-lean 10 or 11",
}
"""What a check needs. Where it is missing, the check is skipped and says so."""
BY_RUNS: tuple[Need, ...] = ("run", "sanitizers", "gpu", "gpu-sanitizers", "builder", "engines", "registries")
"""The needs of checks that read what test runs have shown."""
Generation = Literal["v2", "v3", "dynamic", "ioext"]

LEVELS = range(1, 11)
DEFAULT_LEVEL = 5


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        id: unique.
        title: what is asked, a sentence.
        group: its heading in reports.
        level: 1 to 10; a run at a level has all checks up to it.
        kind: whether TensorRT's or CUDA's documents promise it, no document does, or `pluginkit.toml` declares it.
        need: what there must be.
        of: the generations or bases that it is about; empty for all.
        source: where it says so.
        fix: the likely change.
        ask: called with a `Subject` (an `Inspection` for `file`, a `ModelSubject` for `model`, a `Manifest` and the
            creators for `manifest`, an `RunEvidence` for those of `BY_RUNS`); raises Finding, or NothingToCheck.
        provokes: whether it gives what no document has a plugin survive: then a crash is no more than the kind says.
    """

    id: str
    title: str
    group: str
    level: int
    kind: Kind
    need: Need
    of: tuple[Generation, ...]
    source: str
    fix: str
    ask: Callable[[Any], None]
    provokes: bool = False


class NothingToCheck(Exception):
    """A check that saw nothing to check: it is skipped, with this reason."""


CHECKS: dict[str, Check] = {}
"""By id, in the order of reports."""


def check(
    name: str,
    title: str = "",
    *,
    group: str,
    level: int,
    fix: str,
    source: str = "",
    kind: Kind | None = None,
    need: Need = "plugin",
    of: Sequence[Generation] = (),
    provokes: bool = False,
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Makes a function a check; the arguments are the attributes of `Check`.

    One that asks what a demand of the host asks too has its id, and so its title, source and kind.
    """
    if demand := DEMANDS.get(name):
        assert not title and not source and kind is None, name
        title, source = demand.asked, demand.source
        assert demand.kind != "limit", name
        kind = demand.kind
    assert title and source and kind, name

    def enter(ask: Callable[[Any], None]) -> Callable[[Any], None]:
        assert name not in CHECKS, name
        CHECKS[name] = Check(name, title, group, level, kind, need, tuple(of), source, fix, ask, provokes)
        return ask

    return enter


def choose(level: int = DEFAULT_LEVEL, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> list[Check]:
    """The checks of a run.

    Args:
        level: 1 to 10.
        include: patterns of ids, names or groups (`S*`, `clone-*`, `shapes`), whatever their level; none: all up to
            the level.
        exclude: patterns of those that are left out.

    Raises:
        UsageError: a pattern that fits no check.
        NothingSelected: nothing is left.
    """
    for pattern in (*include, *exclude):
        if not any(_fits(one, pattern) for one in CHECKS.values()):
            groups = ", ".join(dict.fromkeys(one.group for one in CHECKS.values()))
            raise UsageError(
                f"No check has an id, name or group that fits {pattern!r}.",
                hint=f"pluginkit check --list shows all; the groups are {groups}.",
            )
    chosen = [
        one
        for one in CHECKS.values()
        if (any(_fits(one, pattern) for pattern in include) if include else one.level <= level)
        and not any(_fits(one, pattern) for pattern in exclude)
    ]
    if not chosen:
        raise NothingSelected("No check is left by --include and --exclude.", hint="pluginkit check --list shows all.")
    return chosen


def _fits(one: Check, pattern: str) -> bool:
    return one.group == pattern or any(fnmatch.fnmatchcase(text, pattern) for text in (one.id, NAMES[one.id]))
