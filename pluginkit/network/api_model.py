"""Networks that ONNX cannot say, as plain data: calls of NVIDIA's network API, one dataclass each, in order.

Tensors go by name. A step is one layer, or one setting of a loop or a conditional. The plugin's nodes are
in a small ONNX model, each on constants: the parser makes layers of them, which are then given other inputs. So no
`add_plugin_v3` is needed, which TensorRT-RTX's Python API hasn't got.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pluginkit.dtypes import DType
from pluginkit.network.networks import Dims, Network, NetworkProfile, PluginCall

TypeName: TypeAlias = Literal["float32", "float16", "bfloat16", "int8", "float8", "int32", "int64", "bool"]
OutputKind: TypeAlias = Literal["LAST_VALUE", "CONCATENATE", "REVERSE"]

PROBE = ("PluginkitProbe", "1", "pluginkit")
"""Name, version and namespace of the identity in native/probe_identity.cpp."""


@dataclass(frozen=True)
class NetworkInput:
    """A network input; -1 is a dynamic dimension."""

    out: str
    dtype: TypeName
    dims: Dims


@dataclass(frozen=True)
class ConstantLayer:
    """A constant; 0-D if `dims` is empty."""

    out: str
    dtype: TypeName
    values: tuple[float, ...]
    dims: Dims = ()


@dataclass(frozen=True)
class PluginLayer:
    """The layer that the parser made of a node of `ApiNetwork.model`, its inputs set to these tensors.

    `inputs` are in the node's order. Those with the indices `shape_inputs` are shape inputs, which IPluginV3Layer has
    behind all others.
    """

    node: str
    inputs: tuple[str, ...]
    outs: tuple[str, ...]
    shape_inputs: tuple[int, ...] = ()

    @property
    def split(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The inputs that are not shape inputs, and those that are."""
        given = enumerate(self.inputs)
        return (
            tuple(name for index, name in given if index not in self.shape_inputs),
            tuple(self.inputs[index] for index in self.shape_inputs),
        )


@dataclass(frozen=True)
class Cast:
    """ICastLayer."""

    x: str
    out: str
    dtype: TypeName


@dataclass(frozen=True)
class IdentityLayer:
    """IIdentityLayer."""

    x: str
    out: str


@dataclass(frozen=True)
class Quantize:
    """IQuantizeLayer to INT8 or FP8, per tensor."""

    x: str
    scale: str
    out: str
    dtype: TypeName = "int8"


@dataclass(frozen=True)
class Dequantize:
    """IDequantizeLayer to FP32, per tensor."""

    x: str
    scale: str
    out: str


@dataclass(frozen=True)
class Elementwise:
    """IElementWiseLayer; both operands have one rank."""

    op: Literal["SUM", "PROD", "DIV", "LESS", "FLOOR_DIV"]
    left: str
    right: str
    out: str


@dataclass(frozen=True)
class MatrixMultiply:
    """IMatrixMultiplyLayer, neither operand transposed; both have one rank."""

    left: str
    right: str
    out: str


@dataclass(frozen=True)
class Concat:
    """IConcatenationLayer."""

    inputs: tuple[str, ...]
    axis: int
    out: str


@dataclass(frozen=True)
class ShapeLayer:
    """IShapeLayer."""

    x: str
    out: str


@dataclass(frozen=True)
class Reshape:
    """IShuffleLayer to fixed dimensions."""

    x: str
    dims: Dims
    out: str


@dataclass(frozen=True)
class ReshapeTo:
    """IShuffleLayer to the dimensions that a shape tensor gives; 0 is not a placeholder."""

    x: str
    size: str
    out: str


@dataclass(frozen=True)
class Slice:
    """ISliceLayer, within the tensor's bounds; all three by 1-D shape tensors. A stride of 0 repeats an element."""

    x: str
    start: str
    size: str
    stride: str
    out: str


@dataclass(frozen=True)
class Resize:
    """IResizeLayer to a shape tensor's dimensions: element i is element floor(i * size of x / size), on each axis."""

    x: str
    size: str
    out: str


