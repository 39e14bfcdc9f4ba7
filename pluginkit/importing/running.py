"""One run of a model on the CPU: plugins by pluginkit's host, against onnxruntime and the projects' reference.py."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import onnx
import onnx.inliner

from pluginkit.bases import BASES
from pluginkit.build import PLAIN, Instrumentation
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, PluginkitError, ToolMissing
from pluginkit.host.bases.v2_lifecycle import SHARE, UNREADY
from pluginkit.host.errors import Finding
from pluginkit.importing import hosting, inputs, plugin_node
from pluginkit.importing.files import recorded
from pluginkit.importing.files.recorded import NOTHING, Recorded
from pluginkit.importing.hosting import HostRun
from pluginkit.importing.implementations import Implementation
from pluginkit.importing.onnx_graph import function_name, places
from pluginkit.importing.plugin_node import NAMESPACE, RESERVED, VERSION, Expected, attribute
from pluginkit.importing.rules.signature import unknown_fields
from pluginkit.library import Problem
from pluginkit.manifest import FILE_NAME
from pluginkit.network.networks import Array, NetworkProfile, Tolerance
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerTimeout
from pluginkit.testing import precision
from pluginkit.testing.comparison import OutputComparison, compare

EXPECTED = "pluginkit.importing.expected_worker"
RTOL, ATOL = 1e-3, 1e-4
"""What two implementations of standard operators in FP32 may differ by."""
RUN = tuple(base.interface for base in BASES.values())
"""What pluginkit's host runs."""


@dataclass(frozen=True)
class RunOutcome:
    """What came of the run.

    Attributes:
        status: `compared`: run, and as expected; `ran`: run, and there was nothing to compare with; `failed`: other
            values than expected, or the plugin broke a rule; `crashed`, `hung`; `not run`.
        message: what happened, or why not.
        outputs: each output's comparison.
        remedy: of what was not run: what would run it.
        log: what the plugins logged and printed, where something went wrong.
        problems: what the host and the device in the libraries found, the errors first: a run with an error has failed.
        drawn: the graph's inputs, and what random values they got.
        checks: what the plugins were run with, a build after the other, as in `address+undefined`.
        against: the file of expected outputs; empty if they are those of onnxruntime and reference.py.
        lacks: what is not installed, so that there was no run or no comparison; `remedy` is the command to type.
    """

    status: Literal["compared", "ran", "failed", "crashed", "hung", "not run"]
    message: str = ""
    outputs: tuple[OutputComparison, ...] = ()
    remedy: str = ""
    log: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    drawn: tuple[str, ...] = ()
    lacks: str = ""
    against: str = ""
    checks: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data; an error that is not a number (NaN, another shape) is null."""
        outputs = [
            {
                key: None if isinstance(item, float) and not math.isfinite(item) else item
                for key, item in asdict(one).items()
            }
            for one in self.outputs
        ]
        message = {"status": self.status, "message": self.message, "fix": self.remedy, "log": list(self.log)}
        more = {"against": self.against, "checks": list(self.checks)}
        return {**message, **more, "inputs": list(self.drawn), "outputs": outputs}


def run(
    model: onnx.ModelProto,
    implementations: Sequence[Implementation],
    profile: NetworkProfile,
    given: Recorded = NOTHING,
    *,
    seed: int,
    timeout: float,
    instrumentations: Sequence[Instrumentation] = (PLAIN,),
) -> RunOutcome:
    """Run the model at the profile's opt, on random inputs where none are given, once with each build of the plugins.

    Raises:
        UsageError: a given input has another type or shape.
    """
    plugins = [one for one in implementations if one.by == "plugin"]
    if reason := impossible(implementations, plugins):
        return reason
    constants = {tensor.name for tensor in model.graph.initializer}
    if renamed := [v.name for v in model.graph.input if v.name not in {*constants, *profile.shapes}]:
        return RunOutcome("not run", f"NVIDIA's parser gives another name to {renamed[0]}", remedy="see M29")
    try:
        ready_made = drawn(model, implementations, profile, given, seed)
    except CheckFailed as error:
        return RunOutcome("not run", error.message)
    if plugins:
        ran = _with_plugins(ready_made, given.outputs, timeout, instrumentations)
    else:
        ran = _without_plugins(ready_made.model, ready_made.feeds, given.outputs, timeout)
    return replace(ran, drawn=ready_made.lines, against=str(given.expected or ""))


@dataclass(frozen=True)
class Drawn:
    """A model that is ready to be run.

    Attributes:
        model: it, as `ready` makes it.
        at: what implements its plugins' nodes, by name.
        feeds: the graph's inputs.
        lines: where these come from, in a line each.
    """

    model: onnx.ModelProto
    at: dict[str, Implementation]
    feeds: dict[str, Array]
    lines: tuple[str, ...]


def drawn(
    model: onnx.ModelProto,
    implementations: Sequence[Implementation],
    profile: NetworkProfile,
    given: Recorded,
    seed: int,
) -> Drawn:
    """The model, and its inputs at the profile's opt: random where none are given.

    Raises:
        CheckFailed: it can't be made ready.
        UsageError: a given input has another type or shape.
    """
    try:
        whole, at = ready(model, implementations)
        feeds, lines = inputs.draw(whole, profile, plugin_node.DOMAIN, np.random.default_rng(seed))
    except Exception as error:  # noqa: BLE001 - onnx has many, and each of them means that this model can't be run
        raise CheckFailed(f"the model can't be made ready: {str(error).splitlines()[0]}") from None
    if given.data:
        feeds = recorded.fed(given.data, given.inputs, feeds)
        # A line begins with the input's name.
        others = (line for line in lines if line.partition(": ")[0] not in given.inputs)
        lines = (f"{', '.join(given.inputs)}: of {given.data}", *others)
    return Drawn(whole, at, feeds, lines)


def held(got: dict[str, Array], made: Drawn, given: Recorded, timeout: float) -> RunOutcome:
    """What another runtime than the host gave for a model that was drawn, held against what the host's is."""
    return _outcome(got, _wanted(made, given.outputs, timeout), list(made.at.values()))


