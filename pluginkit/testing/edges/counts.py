"""Points of all element counts modulo 16 and of empty tensors: where a kernel that reads vectors has its tail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import prod

from pluginkit.manifest import Manifest, Profile
from pluginkit.testing.edges import COUNT, EMPTY
from pluginkit.testing.points import Point, values

MODULUS = 16
"""The INT8 elements of 16 bytes, the most that one instruction reads."""
_SIZE = 9
"""Dimensions about which shapes are chosen: small, so that they take no time, and more than one vector in all."""

Residue = tuple[str, int]
"""A tensor, and what its number of elements leaves when it is divided by `MODULUS`."""


def points(manifest: Manifest, tried: Sequence[Point], seed: int) -> list[Point]:
    """What the points that are tried lack: `count-R`, where R elements are left over, and `empty-SYMBOL`.

    Each tensor gets all residues that its profiles allow, whatever the seed. A symbol alone is 0 where a profile's min
    allows it for several: at `min` they are all 0 at once.
    """
    found: list[Point] = []
    covered: set[Residue] = set()
    for profile in manifest.profiles:
        for point in tried:
            covered |= _residues(manifest, point.symbols) if point.profile == profile.name else set()
        for env in _covering(manifest, profile, covered):
            count = prod((*manifest.execution_inputs(), *manifest.outputs)[0].dims(env)) % MODULUS
            taken = sum(point.name.partition(".")[0] == f"{COUNT}{count}" for point in found)
            name = f"{COUNT}{count}" + (f".{taken + 1}" if taken else "")
            found.append(Point(profile.name, name, env, values(manifest, env, seed, f"{profile.name}/{name}")))
        zeros = [name for name, (low, _, high) in profile.symbols.items() if low == 0 < high]
        for symbol in zeros if len(zeros) > 1 else ():
            env, name = {**profile.at("opt"), symbol: 0}, f"{EMPTY}{symbol}"
            if not manifest.possible(env):
                continue  # an output divides by it, or broadcasts it
            found.append(Point(profile.name, name, env, values(manifest, env, seed, f"{profile.name}/{name}")))
    return found


def _covering(manifest: Manifest, profile: Profile, covered: set[Residue]) -> Iterator[dict[str, int]]:
    """As few shapes as a greedy choice finds that have the residues which `covered` lacks; it then has them too."""
    candidates = [(env, residues) for env in _candidates(profile) if (residues := _residues(manifest, env))]
    while candidates:
        env, residues = max(candidates, key=lambda one: len(one[1] - covered))
        if residues <= covered:
            return
        covered |= residues
        yield env


def _candidates(profile: Profile) -> Iterator[dict[str, int]]:
    """Shapes in which one dimension or two take consecutive values; the others are odd, so that the product may be."""
    spans, base = {}, {}
    for name, (low, opt, high) in profile.symbols.items():
        about = min(opt, max(low, _SIZE))
        first = max(low, 1, min(about - MODULUS // 2, high - MODULUS + 1))
        spans[name] = range(first, min(high, first + MODULUS - 1) + 1)
        base[name] = next((size for size in (about, about - 1, about + 1) if size % 2 and size in spans[name]), about)
    for name, span in spans.items():
        for size in span:
            yield {**base, name: size}
    for one, other in combinations(spans, 2):
        for sizes in product(spans[one], spans[other]):
            yield {**base, one: sizes[0], other: sizes[1]}


def _residues(manifest: Manifest, env: dict[str, int]) -> set[Residue]:
    """The residues of all tensors; none where a tensor can't have its shape, or is empty."""
    if not manifest.possible(env):
        return set()
    tensors = {tensor.name: tensor.dims(env) for tensor in manifest.execution_inputs()}
    sizes = {**tensors, **manifest.output_shapes(env)}
    if any(dim < 1 for dims in sizes.values() for dim in dims):
        return set()
    return {(name, prod(dims) % MODULUS) for name, dims in sizes.items()}
