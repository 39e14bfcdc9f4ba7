"""What the families share: the plugin's setting, ONNX graph pieces, and one application in the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import onnx
from onnx import TensorProto, helper

from pluginkit import shapes
from pluginkit.dtypes import DType
from pluginkit.field_types import FieldType, Value, as_parsed, is_carried
from pluginkit.formats import Format
from pluginkit.manifest import Manifest, Point, Tensor
from pluginkit.network.api_model import TypeName
from pluginkit.network.attributes import field_attribute
from pluginkit.network.networks import Array, FieldValues, Network, NetworkProfile, PluginCall, Range, Scale
from pluginkit.testing.families import dimensions
from pluginkit.testing.points import bind
from pluginkit.testing.precision import along, channel_scales, represent
from pluginkit.testing.reference import Reference

DOMAIN = "pluginkit"
"""The plugin nodes' domain: onnx's checker knows no such operator in the default one."""
OPSET = 17
IR_VERSION = 8
"""Both are old enough for every parser that TensorRT 10 and later come with."""
FLOAT8_OPSET = 19
FLOAT8_IR_VERSION = 9
"""The first that have FLOAT8E4M3FN, and QuantizeLinear to it."""

SHAPE_INPUTS = "tensorrt_plugin_shape_input_indices"
"""The node's attribute by which NVIDIA's parser knows shape inputs (onnx-tensorrt, changelog of TensorRT 10.1)."""

_POINTS: tuple[Point, ...] = ("min", "opt", "max")


@dataclass(frozen=True)
class Setting:
    """A plugin at a precision.

    Attributes:
        manifest: the signature, with the fields' values in its outputs' shapes, and size tensors' upper bounds.
        precision: what it computes in.
        fields: the values of the fields that are not scales.
        scales: tensor -> INT8 or FP8 scale.
        else_factor: what the inputs of `cond`'s other branch are multiplied by.
        part: which of several networks of the same family and precision this is: the profile of a static signature.
        layout: the tensors' format, of those that have it.
        implicit: how INT8 scales were calibrated that the plugin gets by descriptors; empty: it gets them by fields.
        varied: what of `fields` isn't as usual, if anything is.
        saved: the name of the saved case that it is for; empty for all others.
        rank: as `rank3`, where the signature has several.
    """

    manifest: Manifest
    precision: DType
    fields: dict[str, Value]
    scales: dict[str, float] = field(default_factory=dict)
    else_factor: float = -1.0
    part: str = ""
    layout: Format = Format.LINEAR
    implicit: str = ""
    varied: FieldValues | None = None
    saved: str = ""
    rank: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "manifest", self.manifest.with_fields(self.fields).bounded())

    def network_id(self, family: str) -> str:
        """What a network of that family is called."""
        kind = "-".join(filter(None, (self.precision.value, self.variant)))
        return "/".join(filter(None, (family, kind, "-".join(filter(None, (self.rank, self.part))))))

    @property
    def variant(self) -> str:
        """The value of `Network.variant`."""
        if self.varied:
            return self.varied.variant
        if self.saved:
            return f"case-{self.saved}"
        return f"implicit-{self.implicit}" if self.implicit else self.layout.value.replace("linear", "")

    def kind(self, tensor: Tensor) -> DType:
        """A tensor's type here."""
        return self.manifest.type_of(tensor, self.precision)

    def scale(self, tensor: Tensor) -> float:
        """What the network quantizes a tensor with, 0.0 if it doesn't; 1.0 where its channels are scaled apart."""
        if not self.kind(tensor).is_quantized:
            return 0.0
        return 1.0 if tensor.scale_axis is not None else self.scales[tensor.name]

    def channels(self, tensor: Tensor) -> tuple[float, ...]:
        """The scale of each channel of a tensor that is quantized and has such; empty for all others."""
        if tensor.scale_axis is None or tensor.scale is None or not self.kind(tensor).is_quantized:
            return ()
        return channel_scales(tensor.scale, self.scales[tensor.name], self._channel_count(tensor, tensor.scale_axis))

    def _channel_count(self, tensor: Tensor, axis: int) -> int:
        return tensor.dims(self.manifest.profiles[0].at("opt"))[axis]

    def step(self, tensor: Tensor) -> Scale:
        """What a step of a tensor is worth to the plugin: a number, or an array that broadcasts to it."""
        if numbers := self.channels(tensor):
            return along(numbers, tensor.scale_axis or 0, len(tensor.shape))
        return self.scale(tensor)

    def form(self, tensor: Tensor) -> Format:
        """A tensor's format here."""
        return self.manifest.format_of(tensor, self.kind(tensor), self.layout)

    def is_float(self, tensor: Tensor) -> bool:
        """Whether a tensor is float32 outside of the plugin's surroundings."""
        return not self.kind(tensor).is_integer

    def graph_type(self, tensor: Tensor) -> TypeName:
        """A tensor's type outside of the plugin's surroundings: float32, or its own if it is of integers."""
        return "int64" if self.kind(tensor) is DType.INT64 else "int32" if not self.is_float(tensor) else "float32"

    def attributes(self) -> dict[str, tuple[FieldType, Value]]:
        """All fields that the creator gets, as declared: the scales of quantized tensors, and the others' values.

        What no attribute of a node can carry is left out: the plugin's default stands for it.
        """
        given: dict[str, tuple[FieldType, Value]] = {}
        tensors = [t for t in (*self.manifest.inputs, *self.manifest.outputs) if t.scale]
        scale_of: dict[str | None, Value] = {t.scale: self.channels(t) or self.scale(t) for t in tensors}
        lists = {t.scale: self._channel_count(t, t.scale_axis) for t in tensors if t.scale_axis is not None}
        absent = self.varied is not None and not self.varied.name
        for attribute in self.manifest.fields:
            if attribute.name not in scale_of:
                value = self.fields[attribute.name]
                if attribute.default is None or not (absent or not is_carried(attribute.type, value)):
                    given[attribute.name] = (attribute.type, value)
            elif scale_of[attribute.name] and not self.implicit:
                given[attribute.name] = (attribute.type, scale_of[attribute.name])
            elif attribute.default is None:
                count = lists.get(attribute.name)
                given[attribute.name] = (attribute.type, 1.0 if count is None else (1.0,) * count)
        return given

    def ranges(self, tensor: Tensor) -> tuple[Range, ...]:
        """Per profile, a tensor's shape at min, opt and max."""
        found = []
        for profile in self.manifest.profiles:
            low, best, high = (tensor.dims(profile.at(point)) for point in _POINTS)
            found.append((low, best, high))
        return tuple(found)

    def value_ranges(self, tensor: Tensor) -> tuple[Range, ...]:
        """Per profile, a shape input's elements at min, opt and max; none for another tensor."""
        if not tensor.is_shape_input:
            return ()
        at = [[tensor.elements(profile.at(point)) for point in _POINTS] for profile in self.manifest.profiles]
        return tuple((low, best, high) for low, best, high in at)

    def output_ranges(self, tensor: Tensor) -> tuple[Range, ...]:
        """The same as a plugin behind it sees an output: bounds for min and max (see `ShapeProgram.range`)."""
        found = []
        for profile, (_, best, _) in zip(self.manifest.profiles, self.ranges(tensor), strict=True):
            ends = {name: (low, high) for name, (low, _, high) in profile.symbols.items()}
            bounds = [
                shapes.bounds(shapes.parse(dim), ends) or (size, size)
                for dim, size in zip(tensor.shape, best, strict=True)
            ]
            found.append((tuple(low for low, _ in bounds), best, tuple(high for _, high in bounds)))
        return tuple(found)

    def free_name(self, name: str) -> str:
        """`name`, or that with underscores if a tensor of the plugin is called so."""
        taken = {tensor.name for tensor in (*self.manifest.inputs, *self.manifest.outputs)}
        while name in taken:
            name += "_"
        return name


