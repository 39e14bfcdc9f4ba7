"""Classes of TensorRT 8.5's layout made by ctypes: structs, tables of virtual functions, and objects behind them."""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import c_bool, c_char, c_char_p, c_float, c_int32, c_size_t, c_void_p
from typing import Any, ClassVar

TYPES = ("FLOAT", "HALF", "INT8", "INT32", "BOOL")
SIZES = (4, 2, 1, 4, 1)
FIELD_TYPES = ("FLOAT16", "FLOAT32", "FLOAT64", "INT8", "INT16", "INT32", "CHAR", "DIMS", "UNKNOWN")
LINEAR, CHW2, HWC8, CHW4, CHW16, CHW32 = range(6)
LANES = {CHW2: 2, HWC8: 8, CHW4: 4, CHW16: 16, CHW32: 32}
"""Channels of a vector, by format."""
KINDS = {"ext": 1, "ioext": 2, "dynamic": 3}
"""IPluginV2Ext, IPluginV2IOExt and IPluginV2DynamicExt: their nvinfer1::PluginVersion."""
VERSION = 8503


class Dims32(ctypes.Structure):
    """nvinfer1::Dims32."""

    _fields_: ClassVar = [("count", c_int32), ("d", c_int32 * 8)]

    def __iter__(self) -> Iterator[int]:
        return iter(self.d[: max(self.count, 0)])