@dataclass(frozen=True)
class Gather:
    """IGatherLayer on axis 0."""

    x: str
    indices: str
    out: str


@dataclass(frozen=True)
class ReduceProduct:
    """IReduceLayer, kPROD, over a 1-D tensor: one element, 1-D."""

    x: str
    out: str


@dataclass(frozen=True)
class LoopStep:
    """ILoop, which later steps refer to."""

    name: str


@dataclass(frozen=True)
class TripLimit:
    """ITripLimitLayer: kCOUNT with a 0-D integer, kWHILE with a 0-D bool."""

    loop: str
    kind: Literal["COUNT", "WHILE"]
    x: str


@dataclass(frozen=True)
class Recurrence:
    """IRecurrenceLayer: `out` is `x` in the first trip, then the one that `Recur` sets."""

    loop: str
    x: str
    out: str


@dataclass(frozen=True)
class Recur:
    """IRecurrenceLayer::setInput of the recurrence with the output `state`: 1 is the next value, 0 the initial one."""

    state: str
    x: str
    index: Literal[0, 1] = 1


@dataclass(frozen=True)
class IteratorLayer:
    """IIteratorLayer: a slice a trip, the axis taken out."""

    loop: str
    x: str
    out: str
    axis: int = 0
    reverse: bool = False


@dataclass(frozen=True)
class LoopOutput:
    """ILoopOutputLayer; `length` is the second input of kCONCATENATE and kREVERSE."""

    loop: str
    kind: OutputKind
    x: str
    out: str
    axis: int = 0
    length: str = ""


@dataclass(frozen=True)
class Conditional:
    """IIfConditional with its condition, a 0-D bool; without one where `flag` is empty.

    A second step of that name sets the same conditional's condition again.
    """

    name: str
    flag: str


@dataclass(frozen=True)
class BranchInput:
    """IIfConditionalInputLayer: what hangs behind it alone is lazy."""

    conditional: str
    x: str
    out: str


@dataclass(frozen=True)
class BranchOutput:
    """IIfConditionalOutputLayer."""

    conditional: str
    then: str
    otherwise: str
    out: str


@dataclass(frozen=True)
class NetworkOutput:
    """A network output."""

    x: str


Step: TypeAlias = (
    NetworkInput
    | ConstantLayer
    | PluginLayer
    | Cast
    | IdentityLayer
    | Quantize
    | Dequantize
    | Elementwise
    | MatrixMultiply
    | Concat
    | ShapeLayer
    | Reshape
    | ReshapeTo
    | Slice
    | Resize
    | Gather
    | ReduceProduct
    | LoopStep
    | TripLimit
    | Recurrence
    | Recur
    | IteratorLayer
    | LoopOutput
    | Conditional
    | BranchInput
    | BranchOutput
    | NetworkOutput
)


@dataclass(frozen=True)
class ApiNetwork:
    """A network made by NVIDIA's API around layers that its parser made.

    Attributes:
        id: `family/precision`.
        family: a key of `pluginkit.testing.families.FAMILIES`.
        precision: what the plugin computes in.
        model: the serialized `onnx.ModelProto` with the plugin nodes, and with the probe behind each output.
        steps: the network.
        calls: what each of the model's nodes must be configured with, probes included.
        profiles: in manifest order.
    """

    id: str
    family: str
    precision: DType
    model: bytes
    steps: tuple[Step, ...]
    calls: tuple[PluginCall, ...]
    profiles: tuple[NetworkProfile, ...]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The network's outputs, in order."""
        return tuple(step.x for step in self.steps if isinstance(step, NetworkOutput))


def types_of(network: AnyNetwork) -> frozenset[DType]:
    """The element types of the plugins' tensors in a network."""
    return frozenset(kind for call in network.calls for kind in (*call.types, *call.output_types))


def is_probe(node: str) -> bool:
    """Whether a node of `ApiNetwork.model` is the probe, by its name."""
    return "_probe_" in node


AnyNetwork: TypeAlias = Network | ApiNetwork
"""A network of either kind: an ONNX model, or made by NVIDIA's API."""