MEANINGLESS = {"f": (-768.0, 192.0), "i": (0, 1)}
"""Two values for elements that mean nothing, by NumPy's kind: representable in every type, and different squared."""


@dataclass
class Applier:
    """The oracle's plugin: the reference in FP64 on what the precision represents, rounded as there.

    With `exact` nothing is rounded and all tensors' values are collected in `seen`: that is calibration.

    Elements that the reference masks get the value number `fill` of `MEANINGLESS`; which they are is collected in
    `free`, a mask for each call and output. What is the same for all fills doesn't depend on them. `unrounded`
    has each call's outputs as the reference gives them.

    NaN as INT8 means nothing either, for INT8 has none and no document says what becomes of it: it is the least step,
    the largest or 0, by `fill`. It comes of FP16's infinities, in loops where values grow; `lost` says whether it came.
    """

    setting: Setting
    reference: Reference
    exact: bool = False
    calls: int = 0
    fill: Literal[0, 1, 2] = 0
    free: list[tuple[Array, ...]] = field(default_factory=list)
    lost: bool = False
    seen: dict[str, list[Array]] = field(default_factory=dict)
    unrounded: list[tuple[Array, ...]] = field(default_factory=list)

    def __call__(self, values: Sequence[Array], *, padded: bool = True) -> list[Array]:
        """Graph values in, graph values out (float64 holding float32 values; int64 for integers).

        What has a size that only enqueue knows comes with zeros up to its upper bound; not if `padded` is false.
        """
        manifest, self.calls = self.setting.manifest, self.calls + 1
        entered = [self._at(tensor, value) for tensor, value in zip(manifest.inputs, values, strict=True)]
        outputs = self.reference.masked(entered, self.setting.fields)
        self.free.append(tuple(np.ma.getmaskarray(one) for one in outputs))
        filled = [np.ma.filled(one, 0 if self.exact else MEANINGLESS[one.dtype.kind][self.fill % 2]) for one in outputs]
        self.unrounded.append(tuple(filled))
        left = [self._at(tensor, value) for tensor, value in zip(manifest.outputs, filled, strict=True)]
        return self._padded(entered, left) if padded else left

    def _padded(self, entered: Sequence[Array], left: Sequence[Array]) -> list[Array]:
        manifest = self.setting.manifest
        given = {tensor.name: value for tensor, value in zip(manifest.inputs, entered, strict=True)}
        most = manifest.output_shapes(bind(manifest, given)) if manifest.size_tensors() else {}
        found = []
        for tensor, value in zip(manifest.outputs, left, strict=True):
            more = zip(most.get(tensor.name, value.shape), value.shape, strict=True)
            found.append(np.pad(value, [(0, whole - size) for whole, size in more]) if value.ndim else value)
        return found

    @property
    def masks(self) -> bool:
        """Whether there was an element so far that means nothing."""
        return self.lost or any(mask.any() for masks in self.free for mask in masks)

    def _at(self, tensor: Tensor, value: Array) -> Array:
        if not self.exact:
            kind = self.setting.kind(tensor)
            if kind is DType.INT8 and (nothing := np.isnan(value)).any():
                self.lost = True
                value = np.where(nothing, (-np.inf, np.inf, 0.0)[self.fill], value)
            return represent(value, kind, self.setting.step(tensor))
        self.seen.setdefault(tensor.name, []).append(np.asarray(value))
        return np.asarray(value)

    def state(self, value: Array) -> Array:
        """A float32 graph tensor's value (unrounded while calibrating)."""
        return np.asarray(value) if self.exact else represent(value, DType.FLOAT32)


