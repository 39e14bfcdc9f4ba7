"""The plugin's shape expressions held against the manifest's, at many points of each profile; and its aliases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from pluginkit.errors import UsageError
from pluginkit.field_types import shown
from pluginkit.host import BuiltPlugin, Finding
from pluginkit.manifest import Manifest, Point, Profile, Tensor
from pluginkit.network.networks import PluginCall

_DRAWN = 8
_POINTS: tuple[Point, ...] = ("min", "opt", "max")


def check(manifest: Manifest, call: PluginCall, built: BuiltPlugin) -> None:
    """Compares them at min, opt and max, with each symbol alone at its ends, and at points drawn in between.

    Calls whose inputs aren't the manifest's (behind another plugin, say) are left out.

    Raises:
        Finding: an output's shape is not the manifest's, with the symbols' values, or it is not in the memory of the
            input that the manifest says.
    """
    _check_aliases(manifest, built)
    manifest = manifest.like(call.ranks)
    values = {field.name: call.fields[field.name][1] for field in manifest.shape_fields() if field.name in call.fields}
    shaped = manifest.with_fields(values)
    _check_sizes(shaped, built)
    shaped = shaped.bounded()
    given = "".join(f", {name} = {shown(value)}" for name, value in values.items())
    for index, profile in enumerate(manifest.profiles[: len(call.inputs)]):
        ranges = tuple(tuple(_given(tensor, profile.at(point)) for point in _POINTS) for tensor in manifest.inputs)
        if ranges == call.inputs[index]:
            for symbols in _points(profile):
                _check_at(shaped, profile, symbols, built, given)


def _check_aliases(manifest: Manifest, built: BuiltPlugin) -> None:
    """Where TensorRT doesn't alias, the outputs are right nevertheless, and memory is what is lost."""
    names = [tensor.name for tensor in manifest.execution_inputs()]
    answered = built.v3.aliases if built.v3 else ()
    for index, (tensor, mine) in enumerate(zip(manifest.outputs, answered, strict=False)):
        wanted = names.index(tensor.alias) if tensor.alias else mine
        if mine != wanted:
            raise Finding(
                "IPluginV3OneBuildV2::getAliasedInput",
                f"answered {-1 if mine is None else mine} for output {index}; the manifest says {wanted}: "
                f"'{tensor.name}' is in the memory of '{tensor.alias}'",
                rule="T19",
                hint="The build capability is an IPluginV3OneBuildV2, or it is not asked.",
            )


def _check_sizes(manifest: Manifest, built: BuiltPlugin) -> None:
    """Whether the outputs that carry sizes, and those that have them, are the manifest's."""
    names = [tensor.name for tensor in manifest.outputs]
    for program in built.shapes[:1]:
        found = {names[size.output] for size in program.sizes if size.output < len(names)}
        wanted = {tensor.name for tensor in manifest.size_tensors()}
        if found != wanted:
            shown = [", ".join(sorted(one)) or "none" for one in (found, wanted)]
            raise Finding(
                program.method, f"declared as size tensors: {shown[0]}; the manifest says: {shown[1]}", rule="T19"
            )
    for tensor, program in zip(manifest.outputs, built.shapes, strict=False):
        if any(program.data_dependent) != manifest.is_sized(tensor):
            has = "depends" if any(program.data_dependent) else "does not depend"
            raise Finding(
                program.method,
                f"output '{tensor.name}' {has} on a size tensor; the manifest says ({', '.join(tensor.shape)})",
                rule="T19",
            )


def _given(tensor: Tensor, symbols: Mapping[str, int]) -> tuple[int, ...]:
    """A shape input's elements, another input's shape."""
    return tensor.elements(symbols) if tensor.is_shape_input else tensor.dims(symbols)


def _points(profile: Profile) -> Iterator[dict[str, int]]:
    yield from (profile.at(point) for point in _POINTS)
    for name, (low, _, high) in profile.symbols.items():
        yield from ({**profile.at("opt"), name: end} for end in (low, high))
    rng = np.random.default_rng(0)
    for _ in range(_DRAWN if profile.symbols else 0):
        yield {name: int(rng.integers(low, high + 1)) for name, (low, _, high) in profile.symbols.items()}


def _check_at(manifest: Manifest, profile: Profile, symbols: Mapping[str, int], built: BuiltPlugin, given: str) -> None:
    inputs = [_given(tensor, symbols) for tensor in (*manifest.execution_inputs(), *manifest.shape_inputs())]
    for tensor, program in zip(manifest.outputs, built.shapes, strict=False):
        try:
            expected = tensor.dims(symbols)
        except UsageError:
            continue  # no number, as in a division by zero: not a point that the manifest promises
        if any(size < 0 for size in expected):
            continue
        found = program.at(built.input_dims, inputs)
        if found != expected:
            at = ", ".join(f"{name} = {value}" for name, value in symbols.items()) + given
            raise Finding(
                program.method,
                f"output '{tensor.name}' is {list(found)} for {at} (profile '{profile.name}'); the manifest says "
                f"({', '.join(tensor.shape)}), which is {list(expected)}",
                rule="T19",
            )
