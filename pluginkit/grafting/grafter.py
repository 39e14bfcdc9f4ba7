"""The whole of `pluginkit graft`: read, find, replace, compare, write."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from pluginkit.creators.facts import CreatorFacts
from pluginkit.errors import NothingSelected, UsageError
from pluginkit.grafting import comparing, replacing, selection
from pluginkit.grafting import pattern as patterns
from pluginkit.grafting.comparing import ComparedRun
from pluginkit.grafting.expressions import evaluate, plain, same
from pluginkit.grafting.pattern import FunctionPattern
from pluginkit.grafting.regions import Subgraph, check, constant
from pluginkit.importing import onnx_graph, onnx_sessions, profiles
from pluginkit.importing.files import external, libraries
from pluginkit.importing.implementations import PluginLibrary
from pluginkit.importing.rewrites import fixing
from pluginkit.manifest import FILE_NAME, Manifest
from pluginkit.network.networks import Tolerance
from pluginkit.patterns import TEXTS, ZERO, Pattern

Progress = Callable[[str], None]
NEAR = 3
"""So many places that are none are explained."""
_INTEGERS = {"kINT8": 8, "kINT16": 16, "kINT32": 32, "kINT64": 64}
"""The bits of integer fields."""


@dataclass(frozen=True)
class PluginSignature:
    """What a new node must fit.

    Attributes:
        inputs: the names of the plugin's inputs.
        outputs: how many outputs it has.
        lists: the names of its fields that are lists.
    """

    inputs: tuple[str, ...]
    outputs: int
    lists: frozenset[str] = frozenset()

    @classmethod
    def of(cls, manifest: Manifest) -> PluginSignature:
        """That of a `pluginkit.toml`."""
        lists = frozenset(one.name for one in manifest.fields if one.is_list)
        return cls(tuple(one.name for one in manifest.inputs), len(manifest.outputs), lists)


@dataclass(frozen=True)
class BundledPlugin:
    """What a bundle says of the plugin whose library it has.

    Attributes:
        identity: the creator's name, version and namespace.
        signature: its inputs, outputs and fields.
        patterns: the bundle's patterns, as TOML, by name.
    """

    identity: tuple[str, str, str]
    signature: PluginSignature
    patterns: Mapping[str, str]


@dataclass(frozen=True)
class GraftOptions:
    """What the user asks for.

    Attributes:
        model: the ONNX file.
        pattern: what is replaced, as of `patterns.read`.
        plugin: the library that implements the new nodes, or its project's folder, which is built.
        bundled: what its bundle says, where the library comes out of one.
        out: the file to write.
        places: which of the places, from 1; none: every one.
        others: libraries and projects for plugins' nodes that the model has already.
        fold: whether constants are folded first.
        profiles: of --profile.
        data: .npz files with inputs to compare on, besides random ones.
        rtol, atol: what may differ; None: as of `pluginkit import`.
        seed: what random inputs follow from.
        timeout: seconds for each step that may hang.
    """

    model: Path
    pattern: str
    plugin: Path
    out: Path
    bundled: BundledPlugin | None = None
    places: tuple[int, ...] = ()
    others: tuple[Path, ...] = ()
    fold: bool = False
    profiles: tuple[str, ...] = ()
    data: tuple[Path, ...] = ()
    rtol: float | None = None
    atol: float | None = None
    seed: int = 0
    timeout: float = 60.0


@dataclass(frozen=True)
class GraftedPlace:
    """A subgraph that was replaced.

    Attributes:
        number: its number among all places, from 1.
        label: its first and last node.
        nodes: its nodes' types, with how many.
        inputs, outputs: the names of the new node's values.
        attributes: its attributes.
    """

    number: int
    label: str
    nodes: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, object]


@dataclass(frozen=True)
class Grafted:
    """What came of it.

    Attributes:
        out: the file that was written.
        plugin: the new nodes' plugin, `namespace::Name version`.
        places: those that were replaced.
        found: how many there are.
        runs: the comparisons.
        tolerance: what they allowed.
    """

    out: Path
    plugin: str
    places: tuple[GraftedPlace, ...]
    found: int
    runs: tuple[ComparedRun, ...]
    tolerance: Tolerance


def graft(options: GraftOptions, progress: Progress = lambda _: None) -> Grafted:
    """Do all of it.

    Raises:
        UsageError: the model, the pattern, the library or the inputs can't be read, or don't fit each other.
        NothingSelected: no place of the model fits the pattern.
        CheckFailed: the model with the plugin gives other results. Nothing is written.
        ToolMissing: onnxruntime or onnxscript isn't installed.
        BuildFailed, PluginCrashed: the plugin's project doesn't build; the plugin ends its process.
    """
    if options.out.resolve() == options.model.resolve():
        raise UsageError(f"-o would replace the model itself, {options.model}.", hint="Give it another file.")
    onnx_sessions.runtime()
    shapes = [profiles.parse(text) for text in options.profiles]
    proto = onnx_graph.load(options.model)
    if missing := external.left_out(proto):
        raise UsageError(f"{options.model} can't be changed: {missing}.")
    bundled = options.bundled
    wanted = patterns.read(options.pattern, _ships(options.plugin), bundled.patterns if bundled else None)
    profile = profiles.profile(profiles.declared_inputs(proto), shapes)
    given = comparing.feeds(proto, profile, options.seed, options.data)
    plugins = libraries.read([options.plugin, *options.others], (), options.timeout, progress)
    creator = _exactly(plugins[0], bundled.identity) if bundled else _creator(plugins[0], wanted.plugin)
    if wanted.plugin not in {"", creator.name, f"{creator.namespace}::{creator.name}"}:
        raise UsageError(
            f"The pattern is for the plugin {wanted.plugin}, not for {creator.name}.", hint=f"--by {wanted.plugin}"
        )
    manifest = next((one.manifest for one in plugins[0].plugins if one.name == creator.name), None)
    known = bundled.signature if bundled else None if manifest is None else PluginSignature.of(manifest)
    progress("looking for the pattern")
    grafted, places, found = rewrite(proto, wanted, creator, known, options.places, fold=options.fold)
    allowed = comparing.tolerance(plugins, grafted, options.rtol, options.atol)
    progress("running both models")
    runs = comparing.run(proto, grafted, plugins, given, allowed, options.timeout)
    fixing.write(grafted, options.out)
    label = "::".join(filter(None, (creator.namespace, creator.name)))
    return Grafted(options.out, f"{label} {creator.version}", places, found, tuple(runs), allowed)


def rewrite(
    proto: onnx.ModelProto,
    wanted: Pattern | FunctionPattern,
    creator: CreatorFacts,
    signature: PluginSignature | None,
    chosen: Sequence[int] = (),
    *,
    fold: bool = False,
) -> tuple[onnx.ModelProto, tuple[GraftedPlace, ...], int]:
    """The model with a plugin's nodes, which is not compared yet; what was replaced; how many places there are.

    Args:
        proto: the model; it stays as it is.
        wanted: the pattern.
        creator: the plugin's.
        signature: of it; None: not known.
        chosen, fold: as `places` and `fold` of `GraftOptions`.

    Raises:
        UsageError, NothingSelected: as of `graft`.
    """
    changed = ir.from_proto(proto)
    if fold:
        from onnxscript import optimizer  # it takes a second to be imported

        optimizer.fold_constants(changed)
    regions, missed = _find(changed, wanted, signature)
    if not regions:
        reasons = "".join(f"\n  {one}" for one in missed[:NEAR])
        near = f" Nearly so, {len(missed)}:{reasons}" if missed else ""
        if not missed and isinstance(wanted, Pattern) and (why := selection.why_none(changed, wanted)):
            near = f" {why}"
        raise NothingSelected(
            f"No place in the model matches the pattern.{near}",
            hint="pluginkit doctor shows the model's nodes; --fold computes first what follows from constants.",
        )
    done = [replace(one, attributes=_attributes(one, wanted, creator, signature)) for one in _chosen(regions, chosen)]
    check(done)
    _same_constants(done)
    places = tuple(_place(number, one) for number, one in zip(_numbers(regions, chosen), done, strict=True))
    replacing.replace(changed, done, creator)
    grafted = ir.to_proto(changed)
    _checked(proto, grafted)
    return grafted, places, len(regions)


def _ships(plugin: Path) -> Path:
    """The folder whose patterns come with a plugin: its project's, also of the library that its build made, or the
    library's own."""
    if plugin.is_dir():
        return plugin
    project = plugin.resolve().parents[min(2, len(plugin.resolve().parents) - 1)]
    return project if (project / FILE_NAME).is_file() else plugin.parent