class StepApplier(Applier):
    """Gives what a step of each element is worth in the place of outputs whose channels are scaled apart."""

    def __call__(self, values: Sequence[Array], *, padded: bool = True) -> list[Array]:
        """As of `Applier`, of the same shapes."""
        left = super().__call__(values, padded=padded)
        steps = [
            self.setting.step(tensor) if self.setting.channels(tensor) else None
            for tensor in self.setting.manifest.outputs
        ]
        return [
            value if step is None else np.broadcast_to(step, value.shape).copy()
            for value, step in zip(left, steps, strict=True)
        ]


@dataclass(frozen=True)
class OracleResult:
    """An oracle's result of one run.

    Attributes:
        outputs: graph output -> value (float64, or int64 for integers).
        enqueues: how often the plugin is enqueued.
        chain: how many applications feed one another.
        padded: graph output -> its length along axis 0, where that is more than `outputs` has: the rest is arbitrary.
    """

    outputs: dict[str, Array]
    enqueues: int
    chain: int
    padded: dict[str, int] = field(default_factory=dict)


def versions(calls: Sequence[PluginCall]) -> dict[str, Any]:
    """The versions of a model with these plugin nodes, as onnx.helper.make_model takes them."""
    float8 = any(DType.FLOAT8 in (*call.types, *call.output_types) for call in calls)
    opset = helper.make_opsetid("", FLOAT8_OPSET if float8 else OPSET)
    return {
        "ir_version": FLOAT8_IR_VERSION if float8 else IR_VERSION,
        "opset_imports": [opset, helper.make_opsetid(DOMAIN, 1)],
    }


