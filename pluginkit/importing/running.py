"""One run of a model on the CPU: plugins by pluginkit's host, against onnxruntime and the projects' reference.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import onnx
import onnx.inliner

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, PluginkitError
from pluginkit.importing.serving import NAMESPACE, VERSION, Served, attribute, text
from pluginkit.network.model import Array, NetworkProfile, Tolerance
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerTimeout
from pluginkit.testing import precision
from pluginkit.testing.comparison import OutputComparison, compare

HOSTED = "pluginkit.importing.hosted_child"
EXPECTED = "pluginkit.importing.expected_child"
RTOL, ATOL = 1e-3, 1e-4
"""What two implementations of standard operators in FP32 may differ by."""
RUN = ("IPluginV2DynamicExt", "IPluginV2IOExt", "IPluginV3")
"""What pluginkit's host runs."""

Identity = tuple[str, str, str]
"""A creator's name, version and namespace."""


@dataclass(frozen=True)
class Outcome:
    """What came of the run.

    Attributes:
        status: `compared`: run, and as expected; `ran`: run, and there was nothing to compare with; `failed`: other
            values than expected, or the plugin broke a rule; `crashed`, `hung`; `not run`.
        message: what happened, or why not.
        outputs: each output's comparison.
        remedy: of what was not run: what would run it.
        log: what the plugins logged and printed, where something went wrong.
        doubts: what the host saw that no document of TensorRT forbids, and a good plugin does not do.
    """

    status: Literal["compared", "ran", "failed", "crashed", "hung", "not run"]
    message: str = ""
    outputs: tuple[OutputComparison, ...] = ()
    remedy: str = ""
    log: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data; an error that is no number (NaN, another shape) is null."""
        outputs = [
            {
                key: None if isinstance(item, float) and not math.isfinite(item) else item
                for key, item in asdict(one).items()
            }
            for one in self.outputs
        ]
        said = {"status": self.status, "message": self.message, "fix": self.remedy, "log": list(self.log)}
        return {**said, "outputs": outputs}


def run(
    model: onnx.ModelProto, served: Sequence[Served], profile: NetworkProfile, *, seed: int, timeout: float
) -> Outcome:
    """Run the model once at the profile's opt, on random inputs."""
    plugins = [one for one in served if one.by == "plugin"]
    if impossible := _impossible(served, plugins):
        return impossible
    try:
        whole = _without_functions(model, plugins)
        feeds = _feeds(model, profile, np.random.default_rng(seed))
    except Exception as error:  # noqa: BLE001 - onnx has many, and each of them means that this model can't be run
        return Outcome("not run", f"the model can't be made ready: {str(error).splitlines()[0]}")
    return _with_plugins(whole, plugins, feeds, timeout) if plugins else _without_plugins(whole, feeds, timeout)


def _without_plugins(model: bytes, feeds: dict[str, Array], timeout: float) -> Outcome:
    """By onnxruntime alone: that another implementation differs from it would say nothing of this model."""
    try:
        got = _expected(model, (), feeds, timeout)
    except PluginkitError as error:
        return Outcome("not run", error.message, remedy=_LONGER if isinstance(error, WorkerTimeout) else _SIZES)
    return Outcome("ran", f"{_count(len(got))} by onnxruntime; no plugin takes part, so there is nothing to compare")


_LONGER = "give it longer by --timeout"
_SIZES = "give it other shapes by --profile, if these are not what the model is for"


def _with_plugins(  # noqa: PLR0911 - one way out for each kind of ending
    model: bytes, plugins: Sequence[Served], feeds: dict[str, Array], timeout: float
) -> Outcome:
    try:
        got, doubts = _hosted(model, plugins, feeds, timeout)
    except WorkerCrashed as error:
        return Outcome("crashed", error.message)
    except WorkerTimeout as error:
        if error.inside:
            return Outcome("hung", error.message)
        return Outcome(
            "not run", f"{error.message}; onnx's reference runs the other operators, and it is slow", remedy=_LONGER
        )
    except PluginkitError as error:
        log = tuple(getattr(error, "log", ()))
        if error.exit_code == CheckFailed.exit_code:
            return Outcome("failed", str(error), log=log)
        # An operator that onnx's reference does not have, or that can't be computed on these shapes.
        return Outcome("not run", error.message, remedy=error.hint or _SIZES, log=log)
    without = sorted({one.library.path.name for one in plugins if one.library and not one.member})
    if without:
        reason = f"{', '.join(without)} belongs to no project, so there is no reference.py to compare with"
        return Outcome("ran", f"{_count(len(got))}; {reason}", doubts=doubts)
    try:
        expected = _expected(model, plugins, feeds, timeout)
    except PluginkitError as error:
        if error.exit_code == CheckFailed.exit_code:
            return Outcome("failed", error.message)
        return Outcome("ran", f"{_count(len(got))}; nothing to compare with: {error.message}", doubts=doubts)
    return replace(_compared(got, expected, plugins), doubts=doubts)


