"""From a signature and its reference to networks and cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pluginkit import float8 as float8_numbers
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, NothingSelected
from pluginkit.field_types import Value, each
from pluginkit.formats import Format
from pluginkit.manifest import FILE_NAME, REST, Manifest, Tolerances
from pluginkit.network.api_model import ApiNetwork
from pluginkit.network.networks import Array, Case, FieldValues, Network, Scale, Tolerance
from pluginkit.network.plan import Plan
from pluginkit.testing import precision as precisions_
from pluginkit.testing import rounding
from pluginkit.testing.calibration import BY_DEFAULT, Calibration, Method, by_descriptor, ranges, read_samples
from pluginkit.testing.edges import SPECIAL, counts, special_values
from pluginkit.testing.edges import ranges as ranges_
from pluginkit.testing.families import FAMILIES, Family, conditioning, selection
from pluginkit.testing.families.base import Applier, OracleResult, Setting, StepApplier
from pluginkit.testing.field_values import Varied, choose
from pluginkit.testing.points import Point, apart, generator, points, read_arrays, unaligned
from pluginkit.testing.reference import Reference
from pluginkit.testing.saved_cases import SavedCase
from pluginkit.testing.shape_splits import ShapeSplit, shape_splits

_FP32_ROUNDINGS = 16 * 2.0**-23
"""By which inputs may be off where a layer computes in FP32."""
_ELSE_FACTORS = (-1.0, 0.5, 0.25)


def plan(
    manifest: Manifest,
    reference: Reference,
    *,
    precisions: Iterable[DType] | None = None,
    families: Iterable[str] | None = None,
    seed: int = 0,
    data: Path | None = None,
    random: int = 1,
    calibration: Calibration = BY_DEFAULT,
    saved: Sequence[SavedCase] = (),
) -> Plan:
    """The networks and cases of a run; of a signature of any rank those of each rank.

    Args:
        manifest: the signature.
        reference: its oracle.
        precisions: which of the manifest's; None means all.
        families: names of `FAMILIES`, or of groups of them; None means all that can hold the plugin.
        seed: all random shapes and values follow from it.
        data: an .npz with the user's own inputs, for one more point.
        random: how many random points a profile gets.
        calibration: how scales are found.
        saved: cases that lie in the project; each has a network of its own in `plain`, in the first precision.

    Raises:
        UsageError: an unknown family, one that cannot hold the plugin, or data that doesn't fit.
        NothingSelected: a precision that no input declares, or nothing left.
        CheckFailed: the reference is wrong.
    """
    wanted = _precisions(manifest, precisions)
    ranked = manifest.ranked()
    chosen = selection.choose_ranked(ranked, families)
    own = _of_rank(manifest, read_arrays(manifest, data)) if data and manifest.is_open else manifest
    plans = [
        _plan(
            one,
            reference,
            wanted,
            chosen[index],
            seed=seed,
            data=data if one is own else None,
            random=random,
            calibration=calibration if one is ranked[0] else replace(calibration, data=None),
            saved=[case for case in saved if _of_rank(manifest, case.point.feeds) is one],
            rank=_rank(one) if len(ranked) > 1 else "",
            first=index == 0,
        )
        for index, one in enumerate(ranked)
    ]
    networks = tuple(network for one in plans for network in one.networks)
    return Plan(networks, tuple(case for one in plans for case in one.cases), seed, plans[0].kept_fields)


def _of_rank(manifest: Manifest, arrays: Mapping[str, Array]) -> Manifest:
    """The signature with the rank that the user's arrays have; that of its first profile if none has it."""
    found = manifest.like([arrays[tensor.name].ndim for tensor in manifest.inputs])
    return next((one for one in manifest.ranked() if one is found), manifest)


def _rank(manifest: Manifest) -> str:
    """A word for the rank: that of the first input which has any number of dimensions."""
    return f"rank{next(len(one.shape) for one in manifest.inputs if REST in manifest.written(one))}"


