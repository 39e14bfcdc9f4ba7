"""One signature for nodes of different ranks: `"..."` stands for the dimensions that only some of them have.

Of a tensor whose rank differs, some dimensions at its beginning and end have symbols as always, and what is between
them is the rest, the same in every such tensor of a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pluginkit.importing.extraction.dimensions import Symbols
from pluginkit.importing.extraction.node_facts import NodeFacts, TensorFacts
from pluginkit.manifest import REST

Range = tuple[int, int, int]
FIRST = ((1, 0), (0, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2), (3, 0), (0, 3))
"""How many dimensions before and behind the rest are tried, the likeliest first: mostly the first one is the batch."""
BEFORE, BEHIND = ("n", "c", "d"), ("d", "h", "w")
UNKNOWN: Range = (1, 9, 16)
"""For a size that neither the model nor --profile says, as in a new project."""


@dataclass(frozen=True)
class RankProfile:
    """The sizes of the nodes of one rank.

    Attributes:
        rank: of the first tensor whose rank differs.
        symbols: of each symbol, min, opt and max.
        rest: the same of each dimension in the place of `"..."`.
    """

    rank: int
    symbols: dict[str, Range]
    rest: tuple[Range, ...]


@dataclass(frozen=True)
class OpenShapes:
    """Shapes of any rank.

    Attributes:
        inputs, outputs: the tensors' dimensions, with `"..."`.
        profiles: one for each rank.
    """

    inputs: tuple[tuple[str, ...], ...]
    outputs: tuple[tuple[str, ...], ...]
    profiles: tuple[RankProfile, ...]


def find(nodes: Sequence[NodeFacts], inputs: Sequence[int], outputs: Sequence[int]) -> OpenShapes | None:
    """Shapes that all of the nodes have, whatever their ranks; None if there are none.

    Args:
        nodes: the nodes; all ranks are known, and some differ.
        inputs, outputs: positions of the tensors.
    """
    ins = [[node.inputs[index] for node in nodes] for index in inputs]
    outs = [[node.outputs[index] for node in nodes] for index in outputs]
    first = next((tensors for tensors in ins if _differs(tensors)), None)
    if first is None:
        return None
    for before, behind in FIRST:
        if min(map(_rank, first)) < before + behind:
            continue
        rest = [_rest(one, before, behind) for one in first]
        symbols = Symbols()
        shapes = [_shape(tensors, rest, (before, behind), symbols, outputs=False) for tensors in ins]
        made = [_shape(tensors, rest, (before, behind), symbols, outputs=True) for tensors in outs]
        whole = [one for one in (*shapes, *made) if one is not None]
        if len(whole) == len(ins) + len(outs):
            return OpenShapes(tuple(whole[: len(ins)]), tuple(whole[len(ins) :]), _profiles(first, rest, symbols))
    return None


def _shape(
    tensors: Sequence[TensorFacts],
    rest: Sequence[TensorFacts],
    wanted: tuple[int, int],
    symbols: Symbols,
    *,
    outputs: bool,
) -> tuple[str, ...] | None:
    """A tensor's dimensions; None if its rest isn't that of the first one, or an output's follow from no input's."""
    if not _differs(tensors):
        return _known(_output(symbols, tensors) if outputs else symbols.shape(tensors))
    for before, behind in _cuts(tensors, rest, wanted):
        fixed = [_fixed(one, before, behind) for one in tensors]
        names = (*BEFORE[:before], *BEHIND[len(BEHIND) - behind :]) if before or behind != 1 else ("c",)
        found = _output(symbols, fixed) if outputs else symbols.shape(fixed, names)
        if (dims := _known(found)) is not None:
            return (*dims[:before], REST, *dims[before:])
    return None


def _output(symbols: Symbols, tensors: Sequence[TensorFacts]) -> tuple[str | None, ...]:
    return tuple(one.text for one in symbols.output(tensors))


def _known(dims: Sequence[str | None]) -> tuple[str, ...] | None:
    known = tuple(dim for dim in dims if dim is not None)
    return known if len(known) == len(dims) else None


def _cuts(
    tensors: Sequence[TensorFacts], rest: Sequence[TensorFacts], wanted: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    """Where the rest may lie in a tensor, that where it lies in the first one before others."""
    counts = {_rank(one) - _rank(other) for one, other in zip(tensors, rest, strict=True)}
    if len(counts) != 1 or min(counts) < 0:
        return
    (count,) = counts
    for before in sorted(range(count + 1), key=lambda number: number != wanted[0]):
        found = [_rest(one, before, count - before) for one in tensors]
        if all(_same(one, other) for one, other in zip(found, rest, strict=True)):
            yield before, count - before


def _same(one: TensorFacts, other: TensorFacts) -> bool:
    """Whether dimensions are the same: by name or number, or by their sizes."""
    return all(
        (first == second and first is not None)
        or (None not in first_sizes and first_sizes == second_sizes and any(first_sizes))
        for first, second, first_sizes, second_sizes in zip(
            one.dims or (), other.dims or (), _by_axis(one), _by_axis(other), strict=True
        )
    )


def _by_axis(one: TensorFacts) -> list[list[int | None]]:
    """Of each dimension, its sizes at min, opt and max."""
    return [[None if size is None else size[axis] for size in one.sizes] for axis in range(_rank(one))]


def _profiles(first: Sequence[TensorFacts], rest: Sequence[TensorFacts], symbols: Symbols) -> tuple[RankProfile, ...]:
    found = []
    for rank in dict.fromkeys(map(_rank, first)):
        which = [index for index, one in enumerate(first) if _rank(one) == rank]
        named = {
            name: _range([size for index in which for size in sizes[3 * index : 3 * index + 3]])
            for name, sizes in symbols.sizes.items()
        }
        axes = range(_rank(rest[which[0]]))
        dims = tuple(_range([size for index in which for size in _sizes(rest[index], axis)]) for axis in axes)
        found.append(RankProfile(rank, named, dims))
    return tuple(found)


def _sizes(one: TensorFacts, axis: int) -> list[int | None]:
    dim = (one.dims or ())[axis]
    return [dim] * len(one.sizes) if isinstance(dim, int) else _by_axis(one)[axis]


def _range(sizes: Sequence[int | None]) -> Range:
    """Min, opt and max of sizes that are min, opt and max of one node after the other."""
    known = [size for size in sizes if size is not None]
    if not known:
        return UNKNOWN
    return min(known), next((size for size in sizes[1::3] if size is not None), known[0]), max(known)


def _differs(tensors: Sequence[TensorFacts]) -> bool:
    return len(set(map(_rank, tensors))) > 1


def _rank(one: TensorFacts) -> int:
    return len(one.dims or ())


def _rest(one: TensorFacts, before: int, behind: int) -> TensorFacts:
    """The dimensions between."""
    end = _rank(one) - behind
    sizes = tuple(None if size is None else size[before:end] for size in one.sizes)
    return replace(one, dims=(one.dims or ())[before:end], sizes=sizes)


def _fixed(one: TensorFacts, before: int, behind: int) -> TensorFacts:
    """The dimensions before and behind."""
    end = _rank(one) - behind
    sizes = tuple(None if size is None else (*size[:before], *size[end:]) for size in one.sizes)
    dims = one.dims or ()
    return replace(one, dims=(*dims[:before], *dims[end:]), sizes=sizes)
