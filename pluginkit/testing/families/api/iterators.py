"""api-loop-iterator-axes: iterators over the axes that no other family has, from both ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from pluginkit.manifest import Tensor
from pluginkit.network import api_model as api
from pluginkit.network.networks import Array
from pluginkit.testing.families import looping
from pluginkit.testing.families.api.draft import Draft
from pluginkit.testing.families.api.family import ApiFamily, own
from pluginkit.testing.families.base import Applier, OracleResult, Setting
from pluginkit.testing.families.family import MAX_RANK, Runs
from pluginkit.testing.families.loop import trips_name
from pluginkit.testing.families.scan import slices

FIRST = 2
"""The first of the axes: families of their own have those before it."""


class IteratorAxes(ApiFamily):
    """A loop for each axis, up to that behind the last of the plugin's; in each the plugin twice.

    Each input that has such an axis is iterated over, forward for the one plugin and in reverse for the other. In FP16
    the loop's tensors are FP16 too, as in `IteratorForward`.
    """

    NAME = "api-loop-iterator-axes"
    DESCRIPTION = (
        f"A loop for each axis from {FIRST} on, with iterators over it from both ends; outputs concatenated along it."
    )
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kCOUNT",
        "IIteratorLayer on every axis, forward and reverse",
        "ILoopOutputLayer kCONCATENATE on every axis",
    )

    def refusal(self, setting: Setting) -> str:
        """An input must have such an axis, and every tensor room for it."""
        tensors = (*setting.manifest.inputs, *setting.manifest.outputs)
        if not _axes(setting):
            return f"no input has {FIRST} dimensions, and so no axis {FIRST} for the trips"
        deep = next((tensor.name for tensor in tensors if len(tensor.shape) >= MAX_RANK), "")
        return f"'{deep}' has {MAX_RANK} dimensions, and TensorRT no more for the trips" if deep else ""

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """As many slices as belong to the point."""
        trips = looping.trips_at(point)
        given = {trips_name(setting): np.array(trips, np.int32)}
        for tensor in setting.manifest.inputs:
            for axis in _axes(setting):
                value = feeds[tensor.name]
                sliced = slices(value, trips, axis) if _iterated(tensor, axis) else value
                given[_input(setting, tensor, axis)] = sliced
        return [("", given)]

    def sources(self, setting: Setting) -> dict[str, str]:
        """Network output -> the plugin output that it shows."""
        return {
            _shown(setting, tensor, axis, reverse=reverse): tensor.name
            for axis in _axes(setting)
            for reverse in (False, True)
            for tensor in setting.manifest.outputs
        }

    def draft(self, draft: Draft) -> None:
        """The loops."""
        setting, manifest = draft.setting, draft.setting.manifest
        trips = draft.count(trips_name(setting))
        outside: dict[str, str] = {}
        for axis in _axes(setting):
            for tensor in manifest.inputs:
                label = _input(setting, tensor, axis)
                if label not in outside:
                    lead = axis if _iterated(tensor, axis) else None
                    outside[label] = draft.to_half(tensor, draft.input(tensor, lead=lead, label=label))
            self._loop(draft, axis, trips, [outside[_input(setting, tensor, axis)] for tensor in manifest.inputs])

    def _loop(self, draft: Draft, axis: int, trips: str, outside: Sequence[str]) -> None:
        setting, manifest, loop = draft.setting, draft.setting.manifest, f"loop_{axis}"
        draft.steps += [api.LoopStep(loop), api.TripLimit(loop, "COUNT", trips)]
        for reverse in (False, True):
            inside = list(outside)
            for index, tensor in enumerate(manifest.inputs):
                if _iterated(tensor, axis):
                    inside[index] = draft.name(f"{tensor.name}_slice")
                    draft.steps.append(api.IteratorLayer(loop, outside[index], inside[index], axis, reverse))
            for tensor, name in zip(manifest.outputs, draft.plugin(inside, half=True), strict=True):
                every = draft.name(f"{tensor.name}_all")
                at = min(axis, len(tensor.shape))
                draft.steps.append(api.LoopOutput(loop, "CONCATENATE", name, every, at, trips))
                draft.show(draft.from_half(tensor, every), _shown(setting, tensor, axis, reverse=reverse))

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out, slice by slice: two enqueues a trip in each loop."""
        setting, manifest = applier.setting, applier.setting.manifest
        trips = int(feeds[trips_name(setting)])
        outputs: dict[str, Array] = {}
        for axis in _axes(setting):
            for reverse in (False, True):
                found: list[Sequence[Array]] = []
                for trip in range(trips):
                    at = trips - 1 - trip if reverse else trip
                    values = {}
                    for tensor in manifest.inputs:
                        value = feeds[_input(setting, tensor, axis)]
                        values[tensor.name] = value.take(at, axis) if _iterated(tensor, axis) else value
                    found.append(applier(own(setting, values)))
                for index, tensor in enumerate(manifest.outputs):
                    stacked = np.stack([left[index] for left in found], axis=min(axis, len(tensor.shape)))
                    outputs[_shown(setting, tensor, axis, reverse=reverse)] = stacked
        return OracleResult(outputs, 2 * trips * len(_axes(setting)), chain=1)


def _axes(setting: Setting) -> range:
    """Of the iterated tensors, which have one dimension more than the plugin's."""
    return range(FIRST, max((len(tensor.shape) for tensor in setting.manifest.inputs), default=0) + 1)


def _iterated(tensor: Tensor, axis: int) -> bool:
    return len(tensor.shape) >= axis


def _input(setting: Setting, tensor: Tensor, axis: int) -> str:
    """The network input that the loop on that axis reads; that of the first axis is called as the plugin's.

    What is iterated over in no loop is the same in all.
    """
    same = axis == FIRST or not _iterated(tensor, FIRST)
    return tensor.name if same else setting.free_name(f"{tensor.name}_axis{axis}")


def _shown(setting: Setting, tensor: Tensor, axis: int, *, reverse: bool) -> str:
    """A network output of the loop on that axis."""
    return setting.free_name(f"{tensor.name}_axis{axis}{'_reversed' if reverse else ''}")
