"""A plugin that copies its first input and keeps what it is asked: classes of TensorRT 8.5's layout, made by ctypes.

It is right for certain: what TensorRT refuses of it is not a plugin's fault. It needs no compiler.
tests/host/test_copying_plugin.py has C++ call it through the headers of layout 8.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_bool, c_char, c_int32, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from itertools import count
from typing import Any

from pluginkit.runtimes.nvidia.copying import NAME
from pluginkit.runtimes.nvidia.copying.layout import (
    CREATOR,
    FIELD_TYPES,
    KINDS,
    LINEAR,
    METHODS,
    TYPES,
    VERSION,
    CreatorField,
    CreatorFields,
    Dims32,
    DimsExprs8,
    DynamicTensorDesc,
    TensorDesc,
    object_of,
    table_of,
    text,
)  # fmt: skip


@dataclass(frozen=True)
class KeptTensor:
    """What a descriptor says; min and max are equal to dims where it has none."""

    dims: tuple[int, ...]
    type: str
    format: int
    scale: float
    min: tuple[int, ...]
    max: tuple[int, ...]


@dataclass(frozen=True)
class KeptCall:
    """A call of a method: on which object, and what it was given, if that is kept."""

    object: int
    method: str
    tensors: tuple[KeptTensor, ...] = ()
    value: Any = None


_NUMBERS = count()
CALLS: list[KeptCall] = []
"""All calls so far."""


def calls(method: str, since: int = 0) -> list[KeptCall]:
    """The calls of a method."""
    return [call for call in CALLS[since:] if call.method == method]


@dataclass(frozen=True)
class CopyingSetup:
    """What a copying plugin is like.

    Attributes:
        kind: its interface, a key of KINDS.
        types: names of the types that it takes.
        format: the one format of what it takes.
        outputs: how many it has; each is a copy of the first input.
        workspace: the bytes that it asks for.
        initialize: what initialize gives.
        fields: names that its creator lists.
        keep: whether enqueue keeps the bytes of its input, which makes it wait.
    """

    kind: str = "dynamic"
    types: Sequence[str] = ("FLOAT",)
    format: int = LINEAR
    outputs: int = 1
    workspace: int = 0
    initialize: int = 0
    fields: Sequence[str] = ()
    keep: bool = False


def _array(kind: Any, address: int | None, count: int) -> list[Any]:
    return list((kind * count).from_address(address)) if address and count else []


def _seen(descs: Sequence[Any]) -> tuple[KeptTensor, ...]:
    found = []
    for one in descs:
        desc, low, high = (
            (one.desc, one.min, one.max) if isinstance(one, DynamicTensorDesc) else (one, one.dims, one.dims)
        )
        kind = TYPES[desc.type] if 0 <= desc.type < len(TYPES) else str(desc.type)
        found.append(KeptTensor(tuple(desc.dims), kind, desc.format, desc.scale, tuple(low), tuple(high)))
    return tuple(found)


class InNamespace:
    """What plugins and creators have alike."""

    ns = 0

    def setPluginNamespace(self, name: bytes) -> None:
        self.ns = text(name or b"")

    def getPluginNamespace(self) -> int:
        return self.ns

    def gone(self) -> None:
        """The destructors, which TensorRT leaves to destroy()."""


class Copying(InNamespace):
    """One plugin object. Methods have C++'s names; `_ext`, `_io` and `_dynamic` tell overloads apart."""

    def __init__(self, setup: CopyingSetup, driver: Any) -> None:
        self.setup, self.driver = setup, driver
        self.number = next(_NUMBERS)
        self.inputs: list[TensorDesc] = []
        self.ns = text(b"")
        self.address = object_of(self, table_of(METHODS, KINDS[setup.kind]))

    def note(self, method: str, tensors: Sequence[Any] = (), value: Any = None) -> None:
        """Keep a call."""
        CALLS.append(KeptCall(self.number, method, _seen(tensors), value))

    def getTensorRTVersion(self) -> int:
        return KINDS[self.setup.kind] << 24 | VERSION

    def getPluginType(self) -> int:
        return text(NAME.encode())

    def getPluginVersion(self) -> int:
        return text(b"1")

    def getNbOutputs(self) -> int:
        return self.setup.outputs

    def getOutputDimensions(self, result: int, index: int, inputs: int, count: int) -> int:
        given = Dims32.from_address(inputs)
        self.note("getOutputDimensions", value=tuple(given))
        ctypes.memmove(result, inputs, ctypes.sizeof(Dims32))
        return result

    def getOutputDimensions_dynamic(self, result: int, index: int, inputs: int, count: int, builder: int) -> int:
        self.note("getOutputDimensions")
        ctypes.memmove(result, inputs, ctypes.sizeof(DimsExprs8))
        return result

    def supportsFormat(self, kind: int, form: int) -> bool:
        self.note("supportsFormat", value=(kind, form))
        return TYPES[kind] in self.setup.types and form == self.setup.format

    def configureWithFormat(self, *given: Any) -> None:
        self.note("configureWithFormat")

    def initialize(self) -> int:
        self.note("initialize")
        return self.setup.initialize

    def terminate(self) -> None:
        self.note("terminate")

    def getWorkspaceSize(self, batch: int) -> int:
        self.note("getWorkspaceSize", value=batch)
        return self.setup.workspace

    def getWorkspaceSize_dynamic(self, inputs: int, count: int, outputs: int, number: int) -> int:
        self.note("getWorkspaceSize", _array(TensorDesc, inputs, count))
        return self.setup.workspace

    def enqueue(self, batch: int, inputs: int, outputs: int, workspace: int | None, stream: int | None) -> int:
        return self._copy(batch, inputs, outputs, workspace, stream, self.inputs[0])

    def enqueue_dynamic(
        self, described: int, results: int, inputs: int, outputs: int, workspace: int | None, stream: int | None
    ) -> int:
        return self._copy(1, inputs, outputs, workspace, stream, TensorDesc.from_address(described))

    def _copy(
        self, batch: int, inputs: int, outputs: int, workspace: int | None, stream: int | None, desc: TensorDesc
    ) -> int:
        source, *targets = (
            where or 0 for where in (*_array(c_void_p, inputs, 1), *_array(c_void_p, outputs, self.setup.outputs))
        )
        size = batch * desc.nbytes
        kept = b""
        for target in targets if size else ():
            if self.driver.cuMemcpyDtoDAsync_v2(c_uint64(target), c_uint64(source), c_size_t(size), c_void_p(stream)):
                return 1
        if self.setup.keep:
            buffer = ctypes.create_string_buffer(size)
            self.driver.cuStreamSynchronize(c_void_p(stream))
            self.driver.cuMemcpyDtoH_v2(buffer, c_uint64(source), c_size_t(size))
            kept = buffer.raw
        self.note("enqueue", [desc], {"batch": batch, "pointers": (source, targets[0], workspace), "bytes": kept})
        return 0

    def getSerializationSize(self) -> int:
        return ctypes.sizeof(TensorDesc)

    def serialize(self, buffer: int) -> None:
        self.note("serialize")
        ctypes.memmove(buffer, ctypes.addressof((self.inputs or [TensorDesc()])[0]), ctypes.sizeof(TensorDesc))

    def destroy(self) -> None:
        self.note("destroy")

    def clone(self) -> int:
        other = Copying(self.setup, self.driver)
        other.inputs, other.ns = self.inputs, self.ns
        self.note("clone", value=other.number)
        return other.address

    def getOutputDataType(self, index: int, types: int, count: int) -> int:
        return c_int32.from_address(types).value

    def isOutputBroadcastAcrossBatch(self, index: int, inputs: int, count: int) -> bool:
        self.note("isOutputBroadcastAcrossBatch")
        return False

    def canBroadcastInputAcrossBatch(self, index: int) -> bool:
        self.note("canBroadcastInputAcrossBatch", value=index)
        return True

    def configurePlugin_ext(
        self, inputs: int, count: int, outputs: int, number: int, types: int, results: int,
        broadcast: int, result_broadcast: int, form: int, batch: int,
    ) -> None:  # fmt: skip
        kinds = _array(c_int32, types, count)
        descs = [
            TensorDesc(dims, kind, form, 0.0) for dims, kind in zip(_array(Dims32, inputs, count), kinds, strict=True)
        ]
        self.inputs = descs
        self.note("configurePlugin", descs, {"batch": batch, "broadcast": _array(c_bool, broadcast, count)})

    def configurePlugin(self, inputs: int, count: int, outputs: int, number: int) -> None:
        kind = DynamicTensorDesc if self.setup.kind == "dynamic" else TensorDesc
        descs = [kind.from_buffer_copy(one) for one in _array(kind, inputs, count)]
        self.inputs = [one.desc if isinstance(one, DynamicTensorDesc) else one for one in descs]
        self.note("configurePlugin", [*descs, *_array(kind, outputs, number)])

    def supportsFormatCombination(self, position: int, tensors: int, count: int, number: int) -> bool:
        descs = _array(TensorDesc, tensors, count + number)
        self.note("supportsFormatCombination", descs[: position + 1], position)
        one = descs[position]
        same = one.type == descs[0].type
        return same and one.format == self.setup.format and _seen([one])[0].type in self.setup.types

    def attachToContext(self, cudnn: int | None, cublas: int | None, allocator: int | None) -> None:
        self.note("attachToContext", value=(cudnn, cublas))

    def detachFromContext(self) -> None:
        self.note("detachFromContext")