def _impossible(served: Sequence[Served], plugins: Sequence[Served]) -> Outcome | None:
    """Why this model can't be run here, and what would run it; None if it can be tried."""
    nobody = [one.place.label for one in served if one.by == "nobody"]
    if nobody:
        more = " ..." if len(nobody) > 3 else ""
        said = f"nobody serves {', '.join(nobody[:3])}{more}"
        return Outcome("not run", said, remedy="give the library that has it by --plugins")
    for one in plugins:
        if one.library is None or one.creator is None:
            continue
        name = one.library.path.name
        if one.library.target == "gpu":
            fix = "give its project by --plugins, or its library of target cpu (pluginkit build --target cpu)"
            return Outcome("not run", f"{name} is of target gpu", remedy=fix)
        if one.creator.base not in {*RUN, ""}:
            said = f"{one.creator.name} of {name} is {one.creator.base}, and pluginkit's host runs {', '.join(RUN)}"
            return Outcome("not run", said, remedy="write the plugin on one of these; pluginkit new shows how")
    return None


def _without_functions(model: onnx.ModelProto, plugins: Sequence[Served]) -> bytes:
    """The model with its local functions written out, but for those that a plugin goes before."""
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    taken = {one.place.node.op_type for one in plugins}
    kept = [function for function in copied.functions if function.name not in taken]
    del copied.functions[:]
    copied.functions.extend(kept)
    if kept:
        copied = onnx.inliner.inline_local_functions(copied)
    whole: bytes = copied.SerializeToString()
    return whole


def _feeds(model: onnx.ModelProto, profile: NetworkProfile, rng: np.random.Generator) -> dict[str, Array]:
    constants = {tensor.name for tensor in model.graph.initializer}
    feeds: dict[str, Array] = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        if value.name in profile.values:
            shape = profile.shapes[value.name][1]
            feeds[value.name] = np.array(profile.values[value.name][1], kind).reshape(shape)
            continue
        shape = profile.shapes[value.name][1]
        if kind.kind == "f":
            feeds[value.name] = rng.standard_normal(shape).astype(kind)
        elif kind.kind == "b":
            feeds[value.name] = rng.integers(0, 2, shape).astype(kind)
        else:
            # Small and not negative: indices and counts, mostly.
            feeds[value.name] = rng.integers(0, 3, shape).astype(kind)
    return feeds


def identity(node: onnx.NodeProto, creators: Sequence[Identity]) -> Identity:
    """Which of the creators a node's attributes name; the parser's order.

    Raises:
        KeyError: none.
    """
    for namespace in (text(node, NAMESPACE, ""), node.domain):
        wanted = (node.op_type, text(node, VERSION, "1"), namespace)
        if wanted in creators:
            return wanted
    raise KeyError(node.name)


def _identities(plugins: Sequence[Served]) -> dict[Identity, Served]:
    return {
        (one.creator.name, one.creator.version, one.creator.namespace): one
        for one in plugins
        if one.creator is not None
    }


def _hosted(
    model: bytes, plugins: Sequence[Served], feeds: dict[str, Array], timeout: float
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """The outputs, and what the host has to say of plugins that did it all the same."""
    creators = {
        key: (one.library.path, {field.name: field.type for field in one.creator.fields})
        for key, one in _identities(plugins).items()
        if one.library is not None and one.creator is not None
    }
    operators = sorted({(one.place.node.domain, one.place.node.op_type) for one in plugins})
    with Worker(HOSTED, {"creators": creators}, timeout=timeout) as worker:
        try:
            outputs: dict[str, Array] = worker.call("run", model=model, operators=operators, feeds=feeds)
        except PluginkitError as error:
            error.__dict__["log"] = [*getattr(error, "log", ()), *worker.printed.splitlines()]
            raise
        doubts = tuple(doubt.text for doubt in worker.call("doubts"))
    return outputs, doubts


def _expected(model: bytes, plugins: Sequence[Served], feeds: dict[str, Array], timeout: float) -> dict[str, Array]:
    projects = {
        key: (one.member.folder, one.member.manifest)
        for key, one in _identities(plugins).items()
        if one.member is not None
    }
    with Worker(EXPECTED, {}, timeout=timeout) as worker:
        outputs: dict[str, Array] = worker.call("run", model=model, projects=projects, feeds=feeds)
    return outputs


def _compared(got: dict[str, Array], expected: dict[str, Array], plugins: Sequence[Served]) -> Outcome:
    result = compare(
        {name: _plain(value) for name, value in got.items()},
        {name: _wide(value) for name, value in expected.items()},
        _tolerance(plugins, expected),
    )
    if result.ok:
        return Outcome("compared", f"{_count(len(expected))} as expected", result.outputs)
    return Outcome("failed", result.message, result.outputs)


def _count(number: int) -> str:
    return f"{number} output{'' if number == 1 else 's'}"


def _plain(value: Array) -> Array:
    return value.astype(np.float32 if value.dtype.kind == "f" else np.int32)


def _wide(value: Array) -> Array:
    return value.astype(np.float64 if value.dtype.kind == "f" else np.int64)


def _tolerance(plugins: Sequence[Served], expected: dict[str, Array]) -> Tolerance:
    """The sum of what the plugins may be off by, and of what other implementations are off by anyhow."""
    rtol, atol = RTOL, ATOL
    half = any(value.dtype == np.float16 for value in expected.values())
    for one in plugins:
        if one.member is None:
            continue
        manifest = one.member.manifest
        close = precision.close(manifest, DType.FLOAT16 if half else DType.FLOAT32)
        rtol, atol = rtol + close.rtol, atol + close.atol
        scales = [attribute(one.place.node, name) for name in manifest.scale_fields()]
        steps = [abs(found.f) * precision.int8_steps(manifest) for found in scales if found is not None]
        atol += max(steps, default=0.0)
    return Tolerance("close", rtol=rtol, atol=atol)