def _plan(
    manifest: Manifest,
    reference: Reference,
    wanted: Sequence[DType],
    chosen: Sequence[Family],
    *,
    seed: int,
    data: Path | None,
    random: int,
    calibration: Calibration,
    saved: Sequence[SavedCase],
    rank: str,
    first: bool,
) -> Plan:
    """The plan of a signature of one rank; only the `first` of several is tried with other values of fields."""
    fields = field_values(manifest)
    shaped = manifest.with_fields(fields)
    tried = points(shaped, seed, random=random, data=data)
    factor = else_factor(manifest, reference, fields, tried)
    plain_too = first and any(family.NAME == "plain" for family in chosen)
    other = choose(manifest, reference, fields, tried, seed) if plain_too else Varied((), {})
    samples = read_samples(manifest, calibration.data) if calibration.data else []
    networks: list[Network | ApiNetwork] = []
    cases: list[Case] = []
    by_api = [family.NAME for family in FAMILIES.values() if family.BY_API]
    static = manifest.static() != (manifest,)
    for family in chosen:
        # Those by the API go round: one in one precision, the next in the next.
        kinds = [wanted[by_api.index(family.NAME) % len(wanted)]] if family.BY_API else kinds_of(family, wanted)
        for kind in kinds:
            every = family.NAME == "plain"
            for part in shape_splits(shaped, kind, tried, seed, all_counts=every, random=random):
                plain = Setting(part.manifest, kind, fields, else_factor=factor, part=part.name, rank=rank)
                # All networks of a dynamic signature have the same scales; a static one has its own for each shape.
                ranging, there = (plain, part.points) if static else (replace(plain, manifest=manifest), tried)
                settings = _usual(family, plain, ranging, calibration, samples or there, reference)
                if every and first and kind is wanted[0]:
                    shown = _varied(family, plain, manifest, other, samples or there, reference)
                    settings = chain(settings, shown)
                for setting in settings:
                    networks.append(family.build(setting))
                    made = [
                        case
                        for point in _points(part, setting, reference, seed, tails=every)
                        for case in _cases(family, setting, point, reference, seed)
                    ]
                    cases += with_earlier(made) if every and not setting.variant else made
                    # Values that aren't finite may make other sizes, for which no document says anything.
                    if every and not setting.variant and _takes_special(setting):
                        cases += _special(family, setting, made, reference)
                        cases += _ranged(family, setting, part, reference, seed)
                        cases += _defined(family, setting, part, reference, seed)
                for case in saved if every and kind is wanted[0] else ():
                    if part.name in {"", case.point.profile}:
                        mine, mine_ranging = _with_fields(plain, manifest, case.fields, samples or there)
                        found = calibrated(family, mine_ranging, samples or there, reference, calibration.explicit)
                        setting = replace(mine, saved=case.name, scales=found.scales)
                        networks.append(family.build(setting))
                        cases += _cases(family, setting, case.point, reference, seed)
    return Plan(tuple(networks), tuple(cases), seed, other.kept)


def _points(part: ShapeSplit, setting: Setting, reference: Reference, seed: int, *, tails: bool) -> list[Point]:
    """The part's points, those with all `tails` if asked for, and in another format than linear those that leave lanes
    of a vector unused. With other values of fields those that have outputs there, and none of the tails."""
    if setting.varied:
        ends = [
            point for point in part.points if point.name in ("min", "opt", "max") or point.name.startswith("random")
        ]
        takes = partial(_takes, setting.manifest, reference, setting.fields)
        return [one for one in (*ends, *apart(part.manifest, ends, seed)) if one.name == "opt" or takes(one)]
    if not setting.variant:
        more = counts.points(part.manifest, part.points, seed) if tails else []
        return [*part.points, *more]
    forms = {tensor.name: setting.form(tensor) for tensor in (*part.manifest.inputs, *part.manifest.outputs)}
    return [*part.points, *unaligned(part.manifest, forms, part.points, seed)]


def _takes(manifest: Manifest, reference: Reference, fields: Mapping[str, Value], point: Point) -> bool:
    """Whether the layer has outputs at a point: a window may have no place in a small image."""
    if not manifest.possible(point.symbols):
        return False
    try:
        reference([_wide(point.feeds[tensor.name]) for tensor in manifest.inputs], fields)
    except CheckFailed:
        return False
    return True


def _wide(array: Array) -> Array:
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def kinds_of(family: Family, wanted: Sequence[DType]) -> list[DType]:
    """The precisions that a family is run in: BF16 differs from FP16 by its Casts, for which `plain` is enough."""
    twice = DType.FLOAT16 in wanted and family.NAME != "plain"
    return [kind for kind in wanted if kind is not DType.BFLOAT16 or not twice]