def standard(model: onnx.ModelProto, feeds: dict[str, Array], timeout: float) -> dict[str, Array]:
    """The outputs of a model without plugins, by onnxruntime.

    Raises:
        UsageError: it can't be run on these inputs.
        ToolMissing: onnxruntime isn't installed.
        WorkerCrashed, WorkerTimeout: onnxruntime died, or did not come back.
    """
    return _expected(model, (), feeds, timeout).outputs


def standards(model: onnx.ModelProto, several: Sequence[dict[str, Array]], timeout: float) -> list[dict[str, Array]]:
    """As `standard`, on several inputs in one process."""
    proto = model.SerializeToString()
    with Worker(EXPECTED, {}, timeout=timeout) as worker:
        return [worker.call("run", model=proto, projects={}, feeds=feeds).outputs for feeds in several]


def expected(
    model: onnx.ModelProto, implementations: Sequence[Implementation], feeds: dict[str, Array], timeout: float
) -> Expected:
    """What a model gives by onnxruntime and the plugins' reference.py.

    Raises:
        UsageError, ToolMissing, CheckFailed, WorkerCrashed, WorkerTimeout: it can't be computed.
    """
    whole, at = ready(model, implementations)
    return _expected(whole, list(at.values()), feeds, timeout)


def _without_plugins(
    model: onnx.ModelProto, feeds: dict[str, Array], wanted: Mapping[str, Array], timeout: float
) -> RunOutcome:
    """By onnxruntime alone: a difference of another implementation would be no evidence on this model."""
    try:
        got = standard(model, feeds, timeout)
    except ToolMissing as error:
        return RunOutcome("not run", error.message, remedy=error.hint, lacks=error.message)
    except PluginkitError as error:
        return RunOutcome(
            "not run", error.message, remedy=LONGER if isinstance(error, WorkerTimeout) else error.hint or _SIZES
        )
    if wanted:
        return _compared(got, Expected(dict(wanted)), ())
    return RunOutcome("ran", f"{_count(len(got))} by onnxruntime; no plugin takes part, so there is nothing to compare")


LONGER = "give it longer by --timeout"
_SIZES = "give it other shapes by --profile, if these are not what the model is for"


