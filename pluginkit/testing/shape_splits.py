"""The signature as its networks have it: static bases by profile, INT8 with a constant channel dimension.

INT8 wants its channel dimension constant at build time: `preflight` has the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pluginkit import shapes
from pluginkit.dtypes import DType
from pluginkit.interpreter.preflight import CHANNEL_AXIS
from pluginkit.manifest import Manifest, Profile
from pluginkit.testing.points import Point, holds, points


@dataclass(frozen=True)
class ShapeSplit:
    """Some of the signature's shapes: one network's.

    Attributes:
        name: what stands in the ids of its networks; empty for the usual one.
        manifest: the signature, with numbers for some of its symbols.
        points: where it is run.
    """

    name: str
    manifest: Manifest
    points: tuple[Point, ...]


def shape_splits(
    manifest: Manifest, kind: DType, tried: Sequence[Point], seed: int, *, all_counts: bool, random: int = 1
) -> Iterator[ShapeSplit]:
    """The splits that a signature is tested in.

    A static one has a part for each profile, where min and max are opt once more. In INT8 the first part has the
    channels of the first profile's opt. There is one more for each profile that does not hold these, and for a
    person's data.

    Args:
        manifest: the signature.
        kind: the precision.
        tried: the signature's points.
        seed: as for `points`.
        all_counts: in INT8 also one for the channels at min and max.
        random: as for `points`.
    """
    names = channels(manifest, kind)
    static = manifest.static()
    if static != (manifest,):
        fixed = [point for point in tried if point.name in ("opt", "data")]
        for one in static:
            (profile,) = one.profiles
            name = profile.name if len(manifest.profiles) > 1 else ""
            yield ShapeSplit(name, one, tuple(point for point in fixed if point.profile == profile.name))
    elif not names:
        yield ShapeSplit("", manifest, tuple(tried))
    else:
        for index, counts in enumerate(_counts(manifest, names, tried, all_counts=all_counts)):
            yield _with_channels(manifest, counts, tried, seed, index=index, random=random)


def channels(manifest: Manifest, kind: DType) -> tuple[str, ...]:
    """The symbols that INT8 tensors' channels are made of at a precision, without those that have one value."""
    found: dict[str, None] = {}
    for tensor in (*manifest.inputs, *manifest.outputs):
        if manifest.type_of(tensor, kind) is DType.INT8 and len(tensor.shape) > CHANNEL_AXIS:
            found |= dict.fromkeys(shapes.symbols(shapes.parse(tensor.shape[CHANNEL_AXIS])))
    return tuple(name for name in found if len({size for p in manifest.profiles for size in p.symbols[name]}) > 1)


def _with_channels(
    manifest: Manifest, counts: Mapping[str, int], tried: Sequence[Point], seed: int, *, index: int, random: int
) -> ShapeSplit:
    profiles = [_narrowed(profile, counts) for profile in manifest.profiles if holds(profile, counts)]
    part = manifest.with_constants(counts, profiles)
    own = [point for point in tried if point.name == "data" and _at(point.symbols, counts) == counts]
    # c16, but d2_16: where a symbol ends with a digit, the two are kept apart.
    parts = (f"{symbol}{'_' if symbol[-1:].isdigit() else ''}{size}" for symbol, size in counts.items())
    name = "-".join(parts) if index else ""
    return ShapeSplit(name, part, (*points(part, seed, random=random), *own))


def _counts(
    manifest: Manifest, names: Sequence[str], tried: Sequence[Point], *, all_counts: bool
) -> list[dict[str, int]]:
    found: list[dict[str, int]] = []
    for profile in manifest.profiles:
        # A network may have several profiles: one more is needed only where no network's channels lie in this one.
        if not any(holds(profile, counts) for counts in found):
            found.append(_at(profile.at("opt"), names))
    for point in tried:
        counts = _at(point.symbols, names)
        if counts not in found and (point.name == "data" or (all_counts and point.name in {"min", "max"})):
            found.append(counts)
    return found


def _at(env: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    return {name: env[name] for name in names}


def _narrowed(profile: Profile, counts: Mapping[str, int]) -> Profile:
    ends = {name: (counts[name],) * 3 if name in counts else range_ for name, range_ in profile.symbols.items()}
    return profile.model_copy(update={"symbols": ends})
