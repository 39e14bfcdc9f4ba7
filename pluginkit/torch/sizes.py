"""The dimensions of a module's tensors: symbols and expressions of them, as `torch.export` follows the sizes.

Runs in the worker that has PyTorch.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pluginkit import shapes

NAMES = {1: "c", 2: "nc", 3: "nld", 4: "nchw", 5: "ncdhw"}
"""What the dimensions of a tensor of so many are called."""

_INFIX: dict[str, Callable[..., str]] = {
    "Mul": lambda *terms: " * ".join(terms),
    "FloorDiv": lambda a, b: f"{a} // {b}",
    "CleanDiv": lambda a, b: f"{a} // {b}",
    "Mod": lambda a, b: f"{a} - {a} // {b} * {b}",
    "PythonMod": lambda a, b: f"{a} - {a} // {b} * {b}",
}
"""What the classes of expressions in PyTorch's sizes are in a `pluginkit.toml`."""
Call = Callable[..., tuple[Any, ...]]
"""A function of tensors alone."""


@dataclass(frozen=True)
class ExportedSizes:
    """What the export says.

    Attributes:
        inputs, outputs: each tensor's dimensions; None: one that no shape expression can be.
        used: of each input, whether anything depends on it.
        ranges: of each symbol, min, opt and max.
        notes: what was assumed.
    """

    inputs: tuple[tuple[str, ...], ...]
    outputs: tuple[tuple[str | None, ...], ...]
    used: tuple[bool, ...]
    ranges: dict[str, tuple[int, int, int]]
    notes: tuple[str, ...]


def find(call: Call, tensors: Sequence[Any], outputs: Sequence[Any], taken: Iterable[str]) -> ExportedSizes:
    """The dimensions of a call's tensors.

    Args:
        call: a function of the tensors.
        tensors: what it is called with.
        outputs: what it returned for these.
        taken: names that no symbol may have.
    """
    import torch

    class Called(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *given: Any) -> tuple[Any, ...]:
            return call(*given)

    auto = torch.export.Dim.AUTO
    dynamic = (tuple(dict.fromkeys(range(one.dim()), auto) for one in tensors),)
    try:
        program = torch.export.export(Called(), tuple(tensors), dynamic_shapes=dynamic, strict=False)
    except Exception as error:  # noqa: BLE001 - whatever the module's code raises while it is traced
        said = (str(error).splitlines() or [type(error).__name__])[0][:160]
        return _fixed(tensors, outputs, f"torch.export can't follow the module ({said}), so that all sizes are fixed.")
    places = [node for node in program.graph.nodes if node.op == "placeholder"][-len(tensors) :]
    made = next(node for node in program.graph.nodes if node.op == "output").args[0]
    symbols = ExportedSymbols(set(taken))
    ins = [_expressions(place.meta["val"]) for place in places]
    symbols.name(ins, [tuple(one.shape) for one in tensors])
    found = tuple(
        tuple(symbols.names.get(dim) or str(size) for dim, size in zip(dims, one.shape, strict=True))
        for dims, one in zip(ins, tensors, strict=True)
    )
    out = tuple(
        tuple(symbols.text(dim, size) for dim, size in zip(_expressions(node.meta["val"]), one.shape, strict=True))
        for node, one in zip(made, outputs, strict=True)
    )
    sizes = ExportedSizes(found, out, tuple(bool(place.users) for place in places), {}, ())
    return _ranged(sizes, call, tensors, symbols)


def _fixed(tensors: Sequence[Any], outputs: Sequence[Any], note: str) -> ExportedSizes:
    def numbers(those: Sequence[Any]) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(map(str, one.shape)) for one in those)

    return ExportedSizes(numbers(tensors), numbers(outputs), (True,) * len(tensors), {}, (note,))


def _expressions(tensor: Any) -> tuple[Any, ...]:
    import sympy

    return tuple(sympy.Integer(size) if isinstance(size, int) else size.node.expr for size in tensor.shape)


class ExportedSymbols:
    """The export's symbols by names of ours."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self.names: dict[Any, str] = {}
        self.hints: dict[str, int] = {}
        self._fixed: dict[Any, int] = {}

    def name(self, inputs: Sequence[Sequence[Any]], shapes: Sequence[Sequence[int]]) -> None:
        """Name the symbols that are a dimension of an input by themselves."""
        for dims, shape in zip(inputs, shapes, strict=True):
            for axis, (dim, size) in enumerate(zip(dims, shape, strict=True)):
                if dim.is_Symbol and dim not in self.names:
                    usual = NAMES[len(dims)][axis] if len(dims) in NAMES else f"d{axis}"
                    numbered = itertools.chain([usual], (f"{usual}{number}" for number in itertools.count(2)))
                    self.names[dim] = next(name for name in numbered if name not in self._taken)
                    self._taken.add(self.names[dim])
                    self.hints[self.names[dim]] = int(size)
        # What is computed of a symbol can be no input's dimension: that one is a number, and so is the symbol.
        tied = [dim for dims in inputs for dim in dims if not dim.is_Symbol and dim.free_symbols]
        for symbol in {symbol for dim in tied for symbol in dim.free_symbols}:
            name = self.names.pop(symbol, "")
            self._fixed[symbol] = self.hints.pop(name, 0)

    def text(self, dim: Any, size: int) -> str | None:
        """An expression as `pluginkit.toml` has it, or its size in the example; None where it can't be one."""
        if dim.free_symbols <= set(self._fixed):
            return str(size)
        try:
            return self._written(dim.subs(self._fixed))[0]
        except KeyError:
            return None

    def _written(self, dim: Any) -> tuple[str, bool]:
        """The text, and whether it needs brackets as an operand; KeyError where there is none."""
        kind = type(dim).__name__
        if dim.is_Integer:
            return str(int(dim)), int(dim) < 0
        if dim.is_Symbol:
            return self.names[dim], False
        if kind in {"Max", "Min"}:
            texts = [self._written(one)[0] for one in dim.args]
            return functools.reduce(lambda a, b: f"{kind.lower()}({a}, {b})", texts), False
        if kind == "Add":
            return self._sum(dim.args), True
        numbers_last = sorted(dim.args, key=lambda one: bool(one.is_Integer)) if kind == "Mul" else dim.args
        return _INFIX[kind](*map(self._operand, numbers_last)), True

    def _operand(self, dim: Any) -> str:
        text, infix = self._written(dim)
        return f"({text})" if infix else text

    def _sum(self, terms: Sequence[Any]) -> str:
        """Positive terms first, for a dimension begins with no minus; numbers last."""
        negative = {one: bool(one.as_coeff_Mul()[0] < 0) for one in terms}
        ordered = sorted(terms, key=lambda one: (negative[one], bool(one.is_Integer), str(one)))
        if negative[ordered[0]]:
            return " - ".join(["0", *(self._operand(-one) for one in ordered)])
        text = self._operand(ordered[0])
        for one in ordered[1:]:
            text += f" - {self._operand(-one)}" if negative[one] else f" + {self._operand(one)}"
        return text