def _creator(library: PluginLibrary, name: str) -> CreatorFacts:
    found = [one for one in library.creators if name in {"", one.name, f"{one.namespace}::{one.name}"}]
    if len({one.name for one in found}) != 1:
        listed = ", ".join(one.name for one in library.creators)
        what = f"has no plugin {name!r}" if name else "has several plugins"
        raise UsageError(f"{library.path.name} {what}.", hint=f'It has {listed}. A pattern file says plugin = "NAME".')
    return found[0]


def _exactly(library: PluginLibrary, identity: tuple[str, str, str]) -> CreatorFacts:
    for one in library.creators:
        if (one.name, one.version, one.namespace) == identity:
            return one
    name, version, namespace = identity
    label = "::".join(filter(None, (namespace, name)))
    listed = ", ".join(
        f"{'::'.join(filter(None, (one.namespace, one.name)))} {one.version}" for one in library.creators
    )
    raise UsageError(
        f"{library.path.name} has no plugin {label} {version}, which its bundle names.", hint=f"It has {listed}."
    )


def _find(
    model: Any, wanted: Pattern | FunctionPattern, signature: PluginSignature | None
) -> tuple[Sequence[Subgraph], Sequence[str]]:
    names = signature.inputs if signature is not None else ()
    if isinstance(wanted, FunctionPattern) or wanted.node:
        from pluginkit.grafting import operators  # onnxscript takes a second to be imported

        return operators.find(model, wanted, names)
    outputs = signature.outputs if signature is not None else None
    return selection.find(model, wanted, names, outputs), []


