"""Random signatures: sound ones, and the same with a flaw."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from pluginkit.dtypes import DType

from .flaws import Flaw
from .graphs import Value
from .signature import (
    CEIL_DIV,
    FLOOR_DIV,
    LARGEST_CONSTANT,
    MAX_OUTPUTS,
    MAX_RANK,
    NO_OPERATION,
    PROD,
    RULES,
    SUB,
    SUM,
    Broadcast,
    Dimension,
    Expression,
    Leaf,
    Signature,
    Size,
    same,
)

Kinds: TypeAlias = tuple[DType, ...]
KINDS: Kinds = (DType.FLOAT32, DType.FLOAT16, DType.INT8, DType.INT32, DType.INT64)
"""What is drawn: the cases of `docs/fidelity.md` follow from it."""
INSTEAD = {DType.INT8: DType.FLOAT8, DType.FLOAT16: DType.BFLOAT16}
"""What a case may have in a type's place: no plugin has both INT8 and FP8 (refusal int8-and-float8)."""
FIRST_TYPE_RULES = 12
LARGEST = 64
"""Of a sound dimension; of more than four 8, so that a tensor isn't too large."""
IN_FLOW = 0.03
"""How often a plugin in a loop or a conditional has a workspace or a size tensor, which NVIDIA refuses there."""


def kinds(rng: random.Random, count: int, among: Kinds) -> list[DType]:
    """Types for that many inputs: mostly all alike."""
    if rng.random() < 0.7:
        return [rng.choice((DType.FLOAT32, *among))] * count
    return [rng.choice(among) for _ in range(count)]


def rank(rng: random.Random, least: int = 0) -> int:
    """Of a tensor: mostly 1 to 4, seldom 0 or up to 8."""
    drawn = rng.random()
    if drawn < 0.08:
        return least
    return rng.randint(1, 4) if drawn < 0.85 else rng.randint(5, MAX_RANK)


def dims(rng: random.Random, least: int = 0) -> tuple[str | int, ...]:
    """An input's dimensions, `least` at least: symbols and constants."""
    return tuple(rng.choice(("n", "m", rng.randint(1, 6))) for _ in range(rank(rng, least)))


def sound(
    rng: random.Random,
    inputs: Sequence[Value],
    *,
    among: Kinds,
    base: str,
    first: bool = False,
    kind: DType | None = None,
    least: int = 0,
    in_flow: bool = False,
    sized: bool = False,
    values: Sequence[Value] = (),
) -> Signature:
    """A signature that is right for these inputs.

    Args:
        inputs: the plugin's.
        among: the case's types, as many as KINDS.
        base: v2 or v3.
        first: the first output has the first input's type and shape.
        kind: all outputs are of that type.
        least: how many dimensions the first output has at least.
        in_flow: whether the plugin is in a loop or a conditional.
        sized: whether it may have a size tensor.
        values: its shape inputs, on whose elements dimensions may depend.
    """
    shapes: list[tuple[Dimension, ...]] = []
    types: list[int | DType] = []
    rules: list[str] = []
    ranks = [value.rank for value in inputs]
    for index in range(rng.randint(1, MAX_OUTPUTS)):
        of = 0 if first and index == 0 else rng.randrange(len(inputs))
        alike = (first and index == 0) or rng.random() < 0.4
        types.append(of if (first and index == 0) or rng.random() < 0.7 else rng.choice(among))
        rule = rng.choice(tuple(RULES)) if not alike and rng.random() < 0.2 else ""
        shape = RULES[rule](ranks) if rule else same(ranks[of], of) if alike else _shape(rng, (*inputs, *values))
        if len(shape) < max(least if index == 0 else 0, _least_rank(kind or types[-1], inputs)):
            rule, shape = "", (Expression(2), *shape)
        shapes.append(shape)
        rules.append(rule)
    if kind:
        types = [kind] * len(types)
    signature = Signature(tuple(types), tuple(shapes), rules=tuple(rules), lists=rng.random() < 0.5)
    if rng.random() < (IN_FLOW if in_flow else 0.2):
        signature = replace(signature, workspace=rng.choice((1, 256, 4097, 1 << 20)))
    if base == "v3":
        if sized and len(shapes) < MAX_OUTPUTS and rng.random() < (IN_FLOW if in_flow else 0.3):
            signature = _with_size(rng, signature, (*inputs, *values))
        signature = _with_aliases(rng, signature, inputs)
    tensors = [value.kind for value in inputs]
    tensors += signature.output_types(tensors)
    if rng.random() < 0.5:
        masks = [frozenset({one, *rng.sample(among, rng.randint(0, 2))}) for one in tensors]
        signature = replace(signature, masks=tuple(masks))
    return replace(signature, fault=FIRST_TYPE_RULES) if len(set(tensors)) == 1 and rng.random() < 0.5 else signature