def _usual(
    family: Family,
    setting: Setting,
    ranging: Setting,
    calibration: Calibration,
    samples: Sequence[Point],
    reference: Reference,
) -> Iterator[Setting]:
    """The setting with its scales; in `plain` then each format other than linear, and implicit quantization.

    `ranging` is what the scales are calibrated with, on `samples`.
    """
    first = replace(setting, scales=calibrated(family, ranging, samples, reference, calibration.explicit).scales)
    yield first
    if family.NAME != "plain":
        return
    for layout in setting.manifest.layouts(setting.precision):
        if layout is not Format.LINEAR:
            yield replace(first, layout=layout)
    kinds = {setting.kind(tensor) for tensor in (*setting.manifest.inputs, *setting.manifest.outputs)}
    # Descriptors have no scales of FP8 (NvInferRuntimePlugin.h, PluginTensorDesc).
    if setting.precision is DType.INT8 and DType.FLOAT8 not in kinds and by_descriptor(setting.manifest):
        for method in calibration.implicit:
            found = calibrated(family, replace(ranging, implicit=method), samples, reference, method)
            yield replace(setting, implicit=method, scales=found.scales)


def _varied(
    family: Family, setting: Setting, manifest: Manifest, other: Varied, samples: Sequence[Point], reference: Reference
) -> Iterator[Setting]:
    """The setting with each other value of a field, and without all fields that have a default.

    Only of the first part: what becomes of a value doesn't depend on shapes. `manifest` is the signature with fields
    still in its outputs' shapes.
    """
    if setting.part and setting.part != setting.manifest.profiles[0].name:
        return
    absent = [FieldValues("", declared=False)] if _defaults(setting) else []
    for one in (*other.values, *absent):
        fields = {**setting.fields, **one.values}
        mine, ranging = _with_fields(setting, manifest, fields, samples)
        # Where it is run: at others a declared value may leave a window no place.
        opt = [point for point in samples if point.name == "opt"] or samples
        yield replace(mine, varied=one, scales=calibrated(family, ranging, opt, reference).scales)


def _with_fields(
    setting: Setting, manifest: Manifest, fields: dict[str, Any], samples: Sequence[Point]
) -> tuple[Setting, Setting]:
    """A setting with other values of fields, on which shapes may depend; and what its scales are calibrated with."""
    shaped = manifest.with_fields(fields)
    splits = list(shape_splits(shaped, setting.precision, samples, 0, all_counts=False))
    part = next((one for one in splits if one.name == setting.part), splits[0])
    mine = replace(setting, manifest=part.manifest, fields=fields)
    return mine, mine if manifest.static() != (manifest,) else replace(mine, manifest=shaped)


def _defaults(setting: Setting) -> bool:
    return any(field.default is not None for field in setting.manifest.fields if field.name in setting.fields)


def field_values(manifest: Manifest) -> dict[str, Value]:
    """The fields' values in tests: their defaults; a required one gets 0.5, or 1 if it is a whole number.

    They are as the plugin sees them (a float32 field's 0.1 is a float32's): the reference must get the same numbers.
    """
    sizes = manifest.profiles[0].at("opt")
    return {
        field.name: each(field.example(sizes, 1 if field.type.is_integer else 0.5), field.type.exact)
        for field in manifest.plain_fields()
    }


def else_factor(manifest: Manifest, reference: Reference, fields: Mapping[str, Value], tried: Sequence[Point]) -> float:
    """The first factor on the inputs that changes the reference's outputs (so a swapped branch is seen).

    -1 unless the reference is even, or not defined there; -1 too if no factor changes anything.
    """
    point = next(point for point in tried if point.name == "opt")

    def outputs(factor: float) -> tuple[Array, ...]:
        entered = [_wide(point.feeds[tensor.name]) for tensor in manifest.inputs]
        return reference([one * factor if one.dtype.kind == "f" else one for one in entered], fields)

    plain = outputs(1.0)
    for factor in _ELSE_FACTORS:
        try:
            other = outputs(factor)
        except CheckFailed:
            continue
        if any(
            a.shape != b.shape or not np.allclose(a, b, rtol=1e-2, atol=1e-2, equal_nan=True)
            for a, b in zip(plain, other, strict=True)
        ):
            return factor
    return _ELSE_FACTORS[0]


def calibrated(
    family: Family, setting: Setting, tried: Sequence[Point], reference: Reference, method: Method = "max"
) -> Setting:
    """The setting with scales, calibrated over all points' runs of this family in FP64."""
    manifest = setting.manifest
    if not any(setting.kind(tensor).is_quantized for tensor in (*manifest.inputs, *manifest.outputs)):
        return setting
    applier = Applier(setting, reference, exact=True)
    for point in tried:
        for _, feeds in family.runs(setting, point.name, _ordinary(setting, point)):
            family.oracle(applier, feeds)
    return replace(setting, scales=precisions_.scales(manifest, setting.precision, ranges(applier.seen, method)))