def _numbers(regions: Sequence[Subgraph], places: Sequence[int]) -> list[int]:
    return list(dict.fromkeys(places)) or list(range(1, len(regions) + 1))


def _chosen(regions: Sequence[Subgraph], places: Sequence[int]) -> list[Subgraph]:
    if wrong := [number for number in places if not 1 <= number <= len(regions)]:
        listed = "".join(f"\n  {number}: {one.label}" for number, one in enumerate(regions, 1))
        raise UsageError(f"There is no place {wrong[0]}: the pattern fits {len(regions)}:{listed}")
    return [regions[number - 1] for number in _numbers(regions, places)]


def _attributes(
    region: Subgraph, wanted: Pattern | FunctionPattern, creator: CreatorFacts, signature: PluginSignature | None
) -> dict[str, object]:
    """The new node's, in the types of the plugin's fields."""
    fields = {one.name: one.type for one in creator.fields}
    made: Mapping[str, object]
    if isinstance(wanted, FunctionPattern):
        made = _of_function(wanted, region)
    elif wanted.attributes:
        made = {
            name: evaluate(text, region.bound) if isinstance(text, str) else text
            for name, text in wanted.attributes.items()
        }
    else:
        made = {}
    if not made:
        made = {name: value for name, value in region.bound.items() if name in fields}
    if unknown := [name for name in made if name not in fields]:
        listed = ", ".join(fields) or "none"
        raise UsageError(f"The plugin has no field {unknown[0]!r}.", hint=f"Its fields: {listed}.")
    lists = signature.lists if signature is not None else ()
    return {name: _typed(name, value, fields[name], is_list=name in lists) for name, value in made.items()}


def _of_function(wanted: FunctionPattern, region: Subgraph) -> Mapping[str, object]:
    if wanted.attributes is None:
        return {}
    parameters = inspect.signature(wanted.attributes).parameters.values()
    every = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    names = {one.name for one in parameters}
    given = {name: value for name, value in region.bound.items() if every or name in names}
    try:
        found = wanted.attributes(**given)
    except Exception as error:  # noqa: BLE001 - the user's own code
        raise UsageError(
            f"{wanted.attributes.__name__} fails at {region.label}: {type(error).__name__}: {error}."
        ) from None
    if not isinstance(found, Mapping):
        raise UsageError(f"{wanted.attributes.__name__} returns no dict.")
    return found


