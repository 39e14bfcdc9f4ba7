"""Which way around a pattern's commutative operators stand in a model, found node by node.

onnxscript's own `commute` makes a rule of each choice: 2^n for n commutative operators. Here it is decided first, for
each operator of the pattern and each node, whether what is above can fit at all; then only the orders that can are
gone through. Each is then matched by onnxscript as it is written.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from onnxscript.rewriter import pattern as rewriter

from pluginkit.errors import UsageError
from pluginkit.grafting.regions import constant

COMMUTATIVE = frozenset(
    ("Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Max", "Mean", "Min", "Mul", "Or", "Sum", "Xor")
)
"""ONNX's operators of two inputs that may be exchanged."""
MOST = 256
"""So many orders of one place are tried: a pattern that names so little that more fit would take for ever."""
Accepts = Callable[[str, Any], bool]
"""Whether a value may be what the pattern calls so."""
_Bound = dict[Any, Any]


class Orders:
    """Of one pattern of onnxscript's.

    Args:
        pattern: its `GraphPattern`.
        accepts: of values that are not outputs of the pattern's nodes, and of attributes that nodes have.
    """

    def __init__(self, pattern: Any, accepts: Accepts) -> None:
        self._pattern = pattern
        self._accepts = accepts
        self._fitting: dict[tuple[int, int], bool] = {}
        self._apart = _apart(pattern)

    def of(self, node: Any, others: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """The pattern's operators that are to be turned around for its (first) last operator to be `node`.

        Args:
            node: of the model.
            others: where the other last operators are looked for, of a pattern with several.

        Raises:
            UsageError: there are too many.
        """
        first, *more = self._pattern.output_nodes
        seen: set[tuple[Any, ...]] = set()
        if not self._fits_node(first, node):
            return
        for found in self._with_apart(self._roots([(first, node)], more, others)):
            if found not in seen:
                if len(seen) == MOST:
                    raise UsageError(
                        f"The pattern's commutative operators fit in more than {MOST} ways at one place.",
                        hint="Make it more specific: which values are constants, and which. Or use nodes: or values:.",
                    )
                seen.add(found)
                yield found

    def _with_apart(self, every: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        for found in every:
            for choice in itertools.product((False, True), repeat=len(self._apart)):
                yield (*found, *itertools.compress(self._apart, choice))

    def _roots(
        self, tasks: list[tuple[Any, Any]], more: Sequence[Any], others: Sequence[Any]
    ) -> Iterator[tuple[Any, ...]]:
        if not more:
            yield from self._solved(tasks, {}, ())
            return
        for node in others:
            if self._fits_node(more[0], node):
                yield from self._roots([*tasks, (more[0], node)], more[1:], others)

    def _solved(
        self, tasks: list[tuple[Any, Any]], bound: _Bound, turned: tuple[Any, ...]
    ) -> Iterator[tuple[Any, ...]]:
        """What is to be turned around for each operator of `tasks` to be its node.

        Args:
            tasks: operators of the pattern, and nodes that they may be.
            bound: what operators and values of the pattern are.
            turned: what is turned around already.
        """
        tasks = list(tasks)
        while tasks:
            wanted, node = tasks.pop()
            if wanted in bound:
                if bound[wanted] is not node:
                    return
                continue
            bound[wanted] = node
            straight, around = self._ways(wanted, node)
            if straight and around:
                following = self._bind(wanted, node, bound_straight := dict(bound), around=False)
                if following is not None:
                    yield from self._solved([*tasks, *following], bound_straight, turned)
            following = self._bind(wanted, node, bound, around=around)
            if following is None:
                return
            tasks += following
            turned = (*turned, wanted) if around else turned
        yield turned

    def _ways(self, wanted: Any, node: Any) -> tuple[bool, bool]:
        """Whether the inputs can fit as they stand, and turned around; both only if that makes a difference."""
        if not _turnable(wanted, node):
            return True, False
        (a, b), (one, other) = wanted.inputs, node.inputs
        straight = self._fits(a, one) and self._fits(b, other)
        same = one is other or a is b
        return straight, not (same and straight) and self._fits(a, other) and self._fits(b, one)

    def _bind(self, wanted: Any, node: Any, bound: _Bound, *, around: bool) -> list[tuple[Any, Any]] | None:
        """The operators above, with the nodes that they must be; None if a value would be two."""
        values = reversed(node.inputs) if around else node.inputs
        following = []
        for pattern, value in zip(wanted.inputs, values, strict=False):
            if pattern is None or value is None:
                continue
            name = pattern.name or pattern
            if bound.setdefault(name, value) is not value and pattern is not rewriter.ANY_VALUE:
                return None
            if _producer(pattern) is not None:
                following.append((_producer(pattern), value.producer()))
        return following

    def _fits(self, pattern: Any, value: Any) -> bool:
        """Whether a value can be what the pattern has there, as far as one value can tell."""
        if pattern is None or value is None:
            return True
        wanted = _producer(pattern)
        if wanted is None:
            if isinstance(pattern, rewriter.Constant):
                return constant(value) is not None
            return pattern.name is None or self._accepts(pattern.name, value)
        node = value.producer()
        return node is not None and value.index() == pattern.output_index and self._fits_node(wanted, node)

    def _fits_node(self, wanted: Any, node: Any) -> bool:
        key = id(wanted), id(node)
        if key not in self._fitting:
            self._fitting[key] = self._alike(wanted, node) and self._inputs_fit(wanted, node)
        return self._fitting[key]

    def _alike(self, wanted: Any, node: Any) -> bool:
        match = wanted.matches(node, rewriter.MatchResult())
        return bool(match) and all(self._accepts(*one) for one in match.bindings.items() if one[1] is not None)

    def _inputs_fit(self, wanted: Any, node: Any) -> bool:
        if all(self._fits(*both) for both in zip(wanted.inputs, node.inputs, strict=False)):
            return True
        turned = zip(wanted.inputs, reversed(node.inputs), strict=False)
        return _turnable(wanted, node) and all(self._fits(*both) for both in turned)


@contextlib.contextmanager
def turned_around(operators: Sequence[Any]) -> Iterator[None]:
    """The pattern with the inputs of some of its operators exchanged."""
    for one in operators:
        one.inputs.reverse()
    try:
        yield
    finally:
        for one in operators:
            one.inputs.reverse()


def _turnable(wanted: Any, node: Any) -> bool:
    return (
        node.op_type in COMMUTATIVE and node.domain in {"", "ai.onnx"} and len(node.inputs) == len(wanted.inputs) == 2
    )


def _apart(pattern: Any) -> tuple[Any, ...]:
    """Commutative operators that stand in a choice, onnxscript's OrValue: which of its values a node may be isn't
    followed here, so that both their orders are tried."""
    reached: set[Any] = set()
    waiting = list(pattern.output_nodes)
    while waiting:
        one = waiting.pop()
        if one is not None and one not in reached:
            reached.add(one)
            waiting += map(_producer, one.inputs)
    return tuple(one for one in pattern if one not in reached and len(one.inputs) == 2 and one.op_type in COMMUTATIVE)


def _producer(pattern: Any) -> Any:
    """The operator whose output a value of the pattern is; None for other values."""
    return pattern.producer() if hasattr(pattern, "producer") else None
