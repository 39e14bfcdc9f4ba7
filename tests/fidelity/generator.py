"""Cases by seed: a signature, its types and formats, and a network around it; some with one flaw."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from onnx import TensorProto, helper

from pluginkit.dtypes import DType
from pluginkit.network.networks import Dims, Network, NetworkProfile, Range

from . import signatures
from .flaws import BASES, FAMILIES, FLAWS, WILD, Flaw
from .graphs import Graph, Value, finish, info
from .signature import Expression, Signature

SOUND, WILD_SHARE = 0.4, 0.2
"""The shares of cases without a flaw, and of those by chance."""
SHAPE_INPUT = 0.3
"""How often an IPluginV3 that stands alone or first of two has a shape input. In loops and conditionals TensorRT-RTX's
process ends (refusal shape-input-in-flow)."""
OTHER_TYPE = 0.4
"""How often a case has FP8 for INT8, and how often BF16 for FP16."""
SYMBOLS = ("n", "m", "trips")
TRIPS = (1, 3, 5)


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        id: `family/number`.
        flaw: what is wrong with it; None if nothing is, WILD if nobody knows.
        static: whether all dimensions are constants.
        network: for NVIDIA, with a probe behind each plugin output.
        base: of the plugin: v2 or v3.
    """

    id: str
    flaw: Flaw | None
    static: bool
    network: Network
    base: str


def case(seed: int, number: int) -> Case:
    """The case of that number; the same each time."""
    rng = random.Random(f"{seed}/{number}")
    flaw, share = rng.choices(FLAWS, [flaw.weight for flaw in FLAWS])[0], rng.random()
    if share < SOUND + WILD_SHARE:
        flaw = None if share < SOUND else WILD
    family = rng.choice(flaw.families if flaw else FAMILIES)
    base = rng.choice(flaw.bases if flaw else BASES)
    draft = _Draft(rng, flaw, base, f"{family}/{number}", seed)
    network = getattr(draft, family)()
    return Case(f"{family}/{number}", flaw, draft.static, network, base)