class TensorDesc(ctypes.Structure):
    """nvinfer1::PluginTensorDesc."""

    _fields_: ClassVar = [("dims", Dims32), ("type", c_int32), ("format", c_int32), ("scale", c_float)]

    @property
    def nbytes(self) -> int:
        """Of the tensor, with the lanes that are not channels."""
        dims = [*self.dims]
        if lanes := LANES.get(self.format):
            dims[-3] = -(-dims[-3] // lanes) * lanes
        count = 1
        for one in dims:
            count *= one
        return count * SIZES[self.type]


class DynamicTensorDesc(ctypes.Structure):
    """nvinfer1::DynamicPluginTensorDesc."""

    _fields_: ClassVar = [("desc", TensorDesc), ("min", Dims32), ("max", Dims32)]


class DimsExprs8(ctypes.Structure):
    """nvinfer1::DimsExprs."""

    _fields_: ClassVar = [("count", c_int32), ("d", c_void_p * 8)]


class CreatorField(ctypes.Structure):
    """nvinfer1::PluginField."""

    _fields_: ClassVar = [("name", c_char_p), ("data", c_void_p), ("type", c_int32), ("length", c_int32)]


class CreatorFields(ctypes.Structure):
    """nvinfer1::PluginFieldCollection."""

    _fields_: ClassVar = [("count", c_int32), ("fields", ctypes.POINTER(CreatorField))]


ERRORS: list[str] = []
"""Exceptions in methods, which TensorRT can't see."""
_KEPT: list[Any] = []
_OBJECTS: dict[int, Any] = {}


def text(value: bytes) -> int:
    """The address of a text, which stays."""
    buffer = ctypes.create_string_buffer(value)
    _KEPT.append(buffer)
    return ctypes.addressof(buffer)


P, N, B, Z, S = c_void_p, c_int32, c_bool, c_size_t, c_char_p
_Method = tuple[str, Any, Sequence[Any]]
METHODS: Mapping[int, Sequence[_Method]] = {
    # The slots of IPluginV2Ext, then those that the two classes made of it add; a result in memory comes first.
    1: (
        ("getTensorRTVersion", N, ()), ("getPluginType", P, ()), ("getPluginVersion", P, ()), ("getNbOutputs", N, ()),
        ("getOutputDimensions", P, ("result", N, P, N)), ("supportsFormat", B, (N, N)),
        ("configureWithFormat", None, (P, N, P, N, N, N, N)), ("initialize", N, ()), ("terminate", None, ()),
        ("getWorkspaceSize", Z, (N,)), ("enqueue", N, (N, P, P, P, P)), ("getSerializationSize", Z, ()),
        ("serialize", None, (P,)), ("destroy", None, ()), ("clone", P, ()), ("setPluginNamespace", None, (S,)),
        ("getPluginNamespace", P, ()), ("gone", None, ()), ("gone", None, ()), ("getOutputDataType", N, (N, P, N)),
        ("isOutputBroadcastAcrossBatch", B, (N, P, N)), ("canBroadcastInputAcrossBatch", B, (N,)),
        ("configurePlugin_ext", None, (P, N, P, N, P, P, P, P, N, N)), ("attachToContext", None, (P, P, P)),
        ("detachFromContext", None, ()),
    ),
    2: (("configurePlugin", None, (P, N, P, N)), ("supportsFormatCombination", B, (N, P, N, N))),
    3: (
        ("getOutputDimensions_dynamic", P, ("result", N, P, N, P)), ("supportsFormatCombination", B, (N, P, N, N)),
        ("configurePlugin", None, (P, N, P, N)), ("getWorkspaceSize_dynamic", Z, (P, N, P, N)),
        ("enqueue_dynamic", N, (P, P, P, P, P, P)),
    ),
}  # fmt: skip
CREATOR: Mapping[int, Sequence[_Method]] = {
    1: (
        ("getTensorRTVersion", N, ()), ("getPluginName", P, ()), ("getPluginVersion", P, ()), ("getFieldNames", P, ()),
        ("createPlugin", P, (S, P)), ("deserializePlugin", P, (S, P, Z)), ("setPluginNamespace", None, (S,)),
        ("getPluginNamespace", P, ()), ("gone", None, ()), ("gone", None, ()),
    )
}  # fmt: skip
_VTABLES: dict[tuple[int, int], Any] = {}


def table_of(methods: Mapping[int, Sequence[_Method]], kind: int) -> Any:
    """The table of a class: the slots of IPluginV2Ext or of a creator, then the class's own."""
    key = (id(methods), kind)
    if key not in _VTABLES:
        rows = [*methods[1], *(methods[kind] if kind > 1 else ())]
        functions = [_function(*row) for row in rows]
        _KEPT.append(functions)
        # Before the slots stand the offset to the whole object and the class's type, which pybind11 asks for.
        slots = (ctypes.cast(one, c_void_p).value for one in functions)
        _VTABLES[key] = (c_void_p * (2 + len(rows)))(0, _type_info(), *slots)
    return _VTABLES[key]


def _type_info() -> int:
    """The std::type_info of a class without bases."""
    base = c_char.in_dll(ctypes.CDLL("libstdc++.so.6"), "_ZTVN10__cxxabiv117__class_type_infoE")
    made = (c_void_p * 2)(ctypes.addressof(base) + 2 * ctypes.sizeof(c_void_p), text(b"7Copying"))
    _KEPT.append(made)
    return ctypes.addressof(made)


def _function(name: str, result: Any, arguments: Sequence[Any]) -> Any:
    returned = bool(arguments) and arguments[0] == "result"

    def method(first: int, *rest: Any) -> Any:
        # The result's address comes before `this`.
        this, given = (rest[0], (first, *rest[1:])) if returned else (first, rest)
        try:
            call: Callable[..., Any] = getattr(_OBJECTS[this], name)
            return call(*given)
        except Exception:  # noqa: BLE001 (nothing may leave a function that C++ calls)
            ERRORS.append(traceback.format_exc())
            return None if result is None else result().value

    types = (c_void_p, c_void_p, *arguments[1:]) if returned else (c_void_p, *arguments)
    return ctypes.CFUNCTYPE(result, *types)(method)


def object_of(owner: Any, table: Any) -> int:
    """The C++ object of a Python one: a pointer to its table."""
    pointer = c_void_p(ctypes.addressof(table) + 2 * ctypes.sizeof(c_void_p))
    address = ctypes.addressof(pointer)
    _KEPT.append(pointer)
    _OBJECTS[address] = owner
    return address


def register(creator: int, namespace: bytes = b"") -> bool:
    """What registerCreator of the registry that the bindings use, whose library is loaded, says of a creator."""
    library = ctypes.CDLL("libnvinfer.so.8")
    library.getPluginRegistry.restype = c_void_p
    registry = library.getPluginRegistry()
    table = c_void_p.from_address(registry).value
    slot = c_void_p.from_address(table or 0).value
    function = ctypes.CFUNCTYPE(c_bool, c_void_p, c_void_p, c_char_p)(slot or 0)
    return bool(function(registry, creator, namespace))
