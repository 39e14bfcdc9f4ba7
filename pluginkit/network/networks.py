"""What a test run is made of, as plain data: networks, cases, tolerances; workers get them by pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pluginkit.dtypes import DType
from pluginkit.field_types import FieldType, Value
from pluginkit.formats import Format

Dims: TypeAlias = tuple[int, ...]
Range: TypeAlias = tuple[Dims, Dims, Dims]
"""A shape (or a shape tensor's values) at min, opt and max."""

Array: TypeAlias = npt.NDArray[Any]
Scale: TypeAlias = float | npt.NDArray[Any]
"""What a quantization step is worth: of a tensor, or of each channel, as an array that broadcasts to the tensor."""


@dataclass(frozen=True)
class PluginCall:
    """One plugin node of a network, as the host builds it.

    Attributes:
        node: the node's name, unique in the whole model, subgraphs included.
        fields: what the creator's field collection carries: name -> (type, value), scale fields included. In
            an ONNX network, types and texts are as NVIDIA's parser hands them over.
        types: the element type of each plugin input.
        output_types: the element type of each plugin output.
        inputs: per profile, the min/opt/max shape of each plugin input.
        scales: the scale of each plugin input (0.0 for tensors that aren't INT8 or FP8).
        output_scales: the same of each plugin output.
        formats: the format of each plugin input; none means linear. `output_formats`: the same of each output.
        implicit: whether the plugin gets the scales by `desc.scale`, as TensorRT 10 gives them in implicit
            quantization, and not by fields.
        shape_inputs: the indices of the plugin inputs that are shape inputs: of these `inputs` has the values, in the
            place of shapes.
        live: whether a network output can depend on it. A builder may leave out nodes of which none does.
    """

    node: str
    fields: dict[str, tuple[FieldType, Value]]
    types: tuple[DType, ...]
    output_types: tuple[DType, ...]
    inputs: tuple[tuple[Range, ...], ...]
    scales: tuple[float, ...]
    output_scales: tuple[float, ...]
    formats: tuple[Format, ...] = ()
    output_formats: tuple[Format, ...] = ()
    implicit: bool = False
    live: bool = True
    shape_inputs: tuple[int, ...] = ()

    @property
    def execution_types(self) -> tuple[DType, ...]:
        """The types of the inputs that are not shape inputs, then those of the outputs."""
        taken = (kind for index, kind in enumerate(self.types) if index not in self.shape_inputs)
        return (*taken, *self.output_types)

    @property
    def ranks(self) -> tuple[int | None, ...]:
        """The number of dimensions of each plugin input; None of shape inputs, whose values stand there."""
        return tuple(
            None if index in self.shape_inputs else len(low) for index, (low, _, _) in enumerate(self.inputs[0])
        )


@dataclass(frozen=True)
class NetworkProfile:
    """One optimization profile: shapes of the graph inputs, and values of those that are shape tensors."""

    name: str
    shapes: dict[str, Range]
    values: dict[str, Range] = field(default_factory=dict)


@dataclass(frozen=True)
class FieldValues:
    """Which field has another value than in the usual network.

    Attributes:
        name: the field's; empty where all that have a default are left out.
        value: the field's.
        default: what it has in the usual network.
        declared: whether the manifest declares that the plugin takes it so; else the plugin may refuse it.
        number: of the field's values, or of the several fields', from 1.
        more: other fields that differ at once, each with its value.
    """

    name: str
    value: Value = 0
    default: Value = 0
    declared: bool = True
    number: int = 1
    more: tuple[tuple[str, Value], ...] = ()

    @property
    def values(self) -> dict[str, Value]:
        """The fields that differ, with their values."""
        return {self.name: self.value, **dict(self.more)} if self.name else {}

    @property
    def variant(self) -> str:
        """The value of `Network.variant`."""
        if not self.name:
            return "no-fields"
        if self.more:
            return f"fields-{self.number}"
        return f"field-{self.name}" + (f"-{self.number}" if self.number > 1 else "")


@dataclass(frozen=True)
class Network:
    """An ONNX model around a plugin.

    Attributes:
        id: `family/precision`, or `family/precision-variant`; and the profile where each has a network of its own.
        family: a key of `pluginkit.testing.families.FAMILIES`.
        precision: what the plugin computes in.
        model: the serialized `onnx.ModelProto`.
        calls: the plugin's nodes, those in subgraphs included.
        profiles: in manifest order; `Case.profile` names one.
        outputs: the graph's outputs, in order.
        variant: a tensor format, implicit quantization, or other values of fields; empty for the usual network.
        fields: what of the fields is not as in the usual network, if anything is.
    """

    id: str
    family: str
    precision: DType
    model: bytes
    calls: tuple[PluginCall, ...]
    profiles: tuple[NetworkProfile, ...]
    outputs: tuple[str, ...]
    variant: str = ""
    fields: FieldValues | None = None

    @property
    def implicit(self) -> bool:
        """Whether it is quantized implicitly: that is the host's model of TensorRT 10, and no builder's here."""
        return any(call.implicit for call in self.calls)

    @property
    def held_formats(self) -> tuple[Format, ...]:
        """The formats of the plugin's inputs and outputs that a builder is held to; none if it may choose."""
        if not self.variant or self.implicit or self.fields:
            return ()
        first = self.calls[0]
        inputs = (form for index, form in enumerate(first.formats) if index not in first.shape_inputs)
        return (*inputs, *first.output_formats)


@dataclass(frozen=True)
class Tolerance:
    """How far an element of an output may be from the oracle's.

    `close`: `|got - expected| <= max(atol, rtol * |expected|)`: within the absolute or within the relative one.
    `steps`: `|got - expected| <= steps * scale`, where scale is one quantization step of that output; `scales` gives it
    by output name: one, or one for each channel, as an array that broadcasts to the output. An output without one is
    compared as `close`. FP8's numbers are not equally far apart: a step of an output in `float8` is from one of them to
    the next, and what is computed before it is rounded to one may be off as `close` has it.

    What is compared as `close` may also be as far off as `moved` says: graph output -> an array of its shape.
    """

    kind: Literal["close", "steps"]
    rtol: float = 0.0
    atol: float = 0.0
    steps: int = 0
    scales: dict[str, Scale] = field(default_factory=dict)
    moved: dict[str, Array] = field(default_factory=dict)
    float8: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Case:
    """One run of a network with its inputs and what must come out.

    Attributes:
        id: `family/precision/point`, with the profile's name before the point if there are several, and the
            branch or trip count after it where the family has one.
        network_id: which `Network`.
        profile: the name of the network's profile that the shapes lie in.
        point: `min`, `opt`, `max`, `random-1`, ... or `data`.
        seed: what repeats the case alone.
        feeds: graph input -> array.
        expected: graph output -> float64 array.
        tolerance: how far outputs may be off.
        enqueues: how often the plugin's enqueue must be called; None if that isn't fixed.
        symbols: the value of each shape symbol.
        padded: graph output -> its length along axis 0, where that is more than `expected` has: the rest is arbitrary.
        arbitrary: graph output -> which of its elements mean nothing, of those that have any.
        free: of each call of the plugin, for each output which elements need not be written; empty if all must be.
        clear: graph output -> which of its INT8 or FP8 elements have one nearest step, where that one is asked for.
        saturated: graph output -> which of its INT8 or FP8 elements are beyond an end of it, where that is asked for.
        earlier: cases of the same network, of other shapes and profiles, for a run in a context that has run them.
        advisory: whether no document makes the case's demand (E14), so that wrong outputs are a warning.
        lost: what would come out if the field that differs had the value of the usual network; empty if none differs.
    """

    id: str
    network_id: str
    profile: str
    point: str
    seed: int
    feeds: dict[str, Array]
    expected: dict[str, Array]
    tolerance: Tolerance
    enqueues: int | None = None
    symbols: dict[str, int] = field(default_factory=dict)
    padded: dict[str, int] = field(default_factory=dict)
    arbitrary: dict[str, Array] = field(default_factory=dict)
    free: tuple[tuple[Array, ...], ...] = ()
    lost: dict[str, Array] = field(default_factory=dict)
    clear: dict[str, Array] = field(default_factory=dict)
    saturated: dict[str, Array] = field(default_factory=dict)
    advisory: bool = False
    earlier: tuple[Case, ...] = ()

    def defined(self, outputs: Mapping[str, Array]) -> dict[str, Array]:
        """A run's outputs without what is arbitrary, if they have the length that they must have; elements that mean
        nothing are as expected."""
        found = dict(outputs)
        for name, length in self.padded.items():
            if name in found and found[name].shape[:1] == (length,):
                found[name] = found[name][: len(self.expected[name])]
        for name, mask in self.arbitrary.items():
            if name in found and found[name].shape == mask.shape:
                found[name] = np.where(mask, self.expected[name].astype(found[name].dtype), found[name])
        return found