def _ordinary(setting: Setting, point: Point) -> dict[str, Array]:
    """The feeds, without large values where they would make the scales too coarse to see anything."""
    feeds = dict(point.feeds)
    for tensor in setting.manifest.inputs if point.spread else ():
        if setting.kind(tensor).is_quantized:
            feeds[tensor.name] = np.clip(feeds[tensor.name], -8.0, 8.0)
    return feeds


def _cases(
    family: Family, setting: Setting, point: Point, reference: Reference, seed: int, *, moved_by: float = 0.0
) -> list[Case]:
    """The cases of a point. The inputs for which outputs are the exact ones may be `moved_by` off, relative to each
    element, or by what is usual for the precision."""
    network_id = setting.network_id(family.NAME)
    several = len(setting.manifest.profiles) > 1
    found = []
    for suffix, given in family.runs(setting, point.name, _ordinary(setting, point)):
        feeds = dict(given)
        for tensor in setting.manifest.inputs if point.spread else ():
            if (kind := setting.kind(tensor)).is_quantized:
                rng = generator(seed, "spikes", point.profile, point.name, tensor.name)
                feeds[tensor.name] = precisions_.add_spikes(feeds[tensor.name], setting.scales[tensor.name], rng, kind)
        applier = Applier(setting, reference)
        answer = family.oracle(applier, feeds)
        arbitrary = _arbitrary(family, setting, reference, feeds, answer, lost=applier.lost) if applier.masks else {}
        step_of = {t.name: setting.step(t) for t in (*setting.manifest.inputs, *setting.manifest.outputs)}
        ratios = [
            float(ratio)
            for taker, giver in family.feedback(setting)
            if np.all(step_of[giver])
            for ratio in np.unique(np.asarray(step_of[taker]) / step_of[giver])
            if ratio > 0
        ]
        manifests = [setting.manifest]
        computed = precisions_.close(setting.manifest, DType.FLOAT32)
        clear = partial(rounding.clear, off=computed)
        if setting.varied and not setting.varied.declared:
            # The manifest's tolerances are for what it declares: what is only moved may be computed with another value.
            manifests.append(setting.manifest.model_copy(update={"tolerances": Tolerances()}))
        sources = family.sources(setting)
        steps = {name: step_of[source] for name, source in sources.items() if np.any(step_of.get(source, 0.0))}
        if any(isinstance(step, np.ndarray) for step in steps.values()):
            steps |= _channel_steps(family, setting, reference, feeds, steps)
        float8 = _float8_outputs(setting, sources) & steps.keys()
        if answer.chain > 1:
            # An error is handed on as it is, however small what is made of it: a step is that of the largest value.
            steps |= {name: _largest_step(steps[name], answer.outputs[name]) for name in float8}
            float8 = set()
        tolerances = [
            precisions_.tolerance(manifest, setting.precision, steps, chain=answer.chain, ratios=ratios, float8=float8)
            for manifest in manifests
        ]
        tolerance = _loosest(tolerances)
        if by := moved_by or precisions_.input_error(setting.manifest, setting.precision):
            far = conditioning.moved(family, setting, reference, feeds, answer, tolerance, by)
            tolerance = replace(tolerance, moved=far)
        if moved_by or not setting.manifest.tolerances.float16:
            half = conditioning.in_half(family, setting, reference, feeds, answer, tolerance)
            more = {name: np.maximum(off, tolerance.moved.get(name, 0.0)) for name, off in half.items()}
            tolerance = replace(tolerance, moved={**tolerance.moved, **more})
        for place, profile in family.places(setting, point):
            parts = [network_id, *([point.profile] if several else []), point.name, *filter(None, (suffix, place))]
            found.append(
                Case(
                    id="/".join(parts),
                    network_id=network_id,
                    profile=profile,
                    point=point.name,
                    seed=seed,
                    feeds=feeds,
                    expected=answer.outputs,
                    tolerance=tolerance,
                    enqueues=answer.enqueues,
                    symbols=dict(point.symbols),
                    padded=answer.padded,
                    arbitrary=arbitrary,
                    free=_free(applier, answer.enqueues) if applier.masks else (),
                    lost=_lost(family, setting, reference, feeds),
                    clear=_rounded(family, setting, applier, clear),
                    saturated=_rounded(family, setting, applier, rounding.saturated),
                )
            )
    return found