class Names:
    """Unique names in a model. No node's is a prefix of another's: NVIDIA's parser finds layers by prefix."""

    def __init__(self, taken: Sequence[str]) -> None:
        self._taken = set(taken)
        self._nodes = 0

    def tensor(self, name: str) -> str:
        """A tensor name that nothing else has."""
        free = name
        while free in self._taken:
            free += "_"
        self._taken.add(free)
        return free

    def node(self, label: str) -> str:
        """A node name: a number of fixed width comes first."""
        self._nodes += 1
        return f"n{self._nodes:03d}_{label}"


def plugin_node(
    identity: tuple[str, str, str],
    inputs: Sequence[str],
    outputs: Sequence[str],
    name: str,
    fields: Mapping[str, tuple[FieldType, Value]],
    shape_inputs: Sequence[int] = (),
) -> onnx.NodeProto:
    """A plugin's node: `identity` is its name, version and namespace; `shape_inputs` are its shape inputs' indices."""
    kind, version, namespace = identity
    node = helper.make_node(kind, inputs, outputs, name, domain=DOMAIN)
    own = {"plugin_version": version, "plugin_namespace": namespace}
    attributes = {**fields, **{name: (FieldType.STRING, text) for name, text in own.items()}}
    # Not as make_node's keywords: a field may be called `name`.
    node.attribute.extend(field_attribute(field, *attributes[field]) for field in sorted(attributes))
    if shape_inputs:
        node.attribute.append(helper.make_attribute(SHAPE_INPUTS, list(shape_inputs)))
    return node


