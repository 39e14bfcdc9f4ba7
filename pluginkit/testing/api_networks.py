"""The forms of networks made by NVIDIA's API, each for any signature that it applies to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pluginkit.manifest import Tensor
from pluginkit.testing import api_model as api
from pluginkit.testing.api_draft import Draft
from pluginkit.testing.networks.base import Setting
from pluginkit.testing.networks.loop import feedback

Form: TypeAlias = Callable[[Draft], bool]
"""Drafts a network; False if the form doesn't apply to the signature."""

LOOP = "loop"
CONDITIONAL = "if"


def make(setting: Setting, form: str) -> api.ApiNetwork | None:
    """A network of `FORMS`; None if the form doesn't apply to the signature (a state has an output's type and shape,
    an iterator's axis is within an input's rank)."""
    family, build = FORMS[form]
    draft = Draft(setting, form, family)
    return draft.finish() if build(draft) else None


def _show(draft: Draft, *tensors: str) -> None:
    draft.steps += [api.Output(tensor) for tensor in tensors]


def _shape(draft: Draft) -> bool:
    """The plugin's outputs are asked for their shapes; the probe keeps the plugin alive."""
    left = draft.plugin([draft.input(tensor) for tensor in draft.setting.manifest.inputs])
    for tensor in left:
        shape = draft.name("shape")
        draft.steps.append(api.Shape(tensor, shape))
        _show(draft, shape, tensor)
    return True


def _loop(*, count: bool, condition: bool) -> Form:
    """A loop with a trip limit of one kind, or of both; what can is fed back, the rest concatenated."""

    def build(draft: Draft) -> bool:
        manifest, fed = draft.setting.manifest, dict(feedback(draft.setting))
        outside = [draft.input(tensor) for tensor in manifest.inputs]
        trips = draft.trips()
        draft.steps.append(api.Loop(LOOP))
        if count:
            draft.steps.append(api.TripLimit(LOOP, "COUNT", trips))
        if condition:
            _while(draft, trips)
        inside, states = list(outside), {}
        for index, tensor in enumerate(manifest.inputs):
            if tensor.name in fed:
                inside[index] = states[tensor.name] = draft.name(f"{tensor.name}_state")
                draft.steps.append(api.Recurrence(LOOP, outside[index], inside[index]))
        left = dict(zip([tensor.name for tensor in manifest.outputs], draft.plugin(inside), strict=True))
        for name, state in states.items():
            last = draft.name(f"{name}_last")
            draft.steps.append(api.Recur(state, left[fed[name]]))
            draft.steps.append(api.LoopOutput(LOOP, "LAST_VALUE", state, last))
            _show(draft, last)
        for name, value in left.items():
            if name not in fed.values():
                _collect(draft, "CONCATENATE", value, 0, trips)
        return True

    return build


def _while(draft: Draft, trips: str) -> None:
    """kWHILE: a counter that is less than the limit."""
    counter, going, following = (draft.name(label) for label in ("counter", "going", "following"))
    draft.steps += [
        api.Recurrence(LOOP, draft.constant("int32", 0), counter),
        api.Elementwise("LESS", counter, trips, going),
        api.TripLimit(LOOP, "WHILE", going),
        api.Elementwise("SUM", counter, draft.constant("int32", 1), following),
        api.Recur(counter, following),
    ]


def _collect(draft: Draft, kind: api.OutputKind, name: str, axis: int, length: str, half: Tensor | None = None) -> None:
    """The values of all trips, as a network output; `half` is the tensor that comes as FP16 where it is that."""
    out = draft.name("all")
    draft.steps.append(api.LoopOutput(LOOP, kind, name, out, axis, length))
    _show(draft, draft.from_half(half, out) if half else out)


def _iterator(axis: int, *, reverse: bool = False, kind: api.OutputKind = "CONCATENATE") -> Form:
    """A loop over slices of all inputs that have such an axis; the outputs put together again.

    In FP16 the loop's tensors are FP16 too: NVIDIA's backend fails on the cast of a slice (see `leniencies`).
    """

    def build(draft: Draft) -> bool:
        manifest = draft.setting.manifest
        if all(len(tensor.shape) < axis for tensor in manifest.inputs):
            return False
        inputs = [draft.input(tensor, lead=axis if len(tensor.shape) >= axis else None) for tensor in manifest.inputs]
        outside = [draft.to_half(tensor, name) for tensor, name in zip(manifest.inputs, inputs, strict=True)]
        trips = draft.trips()
        draft.steps += [api.Loop(LOOP), api.TripLimit(LOOP, "COUNT", trips)]
        inside = list(outside)
        for index, tensor in enumerate(manifest.inputs):
            if len(tensor.shape) >= axis:
                inside[index] = draft.name(f"{tensor.name}_slice")
                draft.steps.append(api.Iterator(LOOP, outside[index], inside[index], axis, reverse))
        for tensor, name in zip(manifest.outputs, draft.plugin(inside, half=True), strict=True):
            _collect(draft, kind, name, min(axis, len(tensor.shape)), trips, tensor)
        return True

    return build