def _float8_outputs(setting: Setting, sources: Mapping[str, str]) -> set[str]:
    """The network outputs that show an FP8 output of the plugin."""
    own = {tensor.name for tensor in setting.manifest.outputs if setting.kind(tensor) is DType.FLOAT8}
    return {name for name, source in sources.items() if source in own}


def _largest_step(scale: Scale, expected: Array) -> Scale:
    numbers = np.abs(expected / scale)
    return scale * float(float8_numbers.spacing(np.max(numbers[np.isfinite(numbers)], initial=0.0)))


def _channel_steps(
    family: Family, setting: Setting, reference: Reference, feeds: dict[str, Array], steps: Mapping[str, Scale]
) -> dict[str, Array]:
    """What a step of each element of a network's outputs is worth, wherever the network has put the channels.

    An element that the plugin didn't write (a state before the first trip) has the largest.
    """
    found = family.oracle(StepApplier(setting, reference), feeds).outputs
    made = {}
    for name, step in steps.items():
        if isinstance(step, np.ndarray):
            made[name] = np.where(np.isin(found[name], step), found[name], step.max())
    return made


def _special(family: Family, setting: Setting, cases: Sequence[Case], reference: Reference) -> list[Case]:
    """The first opt with NaN, infinities and denormals in its inputs, where there is room for them."""
    usual = next((case for case in cases if case.point == "opt"), None)
    if usual is None:
        return []

    def oracle(feeds: dict[str, Array]) -> dict[str, Array]:
        return family.oracle(Applier(setting, reference), feeds).outputs

    denormals = {
        tensor.name: special_values.denormal(setting.kind(tensor), setting.scale(tensor))
        for tensor in setting.manifest.inputs
    }
    found = special_values.make(usual.feeds, denormals, usual.seed, oracle, usual.tolerance)
    if found is None:
        return []
    arbitrary = {name: mask | usual.arbitrary.get(name, False) for name, mask in found.arbitrary.items()}
    name = usual.id.removesuffix("opt") + SPECIAL
    made = replace(usual, id=name, point=SPECIAL, feeds=found.feeds, expected=found.expected, arbitrary=arbitrary)
    # Which elements have one nearest step is that of other inputs.
    return [replace(made, advisory=True, lost={}, earlier=(), clear={}, saturated={})]


def _takes_special(setting: Setting) -> bool:
    """Whether NaN and infinities say something in the plugin's types: INT8 has no such numbers."""
    manifest = setting.manifest
    kinds = {setting.kind(tensor) for tensor in (*manifest.inputs, *manifest.outputs)}
    return DType.INT8 not in kinds and not manifest.size_tensors()


def _ranged(family: Family, setting: Setting, part: ShapeSplit, reference: Reference, seed: int) -> list[Case]:
    """The first opt with values in other ranges, as far as the reference's outputs are finite in the plugin's types."""
    opt = next((point for point in part.points if point.name == "opt" and point.spread), None)
    tensors = (*setting.manifest.inputs, *setting.manifest.outputs)
    if opt is None or any(setting.kind(tensor).is_quantized for tensor in tensors):
        return []
    found = []
    for point in ranges_.points(opt, precisions_.coarsest(setting.manifest, setting.precision), seed):
        try:
            made = _cases(family, setting, point, reference, seed, moved_by=_FP32_ROUNDINGS)
        except CheckFailed:
            continue
        found += [case for case in made if all(np.isfinite(one).all() for one in case.expected.values())]
    return found


def _defined(family: Family, setting: Setting, part: ShapeSplit, reference: Reference, seed: int) -> list[Case]:
    """The first opt with each kind of values that the manifest says the layer is defined for.

    Raises:
        CheckFailed: reference() takes none of that kind.
    """
    opt = next((point for point in part.points if point.name == "opt"), None)
    found = special_values.defined(opt, setting.manifest.test.special, seed) if opt else []
    try:
        return [case for point in found for case in _cases(family, setting, point, reference, seed)]
    except CheckFailed as refusal:
        raise refusal.worded(
            f"{FILE_NAME} has special = {list(setting.manifest.test.special)} in [test], so the layer is defined for "
            f"these values, and the reference is not: {refusal.message}"
        ) from None