class Body:
    """The nodes and constants of one (sub)graph."""

    def __init__(self, setting: Setting, names: Names, label: str) -> None:
        self.setting = setting
        self.names = names
        self.label = label
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, kind: int, dims: Sequence[int], values: Sequence[float]) -> str:
        """An initializer; returns its name."""
        free = self.names.tensor(f"{self.label}_{name}")
        self.constants.append(helper.make_tensor(free, kind, dims, values))
        return free

    def graph(self, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]) -> onnx.GraphProto:
        """All that was added, as the graph of a branch or body."""
        return helper.make_graph(self.nodes, f"{self.label}_graph", list(inputs), list(outputs), self.constants)

    def op(self, kind: str, inputs: Sequence[str], outputs: str | Sequence[str], **attributes: Any) -> str:
        """A standard node; returns its first output."""
        names = [outputs] if isinstance(outputs, str) else list(outputs)
        node = helper.make_node(
            kind, list(inputs), names, self.names.node(f"{self.label}_{kind.lower()}"), **attributes
        )
        self.nodes.append(node)
        return names[0]

    def plugin(self, inputs: Sequence[str], *, cast: bool = True, padded: bool = True) -> tuple[list[str], PluginCall]:
        """Enter (Cast or QuantizeLinear), the plugin's node, leave: from graph tensors to graph tensors.

        Without `cast` tensors that are floats of another type than FP32 for the plugin come and go as that. What has a
        size that only enqueue knows is padded to its upper bound; not without `padded`.
        """
        setting, manifest = self.setting, self.setting.manifest
        entered = [
            self._enter(tensor, name) if cast or setting.kind(tensor).is_quantized else name
            for tensor, name in zip(manifest.inputs, inputs, strict=True)
        ]
        raw = [self.names.tensor(f"{self.label}_{tensor.name}_raw") for tensor in manifest.outputs]
        identity = (manifest.plugin.name, manifest.plugin.version, manifest.plugin.namespace)
        name = self.names.node(f"{self.label}_plugin")
        shape_inputs = tuple(index for index, tensor in enumerate(manifest.inputs) if tensor.is_shape_input)
        node = plugin_node(identity, entered, raw, name, setting.attributes(), shape_inputs)
        self.nodes.append(node)
        ranges = [setting.value_ranges(tensor) or setting.ranges(tensor) for tensor in manifest.inputs]
        call = PluginCall(
            node=node.name,
            fields={name: as_parsed(*given) for name, given in setting.attributes().items()},
            types=tuple(setting.kind(tensor) for tensor in manifest.inputs),
            output_types=tuple(setting.kind(tensor) for tensor in manifest.outputs),
            inputs=tuple(zip(*ranges, strict=True)),
            scales=tuple(setting.scale(tensor) for tensor in manifest.inputs),
            output_scales=tuple(setting.scale(tensor) for tensor in manifest.outputs),
            formats=tuple(setting.form(tensor) for tensor in manifest.inputs),
            output_formats=tuple(setting.form(tensor) for tensor in manifest.outputs),
            implicit=bool(setting.implicit),
            shape_inputs=shape_inputs,
        )
        left = [
            self._leave(tensor, name) if cast or setting.kind(tensor).is_quantized else name
            for tensor, name in zip(manifest.outputs, raw, strict=True)
        ]
        if padded:
            left = [
                self._padded(tensor, name, entered) if manifest.is_sized(tensor) else name
                for tensor, name in zip(manifest.outputs, left, strict=True)
            ]
        return left, call

    def _padded(self, tensor: Tensor, name: str, entered: Sequence[str]) -> str:
        """A tensor with zeros behind it, up to its upper bound: a shape that a loop and a conditional can carry."""
        label, names = f"{self.label}_{tensor.name}", self.names
        sizes = [
            dimensions.size(self, self.setting.manifest.inputs, entered, shapes.parse(dim)) for dim in tensor.shape
        ]
        wanted = self.op("Concat", sizes, names.tensor(f"{label}_most"), axis=0)
        has = self.op("Shape", [name], names.tensor(f"{label}_has"))
        behind = self.op("Sub", [wanted, has], names.tensor(f"{label}_missing"))
        before = self.constant(f"{tensor.name}_none", TensorProto.INT64, [len(sizes)], [0] * len(sizes))
        pads = self.op("Concat", [before, behind], names.tensor(f"{label}_pads"), axis=0)
        return self.op("Pad", [name, pads], names.tensor(f"{label}_padded"))

    def cast(self, tensor: Tensor, name: str) -> str:
        """A float graph tensor as the plugin's type, unless that is quantized: only the plugin's tensors are."""
        return name if self.setting.kind(tensor).is_quantized else self._enter(tensor, name)

    def cast_back(self, tensor: Tensor, name: str) -> str:
        """The way back."""
        return name if self.setting.kind(tensor).is_quantized else self._leave(tensor, name)

    def _enter(self, tensor: Tensor, name: str) -> str:
        return self._scalar(tensor, self._convert(tensor, name, "QuantizeLinear", self.setting.kind(tensor).onnx))

    def _leave(self, tensor: Tensor, name: str) -> str:
        return self._scalar(tensor, self._convert(tensor, name, "DequantizeLinear", TensorProto.FLOAT))

    def _scalar(self, tensor: Tensor, name: str) -> str:
        """0-D again: NVIDIA's parser makes 0-D tensors 1-D where they are quantized (leniency int8-scalar)."""
        if tensor.shape or not self.setting.kind(tensor).is_quantized:
            return name
        none = self.constant(f"{tensor.name}_dims", TensorProto.INT64, [0], [])
        return self.op("Reshape", [name, none], self.names.tensor(f"{self.label}_{tensor.name}_scalar"))

    def _convert(self, tensor: Tensor, name: str, quantizer: str, cast_to: int) -> str:
        kind = self.setting.kind(tensor)
        if kind is DType.FLOAT32 or kind.is_integer:
            return name
        out = self.names.tensor(f"{self.label}_{tensor.name}_{quantizer[0].lower()}")
        if not kind.is_quantized:
            return self.op("Cast", [name], out, to=cast_to)
        scale = self.constant(f"{tensor.name}_scale", TensorProto.FLOAT, [], [self.setting.scale(tensor)])
        zero = self.constant(f"{tensor.name}_zero", kind.onnx, [], [0])
        channels = self.setting.step(tensor) if self.setting.channels(tensor) else None
        if channels is None:
            return self.op(quantizer, [name, scale, zero], out)
        # TensorRT quantizes activations per tensor (docs/project.md): a channel's scale is a factor before and behind.
        each = np.asarray(channels)
        numbers = self.constant(f"{tensor.name}_channels", TensorProto.FLOAT, each.shape, each.ravel().tolist())
        real = self.names.tensor(f"{out}_real")
        if quantizer == "QuantizeLinear":
            return self.op(quantizer, [self.op("Div", [name, numbers], real), scale, zero], out)
        return self.op("Mul", [self.op(quantizer, [name, scale, zero], real), numbers], out)