def _typed(name: str, value: object, kind: str, *, is_list: bool) -> object:
    """As ONNX has the attribute for a field of this kind, by which NVIDIA's parser gives it to the creator."""
    value = plain(value)
    if kind in {"kCHAR", "kUNKNOWN"}:
        return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) else value
    try:
        numbers = np.asarray(value).reshape(-1)
    except ValueError:  # lists of several lengths
        numbers = np.asarray(None)
    if numbers.dtype.kind in TEXTS:
        raise UsageError(f"The field {name} is a number, and {reprlib.repr(value)} is computed for it.")
    listed: list[int] | list[float] = [float(one) for one in numbers]
    if bits := _INTEGERS.get(kind):
        # float64 has no room for the greatest int64, by which exporters say "to the end".
        exact = numbers if numbers.dtype.kind in "biu" else numbers.astype(np.float64)
        if not np.array_equal(exact, np.round(exact)) or not np.all(np.isfinite(exact)):
            hint = "round() makes one."
            raise UsageError(f"The field {name} is an integer, and {value} is computed for it.", hint=hint)
        listed = [int(one) for one in exact]
        least, greatest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        if any(not least <= one <= greatest for one in listed):
            hint = f"It holds {least} to {greatest}; min(NAME[0], {greatest}) would be one."
            raise UsageError(f"The field {name} is {kind}, and {value} is computed for it.", hint=hint)
    if is_list or (isinstance(value, list) and len(listed) > 1):
        return listed
    if len(listed) != 1:
        raise UsageError(f"The field {name} is one number, and {value} is computed for it.", hint="Name one: NAME[0]")
    return listed[0]


def _same_constants(regions: Sequence[Subgraph]) -> None:
    """That places become one node only where they are one: small constants which the node is not given, and which no
    attribute follows from, are the same everywhere.

    Raises:
        UsageError: they differ.
    """

    def own(region: Subgraph) -> dict[tuple[int, int], tuple[str, object]]:
        given = set(map(id, region.inputs))
        return {
            (index, number): (value.name or "", plain(array))
            for index, node in enumerate(region.nodes)
            for number, value in enumerate(node.inputs)
            if value is not None and id(value) not in given
            if (array := constant(value)) is not None and array.size == 1
        }

    first, *others = regions
    kinds, expected = [node.op_type for node in first.nodes], own(first)
    for other in others:
        if [node.op_type for node in other.nodes] != kinds or other.attributes != first.attributes:
            continue
        for key, (name, value) in own(other).items():
            here, wanted = expected.get(key, (name, value))
            if not same(value, wanted, rtol=1e-6, atol=ZERO):
                raise UsageError(
                    f"The places have different constants, and would become the same node: {here} is {wanted} in "
                    f"{first.label}, {name} is {value} in {other.label}.",
                    hint="Bind it, and have an attribute follow from it; or choose places that are alike by --place.",
                )


def _place(number: int, region: Subgraph) -> GraftedPlace:
    kinds = [node.op_type for node in region.nodes]
    counted = tuple(f"{kind} x{kinds.count(kind)}" if kinds.count(kind) > 1 else kind for kind in dict.fromkeys(kinds))
    return GraftedPlace(
        number,
        region.label,
        counted,
        tuple(value.name for value in region.inputs),
        tuple(value.name for value in region.outputs),
        region.attributes,
    )


def _checked(original: onnx.ModelProto, grafted: onnx.ModelProto) -> None:
    # onnx's checker refuses models with plugins in its default domain, which NVIDIA's parser takes.
    if (reason := _invalid(grafted)) and not _invalid(original):
        raise UsageError(f"Nothing is written: the model would no longer be valid: {reason}")


def _invalid(model: onnx.ModelProto) -> str:
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        return str(error).splitlines()[0]
    return ""
