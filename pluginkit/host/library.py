"""A plugin library and its creators, as `IPluginRegistry::loadLibrary` sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from pluginkit import _native
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.plugin import Plugin, must

if TYPE_CHECKING:
    from typing_extensions import Self

FIELD_TYPES: dict[DType, int] = {
    DType.FLOAT16: 0,
    DType.FLOAT32: 1,
    DType.INT8: 3,
    DType.INT32: 5,
    DType.BFLOAT16: 9,
}
"""The `nvinfer1::PluginFieldType` of a field of each element type."""

_FIELD_TYPE_MAX = 13

Fields = Mapping[str, tuple[DType, Any]]


@dataclass(frozen=True)
class Field:
    """A field as `getFieldNames` lists it; `type` is the number of `nvinfer1::PluginFieldType`."""

    name: str
    type: int
    length: int


class Creator:
    """A creator of a library, with what it says of itself. `kind` is "v2" or "v3".

    Raises:
        Finding: it answers null or nonsense for its name, version, namespace or fields (rules I4, F1, F2).
    """

    def __init__(self, native: _native.Creator) -> None:
        self._native = native
        kind, major, minor = native.interface_info
        self.interface = f"{kind} {major}.{minor}"
        if not (native.is_v2 or native.is_v3):
            raise Finding(
                "IPluginCreatorInterface::getInterfaceInfo",
                f"unknown kind {kind!r} {major}, expected 'PLUGIN CREATOR_V1' or 'PLUGIN CREATOR_V3ONE'",
            )
        self.kind = "v2" if native.is_v2 else "v3"
        self.name = _text("IPluginCreator::getPluginName", native.name(), empty=False)
        self.version = _text("IPluginCreator::getPluginVersion", native.version(), empty=False)
        self.namespace = _text("IPluginCreator::getPluginNamespace", native.namespace())
        self.fields = _fields(native)

    def __repr__(self) -> str:
        return f"<{self.kind} creator {self.namespace}::{self.name} {self.version}>"

    def create(self, layer: str, fields: Fields) -> Plugin:
        """`createPlugin` for a layer of that name; the field data is wiped after the call (rule F5).

        Raises:
            Finding: the answer is null, or no IPluginV2DynamicExt of this host's layout.
        """
        method = "IPluginCreator::createPlugin"
        given = ", ".join(f"{name}={value!r}" for name, (_, value) in fields.items())
        raw = self._call(method, lambda: self._native.create(layer, [_field(n, *tv) for n, tv in fields.items()]))
        return Plugin(must(method, raw, f"a plugin for the fields ({given})"))

    def deserialize(self, layer: str, data: bytes) -> Plugin:
        """`deserializePlugin`; `data` is wiped after the call.

        Raises:
            Finding: as `create`.
        """
        method = "IPluginCreator::deserializePlugin"
        raw = self._call(method, lambda: self._native.deserialize(layer, data))
        return Plugin(must(method, raw, f"a plugin from {len(data)} bytes"))

    def _call(self, method: str, call: Any) -> _native.Plugin | None:
        try:
            return call()  # type: ignore[no-any-return]
        except ValueError as e:
            raise Finding(method, f"made a plugin that this host can't call: {e}") from None
        except _native.UseError as e:
            raise HostBug(str(e)) from None


class Library:
    """A plugin library, loaded into this process; a context manager.

    `host_version` is what the library is told that it is loaded by: 101600 (TensorRT 10), 110100 (11) or 10701 (RTX).

    Raises:
        UsageError: there is no such file, or it is no ELF library.
        CheckFailed: it can't be loaded, or doesn't export `getCreators` and `setLoggerFinder`.
        Finding: `getCreators` answers nonsense, no creator, or another list the second time (rule B4).
    """

    def __init__(self, path: str | Path, host_version: int = 110100) -> None:
        self.path = Path(path).resolve()
        self.host_version = host_version
        _check_file(self.path)
        try:
            self._native = _native.Library(str(self.path), host_version)
            first, second = self._native.creators(), self._native.creators()
        except _native.LoadError as e:
            raise _load_error(self.path, *e.args) from None
        if not first:
            raise Finding("getCreators", f"no creator for a host of version {host_version} in {self.path}")
        self.creators = [Creator(c) for c in first]
        if [repr(c) for c in self.creators] != [repr(Creator(c)) for c in second]:
            raise Finding("getCreators", "the second call answered another list than the first")

    def creator(self, name: str, version: str = "1", namespace: str = "") -> Creator:
        """The creator of that identity.

        Raises:
            UsageError: there is none; the message lists those that are.
        """
        for creator in self.creators:
            if (creator.name, creator.version, creator.namespace) == (name, version, namespace):
                return creator
        raise UsageError(f"{self.path} has no creator {namespace}::{name} version {version}; it has {self.creators}")

    def close(self) -> None:
        """Unloads the library. No creator or plugin of it may be used afterwards."""
        self.creators = []
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise UsageError(f"there is no plugin library {path}", hint="Run `pluginkit build` first.")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != b"\x7fELF":
        raise UsageError(f"{path} is no ELF shared library: it starts with {magic!r}")


def _load_error(path: Path, step: str, message: str) -> CheckFailed:
    if step == "getCreators":
        return Finding("getCreators", message.removeprefix("getCreators "))
    if step == "dlsym":
        return CheckFailed(message, hint="Put PLUGINKIT_PLUGINS(...) of <pluginkit/entry.h> into one source file.")
    return CheckFailed(
        f"{path} can't be loaded: {message}", hint="A plugin library links everything it uses, and no libnvinfer."
    )


def _text(method: str, value: str | None, *, empty: bool = True) -> str:
    if value is None or (not value and not empty):
        raise Finding(method, f"answered {'null' if value is None else 'an empty string'}, expected a string")
    return value


def _fields(native: _native.Creator) -> tuple[Field, ...]:
    method = "IPluginCreator::getFieldNames"
    count, fields = must(method, native.field_names(), "a PluginFieldCollection")
    if count < 0 or (count > 0 and fields is None):
        raise Finding(method, f"nbFields is {count} and fields is {'null' if fields is None else 'set'}")
    result: list[Field] = []
    for i, (name, kind, length) in enumerate(fields or []):
        if not name:
            raise Finding(method, f"field {i} has {'a null' if name is None else 'an empty'} name")
        if name in {f.name for f in result}:
            raise Finding(method, f"there are two fields named {name!r}")
        if not 0 <= kind <= _FIELD_TYPE_MAX:
            raise Finding(method, f"field {name!r} has the type {kind}, which is no PluginFieldType")
        result.append(Field(name, kind, length))
    return tuple(result)


def _field(name: str, dtype: DType, value: Any) -> tuple[str, int, bytes, int]:
    array = np.atleast_1d(np.asarray(value, dtype=dtype.numpy))
    return name, FIELD_TYPES[dtype], array.tobytes(), array.size
