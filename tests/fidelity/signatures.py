"""Random signatures: sound ones, and the same with a flaw."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from pluginkit.dtypes import DType

from .flaws import Flaw
from .graphs import Value
from .signature import (
    CEIL_DIV,
    FLOOR_DIV,
    MAX_OUTPUTS,
    MAX_RANK,
    NO_OPERATION,
    PROD,
    SUB,
    SUM,
    Expression,
    Leaf,
    Signature,
    same,
)

KINDS = (DType.FLOAT32, DType.FLOAT16, DType.INT8, DType.INT32)
"""What is drawn: the cases of `docs/fidelity.md` follow from it."""
ALL = frozenset(KINDS)
FIRST_TYPE_RULES = 12
LARGEST = 64
"""Of a sound dimension."""


def kinds(rng: random.Random, count: int) -> list[DType]:
    """Types for that many inputs: mostly all alike."""
    if rng.random() < 0.7:
        return [rng.choice((DType.FLOAT32, DType.FLOAT32, DType.FLOAT16, DType.INT8, DType.INT32))] * count
    return [rng.choice(KINDS) for _ in range(count)]


def dims(rng: random.Random) -> tuple[str | int, ...]:
    """An input's dimensions: symbols and constants."""
    return tuple(rng.choice(("n", "m", rng.randint(1, 6))) for _ in range(rng.randint(1, 4)))


def sound(rng: random.Random, inputs: Sequence[Value], *, first: bool = False, kind: DType | None = None) -> Signature:
    """A signature that is right for these inputs.

    `first`: the first output has the first input's type and shape. `kind`: all outputs are of that type.
    """
    shapes, types = [], []
    for index in range(rng.randint(1, MAX_OUTPUTS)):
        of = 0 if first and index == 0 else rng.randrange(len(inputs))
        alike = (first and index == 0) or rng.random() < 0.4
        shapes.append(same(inputs[of].rank, of) if alike else _shape(rng, inputs))
        types.append(of if (first and index == 0) or rng.random() < 0.7 else rng.choice(KINDS))
    if kind:
        types = [kind] * len(types)
    signature = Signature(tuple(types), tuple(shapes))
    tensors = [value.kind for value in inputs]
    tensors += signature.output_types(tensors)
    if rng.random() < 0.5:
        masks = [frozenset({one, *rng.sample(KINDS, rng.randint(0, 2))}) for one in tensors]
        signature = replace(signature, masks=tuple(masks))
    return replace(signature, fault=FIRST_TYPE_RULES) if len(set(tensors)) == 1 and rng.random() < 0.5 else signature


def wild(rng: random.Random, inputs: Sequence[Value], *, first: bool = False) -> Signature:
    """One by chance: dimensions may be negative or divided by 0, types may not be taken. `first` holds mostly."""
    signature = sound(rng, inputs, first=first and rng.random() < 0.8)
    if rng.random() < 0.5:
        index = rng.randrange(len(signature.shapes))
        shape = tuple(_expression(rng, inputs, -8) for _ in signature.shapes[index])
        signature = replace(signature, shapes=(*signature.shapes[:index], shape, *signature.shapes[index + 1 :]))
    if signature.masks and rng.random() < 0.5:
        masks = [frozenset(rng.sample(KINDS, 3)) for _ in signature.masks]
        signature = replace(signature, masks=tuple(masks))
    return signature


def _shape(rng: random.Random, inputs: Sequence[Value]) -> tuple[Expression, ...]:
    return tuple(_expression(rng, inputs) for _ in range(rng.randint(1, MAX_RANK)))


def _expression(rng: random.Random, inputs: Sequence[Value], least: int = 1) -> Expression:
    """One whose value is `least` (1 seldom being 0) to LARGEST wherever it is asked for."""
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
        if all((value := tried.value(point)) is not None and least <= value <= LARGEST for point in points):
            return tried


def _leaf(rng: random.Random, inputs: Sequence[Value]) -> Leaf:
    index = rng.randrange(len(inputs))
    if rng.random() < 0.35 or not inputs[index].rank:
        return rng.choice((1, 2, 3, 4, 5, 7, -1, -3))
    return index, rng.randrange(inputs[index].rank)


def flawed(rng: random.Random, flaw: Flaw, signature: Signature, inputs: Sequence[Value]) -> Signature:
    """The signature with that flaw, if it is one of signatures."""
    tensors = [value.kind for value in inputs]
    tensors += signature.output_types(tensors)
    if flaw.fault:
        return replace(signature, fault=flaw.fault)
    if flaw.name in {"no-format", "wrong-output-type"}:
        # The type that is taken at one position is any but the one that it has.
        position = rng.randrange(len(tensors)) if flaw.name == "no-format" else len(inputs)
        masks = [*(signature.masks or [ALL] * len(tensors))]
        masks[position] = ALL - {tensors[position]}
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
        "huge-output": Expression(191, PROD, 191, PROD, 191),
        "division-by-zero": Expression((0, 0), rng.choice((FLOOR_DIV, CEIL_DIV)), 0),
    }
    if flaw.name not in wrong:
        return signature
    shape = (wrong[flaw.name],) * (2 if flaw.name == "huge-output" else 1) + signature.shapes[0][1:]
    return replace(signature, shapes=(shape, *signature.shapes[1:]))


def other_branch(rng: random.Random, signature: Signature, inputs: Sequence[Value], flaw: Flaw | None) -> Signature:
    """The signature of an If's other branch: the same, unless that is the flaw."""
    if flaw is not None and flaw.name == "wild" and rng.random() < 0.5:
        other = wild(rng, inputs)
        # Branches of several outputs would have to be equally many.
        return other if len(other.shapes) == len(signature.shapes) else signature
    if flaw is None or not flaw.name.startswith("branches"):
        return signature
    first, *others = signature.shapes
    if flaw.name == "branches-of-other-types":
        mine, *_ = signature.output_types([value.kind for value in inputs])
        kind = DType.FLOAT16 if mine is DType.INT32 else DType.INT32
        return replace(signature, types=(kind, *signature.types[1:]), masks=(), fault=0)
    if flaw.name == "branches-of-other-ranks":
        changed = first[1:] if len(first) == MAX_RANK else (Expression(1), *first)
    else:
        changed = (Expression((0, 0), SUM, 70), *first[1:])
    return replace(signature, shapes=(changed, *others))