class _Draft:
    """A case under way."""

    def __init__(self, rng: random.Random, flaw: Flaw | None, base: str, label: str, seed: int) -> None:
        self.rng = rng
        self.flaw = flaw
        self.base = base
        self.label = label
        self.seed = seed
        self.static = rng.random() < 0.4 and not (flaw and flaw.dynamic)
        self.symbols = self._symbols()
        count = len(self.symbols)
        self.graph = Graph(count, base)
        self.infos = []
        self.among = self._among()
        self.shapes: list[dict[str, Range]] = [{} for _ in range(count)]
        self.values: list[dict[str, Range]] = [{} for _ in range(count)]
        self.inputs = self._inputs()

    def _among(self) -> signatures.Kinds:
        """The types; drawn apart from all else, which so stays as it is."""
        rng = random.Random(f"{self.seed}/{self.label}/types")
        others = {kind for kind in signatures.INSTEAD if rng.random() < OTHER_TYPE and not self._is("int8-across-if")}
        return tuple(signatures.INSTEAD[kind] if kind in others else kind for kind in signatures.KINDS)

    def _symbols(self) -> list[dict[str, tuple[int, int, int]]]:
        """Per profile. The first one's min and max are profiles of their own too, as there are the shapes of only these
        points to see: else min and max are bounds (see ShapeProgram.range)."""
        if self.static:
            return [{name: (value,) * 3 for name in SYMBOLS if (value := self.rng.randint(1, 9))}]
        found = [{**{name: self._range() for name in "nm"}, "trips": TRIPS} for _ in range(self.rng.choice((1, 1, 2)))]
        if self.flaw and self.flaw.lenient:
            return found
        return found + [{name: (range_[point],) * 3 for name, range_ in found[0].items()} for point in (0, 2)]

    def _range(self) -> tuple[int, int, int]:
        low, best, high = sorted(self.rng.randint(1, 9) for _ in range(3))
        return 0 if self._is("wild") and self.rng.random() < 0.1 else low, best, high

    def _inputs(self) -> list[Value]:
        """The plugin's inputs: graph inputs, quantized where they are INT8 or FP8."""
        kinds = signatures.kinds(self.rng, self.rng.randint(1, 3), self.among)
        if self._is("int8-across-if"):
            kinds = [DType.INT8] * len(kinds)
        # A flaw may be one of the first dimension; INT8 and FP8 scalars are a leniency.
        flawed = self.flaw is not None and not self._is("wild")
        shapes = [signatures.dims(self.rng, int(flawed or kind.is_quantized)) for kind in kinds]
        if self._is("wild") and self.rng.random() < 0.15:
            shapes[-1] = ()
        if self.flaw and self.flaw.dynamic:
            shapes[0] = ("n", *shapes[0][1:])
        if self._is("profile-against-constant") or self._is("neighbour-of-another-shape"):
            shapes[0] = (4, *shapes[0][1:])
        return [
            self._input(f"x{index}", kind, dims) for index, (kind, dims) in enumerate(zip(kinds, shapes, strict=True))
        ]

    def _input(self, name: str, kind: DType, dims: Sequence[str | int]) -> Value:
        ranges = []
        for symbols in self.symbols:
            points: list[Dims] = [
                tuple(symbols[dim][point] if isinstance(dim, str) else dim for dim in dims) for point in range(3)
            ]
            ranges.append((points[0], points[1], points[2]))
        value = Value(name, kind, tuple(ranges))
        open_dims = [
            dim if isinstance(dim, int) or not self.static else ranges[0][0][axis] for axis, dim in enumerate(dims)
        ]
        self.infos.append(info(value, open_dims))
        for shapes, one in zip(self.shapes, ranges, strict=True):
            shapes[name] = one
        return value

    def _shape_inputs(self) -> list[Value]:
        """None, or one that is a network input; drawn apart from all else, which so stays as it is."""
        rng = random.Random(f"{self.seed}/{self.label}/values")
        if self.base != "v3" or self.flaw not in (None, WILD) or rng.random() >= SHAPE_INPUT:
            return []
        elements = [rng.choice(("n", "m", rng.randint(1, 6))) for _ in range(rng.randint(1, 3))]
        value = replace(self._input("given", rng.choice((DType.INT32, DType.INT64)), elements), gives_shapes=True)
        self.infos[-1] = info(value, [len(elements)])
        for shapes, values, one in zip(self.shapes, self.values, value.ranges, strict=True):
            shapes["given"], values["given"] = ((len(elements),),) * 3, one
        return [value]

    def _is(self, name: str) -> bool:
        return self.flaw is not None and self.flaw.name == name

    def _entered(self, graph: Graph, values: Sequence[Value]) -> list[Value]:
        return [graph.quantized(value, "QuantizeLinear") for value in values]

    def _left(self, graph: Graph, values: Sequence[Value]) -> list[Value]:
        return [graph.quantized(value, "DequantizeLinear") for value in values]

    def _plugin(
        self, graph: Graph, inputs: Sequence[Value], signature: Signature, *, flawed: bool = True
    ) -> list[Value]:
        """The plugin, with the flaw if it is one of its signature or of its node."""
        ask, version, namespace = 0, "1", ""
        if flawed and self.flaw:
            signature = signatures.flawed(self.rng, self.flaw, signature, inputs, among=self.among)
            ask = int(self._is("too-few-outputs"))
            version = "9" if self._is("no-such-version") else "1"
            namespace = "elsewhere" if self._is("no-such-namespace") else ""
        return graph.plugin(inputs, signature, ask=ask, version=version, namespace=namespace)

    def _signature(
        self,
        inputs: Sequence[Value],
        *,
        first: bool = False,
        in_flow: bool = False,
        sized: bool = True,
        values: Sequence[Value] = (),
    ) -> Signature:
        """A sound one; with `first` its first output has the first input's type and shape."""
        if self._is("wild"):
            return signatures.wild(
                self.rng, inputs, among=self.among, base=self.base, first=first, in_flow=in_flow, values=values
            )
        return signatures.sound(
            self.rng,
            inputs,
            among=self.among,
            base=self.base,
            first=first,
            least=int(self.flaw is not None),
            in_flow=in_flow,
            sized=sized and self.flaw is None,
            values=values,
        )

    def _finish(self, outputs: Sequence[Value]) -> Network:
        profiles = [
            NetworkProfile(f"p{i}", s, v) for i, (s, v) in enumerate(zip(self.shapes, self.values, strict=True))
        ]
        first = profiles[0]
        low, best, high = first.shapes["x0"]
        changed: Range | None = None
        if self._is("min-above-opt"):
            changed = ((best[0] + 1, *low[1:]), best, (max(high[0], best[0] + 1), *high[1:]))
        elif self._is("opt-above-max"):
            changed = (low, (high[0] + 1, *best[1:]), high)
        elif self._is("profile-against-constant"):
            changed = (low, best, (high[0] + 1, *high[1:]))
        if changed:
            profiles[0] = replace(first, shapes={**first.shapes, "x0": changed})
        if self._is("profile-without-input"):
            profiles[0] = replace(first, shapes={k: v for k, v in first.shapes.items() if k != "x0"})
        return finish(self.graph, self.label, self.infos, outputs, profiles)

    def plain(self) -> Network:
        """The plugin alone."""
        entered, values = self._entered(self.graph, self.inputs), self._shape_inputs()
        left = self._plugin(self.graph, [*entered, *values], self._signature(entered, values=values))
        return self._finish(self._left(self.graph, left))

    def chain(self) -> Network:
        """One plugin on another's outputs."""
        entered, values = self._entered(self.graph, self.inputs), self._shape_inputs()
        # NVIDIA computes nothing with a size.
        signature = self._signature(entered, sized=False, values=values)
        between = self._plugin(self.graph, [*entered, *values], signature)
        left = self.graph.plugin(between, self._signature(between))
        return self._finish(self._left(self.graph, left))

    def neighbour(self) -> Network:
        """The first output added to the first input, or to a constant of another shape."""
        entered = self._entered(self.graph, self.inputs)
        left = self._left(self.graph, self._plugin(self.graph, entered, self._signature(entered, first=True)))
        first = left[0]
        other = self.inputs[0].name
        if self._is("neighbour-of-another-shape"):
            kind = TensorProto.FLOAT if first.kind.is_quantized else first.kind.onnx
            other = self.graph.constant(kind, [0.0] * 257, [257, *[1] * (first.rank - 1)])
            self.inputs[0] = replace(self.inputs[0], name=other)
        added = self.graph.op("Add", [first.name, other], "sum")
        return self._finish([replace(first, name=added), *left[1:]])

    def loop(self) -> Network:
        """The first input is a state that the first output follows; other outputs are collected."""
        trips = "trips"
        if self.static or self.rng.random() < 0.5:
            trips = self.graph.constant(TensorProto.INT64, [TRIPS[1]])
        else:
            self.infos.append(helper.make_tensor_value_info(trips, TensorProto.INT64, []))
            for shapes, values, symbols in zip(self.shapes, self.values, self.symbols, strict=True):
                low, best, high = symbols["trips"]
                shapes[trips] = ((), (), ())
                values[trips] = ((low,), (best,), (high,))
        body = self.graph.within()
        state = replace(self.inputs[0], name=self.graph.name("state"))
        entered = self._entered(body, [state, *self.inputs[1:]])
        signature = self._signature(entered, first=True, in_flow=True)
        if self._is("state-changes-shape"):
            signature = signatures.with_first(signature, (Expression((0, 0), 0, 1), *signature.shapes[0][1:]))
        if self._is("state-changes-type"):
            kind = DType.INT32 if state.kind is not DType.INT32 else DType.FLOAT32
            signature = replace(signature, types=(kind, *signature.types[1:]), masks=(), fault=0, aliases=())
        left = self._left(body, self._plugin(body, entered, signature))
        going = body.op("Identity", [self.graph.name("going")], "going_on")
        (going_in,) = [node.input[0] for node in body.nodes if node.output[0] == going]
        heads = [
            helper.make_tensor_value_info(self.graph.name("trip"), TensorProto.INT64, []),
            helper.make_tensor_value_info(going_in, TensorProto.BOOL, []),
            info(state),
        ]
        inner = body.body("body", heads, left)
        inner.output.insert(0, helper.make_tensor_value_info(going, TensorProto.BOOL, []))
        outs = [replace(value, name=self.graph.name("out")) for value in left]
        always = self.graph.constant(TensorProto.BOOL, [1])
        self.graph.nodes.append(
            helper.make_node("Loop", [trips, always, self.inputs[0].name], [value.name for value in outs],
                             self.graph.name("loop"), body=inner)
        )  # fmt: skip
        scanned = [
            replace(value, ranges=tuple(tuple((1, *dims) for dims in one) for one in value.ranges))
            for value in outs[1:]
        ]
        return self._finish([outs[0], *scanned])

    def cond(self) -> Network:
        """The plugin in both branches; in the other one with the same types and shapes, from the same inputs."""
        self.infos.append(helper.make_tensor_value_info("flag", TensorProto.BOOL, []))
        for shapes in self.shapes:
            shapes["flag"] = ((), (), ())
        across = self._is("int8-across-if")
        outside = self._entered(self.graph, self.inputs) if across else self.inputs
        signature = (
            signatures.sound(
                self.rng, self.inputs, among=self.among, base=self.base, kind=DType.INT8, least=1, in_flow=True
            )
            if across
            else self._signature(self.inputs, in_flow=True)
        )
        branches, ends = {}, []
        for label in ("then", "else"):
            body = self.graph.within()
            entered = outside if across else self._entered(body, outside)
            mine = (
                signatures.other_branch(self.rng, signature, self.inputs, self.flaw, among=self.among, base=self.base)
                if label == "else"
                else signature
            )
            left = self._plugin(body, entered, mine, flawed=label == "then")
            ends = left if across else self._left(body, left)
            branches[f"{label}_branch"] = body.body(label, [], ends)
            if across:
                for output in branches[f"{label}_branch"].output:
                    output.type.tensor_type.elem_type = TensorProto.INT8
        outs = [replace(value, name=self.graph.name("out")) for value in ends]
        names = [value.name for value in outs]
        self.graph.nodes.append(helper.make_node("If", ["flag"], names, self.graph.name("if"), **branches))
        return self._finish(self._left(self.graph, outs) if across else outs)
