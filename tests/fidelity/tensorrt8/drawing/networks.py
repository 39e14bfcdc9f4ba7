"""Networks by chance around a plugin, how they are quantized, and what is run."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from pluginkit.dtypes import DType
from pluginkit.network import api_model as api
from pluginkit.network.networks import NetworkProfile, Range
from tests.fidelity.graphs import Value
from tests.fidelity.tensorrt8.drawing.case import SCALE, Case, Run
from tests.fidelity.tensorrt8.drawing.flaws import FLAWS

from .plugins import BASES, FLAT, PLUGINS, TRIPS, PluginDraft

FAMILIES = {
    "plain": 5,
    "chain": 3,
    "neighbour": 2,
    "before": 1,
    "after": 1,
    "invariant": 1,
    "iterator": 0.7,
    "recurrence": 0.7,
    "then": 1,
    "else": 1,
    "both": 1,
    "outside": 0.7,
    "nested": 0.5,
}
FLAWED = 0.3
"""The share of cases with a flaw."""


def case(seed: int, number: int) -> Case:
    """The case of that number; the same each time."""
    rng = random.Random(f"tensorrt8/{seed}/{number}")
    flaw = rng.choices(FLAWS, [one.weight for one in FLAWS])[0] if rng.random() < FLAWED else None
    base = rng.choices([*BASES], [*BASES.values()])[0]
    if flaw and base not in flaw.bases:
        base = rng.choice(flaw.bases)
    families = [one for one in FAMILIES if (base == "dynamic" or one in FLAT) and (not flaw or one in flaw.families)]
    family = rng.choices(families, [FAMILIES[one] for one in families])[0]
    return NetworkDraft(rng, base, flaw, f"{base}/{family}/{number}").made(family)


class NetworkDraft(PluginDraft):
    """A case under way."""

    # What is around it

    def entered(self, values: Sequence[Value]) -> list[Value]:
        """INT8 where the network says so explicitly."""
        if self.quantized != "explicit":
            return list(values)
        return [self._quantize(value) if value.kind is DType.INT8 else value for value in values]

    def left(self, values: Sequence[Value]) -> list[Value]:
        """FP32 again."""
        if self.quantized != "explicit":
            return list(values)
        return [self._dequantize(value) if value.kind is DType.INT8 else value for value in values]

    def _quantize(self, value: Value) -> Value:
        out = self.name("q")
        self.steps.append(api.Quantize(value.name, self._constant("float32", [SCALE]), out))
        return replace(value, name=out)

    def _dequantize(self, value: Value) -> Value:
        out = self.name("dq")
        self.steps.append(api.Dequantize(value.name, self._constant("float32", [SCALE]), out))
        return replace(value, name=out)

    def _sum(self, left: str, right: str) -> str:
        out = self.name("sum")
        self.steps.append(api.Elementwise("SUM", left, right, out))
        return out

    def _twice(self, name: str) -> str:
        return self._sum(name, name)

    def _inside(self, inputs: Sequence[Value], *, first: bool) -> list[Value]:
        """The plugin with its layers of quantization."""
        return self.left(self.plugin(self.entered(inputs), first=first))

    # Families

    def plain(self, inputs: Sequence[Value]) -> list[Value]:
        return self._inside(inputs, first=False)

    def chain(self, inputs: Sequence[Value]) -> list[Value]:
        between = self.plugin(self.entered(inputs))
        return self.left(self.plugin(between, flawed=False))

    def neighbour(self, inputs: Sequence[Value]) -> list[Value]:
        first, *others = self._inside(inputs, first=True)
        if self._is("neighbour-of-another-shape"):
            many = self._constant(first.kind.value, [0.0] * 257, (257, *[1] * (first.rank - 1 - self.implicit)))
            return [replace(first, name=self._sum(first.name, many)), *others]
        return [replace(first, name=self._sum(first.name, inputs[0].name)), *others]

    def _loop(self, state: Value, step: str = "") -> tuple[str, Value]:
        loop = self.name("loop")
        self.steps += [
            api.LoopStep(loop),
            api.TripLimit(loop, "COUNT", self._constant("int32", [TRIPS])),
        ]
        inside = replace(state, name=self.name("state"))
        self.steps.append(api.Recurrence(loop, state.name, inside.name))
        return loop, inside

    def _looped(self, value: Value, other: str = "") -> Value:
        """A loop that doubles a tensor, or adds another one, in each trip."""
        loop, state = self._loop(value)
        following = self._sum(state.name, other or state.name)
        out = self.name("last")
        self.steps += [api.Recur(state.name, following), api.LoopOutput(loop, "LAST_VALUE", state.name, out)]
        return replace(value, name=out)

    def before(self, inputs: Sequence[Value]) -> list[Value]:
        first, *others = self._inside(inputs, first=False)
        return [self._looped(first), *others] if not first.kind.is_integer else [first, *others]

    def after(self, inputs: Sequence[Value]) -> list[Value]:
        float_ = [self._looped(value) if not value.kind.is_integer else value for value in inputs]
        return self._inside(float_, first=False)

    def invariant(self, inputs: Sequence[Value]) -> list[Value]:
        """The plugin within a loop on what stays the same."""
        first, *others = self._inside(inputs, first=True)
        return [self._looped(inputs[0], first.name), *others]

    def iterator(self, inputs: Sequence[Value]) -> list[Value]:
        """The plugin on a slice of the first input."""
        whole = inputs[0]
        cut = tuple(tuple(dims[1:] for dims in three) for three in whole.ranges)
        loop = self.name("loop")
        self.steps += [api.LoopStep(loop), api.TripLimit(loop, "COUNT", self._constant("int32", [TRIPS]))]
        slice_ = Value(self.name("slice"), whole.kind, cut)  # type: ignore[arg-type]
        self.steps.append(api.IteratorLayer(loop, whole.name, slice_.name))
        first, *_ = self._inside([slice_, *inputs[1:]], first=False)
        out = self.name("all")
        length = self._constant("int32", [TRIPS])
        self.steps.append(api.LoopOutput(loop, "CONCATENATE", first.name, out, 0, length))
        spans = tuple(tuple((TRIPS, *dims) for dims in three) for three in first.ranges)
        return [Value(out, first.kind, spans)]  # type: ignore[arg-type]

    def recurrence(self, inputs: Sequence[Value]) -> list[Value]:
        """The plugin's output is its next input."""
        loop, state = self._loop(inputs[0])
        first, *_ = self._inside([state, *inputs[1:]], first=True)
        out = self.name("last")
        self.steps += [api.Recur(state.name, first.name), api.LoopOutput(loop, "LAST_VALUE", state.name, out)]
        return [replace(inputs[0], name=out)]

    def _flag(self) -> str:
        self.steps.append(api.NetworkInput("flag", "bool", ()))
        for shapes in self.shapes:
            shapes["flag"] = ((), (), ())
        return "flag"

    def _choice(self, inputs: Sequence[Value]) -> tuple[str, list[Value]]:
        choice = self.name("if")
        self.steps.append(api.Conditional(choice, self._flag()))
        inner = [replace(value, name=self.name("inner")) for value in inputs]
        self.steps += [api.BranchInput(choice, value.name, one.name) for value, one in zip(inputs, inner, strict=True)]
        return choice, inner

    def _chosen(self, choice: str, then: Value, otherwise: str) -> Value:
        out = self.name("chosen")
        self.steps.append(api.BranchOutput(choice, then.name, otherwise, out))
        return replace(then, name=out)

    def then(self, inputs: Sequence[Value]) -> list[Value]:
        choice, inner = self._choice(inputs)
        first, *_ = self._inside(inner, first=True)
        return [self._chosen(choice, first, self._twice(inner[0].name))]

    def otherwise(self, inputs: Sequence[Value]) -> list[Value]:
        choice, inner = self._choice(inputs)
        twice = self._twice(inner[0].name)
        first, *_ = self._inside(inner, first=True)
        return [self._chosen(choice, replace(first, name=twice), first.name)]

    def both(self, inputs: Sequence[Value]) -> list[Value]:
        choice, inner = self._choice(inputs)
        one, *_ = self._inside(inner, first=True)
        other, *_ = self._inside(inner, first=True)
        return [self._chosen(choice, one, other.name)]

    def outside(self, inputs: Sequence[Value]) -> list[Value]:
        first, *_ = self._inside(inputs, first=True)
        choice, inner = self._choice([first, inputs[0]])
        return [self._chosen(choice, replace(first, name=self._twice(inner[0].name)), self._twice(inner[1].name))]

    def nested(self, inputs: Sequence[Value]) -> list[Value]:
        choice, inner = self._choice(inputs)
        second = self.name("if")
        condition = self.name("condition")
        within = [replace(value, name=self.name("within")) for value in inner]
        self.steps += [api.BranchInput(choice, "flag", condition), api.Conditional(second, condition)]
        self.steps += [api.BranchInput(second, one.name, two.name) for one, two in zip(inner, within, strict=True)]
        first, *_ = self._inside(within, first=True)
        chosen = self._chosen(second, first, self._twice(within[0].name))
        return [self._chosen(choice, chosen, self._twice(inner[0].name))]

    # The case

    def made(self, family: str) -> Case:
        """With the network of a family."""
        inputs = self._inputs()
        outputs = getattr(self, "otherwise" if family == "else" else family)(inputs)
        self.steps += [api.NetworkOutput(value.name) for value in outputs]
        profiles = self._profiles()
        network = api.ApiNetwork(
            self.label, family, DType.FLOAT32, b"", tuple(self.steps), tuple(self.calls), tuple(profiles)
        )
        flags = set() if self._is("type-half-without-flag", "type-int8-without-flag") else self.flags
        return Case(
            self.label,
            PLUGINS[self.base],
            self.flaw,
            network,
            self.quantized,
            tuple(sorted(flags)),
            {} if self.quantized in ("entropy", "minmax") else dict(self.ranges),
            tuple(self.precise) if self.quantized != "bindings" else (),
            implicit_batch=self.implicit,
            max_batch=self._batch() + self.rng.randint(0, 2) if self.implicit else 1,
            runs=tuple(self._runs()),
            chosen=not self.determined and bool(flags),
            float_end=self.quantized in ("ranges", "entropy", "minmax") and not self._is("int8-at-end"),
        )

    def _profiles(self) -> list[NetworkProfile]:
        found = [NetworkProfile(f"p{index}", shapes) for index, shapes in enumerate(self.shapes)]
        first = found[0]
        low, best, high = first.shapes["x0"]
        changed: Range | None = None
        if self._is("min-above-opt"):
            changed = ((best[0] + 1, *low[1:]), best, (max(high[0], best[0] + 1), *high[1:]))
        elif self._is("opt-above-max"):
            changed = (low, (high[0] + 1, *best[1:]), high)
        elif self._is("profile-against-constant"):
            changed = (low, best, (high[0] + 1, *high[1:]))
        if changed:
            found[0] = replace(first, shapes={**first.shapes, "x0": changed})
        if self._is("profile-without-input"):
            found[0] = replace(first, shapes={name: one for name, one in first.shapes.items() if name != "x0"})
        return found

    def _runs(self) -> list[Run]:
        found = []
        for index in {0, len(self.shapes) - 1}:
            points = (0, 1, 2) if self.dynamic else (1,)
            shapes = self.shapes[index].items()
            drawn = self.rng.sample(points, min(2, len(points)))
            found += [Run(index, {name: three[point] for name, three in shapes}) for point in drawn]
        if "flag" in self.shapes[0]:
            found = [found[0], *found] if len(found) < 2 else found
        if self._is("shape-outside"):
            _, _, high = self.shapes[0]["x0"]
            found = [Run(0, {**found[0].shapes, "x0": (high[0] + 20, *high[1:])})]
        return found