class CopyingCreator(InNamespace):
    """The creator of copying plugins of one setup."""

    def __init__(self, setup: CopyingSetup, driver: Any) -> None:
        self.setup, self.driver = setup, driver
        self.ns = text(b"")
        array = (CreatorField * max(len(setup.fields), 1))(
            *(CreatorField(name.encode(), None, 1, 1) for name in setup.fields)
        )
        self.listed = CreatorFields(len(setup.fields), array)
        self.given: list[str] = []
        """The fields of the last createPlugin: name, type and length."""
        self.address = object_of(self, table_of(CREATOR, 0))

    def getTensorRTVersion(self) -> int:
        return VERSION

    def getPluginName(self) -> int:
        return text(NAME.encode())

    def getPluginVersion(self) -> int:
        return text(b"1")

    def getFieldNames(self) -> int:
        return ctypes.addressof(self.listed)

    def createPlugin(self, name: bytes, fields: int) -> int:
        given = CreatorFields.from_address(fields)
        self.given = [
            f"{one.name.decode()} {FIELD_TYPES[one.type]} {one.length}" for one in given.fields[: given.count]
        ]
        return Copying(self.setup, self.driver).address

    def deserializePlugin(self, name: bytes, data: int, length: int) -> int:
        made = Copying(self.setup, self.driver)
        made.inputs = [TensorDesc.from_buffer_copy((c_char * length).from_address(data))]
        made.note("deserializePlugin", value=name.decode())
        return made.address
