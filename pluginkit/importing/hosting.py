"""The host's half of `running`: the plugins in a worker, and what it and their device find, each with its node."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from pluginkit.build import PLAIN, Flavour
from pluginkit.demands import Doubt
from pluginkit.errors import PluginkitError
from pluginkit.importing.plugin_node import LAST, Identity
from pluginkit.importing.serving import Served
from pluginkit.library import Problem
from pluginkit.manifest.project import root
from pluginkit.network.model import Array
from pluginkit.process.defects import ENQUEUE_COSTS, explain
from pluginkit.process.findings import Defect, Findings
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerTimeout

CHILD = "pluginkit.importing.hosted_child"
NAMED = 3
"""The number of nodes with one finding whose names are shown."""
NOBODY_ASKS = "No document of TensorRT asks for it (docs/demands.md); a good plugin does it."


def identities(plugins: Sequence[Served]) -> dict[Identity, Served]:
    """The creators that serve these nodes, each with one of them."""
    return {
        (one.creator.name, one.creator.version, one.creator.namespace): one
        for one in plugins
        if one.creator is not None
    }


@dataclass(frozen=True)
class HostRun:
    """What came of a run in the host.

    Attributes:
        outputs: the graph's; empty if it did not come to its end.
        error: how it ended, if not well.
        node: the plugin's node that was run last.
        defects: what the device in the libraries found, with the node that was run; a run may be right all the same.
        doubts: what no document of TensorRT asks for, with the node; none of a process that died.
        log: what the plugins logged and printed, if it did not end well.
    """

    outputs: dict[str, Array]
    error: PluginkitError | None = None
    node: str = ""
    defects: tuple[tuple[str, Defect], ...] = ()
    doubts: tuple[tuple[str, Doubt], ...] = ()
    log: tuple[str, ...] = ()

    @property
    def wrong(self) -> list[tuple[str, Defect]]:
        """The defects without those that cost time only."""
        return [(node, one) for node, one in self.defects if one.kind not in ENQUEUE_COSTS]

    def problems(self) -> tuple[Problem, ...]:
        """All of it as text, once each however many nodes show it, the errors first."""
        by_place: dict[tuple[str, ...], list[tuple[str, Defect]]] = {}
        for node, defect in self.defects:
            by_place.setdefault((defect.kind, defect.kernel, defect.place or defect.text), []).append((node, defect))
        found = []
        for same in by_place.values():
            message, fix = explain(same[0][1])
            rule = ENQUEUE_COSTS.get(same[0][1].kind)
            text = _also(f"[{rule}] {message}" if rule else message, [node for node, _ in same])
            found.append(Problem("warning" if rule else "error", text, fix, node=same[0][0]))
        doubts: dict[str, list[str]] = {}
        for node, doubt in self.doubts:
            doubts.setdefault(doubt.text, []).append(node)
        found += [Problem("warning", _also(t, nodes), NOBODY_ASKS, node=nodes[0]) for t, nodes in doubts.items()]
        return tuple(sorted(found, key=lambda problem: problem.level))


def run(
    model: onnx.ModelProto,
    plugins: Mapping[str, Served],
    feeds: Mapping[str, Array],
    free: Mapping[str, Sequence[Sequence[Array]]],
    timeout: float,
    flavour: Flavour = PLAIN,
) -> HostRun:
    """Run a model once.

    Args:
        model: each plugin's node has a name of its own, and is in the domain `DOMAIN`.
        plugins: who serves these nodes, by name.
        feeds: the graph's inputs.
        free: of each node, for each of its runs and each output, which elements need not be written.
        timeout: seconds that the plain build may take; checks take longer.
        flavour: the build of the libraries that is run.

    Raises:
        ToolMissing: what the checks need isn't there.
    """
    timeout *= flavour.slowdown
    with tempfile.TemporaryDirectory(prefix="pluginkit-import-") as name:
        folder, names = Path(name), list(plugins)
        given = {"creators": creators(plugins, flavour), "names": names, "findings": folder}
        # A kernel that does not end is to be named before the call's own time is over.
        environment = {**flavour.environment(), "PLUGINKIT_CPU_TIME_LIMIT": str(max(1, int(timeout / 2)))}
        outputs: dict[str, Array] = {}
        doubts: tuple[tuple[str, Doubt], ...] = ()
        log: tuple[str, ...] = ()
        failed: PluginkitError | None = None
        try:
            with Worker(CHILD, given, timeout=timeout, env=environment) as worker:
                try:
                    outputs = worker.call("run", model=model.SerializeToString(), feeds=dict(feeds), free=dict(free))
                except (WorkerCrashed, WorkerTimeout):
                    raise
                except PluginkitError as error:
                    failed, log = error, (*getattr(error, "log", ()), *worker.printed.splitlines())
                doubts = tuple(worker.call("doubts"))
        except PluginkitError as error:
            failed = error
        defects = [(name, defect) for name, found in findings(folder, plugins) for defect in found.take()]
        last = _last(folder, names)
    return HostRun(outputs, failed, last, tuple(defects), doubts, log)


def creators(plugins: Mapping[str, Served], flavour: Flavour = PLAIN) -> dict[Identity, tuple[Path, dict[str, str]]]:
    """The creators that serve these nodes: each with its library's build, and its fields' types."""
    return {
        key: (one.library.of(flavour), {field.name: field.type for field in one.creator.fields})
        for key, one in identities(list(plugins.values())).items()
        if one.library is not None and one.creator is not None
    }


def findings(folder: Path, plugins: Mapping[str, Served]) -> list[tuple[str, Findings]]:
    """What the device in the libraries finds, of each node.

    Args:
        folder: of a child, its argument `findings`.
        plugins: of the child's nodes, in its order, who serves them.
    """
    return [(name, Findings(folder / str(index), _sources(one))) for index, (name, one) in enumerate(plugins.items())]


def _last(folder: Path, names: Sequence[str]) -> str:
    try:
        return names[int((folder / LAST).read_text())]
    except (OSError, ValueError):
        return ""


def _sources(one: Served) -> Path:
    """Where a plugin's sources lie, as far as that is known: places are relative to that."""
    if one.member is not None:
        return root(one.member.folder)
    return one.library.path.parent if one.library is not None else Path()


def _also(message: str, nodes: Sequence[str]) -> str:
    others = list(dict.fromkeys(node for node in nodes[1:] if node and node != nodes[0]))
    if not others:
        return message
    more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
    return f"{message}\n  also in node {', '.join(others[:NAMED])}{more}"