def value_info(
    setting: Setting,
    tensor: Tensor,
    name: str,
    *,
    lead: Sequence[str | int] = (),
    at: int = 0,
    kind: int | None = None,
    known: bool = True,
) -> onnx.ValueInfoProto:
    """A graph input or output of a plugin tensor's shape, computed dimensions without a name.

    `lead` are dimensions that are put in before the axis `at`; `kind` is the ONNX type if it is not one of a graph's
    own (FP32, INT32, INT64). Without `known` no dimension of the tensor's has a number or name.
    """
    sizes = [int(dim) if dim.isdigit() else dim if dim.isidentifier() else None for dim in tensor.shape]
    sizes = sizes if known else [None] * len(sizes)
    own = TensorProto.FLOAT if setting.is_float(tensor) else setting.kind(tensor).onnx
    return helper.make_tensor_value_info(name, kind or own, [*sizes[:at], *lead, *sizes[at:]])


@dataclass(frozen=True)
class GraphInput:
    """A graph input.

    Attributes:
        info: name, type and dimensions.
        shapes: per profile, its shape at min, opt and max.
        values: per profile, its values there, if it is a shape tensor.
    """

    info: onnx.ValueInfoProto
    shapes: tuple[Range, ...]
    values: tuple[Range, ...] = ()

    @classmethod
    def scalar(cls, setting: Setting, name: str, kind: int, values: Range | None = None) -> GraphInput:
        """A 0-D input of the network in addition to the plugin's, the same in all profiles."""
        count = len(setting.manifest.profiles)
        info = helper.make_tensor_value_info(name, kind, [])
        return cls(info, (((), (), ()),) * count, (values,) * count if values else ())


@dataclass(frozen=True)
class Shown:
    """A graph output, and the plugin output that it shows; none if its values are made of those."""

    info: onnx.ValueInfoProto
    source: str = ""


def network(
    setting: Setting,
    family: str,
    body: Body,
    *,
    inputs: Sequence[GraphInput],
    outputs: Sequence[onnx.ValueInfoProto],
    calls: Sequence[PluginCall],
) -> Network:
    """Wrap a main graph up as a checked model.

    Raises:
        onnx.checker.ValidationError: the graph is wrong, which is a bug of the family.
    """
    manifest = setting.manifest
    infos = [given.info for given in inputs]
    graph = helper.make_graph(body.nodes, f"{manifest.slug}_{family}", infos, outputs, body.constants)
    model = helper.make_model(
        graph,
        producer_name="pluginkit",
        **versions(calls),
    )
    onnx.checker.check_model(model)
    profiles = [
        NetworkProfile(
            profile.name,
            {given.info.name: given.shapes[index] for given in inputs},
            {given.info.name: given.values[index] for given in inputs if given.values},
        )
        for index, profile in enumerate(manifest.profiles)
    ]
    return Network(
        id=setting.network_id(family),
        family=family,
        precision=setting.precision,
        model=model.SerializeToString(),
        calls=tuple(calls),
        profiles=tuple(profiles),
        outputs=tuple(output.name for output in outputs),
        variant=setting.variant,
        fields=setting.varied,
    )