def _ranged(sizes: ExportedSizes, call: Call, tensors: Sequence[Any], symbols: ExportedSymbols) -> ExportedSizes:
    """With min, opt and max of each symbol: sizes at which the call was tried."""
    opt = symbols.hints
    notes: list[str] = []
    if any(dim == "1" for dims in sizes.inputs for dim in dims):
        notes.append("a dimension that is 1 in the example is fixed: an example with a larger one makes it a symbol.")
    sizes, opt = _tied(sizes, call, tensors, opt, notes)
    # Tests take any size between a profile's min and max.
    free = {name: size for name, size in opt.items() if _runs(call, tensors, sizes, {**opt, name: size + 1})}
    for name, size in opt.items():
        if name in free:
            continue
        notes.append(
            f"{name} can be {size} and {2 * size}, and not {size + 1}: its profile is {size} alone. Add profiles with "
            "other sizes that fit."
        )
    smaller = ({**opt, **{name: min(at, size) for name, size in free.items()}} for at in (1, 2))
    least = next((one for one in smaller if _runs(call, tensors, sizes, one)), opt)
    double = {**opt, **{name: 2 * size for name, size in free.items()}}
    most = double if _runs(call, tensors, sizes, double) else opt
    ranges = {name: (least[name], size, most[name]) for name, size in opt.items()}
    return ExportedSizes(sizes.inputs, sizes.outputs, sizes.used, ranges, tuple(notes))


def _tied(
    sizes: ExportedSizes, call: Call, tensors: Sequence[Any], opt: dict[str, int], notes: list[str]
) -> tuple[ExportedSizes, dict[str, int]]:
    """With one symbol for sizes that must be equal, and a number for those that can't change.

    The export sees neither of what happens in an operator, of which it knows the outputs' shapes alone.
    """
    for name, size in reversed(list(opt.items())):
        if any(_runs(call, tensors, sizes, {**opt, name: other}) for other in (size + 1, 2 * size)):
            continue
        same = [other for other in opt if other != name and opt[other] == size]
        partner = next(
            (one for one in same if _runs(call, tensors, sizes, {**opt, name: size + 1, one: size + 1})), str(size)
        )
        if partner not in opt:
            notes.append(f"a dimension of {size} is fixed: neither {size + 1} nor {2 * size} is taken there.")
        sizes = _renamed(sizes, name, partner)
        opt = {other: value for other, value in opt.items() if other != name}
    return sizes, opt


def _renamed(sizes: ExportedSizes, name: str, other: str) -> ExportedSizes:
    def renamed(dim: str) -> str:
        return shapes.render(shapes.substituted(shapes.parse(dim), {name: shapes.parse(other)}))

    ins = tuple(tuple(other if dim == name else dim for dim in dims) for dims in sizes.inputs)
    outs = tuple(tuple(dim if dim is None else renamed(dim) for dim in dims) for dims in sizes.outputs)
    return ExportedSizes(ins, outs, sizes.used, sizes.ranges, sizes.notes)


def _runs(call: Call, tensors: Sequence[Any], sizes: ExportedSizes, values: dict[str, int]) -> bool:
    """Whether the call takes tensors of other sizes, which repeat the example's values, and gives what it should."""
    import torch

    try:
        with torch.no_grad():
            made = call(*(_resized(one, dims, values) for one, dims in zip(tensors, sizes.inputs, strict=True)))
    except Exception:  # noqa: BLE001 - whatever the module's code raises means that it does not take them
        return False
    return all(
        dim is None or size == shapes.evaluate(shapes.parse(dim), values)
        for one, dims in zip(made, sizes.outputs, strict=True)
        for size, dim in zip(one.shape, dims, strict=True)
    )


def _resized(tensor: Any, dims: Sequence[str], values: dict[str, int]) -> Any:
    shape = [values.get(dim) or int(dim) for dim in dims]
    count, flat = math.prod(shape), tensor.reshape(-1)
    return flat.repeat(-(-count // max(flat.numel(), 1)))[:count].reshape(shape)