def _wanted(made: Drawn, wanted: Mapping[str, Array], timeout: float) -> Expected | PluginkitError | str:
    """What a run must give: `wanted`, or what onnxruntime and the references say; or why there is nothing."""
    plugins = list(made.at.values())
    expected: Expected | PluginkitError | str = _incomparable(made.at)
    if not expected:
        try:
            expected = _expected(made.model, plugins, made.feeds, timeout)
        except PluginkitError as error:
            expected = error
    if wanted:
        # The reference still says which elements mean nothing.
        known = expected if isinstance(expected, Expected) else Expected({})
        arbitrary = {name: mask for name, mask in known.arbitrary.items() if name in wanted}
        expected = replace(known, outputs=dict(wanted), arbitrary=arbitrary)
    return expected


def _with_plugins(
    made: Drawn, wanted: Mapping[str, Array], timeout: float, instrumentations: Sequence[Instrumentation]
) -> RunOutcome:
    plugins = list(made.at.values())
    # First, because it shows what a plugin may leave unwritten.
    expected = _wanted(made, wanted, timeout)
    free = expected.free if isinstance(expected, Expected) else {}
    outcomes = []
    for instrumentation in instrumentations:
        hosted = hosting.run(made.model, made.at, made.feeds, free, timeout, instrumentation)
        outcome = _failed(hosted) if hosted.error else _outcome(hosted.outputs, expected, plugins)
        outcome = _with_problems(outcome, hosted)
        suspect = isinstance(hosted.error, (WorkerCrashed, Finding)) or hosted.wrong
        if suspect and any(one.creator is not None and one.creator.kind == "V2" for one in plugins):
            again = hosting.run(made.model, made.at, made.feeds, free, timeout, instrumentation, initialize_clones=True)
            if again.error is None and not again.wrong:
                cause = Problem("error", UNREADY.format("the model runs"), SHARE, "L2", hosted.node)
                outcome = replace(outcome, problems=(cause, *outcome.problems))
        outcomes.append(outcome)
    return replace(
        worst(outcomes),
        checks=tuple(instrumentation.name for instrumentation in instrumentations if instrumentation.sanitizers),
    )


def worst(outcomes: Sequence[RunOutcome]) -> RunOutcome:
    """The first that went wrong, or else the first that was not run, with the problems of all."""
    order = ({"crashed", "hung", "failed"}, {"not run"})
    found = next((one for status in order for one in outcomes if one.status in status), outcomes[0])
    problems = dict.fromkeys(problem for one in outcomes for problem in one.problems)
    return replace(found, problems=tuple(sorted(problems, key=lambda problem: problem.level)))


def _failed(hosted: HostRun) -> RunOutcome:
    """A run that did not come to its end."""
    error, where = hosted.error, f"node {hosted.node}: " if hosted.node else ""
    assert error is not None
    if isinstance(error, WorkerCrashed):
        return RunOutcome("crashed", where + error.message)
    if isinstance(error, WorkerTimeout):
        if error.inside:
            return RunOutcome("hung", where + error.message)
        slow = f"{error.message}; onnx's reference runs the other operators, and it is slow"
        return RunOutcome("not run", slow, remedy=LONGER)
    if error.exit_code == CheckFailed.exit_code:
        return RunOutcome("failed", where + error.message, remedy=error.hint, log=hosted.log)
    # An operator that onnx's reference does not have, or that can't be computed on these shapes.
    return RunOutcome("not run", error.message, remedy=error.hint or _SIZES, log=hosted.log)


def _outcome(
    got: dict[str, Array], expected: Expected | PluginkitError | str, plugins: Sequence[Implementation]
) -> RunOutcome:
    """A run that came to its end."""
    if isinstance(expected, str):
        return RunOutcome("ran", f"{_count(len(got))}, not compared, because {expected}")
    if isinstance(expected, ToolMissing):
        message = f"{_count(len(got))}, not compared, because {expected.message}"
        return RunOutcome("ran", message, remedy=expected.hint, lacks=expected.message)
    if isinstance(expected, PluginkitError):
        if expected.exit_code == CheckFailed.exit_code:
            return RunOutcome("failed", expected.message)
        return RunOutcome("ran", f"{_count(len(got))}, not compared, because there is nothing to: {expected.message}")
    for name, mask in expected.arbitrary.items():
        if got[name].shape == mask.shape == expected.outputs[name].shape:
            got[name] = np.where(mask, expected.outputs[name].astype(got[name].dtype), got[name])
    return _compared(got, expected, plugins)


