"""One IPluginV2DynamicExt: every virtual method by its name in snake_case, answers checked for being answers at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from pluginkit import _native
from pluginkit.dtypes import DType
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.expressions import ShapeProgram

T = TypeVar("T")

LINEAR = 0
"""`nvinfer1::TensorFormat::kLINEAR`"""

MAX_OUTPUTS = 128
"""More is taken for a wrong answer of getNbOutputs (an uninitialised member), not for a plugin with many outputs."""

MAX_SERIALIZED = 1 << 31
"""More bytes than this is taken for a wrong answer of getSerializationSize."""


@dataclass(frozen=True)
class Desc:
    """A PluginTensorDesc: dims (-1 is dynamic), type and format by their numbers, and the INT8 scale."""

    dims: tuple[int, ...]
    type: int
    format: int = LINEAR
    scale: float = 1.0

    def native(self) -> _native.Desc:
        """As the native module takes it."""
        return self.dims, self.type, self.format, self.scale


@dataclass(frozen=True)
class DynamicDesc:
    """A DynamicPluginTensorDesc."""

    desc: Desc
    min: tuple[int, ...]
    opt: tuple[int, ...]
    max: tuple[int, ...]

    def native(self) -> _native.DynamicDesc:
        """As the native module takes it."""
        return self.desc.native(), self.min, self.opt, self.max


def must(method: str, answer: T | None, expected: str) -> T:
    """The answer, or a Finding that it was null."""
    if answer is None:
        raise Finding(method, f"answered null, expected {expected}")
    return answer


def name_of(method: str) -> str:
    """The C++ name of a plugin's method, as breadcrumbs have it."""
    return f"IPluginV2DynamicExt::{method}"


