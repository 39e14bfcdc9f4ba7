"""The results of runtimes, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pluginkit.demands import DemandWarning
from pluginkit.network.networks import Array, Dims

Target: TypeAlias = Literal["cpu", "gpu"]
"""What a library is built for, and where its kernels run."""

Way: TypeAlias = Literal["eager", "graph", "concurrent", "reused", "handles", "page-start", "as-8.5", "branches"]
"""How enqueue is called: simply; on a GPU captured into a graph that is replayed; with a second context at work; in a
context that has run other cases before; by TensorRT 10 with handles of cuDNN and cuBLAS; as TensorRT 8.5.3 does it in
an engine of several profiles whose tactics were timed; or in the branches that are not taken too, as it does there."""


@dataclass(frozen=True)
class Availability:
    """Whether a runtime is on this machine: which version, where; or why not, and how to get it."""

    found: bool
    version: str = ""
    where: str = ""
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class ModelInput:
    """An input of a model as NVIDIA's parser has it.

    Attributes:
        name: its name.
        dims: -1 is a dynamic dimension.
        shape_tensor: whether the network computes shapes from its values, so that a profile must give them.
        dtype: TensorRT's name of its type.
    """

    name: str
    dims: Dims
    shape_tensor: bool
    dtype: str


@dataclass(frozen=True)
class SeenTensor:
    """A tensor as the plugin's configure saw it (`nvinfer1::DynamicPluginTensorDesc`).

    Attributes:
        dims: -1 is a dynamic dimension.
        type: the number of `nvinfer1::DataType`.
        format: the number of `nvinfer1::TensorFormat`.
        scale: `desc.scale`.
        min, opt, max: the shape at the profile's points.
    """

    dims: Dims
    type: int
    format: int
    scale: float
    min: Dims
    opt: Dims
    max: Dims

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> SeenTensor:
        """From a mapping with the attributes' names."""
        shapes = {key: tuple(data[key]) for key in ("dims", "min", "opt", "max")}
        return cls(**shapes, type=data["type"], format=data["format"], scale=data["scale"])


@dataclass(frozen=True)
class Configured:
    """One call of configurePlugin: of which layer, with which tensors."""

    node: str
    inputs: tuple[SeenTensor, ...]
    outputs: tuple[SeenTensor, ...]

    @classmethod
    def of(cls, node: str, data: Mapping[str, Any]) -> Configured:
        """From a mapping with lists `inputs` and `outputs` of tensors."""
        inputs, outputs = (tuple(SeenTensor.of(tensor) for tensor in data[key]) for key in ("inputs", "outputs"))
        return cls(node, inputs, outputs)


Status: TypeAlias = Literal["built", "refused", "crashed", "hung"]


@dataclass(frozen=True)
class BuildVerdict:
    """A runtime's verdict on a network.

    Attributes:
        status: `built`; `refused` (the runtime or a plugin's wrong answer ended it); `crashed`; `hung`.
        message: why, as the runtime reports it; of a success, what there is to note.
        log: the runtime's log lines, errors first.
        configured: every call of configurePlugin, in order.
        seconds: how long it took.
        lenient: what the runtime has accepted and should not have (see `pluginkit.runtimes.rtx.leniencies`).
        warnings: of pluginkit's host, what TensorRT doesn't require and a good plugin does.
        printed: the plugins' own output on stdout and stderr.
        method: of pluginkit's host, the C++ method that ended it, where one did.
        demand: of pluginkit's host, the id of the demand that isn't met; empty where it isn't known.
    """

    status: Status
    message: str
    log: tuple[str, ...] = ()
    configured: tuple[Configured, ...] = ()
    seconds: float = 0.0
    lenient: tuple[str, ...] = ()
    warnings: tuple[DemandWarning, ...] = ()
    printed: tuple[str, ...] = ()
    method: str = ""
    demand: str = ""

    @property
    def ok(self) -> bool:
        """Whether the network was built."""
        return self.status == "built"


@dataclass(frozen=True)
class Ran:
    """One run of a network: graph output -> array, how often the plugin's enqueue was called for it, on a GPU by what
    its calls of CUDA were seen, and the warnings."""

    outputs: dict[str, Array]
    enqueues: int
    watched: str = ""
    warnings: tuple[DemandWarning, ...] = ()