def _least_rank(kind: int | DType, inputs: Sequence[Value]) -> int:
    """INT8 and FP8 scalars are a leniency."""
    return int((kind if isinstance(kind, DType) else inputs[kind].kind).is_quantized)


def _with_size(rng: random.Random, signature: Signature, inputs: Sequence[Value]) -> Signature:
    """With a third output, a size tensor, and a second one that has as many rows."""
    upper = _expression(rng, inputs)
    opt = Expression(upper.a, upper.first, upper.b, CEIL_DIV, 2) if upper.second == NO_OPERATION else upper
    columns = tuple(dim for dim in signature.shapes[-1][1:] if isinstance(dim, Expression))
    return replace(
        signature,
        shapes=(signature.shapes[0], (Size(2, opt, upper), *columns), ()),
        types=(*(*signature.types, DType.FLOAT32)[:2], DType.INT32),
        rules=signature.rules[:1],
    )


def _with_aliases(rng: random.Random, signature: Signature, inputs: Sequence[Value]) -> Signature:
    """With outputs in the memory of inputs that have their type and shape, each input's once."""
    if rng.random() < 0.6:
        return signature
    aliases: list[int] = []
    for kind, shape in zip(signature.types, signature.shapes, strict=True):
        fitting = [
            of
            for of, value in enumerate(inputs)
            if of not in aliases
            and len(aliases) not in signature.sizes
            and shape == same(value.rank, of)
            and (kind == of or kind is value.kind or (isinstance(kind, int) and inputs[kind].kind is value.kind))
        ]
        aliases.append(rng.choice(fitting) if fitting else -1)
    return replace(signature, aliases=tuple(aliases))


def wild(
    rng: random.Random,
    inputs: Sequence[Value],
    *,
    among: Kinds,
    base: str,
    first: bool = False,
    in_flow: bool = False,
    values: Sequence[Value] = (),
) -> Signature:
    """One by chance: dimensions may be negative or divided by 0, types may not be taken. `first` holds mostly."""
    first = first and rng.random() < 0.8
    signature = sound(rng, inputs, among=among, base=base, first=first, in_flow=in_flow, values=values)
    if rng.random() < 0.5:
        index = rng.randrange(len(signature.shapes))
        shape = tuple(_expression(rng, (*inputs, *values), -8) for _ in signature.shapes[index])
        signature = replace(
            signature,
            shapes=(*signature.shapes[:index], shape, *signature.shapes[index + 1 :]),
            rules=(*signature.rules[:index], "", *signature.rules[index + 1 :]),
            aliases=(),
        )
    if signature.masks and rng.random() < 0.5:
        masks = [frozenset(rng.sample(among, 3)) for _ in signature.masks]
        signature = replace(signature, masks=tuple(masks))
    return signature


def _shape(rng: random.Random, inputs: Sequence[Value]) -> tuple[Expression, ...]:
    count = rank(rng)
    return tuple(_expression(rng, inputs, largest=LARGEST if count <= 4 else 8) for _ in range(count))


def _expression(rng: random.Random, inputs: Sequence[Value], least: int = 1, *, largest: int = LARGEST) -> Expression:
    """One whose value is `least` (1 seldom being 0) to `largest` wherever it is asked for."""
    least = 0 if least == 1 and rng.random() < 0.03 else least
    points = [[v.ranges[p][i] for v in inputs] for p in range(len(inputs[0].ranges)) for i in range(3)]
    while True:
        tried = Expression(
            _leaf(rng, inputs),
            rng.choice((NO_OPERATION, *range(CEIL_DIV + 1))),
            _leaf(rng, inputs),
            rng.choice((NO_OPERATION, NO_OPERATION, *range(CEIL_DIV + 1))),
            _leaf(rng, inputs),
        )
        if all((value := tried.value(point)) is not None and least <= value <= largest for point in points):
            return tried