def _with_problems(outcome: RunOutcome, hosted: HostRun) -> RunOutcome:
    """With what was found besides: where a kernel did wrong the run has failed, however it ended."""
    outcome = replace(outcome, problems=hosted.problems())
    if not hosted.wrong:
        return outcome
    count = sum(problem.level == "error" for problem in outcome.problems)
    message = f"{count} defect{'' if count == 1 else 's'} of {hosted.wrong[0][0]}"
    more = len({node for node, _ in hosted.wrong}) - 1
    message += f" and {more} more node{'' if more == 1 else 's'}" if more else ""
    # A process that a finding ended is not a crash: the finding is the reason.
    rest = outcome.message.splitlines()[0] if outcome.status != "failed" else outcome.message
    return replace(outcome, status="failed", message=f"{message}, see the errors above; {rest}")


def _incomparable(at: Mapping[str, Implementation]) -> str:
    """Why there is nothing to compare the outputs with; empty if there is."""
    without = sorted({one.library.path.name for one in at.values() if one.library and not one.member})
    if without:
        return f"{', '.join(without)} belongs to no project: there is no reference.py"
    for name, one in at.items():
        if one.creator is not None and one.member is not None:
            more = unknown_fields(one, one.creator, one.member.manifest)
            if more:
                return (
                    f"node {name} has the field {more[0]}, which {FILE_NAME} does not have: reference.py is not told "
                    "of it"
                )
    return ""


def impossible(implementations: Sequence[Implementation], plugins: Sequence[Implementation]) -> RunOutcome | None:
    """Why this model can't be run here, and what would run it; None if it can be tried."""
    missing = [one for one in implementations if one.by == "missing"]
    if not plugins and all(_of_onnx(one.place.node) for one in missing):
        # onnxruntime alone runs it.
        missing = []
    if missing:
        more = " ..." if len(missing) > 3 else ""
        message = f"nothing implements {', '.join(one.place.label for one in missing[:3])}{more}"
        return RunOutcome("not run", message, remedy="give the library that has it by --plugins")
    for one in plugins:
        if one.library is None or one.creator is None:
            continue
        name = one.library.path.name
        if one.library.target == "gpu":
            fix = "give its project by --plugins, or its library of target cpu (pluginkit build --target cpu)"
            return RunOutcome("not run", f"{name} is of target gpu", remedy=fix)
        if one.creator.base not in {*RUN, ""}:
            message = f"{one.creator.name} of {name} is {one.creator.base}, and pluginkit's host runs {', '.join(RUN)}"
            return RunOutcome("not run", message, remedy="write the plugin on one of these; pluginkit new shows how")
    return None


def _of_onnx(node: onnx.NodeProto) -> bool:
    return node.domain in {"", "ai.onnx"} and onnx.defs.has(node.op_type)


def ready(
    model: onnx.ModelProto, implementations: Sequence[Implementation]
) -> tuple[onnx.ModelProto, dict[str, Implementation]]:
    """The model with its local functions written out, and what implements its plugins' nodes, by name.

    Those have a domain of their own, because another node may have the same type and be NVIDIA's own; version and
    namespace as the parser took them; and names by which the user finds them.
    """
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    # The parser goes by a function's name alone.
    functions = {function_name(function): function for function in copied.functions}
    inside = {one.place.path[0] for one in implementations if one.place.path} & set(functions)
    seen = [
        *places(copied.graph),
        *(place for name in _in_order(implementations, inside) for place in places(functions[name])),
    ]
    newest = onnx.defs.onnx_opset_version()
    opset = min(next((one.version for one in model.opset_import if one.domain in {"", "ai.onnx"}), newest), newest)
    for index, (one, place) in enumerate(zip(implementations, seen, strict=True)):
        node = place.node
        if one.by == "native" and onnx.defs.has(node.op_type, opset):
            # As NVIDIA's parser has it, which looks at no domain; where the model's opset is older than ONNX's own
            # operator of that name, only the node's domain has it for others.
            _as_standard(node)
        if one.by != "plugin" or one.creator is None:
            continue
        kept = [found for found in node.attribute if found.name not in {VERSION, NAMESPACE}]
        del node.attribute[:]
        node.attribute.extend(kept)
        node.attribute.append(onnx.helper.make_attribute(VERSION, one.creator.version))
        node.attribute.append(onnx.helper.make_attribute(NAMESPACE, one.creator.namespace))
        # Through the inlining, which gives nodes other names.
        node.attribute.append(onnx.helper.make_attribute(_NUMBER, index))
        node.domain = plugin_node.DOMAIN
    own = onnx.helper.make_opsetid(plugin_node.DOMAIN, 1)
    for container in (copied, *copied.functions):
        container.opset_import.append(own)
    taken = {one.place.node.op_type for one in implementations if one.by == "plugin"}
    kept_functions = [function for function in copied.functions if function.name not in taken]
    del copied.functions[:]
    copied.functions.extend(kept_functions)
    if kept_functions:
        copied = onnx.inliner.inline_local_functions(copied)
    at: dict[str, Implementation] = {}
    for node in (place.node for place in places(copied.graph) if place.node.domain == plugin_node.DOMAIN):
        number = attribute(node, _NUMBER)
        assert number is not None
        one = implementations[number.i]
        node.attribute.remove(number)
        node.name = _unused(one.place.label, at)
        at[node.name] = one
    names: dict[str, object] = dict(at)
    for node in (
        place.node for place in places(copied.graph) if place.node.domain != plugin_node.DOMAIN and place.node.name
    ):
        # Of one name onnxruntime takes no two nodes, NVIDIA's parser does.
        node.name = _unused(node.name, names)
        names[node.name] = node
    return copied, at