class Plugin:
    """A plugin that somebody must `destroy()` once. Methods raise Finding for an answer that can't be one."""

    def __init__(self, native: _native.Plugin) -> None:
        self._raw: _native.Plugin | None = native

    @property
    def native(self) -> _native.Plugin:
        """The native plugin.

        Raises:
            HostBug: it was destroyed.
        """
        if self._raw is None:
            raise HostBug("a plugin was used after its destroy()")
        return self._raw

    def tensorrt_version(self) -> int:
        """The base in the top byte (3), and the version of the headers that it was compiled with."""
        return self.native.tensorrt_version()

    def plugin_type(self) -> str:
        """The plugin's name."""
        return must(name_of("getPluginType"), self.native.plugin_type(), "the plugin's name")

    def plugin_version(self) -> str:
        """The plugin's version."""
        return must(name_of("getPluginVersion"), self.native.plugin_version(), "the plugin's version")

    def plugin_namespace(self) -> str:
        """The namespace it was given last."""
        return must(name_of("getPluginNamespace"), self.native.plugin_namespace(), "the namespace")

    def set_plugin_namespace(self, namespace: str) -> None:
        """Gives it a namespace, and asks for it (rules I5, S6)."""
        self.native.set_plugin_namespace(namespace)
        found = self.plugin_namespace()
        if found != namespace:
            raise Finding(name_of("getPluginNamespace"), f"answered {found!r} after setPluginNamespace({namespace!r})")

    def nb_outputs(self) -> int:
        """The number of outputs, at least one (rule T1)."""
        count = self.native.nb_outputs()
        if not 1 <= count <= MAX_OUTPUTS:
            raise Finding(name_of("getNbOutputs"), f"answered {count}, expected 1 to {MAX_OUTPUTS}")
        return count

    def output_data_type(self, index: int, input_types: Sequence[DType]) -> DType:
        """The type of output `index`, the same when asked again (rules T4, T6)."""
        method = name_of("getOutputDataType")
        codes = [t.code for t in input_types]
        first, second = (self.native.output_data_type(index, codes) for _ in range(2))
        if first != second:
            raise Finding(method, f"answered {first} for output {index}, and {second} when asked again")
        try:
            return DType.from_code(first)
        except ValueError as e:
            raise Finding(method, f"wrong type for output {index}: {e}") from None

    def output_dimensions(self, index: int, inputs: Sequence[tuple[int, ...]]) -> ShapeProgram:
        """The shape of output `index` as expressions of the -1 dimensions of `inputs` (rules T9, T11, T12, T13)."""
        method = name_of("getOutputDimensions")
        nb_dims, roots, nodes, faults = self.native.output_dimensions(index, inputs)
        if faults:
            raise Finding(method, f"output {index}: {faults[0]}")
        if not 0 <= nb_dims <= 8:
            raise Finding(method, f"output {index} has nbDims {nb_dims}, expected 0 to 8")
        wrong = [(i, root) for i, root in enumerate(roots) if isinstance(root, str)]
        if wrong:
            raise Finding(method, f"output {index}: d[{wrong[0][0]}] is {wrong[0][1]}, expected an expression")
        return ShapeProgram(tuple(nodes), tuple(r for r in roots if isinstance(r, int)))

    def supports_format_combination(self, pos: int, in_out: Sequence[Desc], nb_inputs: int, nb_outputs: int) -> bool:
        """Whether tensor `pos` may have its type and format, given those before it."""
        return self.native.supports_format_combination(pos, [d.native() for d in in_out], nb_inputs, nb_outputs)

    def configure_plugin(self, inputs: Sequence[DynamicDesc], outputs: Sequence[DynamicDesc]) -> None:
        """Tells it types, formats and shapes."""
        self.native.configure_plugin([d.native() for d in inputs], [d.native() for d in outputs])

    def workspace_size(self, inputs: Sequence[Desc], outputs: Sequence[Desc]) -> int:
        """The workspace that it wants for these shapes, in bytes."""
        return self.native.workspace_size([d.native() for d in inputs], [d.native() for d in outputs])

    def initialize(self) -> None:
        """Expects 0 (rule L6)."""
        code = self.native.initialize()
        if code != 0:
            raise Finding(name_of("initialize"), f"answered {code}, expected 0")

    def terminate(self) -> None:
        """Frees what `initialize` got."""
        self.native.terminate()

    def attach_to_context(self) -> None:
        """With null for cuDNN, cuBLAS and allocator, which is all that a host without them has (rule L11)."""
        self.native.attach_to_context()

    def detach_from_context(self) -> None:
        """Ends `attach_to_context`."""
        self.native.detach_from_context()

    def enqueue(
        self,
        inputs: Sequence[Desc],
        outputs: Sequence[Desc],
        *,
        in_addresses: Sequence[int],
        out_addresses: Sequence[int],
        workspace: int,
        stream: int,
    ) -> None:
        """Expects 0 (rule E1). Addresses are those of host memory for target cpu."""
        code = self.native.enqueue(
            [d.native() for d in inputs], [d.native() for d in outputs], in_addresses, out_addresses, workspace, stream
        )
        if code != 0:
            raise Finding(name_of("enqueue"), f"answered {code}, expected 0")

    def serialize(self) -> bytes:
        """The serialized bytes: exactly getSerializationSize of them, the same each time (rules S1, S2)."""
        first, second = (self._serialize(fill) for fill in (0x5A, 0xA5))
        differ = np.flatnonzero(first != second)
        if differ.size:
            raise Finding(
                name_of("serialize"), f"byte {differ[0]} of {first.size} was not written, or differs from call to call"
            )
        return first.tobytes()

    def _serialize(self, fill: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        size = self.native.serialization_size()
        if size > MAX_SERIALIZED:
            raise Finding(name_of("getSerializationSize"), f"answered {size} bytes, expected at most {MAX_SERIALIZED}")
        buffer = _native.Buffer(size)
        data = np.asarray(memoryview(buffer))
        data[:] = fill
        self.native.serialize(buffer.address)
        damage = buffer.damage()
        if damage:
            raise Finding(
                name_of("serialize"),
                f"wrote at byte {damage[0]} of a buffer of {size} bytes, which is what "
                "getSerializationSize had answered",
            )
        return np.array(data, dtype=np.uint8)

    def clone(self) -> Plugin:
        """A copy that serializes to the same bytes and has the same namespace (rules L1, S6)."""
        method = name_of("clone")
        copy = Plugin(must(method, self.native.clone(), "a plugin"))
        for what, ask in (
            ("getNbOutputs", Plugin.nb_outputs),
            ("getPluginNamespace", Plugin.plugin_namespace),
            ("getPluginType", Plugin.plugin_type),
            ("getPluginVersion", Plugin.plugin_version),
        ):
            mine, its = ask(self), ask(copy)
            if mine != its:
                raise Finding(method, f"the clone's {what} answers {its!r}, the original's {mine!r}")
        if copy.serialize() != self.serialize():
            raise Finding(method, "the clone serializes to other bytes than the original")
        return copy

    def destroy(self) -> None:
        """Ends it, and reports what it did with expressions behind the host's back."""
        native = self.native
        native.destroy()
        self._raw = None
        faults = native.shape_faults()
        if faults:
            raise Finding(name_of("getOutputDimensions"), faults[0])