def _leaf(rng: random.Random, inputs: Sequence[Value]) -> Leaf:
    index = rng.randrange(len(inputs))
    if rng.random() < 0.35 or not inputs[index].rank:
        return rng.choice((1, 2, 3, 4, 5, 7, -1, -3))
    return index, rng.randrange(inputs[index].rank)


def flawed(rng: random.Random, flaw: Flaw, signature: Signature, inputs: Sequence[Value], *, among: Kinds) -> Signature:
    """The signature with that flaw, if it is one of signatures."""
    tensors = [value.kind for value in inputs]
    tensors += signature.output_types(tensors)
    if flaw.fault:
        return replace(signature, fault=flaw.fault)
    if flaw.name in {"no-format", "wrong-output-type"}:
        # The type that is taken at one position is any but the one that it has.
        position = rng.randrange(len(tensors)) if flaw.name == "no-format" else len(inputs)
        every = frozenset(among)
        masks = [*(signature.masks or [every] * len(tensors))]
        masks[position] = every - {tensors[position]}
        return replace(signature, masks=tuple(masks))
    if flaw.name == "no-outputs":
        return replace(signature, outputs=0)
    if flaw.name == "too-few-outputs":
        return replace(signature, outputs=len(signature.shapes))
    low, _, high = (dims[0] if dims else 1 for dims in inputs[0].ranges[0])
    wrong = {
        "negative-at-min": Expression((0, 0), SUB, low + 1),
        "negative-at-max": Expression(high - 1, SUB, (0, 0)),
        "negative-dimension": Expression((0, 0), SUB, rng.choice((20, 50))),
        "huge-output": Expression(LARGEST_CONSTANT, PROD, LARGEST_CONSTANT, PROD, LARGEST_CONSTANT),
        "division-by-zero": Expression((0, 0), rng.choice((FLOOR_DIV, CEIL_DIV)), 0),
    }
    others = {
        "alias-twice": Signature((0, 0), (same(inputs[0].rank),) * 2, aliases=(0, 0)),
        "size-not-scalar": Signature((0, 0, DType.INT32), (*_sized(inputs[0]), (Expression(1),))),
        "size-of-float": Signature((0, 0, DType.FLOAT32), (*_sized(inputs[0]), ())),
    }
    if flaw.name in others:
        return others[flaw.name]
    if flaw.name not in wrong:
        return signature
    shape = (wrong[flaw.name],) * (2 if flaw.name == "huge-output" else 1) + signature.shapes[0][1:]
    return with_first(signature, shape[:MAX_RANK])


def _other_type(kind: DType) -> DType:
    return DType.FLOAT16 if kind is DType.INT32 else DType.INT32


def _sized(value: Value) -> tuple[tuple[Dimension, ...], tuple[Dimension, ...]]:
    """Two outputs, the second of as many rows as output 2 says."""
    size = Size(2, Expression((0, 0)), Expression((0, 0), SUM, 2))
    return same(value.rank), (size, *same(value.rank)[1:])


def with_first(signature: Signature, shape: tuple[Dimension, ...]) -> Signature:
    """The same with another shape of its first output, which therefore has no input's memory."""
    written = tuple(Expression(2) if isinstance(dim, Broadcast) else dim for dim in shape)
    return replace(
        signature,
        shapes=(written, *signature.shapes[1:]),
        rules=("", *signature.rules[1:]),
        aliases=(-1, *signature.aliases[1:]) if signature.aliases else (),
    )


def other_branch(
    rng: random.Random, signature: Signature, inputs: Sequence[Value], flaw: Flaw | None, *, among: Kinds, base: str
) -> Signature:
    """The signature of an If's other branch: the same, unless that is the flaw."""
    if flaw is not None and flaw.name == "wild" and rng.random() < 0.5:
        other = wild(rng, inputs, among=among, base=base, in_flow=True)
        # Branches of several outputs would have to be equally many.
        return other if len(other.shapes) == len(signature.shapes) else signature
    if flaw is None or not flaw.name.startswith("branches"):
        return signature
    first = signature.shapes[0]
    if flaw.name == "branches-of-other-types":
        mine, *_ = signature.output_types([value.kind for value in inputs])
        return replace(signature, types=(_other_type(mine), *signature.types[1:]), masks=(), fault=0, aliases=())
    if flaw.name == "branches-of-other-ranks":
        changed = first[1:] if len(first) == MAX_RANK else (Expression(1), *first)
    else:
        changed = (Expression((0, 0), SUM, 70), *first[1:])
    return with_first(signature, changed)