def _as_standard(node: onnx.NodeProto) -> None:
    node.domain = ""
    # One by one: rebuilt, an If's branches would be other graphs than those whose nodes are at hand.
    for found in [one for one in node.attribute if one.name in RESERVED]:
        node.attribute.remove(found)


_NUMBER = "pluginkit_import_number"


def _in_order(implementations: Sequence[Implementation], inside: set[str]) -> list[str]:
    return list(
        dict.fromkeys(one.place.path[0] for one in implementations if one.place.path and one.place.path[0] in inside)
    )


def _unused(name: str, taken: Mapping[str, object]) -> str:
    names = (name, *(f"{name} ({number})" for number in range(2, len(taken) + 3)))
    return next(one for one in names if one not in taken)


def _expected(
    model: onnx.ModelProto, plugins: Sequence[Implementation], feeds: dict[str, Array], timeout: float
) -> Expected:
    projects = {
        key: (one.member.folder, one.member.manifest)
        for key, one in hosting.identities(plugins).items()
        if one.member is not None
    }
    with Worker(EXPECTED, {}, timeout=timeout) as worker:
        found = worker.call("run", model=model.SerializeToString(), projects=projects, feeds=feeds)
    assert isinstance(found, Expected)
    return found


def _compared(got: Mapping[str, Array], expected: Expected, plugins: Sequence[Implementation]) -> RunOutcome:
    result = compare(
        {name: narrow(value) for name, value in got.items()},
        {name: wide(value) for name, value in expected.outputs.items()},
        tolerance(plugins, expected),
    )
    if result.ok:
        return RunOutcome("compared", f"{_count(len(expected.outputs))} as expected", result.outputs)
    return RunOutcome("failed", result.message, result.outputs)


def _count(number: int) -> str:
    return f"{number} output{'' if number == 1 else 's'}"


def narrow(value: Array) -> Array:
    """A run's output in a type that `compare` takes."""
    whole = np.int64 if value.dtype == np.int64 else np.int32
    return value.astype(np.float32 if value.dtype.kind == "f" else whole)


def wide(value: Array) -> Array:
    """An expected output in a type that `compare` takes."""
    return value.astype(np.float64 if value.dtype.kind == "f" else np.int64)


def tolerance(plugins: Sequence[Implementation], expected: Expected) -> Tolerance:
    """The sum of what the plugins may be off by, and of what other implementations are off by anyhow."""
    rtol, atol = RTOL, ATOL + sum(expected.steps.values())
    half = any(value.dtype == np.float16 for value in expected.outputs.values())
    for one in plugins:
        if one.member is not None:
            close = precision.close(one.member.manifest, DType.FLOAT16 if half else DType.FLOAT32)
            rtol, atol = rtol + close.rtol, atol + close.atol
    return Tolerance("close", rtol=rtol, atol=atol)
