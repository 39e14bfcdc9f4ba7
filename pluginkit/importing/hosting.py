"""The host's half of `running`: the plugins in a worker, and what it and their device find, each with its node."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from pluginkit.build import PLAIN, Instrumentation
from pluginkit.demands import DemandWarning
from pluginkit.errors import PluginkitError
from pluginkit.importing.implementations import Implementation
from pluginkit.importing.plugin_node import LAST, Identity
from pluginkit.importing.rules.signature import DECLARED
from pluginkit.library import Problem
from pluginkit.manifest.project import root
from pluginkit.network.networks import Array
from pluginkit.process.defects import demand_of_cost, explain
from pluginkit.process.findings import Defect, Findings
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerTimeout

CHILD = "pluginkit.importing.hosted_worker"
NAMED = 3
"""The number of nodes with one finding whose names are shown."""
NOBODY_ASKS = "No document of TensorRT asks for it (docs/demands.md); a good plugin does it."


def identities(plugins: Sequence[Implementation]) -> dict[Identity, Implementation]:
    """The creators that implement these nodes, each with one of them."""
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
        defects: what the device in the libraries found, with the node that was run; a run may be right nevertheless.
        warnings: what no document of TensorRT asks for, with the node; none of a process that died.
        log: what the plugins logged and printed, if it did not end well.
        others: outputs that the model declares otherwise: node, output, rule, what it is and what is declared.
    """

    outputs: dict[str, Array]
    error: PluginkitError | None = None
    node: str = ""
    defects: tuple[tuple[str, Defect], ...] = ()
    warnings: tuple[tuple[str, DemandWarning], ...] = ()
    log: tuple[str, ...] = ()
    others: tuple[tuple[str, str, str, str], ...] = ()

    @property
    def wrong(self) -> list[tuple[str, Defect]]:
        """The defects without those that cost time only."""
        return [(node, one) for node, one in self.defects if not demand_of_cost(one)]

    def problems(self) -> tuple[Problem, ...]:
        """All of it as text, once each however many nodes show it, the errors first."""
        by_place: dict[tuple[str, ...], list[tuple[str, Defect]]] = {}
        for node, defect in self.defects:
            by_place.setdefault((defect.kind, defect.kernel, defect.place or defect.text), []).append((node, defect))
        found = []
        for same in by_place.values():
            message, fix = explain(same[0][1])
            rule = demand_of_cost(same[0][1])
            text = _also(f"[{rule}] {message}" if rule else message, [node for node, _ in same])
            found.append(Problem("warning" if rule else "error", text, fix, node=same[0][0]))
        warnings: dict[str, list[str]] = {}
        for node, warning in self.warnings:
            warnings.setdefault(warning.text, []).append(node)
        found += [Problem("warning", _also(t, nodes), NOBODY_ASKS, node=nodes[0]) for t, nodes in warnings.items()]
        for node, output, rule, what in self.others:
            text = f"its output {output} is {what}: TensorRT takes what the plugin gives."
            found.append(Problem("warning", text, DECLARED, rule, node))
        return tuple(sorted(found, key=lambda problem: problem.level))


def run(
    model: onnx.ModelProto,
    plugins: Mapping[str, Implementation],
    feeds: Mapping[str, Array],
    free: Mapping[str, Sequence[Sequence[Array]]],
    timeout: float,
    instrumentation: Instrumentation = PLAIN,
    *,
    initialize_clones: bool = False,
) -> HostRun:
    """Run a model once.

    Args:
        model: each plugin's node has a name of its own, and is in the domain `DOMAIN`.
        plugins: what implements these nodes, by name.
        feeds: the graph's inputs.
        free: of each node, for each of its runs and each output, which elements need not be written.
        timeout: seconds that the plain build may take; checks take longer.
        instrumentation: the build of the libraries that is run.
        initialize_clones: that of `host.Context`.

    Raises:
        ToolMissing: what the checks need isn't there.
    """
    timeout *= instrumentation.slowdown
    with tempfile.TemporaryDirectory(prefix="pluginkit-import-") as name:
        folder, names = Path(name), list(plugins)
        given = {"creators": creators(plugins, instrumentation), "names": names, "findings": folder}
        given["initialize_clones"] = initialize_clones
        # A kernel that does not end is to be named before the call's own time is over.
        environment = {**instrumentation.environment(), "PLUGINKIT_CPU_TIME_LIMIT": str(max(1, int(timeout / 2)))}
        outputs: dict[str, Array] = {}
        warnings: tuple[tuple[str, DemandWarning], ...] = ()
        others: tuple[tuple[str, str, str, str], ...] = ()
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
                warnings, others = tuple(worker.call("warnings")), tuple(worker.call("others"))
        except PluginkitError as error:
            failed = error
        defects = [(name, defect) for name, found in findings(folder, plugins) for defect in found.take()]
        last = _last(folder, names)
    return HostRun(outputs, failed, last, tuple(defects), warnings, log, others)


def creators(
    plugins: Mapping[str, Implementation], instrumentation: Instrumentation = PLAIN
) -> dict[Identity, tuple[Path, int, dict[str, str]]]:
    """The creators that implement these nodes: each with its library's build, the host's version for it, and the types
    of its fields."""
    return {
        key: (
            one.library.of(instrumentation),
            one.library.host_version,
            {field.name: field.type for field in one.creator.fields},
        )
        for key, one in identities(list(plugins.values())).items()
        if one.library is not None and one.creator is not None
    }


def findings(folder: Path, plugins: Mapping[str, Implementation]) -> list[tuple[str, Findings]]:
    """What the device in the libraries finds, of each node.

    Args:
        folder: of a child, its argument `findings`.
        plugins: of the child's nodes, in its order, what implements them.
    """
    return [(name, Findings(folder / str(index), _sources(one))) for index, (name, one) in enumerate(plugins.items())]


def _last(folder: Path, names: Sequence[str]) -> str:
    try:
        return names[int((folder / LAST).read_text())]
    except (OSError, ValueError):
        return ""


def _sources(one: Implementation) -> Path:
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