def _inputs(draft: Draft) -> list[str]:
    return [draft.input(tensor) for tensor in draft.setting.manifest.inputs]


def _conditional(draft: Draft) -> None:
    flag = draft.network_input("flag", "bool", [((), (), ())] * len(draft.setting.manifest.profiles))
    draft.steps.append(api.Conditional(CONDITIONAL, flag))


def _into(draft: Draft, tensors: list[str]) -> list[str]:
    """Through input layers of the conditional."""
    entered = [draft.name("entered") for _ in tensors]
    draft.steps += [api.BranchInput(CONDITIONAL, x, out) for x, out in zip(tensors, entered, strict=True)]
    return entered


def _scaled(draft: Draft, tensors: list[str], of: tuple[Tensor, ...]) -> list[str]:
    """Other values: a branch that is the same as the other one would be no branch."""
    return [
        draft.times(name, draft.setting.else_factor, len(tensor.shape)) if draft.setting.is_float(tensor) else name
        for name, tensor in zip(tensors, of, strict=True)
    ]


def _either(draft: Draft, then: list[str], otherwise: list[str]) -> bool:
    for one, other in zip(then, otherwise, strict=True):
        out = draft.name("either")
        draft.steps.append(api.BranchOutput(CONDITIONAL, one, other, out))
        _show(draft, out)
    return True


def _lazy(draft: Draft) -> bool:
    """Input layers before everything: both branches' plugins are lazy."""
    outside = _inputs(draft)
    _conditional(draft)
    then = draft.plugin(_into(draft, outside))
    otherwise = draft.plugin(_scaled(draft, _into(draft, outside), draft.setting.manifest.inputs))
    return _either(draft, then, otherwise)


def _eager(draft: Draft) -> bool:
    """Input layers behind everything: both plugins run whatever the condition says."""
    outside = _inputs(draft)
    _conditional(draft)
    then = draft.plugin(outside)
    otherwise = draft.plugin(_scaled(draft, outside, draft.setting.manifest.inputs))
    return _either(draft, _into(draft, then), _into(draft, otherwise))


def _mixed(draft: Draft) -> bool:
    """Input layers in the midst: one plugin before them is eager, what follows it is lazy, as is the other plugin."""
    outside, manifest = _inputs(draft), draft.setting.manifest
    _conditional(draft)
    then = _scaled(draft, _into(draft, draft.plugin(outside)), manifest.outputs)
    otherwise = draft.plugin(_into(draft, outside))
    return _either(draft, then, otherwise)


def _empty(draft: Draft) -> bool:
    """The else branch is empty: inputs of the outputs' shapes as they are, or else what was computed outside."""
    manifest = draft.setting.manifest
    outside = dict(zip([tensor.name for tensor in manifest.inputs], _inputs(draft), strict=True))
    fed = {output: outside[name] for name, output in feedback(draft.setting)}
    names = [tensor.name for tensor in manifest.outputs]
    given = [fed[name] for name in names] if set(names) <= set(fed) else draft.plugin(list(outside.values()))
    _conditional(draft)
    then = draft.plugin(_into(draft, list(outside.values())))
    return _either(draft, then, _into(draft, given))


FORMS: dict[str, tuple[str, Form]] = {
    "shape": ("plain", _shape),
    "loop-count": ("loop", _loop(count=True, condition=False)),
    "loop-while": ("loop", _loop(count=False, condition=True)),
    "loop-count-while": ("loop", _loop(count=True, condition=True)),
    "loop-iterator-0": ("loop", _iterator(0)),
    "loop-iterator-1": ("loop", _iterator(1)),
    "loop-iterator-0-reversed": ("loop", _iterator(0, reverse=True)),
    "loop-iterator-1-reversed": ("loop", _iterator(1, reverse=True)),
    "loop-reverse-0": ("loop", _iterator(0, kind="REVERSE")),
    "loop-reverse-1": ("loop", _iterator(1, kind="REVERSE")),
    "cond-lazy": ("cond", _lazy),
    "cond-eager": ("cond", _eager),
    "cond-mixed": ("cond", _mixed),
    "cond-empty": ("cond", _empty),
}
"""Every form: the family that it stands beside, and what drafts it."""