def with_earlier(cases: Sequence[Case]) -> list[Case]:
    """The cases of one network, those at opt with others that run before them in one execution context: the smallest
    and the largest of their profile, and opt of another profile, where the shapes are others."""

    def earlier(case: Case) -> tuple[Case, ...]:
        mine = [one for one in cases if one.profile == case.profile and one.point in ("min", "max")]
        other = [one for one in cases if one.profile != case.profile and one.point == "opt"]
        return tuple(one for one in (*mine, *other[:1]) if _shapes(one) != _shapes(case))

    return [replace(case, earlier=earlier(case)) if case.point == "opt" else case for case in cases]


def _shapes(case: Case) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in case.feeds.items()}


def _loosest(tolerances: Sequence[Tolerance]) -> Tolerance:
    return replace(
        tolerances[0],
        rtol=max(one.rtol for one in tolerances),
        atol=max(one.atol for one in tolerances),
        steps=max(one.steps for one in tolerances),
    )


def _rounded(
    family: Family, setting: Setting, applier: Applier, chosen: Callable[[Array, Scale, DType], Array]
) -> dict[str, Array]:
    """Which quantized elements `chosen` takes by their exact value: of the plugin alone, without a tolerance in the
    manifest."""
    declared = setting.manifest.tolerances
    own = {DType.INT8: declared.int8, DType.FLOAT8: declared.float8}
    if family.NAME != "plain" or len(applier.unrounded) != 1:
        return {}
    return {
        tensor.name: chosen(value, setting.step(tensor), setting.kind(tensor)) & ~mask
        for tensor, value, mask in zip(setting.manifest.outputs, applier.unrounded[0], applier.free[0], strict=True)
        if own.get(setting.kind(tensor), 0) is None
    }


def _lost(family: Family, setting: Setting, reference: Reference, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """What would come out if the field that differs were as usual."""
    one = setting.varied
    if one is None or not one.name:
        return {}
    usual = replace(setting, fields={**setting.fields, one.name: one.default})
    return family.oracle(Applier(usual, reference), feeds).outputs


def _arbitrary(
    family: Family,
    setting: Setting,
    reference: Reference,
    feeds: Mapping[str, Array],
    answer: OracleResult,
    *,
    lost: bool,
) -> dict[str, Array]:
    """Which elements of the graph's outputs depend on elements that mean nothing: those that change with them.

    Args:
        lost: whether NaN became INT8: then its third meaning is tried too.

    Raises:
        CheckFailed: how much there is of an output changes with them.
    """
    found: dict[str, Array] = {}
    fills: tuple[Literal[1, 2], ...] = (1, 2) if lost else (1,)
    for fill in fills:
        other = family.oracle(Applier(setting, reference, fill=fill), feeds).outputs
        for name, value in answer.outputs.items():
            if value.shape != other[name].shape:
                raise CheckFailed(
                    f"{setting.network_id(family.NAME)}: the shape of '{name}' depends on elements that mean nothing: "
                    f"{'NaN as INT8' if lost else 'reference() masks them'}.",
                    hint="Nothing may follow from such elements: give them values.",
                )
            same = (value == other[name]) | (np.isnan(value) & np.isnan(other[name]))
            if not same.all():
                found[name] = ~same | found.get(name, np.zeros_like(same))
    return found


def _free(applier: Applier, enqueues: int | None) -> tuple[tuple[Array, ...], ...]:
    """Of each enqueue, for each output, which elements need not be written.

    Where the network enqueues more often than the oracle applies, in branches that it doesn't take, which call is whose
    is not known: then each may leave out what any may, if their shapes are the same.
    """
    calls = list(applier.free)
    if enqueues != len(calls):
        whole = [masks for masks in zip(*calls, strict=True) if len({mask.shape for mask in masks}) == 1]
        one = tuple(np.logical_or.reduce(masks) for masks in whole)
        calls = [one] * (enqueues or 0) if len(one) == len(calls[0]) else []
    return tuple(calls)


def _precisions(manifest: Manifest, wanted: Iterable[DType] | None) -> list[DType]:
    offered = manifest.precisions()
    kinds = list(offered) if wanted is None else list(dict.fromkeys(wanted))
    missing = [kind for kind in kinds if kind not in offered]
    if missing or not kinds:
        listed = ", ".join(kind.value for kind in offered)
        what = f"No input of {manifest.plugin.name} is {missing[0].value}" if missing else "No precision is selected"
        raise NothingSelected(
            f"{what}; on offer: {listed}.", hint="Precisions are the inputs' types in pluginkit.toml."
        )
    return kinds
