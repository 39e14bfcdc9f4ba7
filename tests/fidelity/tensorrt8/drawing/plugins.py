"""A plugin's layer by chance: its inputs, their types and formats, what the plugin makes of them, and one flaw."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pluginkit.dtypes import DType
from pluginkit.field_types import FieldType
from pluginkit.field_types import Value as FieldValue
from pluginkit.formats import Format
from pluginkit.network import api_model as api
from pluginkit.network.networks import Dims, PluginCall, Range
from tests.fidelity import flaws as flaws_of_rtx
from tests.fidelity import signatures
from tests.fidelity.graphs import Value
from tests.fidelity.signature import Signature
from tests.fidelity.tensorrt8.drawing.case import SCALE, Quantized
from tests.fidelity.tensorrt8.drawing.flaws import Flaw

PLUGINS = {"dynamic": "ChameleonDynamic", "ioext": "ChameleonIOExt", "v2ext": "ChameleonExt", "v2": "ChameleonV2"}
BASES = {"dynamic": 6, "ioext": 3, "v2ext": 1.5, "v2": 1}
"""With the weights that they are drawn by."""
FLAT = ("plain", "chain", "neighbour")
"""Families without loops and conditionals: all that the interfaces with static shapes are drawn in."""

KINDS: signatures.Kinds = (DType.FLOAT32, DType.FLOAT16, DType.INT8, DType.INT32, DType.FLOAT32)
"""As many as signatures.KINDS has."""
BY_ITSELF = ("ranges", "entropy", "minmax")
"""Where TensorRT makes INT8 of FP32 tensors."""
ROOMY, ROOMY_SINCE = 0.8, 830
"""How often INT8 is drawn as 8.5.3 takes it, and from which case on: by the first ones it takes little else."""
TRIPS = 3
MOST_ELEMENTS = 4096
"""Of an output of a sound plugin."""
VECTORS = {DType.FLOAT16: (Format.CHW2, Format.HWC8), DType.INT8: (Format.CHW4, Format.CHW32)}
LINEAR = Format.LINEAR


@dataclass(frozen=True)
class Drawn:
    """A plugin's fields.

    Attributes:
        signature: types, shapes, masks, fault.
        sources, factors, offsets: of each output: output = factor * input of that number + offset.
        form: the format of all tensors.
    """

    signature: Signature
    sources: tuple[int, ...]
    factors: tuple[int, ...]
    offsets: tuple[int, ...]
    form: Format = LINEAR

    def fields(self) -> dict[str, tuple[FieldType, FieldValue]]:
        """As the creator gets them."""
        found = self.signature.fields()
        rows = {"source": self.sources, "factor": self.factors, "offset": self.offsets}
        for label, values in rows.items():
            found |= {f"{label}{index}": (FieldType.INT32, value) for index, value in enumerate(values)}
        if self.form is not LINEAR:
            found["format"] = (FieldType.INT32, self.form.code)
        return found


class PluginDraft:
    """A case under way."""

    def __init__(self, rng: random.Random, base: str, flaw: Flaw | None, label: str) -> None:
        self.rng, self.base, self.label = rng, base, label
        self.flaw = flaw.name if flaw else ""
        self.fault = flaw.fault if flaw else 0
        self.family = label.split("/")[1]
        self.dynamic = base == "dynamic" and (bool(flaw and flaw.dynamic) or rng.random() < 0.6)
        self.implicit = base == "v2" or (base in ("ioext", "v2ext") and rng.random() < 0.5)
        if self._is("v2-explicit", "calibration-without-float", "open-dimensions"):
            self.implicit = False
        if self._is("dynamic-implicit"):
            self.dynamic, self.implicit = False, True
        self.symbols = self._symbols()
        self.steps: list[api.Step] = []
        self.calls: list[PluginCall] = []
        self.shapes: list[dict[str, Range]] = [{} for _ in self.symbols]
        self.numbers = 0
        self.quantized: Quantized = self._quantization()
        # 8.5.3 refuses INT8 in less than three dimensions, beside other types, and in IQuantizeLayers with an implicit
        # batch.
        late = int(label.rpartition("/")[2]) >= ROOMY_SINCE
        self.roomy = late and bool(self.quantized) and not self.flaw and rng.random() < ROOMY
        self.implicit = self.implicit and self.quantized not in ("entropy", "minmax")
        self.implicit = self.implicit and not (self.roomy and self.quantized == "explicit")
        self.determined = rng.random() < 0.8
        self.flags: set[str] = set()
        self.ranges: dict[str, float] = {}
        self.precise: list[str] = []

    def _is(self, *names: str) -> bool:
        return self.flaw in names

    def _symbols(self) -> list[dict[str, tuple[int, int, int]]]:
        if self._is("open-dimensions"):
            return [{"n": (1, 2, 3), "m": (2, 2, 2)}]
        if not self.dynamic:
            return [{name: (value,) * 3 for name in "nm" if (value := self.rng.randint(1, 6))}]
        count = self.rng.choice((1, 1, 2))
        found = [{name: self._range() for name in "nm"} for _ in range(count)]
        if self.flaw:
            low, _, high = found[0]["n"]
            found[0]["n"] = (low, low + 1, max(high, low + 2))
        return found

    def _range(self) -> tuple[int, int, int]:
        low, best, high = sorted(self.rng.randint(1, 7) for _ in range(3))
        return (0 if self.rng.random() < 0.03 else low), best, high

    def _quantization(self) -> Quantized:
        if self._is("int8-at-end", "calibration-without-float", "type-int8-without-flag"):
            return {"int8-at-end": "ranges", "calibration-without-float": "entropy"}.get(self.flaw, "bindings")
        if self.base not in ("dynamic", "ioext") or self.flaw or self.rng.random() > 0.3:
            return ""
        if self.family in FLAT:
            return self.rng.choice(("explicit", "explicit", "ranges", "ranges", "bindings", "entropy", "minmax"))
        return "explicit"

    # Tensors

    def name(self, label: str) -> str:
        """Unique."""
        self.numbers += 1
        return f"t{self.numbers:02d}_{label}"

    def _constant(self, kind: api.TypeName, values: Sequence[float], dims: Dims = ()) -> str:
        out = self.name("constant")
        self.steps.append(api.ConstantLayer(out, kind, tuple(values), dims))
        return out

    def _inputs(self) -> list[Value]:
        count = self.rng.randint(1, 3)
        vector = self._vector()
        if vector:
            kinds = [vector[0]] * count
        elif self.quantized:
            kinds = [DType.INT8] + [self.rng.choice((DType.INT8, DType.FLOAT32)) for _ in range(count - 1)]
            if self.roomy or (self.quantized != "explicit" and self.quantized != "bindings"):
                kinds = [DType.INT8] * count
        elif self.base == "v2":
            kinds = [self.rng.choice((DType.FLOAT32, DType.FLOAT32, DType.FLOAT16))] * count
        else:
            among = (DType.FLOAT32, DType.FLOAT16, DType.INT32)
            first = self.rng.choice((DType.FLOAT32, *among))
            kinds = [first] * count if self.rng.random() < 0.7 else [self.rng.choice(among) for _ in range(count)]
        if self._is("type-half-without-flag"):
            kinds = [DType.FLOAT16] * count
        if self.family in ("recurrence", "iterator", "both", "then", "else", "outside", "nested", "neighbour"):
            # What is around the plugin adds and negates: numbers, not indices, in FP32.
            kinds[0] = DType.INT8 if self.quantized else self.rng.choice((DType.FLOAT32, DType.FLOAT32, DType.FLOAT16))
        found = []
        for index, kind in enumerate(kinds):
            dims = self._dims(kind, index, vector is not None)
            found.append(self._input(f"x{index}", kind, dims))
        self.form = vector[1] if vector else LINEAR
        return found

    def _vector(self) -> tuple[DType, Format] | None:
        if self.base not in ("dynamic", "ioext") or self.flaw or self.family not in ("plain", "chain"):
            return None
        if self.quantized in ("", "ranges") and self.rng.random() < 0.12:
            kind = DType.INT8 if self.quantized else DType.FLOAT16
            return kind, self.rng.choice(VECTORS[kind])
        return None

    def _dims(self, kind: DType, index: int, vector: bool) -> tuple[str | int, ...]:
        rank = 4 if vector else self.rng.choice((1, 2, 2, 3, 4, 4)) if self.rng.random() < 0.93 else 0
        if rank == 0 and (kind is DType.INT8 or self.flaw or index == 0 or self.base != "dynamic"):
            rank = 2
        if self.family == "iterator" and index == 0:
            rank = max(rank, 2)
        if self.roomy:
            rank = max(rank, 3 + self.implicit)
        sizes: list[str | int] = [self.rng.choice(("n", "m", self.rng.randint(1, 6))) for _ in range(rank)]
        if vector:
            sizes[1] = self.rng.randint(1, 9)
        if self.family == "iterator" and index == 0:
            sizes[0] = TRIPS
        if self.base != "dynamic":
            sizes = [self._batch(), *sizes[: max(rank - 1, 3 if vector else 1)]]
            sizes = sizes if len(sizes) > 1 else [*sizes, self.rng.randint(1, 6)]
        if index == 0 and self.dynamic and self.flaw and self.family != "iterator":
            sizes[0] = "n"
        if self._is("profile-against-constant") and index == 0:
            sizes = [4, "n"]
        if self._is("open-dimensions"):
            sizes[0] = "n"
        return tuple(sizes)

    def _batch(self) -> int:
        if not hasattr(self, "_size"):
            self._size = self.rng.randint(1, 4)
        return self._size

    def _input(self, name: str, kind: DType, sizes: Sequence[str | int]) -> Value:
        ranges: list[Range] = []
        for symbols in self.symbols:
            low, best, high = (
                tuple(symbols[size][point] if isinstance(size, str) else size for size in sizes) for point in range(3)
            )
            ranges.append((low, best, high))
        open_ = self.dynamic or self._is("open-dimensions")
        # As pluginkit's host sees it: what is the same in all profiles is constant.
        every = [one for three in ranges for one in three]
        fixed = [len({dims[axis] for dims in every}) == 1 for axis in range(len(sizes))]
        dims = tuple(
            ranges[0][1][axis] if fixed[axis] and not (isinstance(size, str) and self._is("open-dimensions"))
            else -1
            for axis, size in enumerate(sizes)
        )  # fmt: skip
        assert open_ or all(fixed)
        outer: api.TypeName = "float32" if kind is DType.INT8 and self.quantized != "bindings" else kind.value
        self.steps.append(api.NetworkInput(name, outer, dims[1:] if self.implicit else dims))
        for shapes, one in zip(self.shapes, ranges, strict=True):
            shapes[name] = one
        return Value(name, kind, tuple(ranges))

    # The plugin

    def _signature(self, inputs: Sequence[Value], *, first: bool) -> Signature:
        # Of the interfaces with static shapes expressions don't see the batch, and there are no rules.
        seen = inputs if self.base == "dynamic" else [_without_batch(value) for value in inputs]
        while True:
            signature = signatures.sound(
                self.rng, seen, among=KINDS, base="v2", first=first, least=1 if self.flaw else 0
            )
            if self._fits(signature, inputs, seen):
                break
        if self.quantized in BY_ITSELF and any(isinstance(kind, DType) for kind in signature.types):
            signature = replace(signature, types=tuple(0 for _ in signature.types))
        return self._masked(signature, inputs)

    def _fits(self, signature: Signature, inputs: Sequence[Value], seen: Sequence[Value]) -> bool:
        """Whether the interface, the quantization and the format allow it."""
        kinds = [value.kind for value in inputs]
        types = signature.output_types(kinds)
        if self.base != "dynamic" and any(signature.rules):
            return False
        if any(self._large(signature, index, seen) for index in range(len(signature.shapes))):
            return False
        if DType.INT8 in types and (DType.INT8 not in kinds or self.base == "v2ext"):
            return False
        # All of one type.
        if (self.base == "v2" or self.form is not LINEAR) and set(types) != {inputs[0].kind}:
            return False
        if self.quantized in BY_ITSELF and set(types) != {DType.INT8}:
            return False
        least = 3 - (self.base != "dynamic" and not self.implicit)
        if self.roomy and (set(types) != {DType.INT8} or any(len(shape) < least for shape in signature.shapes)):
            return False
        if self.form is not LINEAR and any(len(shape) != seen[0].rank for shape in signature.shapes):
            return False
        return not any(kind is DType.INT8 and not shape for kind, shape in zip(types, signature.shapes, strict=True))

    def _large(self, signature: Signature, index: int, inputs: Sequence[Value]) -> bool:
        """Whether an output has too many elements to be looked at quickly."""
        spans = [
            signature.output_range(index, [value.ranges[p] for value in inputs])[2] for p in range(len(self.symbols))
        ]
        return any(math.prod(dims) > MOST_ELEMENTS for dims in spans)

    def _masked(self, signature: Signature, inputs: Sequence[Value]) -> Signature:
        """With one type at each position, where the builder is to have no choice."""
        kinds = [value.kind for value in inputs]
        kinds += signature.output_types(kinds)
        self.flags |= {"FP16"} if DType.FLOAT16 in kinds else set()
        self.flags |= {"INT8"} if DType.INT8 in kinds else set()
        masks = [frozenset({kind}) for kind in kinds]
        if self.quantized in ("entropy", "minmax") and not self.flaw:
            masks = [frozenset({DType.FLOAT32, DType.INT8})] * len(kinds)
        elif not self.determined:
            masks = [frozenset({kind, DType.FLOAT32}) if not kind.is_integer else frozenset({kind}) for kind in kinds]
        return replace(signature, masks=tuple(masks), fault=0)

    def plugin(self, inputs: Sequence[Value], *, first: bool = False, flawed: bool = True) -> list[Value]:
        """A plugin's layer."""
        signature = self._signature(inputs, first=first)
        if flawed and self.flaw:
            signature = self._with_flaw(signature, inputs)
        count = len(signature.shapes)
        seen = inputs if self.base == "dynamic" else [_without_batch(value) for value in inputs]
        drawn = Drawn(
            signature,
            tuple(self.rng.randrange(len(inputs)) for _ in range(count)),
            tuple(self.rng.choice((1, 1, -1, 2)) for _ in range(count)),
            tuple(self.rng.randint(-2, 2) for _ in range(count)),
            self.form,
        )
        node, kinds = self.name("plugin"), [value.kind for value in inputs]
        types = signature.output_types(kinds)
        outs = [self.name("out") for _ in range(count + (flawed and self._is("too-few-outputs")))]
        self.steps.append(api.PluginLayer(node, tuple(value.name for value in inputs), tuple(outs)))
        implicit = self.quantized in ("ranges", "bindings", "entropy", "minmax")

        def scales(of: Sequence[DType]) -> tuple[float, ...]:
            # 8.5.3 gives each tensor with a range its scale: row scale-of-ranges.
            return tuple(SCALE if kind is DType.INT8 else 0.0 for kind in of)

        forms = (self.form,) * len(kinds) if self.form is not LINEAR else ()
        self.calls.append(
            PluginCall(
                node=node,
                fields=drawn.fields(),
                types=tuple(kinds),
                output_types=types,
                inputs=tuple(tuple(value.ranges[p] for value in inputs) for p in range(len(self.symbols))),
                scales=scales(kinds),
                output_scales=scales(types),
                formats=forms,
                output_formats=(self.form,) * count if forms else (),
                implicit=implicit and DType.INT8 in (*kinds, *types),
            )
        )
        if implicit:
            self.precise.append(node)
            self.ranges |= {value.name: 127 * SCALE for value in inputs if not value.kind.is_integer}
            self.ranges |= {out: 127 * SCALE for out, kind in zip(outs, types, strict=False) if not kind.is_integer}
        found = []
        for index, (out, kind) in enumerate(zip(outs, types, strict=False)):
            spans = [signature.output_range(index, [v.ranges[p] for v in seen]) for p in range(len(self.symbols))]
            if self.base != "dynamic":
                spans = [tuple((self._batch(), *dims) for dims in three) for three in spans]  # type: ignore[misc]
            found.append(Value(out, kind, tuple(spans)))
        return found

    def _with_flaw(self, signature: Signature, inputs: Sequence[Value]) -> Signature:
        if self.fault:
            return replace(signature, fault=self.fault)
        known = next((one for one in flaws_of_rtx.FLAWS if one.name == self.flaw), None)
        if known is None:
            return signature
        seen = inputs if self.base == "dynamic" else [_without_batch(value) for value in inputs]
        return signatures.flawed(self.rng, known, signature, seen, among=KINDS)


def _without_batch(value: Value) -> Value:
    return replace(value, ranges=tuple(tuple(dims[1:] for dims in three) for three in value.ranges))  # type: ignore[misc]
