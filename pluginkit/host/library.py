"""A plugin library and its creators, as `IPluginRegistry::loadLibrary` sees them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from pluginkit import _native, layouts
from pluginkit.bases import BASES
from pluginkit.demands import doubt
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.field_types import NAMES, FieldType, decode, encode, of_code
from pluginkit.host.bases.changed_fields import Fields
from pluginkit.host.bases.v2_plugin import MAX_NAME, V2Plugin, must
from pluginkit.host.bases.v3.plugin import KeptField, PluginV3, check_fields
from pluginkit.host.errors import Finding, HostBug

if TYPE_CHECKING:
    from typing_extensions import Self

FACES: dict[type[_native.Plugin], type[V2Plugin[Any]]] = {
    face.NATIVE: face
    for face in (
        importlib.import_module(f"pluginkit.host.bases.{name}.plugin").PLUGIN
        for name, base in BASES.items()
        if base.generation == "v2"
    )
}
"""The Pythonic face of each kind of native plugin."""

BUILD, RUNTIME = 0, 1
"""`nvinfer1::TensorRTPhase`"""
SPACE = "pluginkit.host"
"""A namespace that no library has of its own, so that a plugin which loses it is seen; an application that registers
creators gives them any (`IPluginRegistry::registerCreator`)."""

Given = Sequence[tuple[str, int, bytes | None, int]]
"""Fields as the native module takes them: name, `PluginFieldType`, data, number of elements."""
MOST_SHOWN = 8
MOST_LETTERS = 80
"""Elements of a field in a message."""
_CREATE_V3 = "IPluginCreatorV3One::createPlugin"

T = TypeVar("T")


@dataclass(frozen=True)
class Field:
    """A field as `getFieldNames` lists it; `type` is the number of `nvinfer1::PluginFieldType`."""

    name: str
    type: int
    length: int


class Creator:
    """A creator of a library, with its name, version, namespace and fields. `kind` is "v2" or "v3".

    What is no UTF-8 in its names is shown as `\\xff`.

    Raises:
        Finding: its kind is unknown (rule I8), or it answers null for its name, version, namespace or fields (I4, F1).
    """

    def __init__(self, native: _native.Creator) -> None:
        self._native = native
        kind, major, minor = native.interface_info
        # TensorRT 8's creators have no getInterfaceInfo.
        self.interface = f"{kind} {major}.{minor}" if kind is not None else layouts.layout(8).creator
        if not (native.is_v2 or native.is_v3):
            raise Finding(
                "IPluginCreatorInterface::getInterfaceInfo",
                f"unknown kind {kind!r} {major}, expected 'PLUGIN CREATOR_V1' or 'PLUGIN CREATOR_V3ONE'",
                rule="I8",
            )
        self.kind = "v2" if native.is_v2 else "v3"
        self.name, self.version, self.namespace = (
            _shown(must(f"IPluginCreator::{method}", answer, "a string", rule="I4"))
            for method, answer in (
                ("getPluginName", native.name()),
                ("getPluginVersion", native.version()),
                ("getPluginNamespace", native.namespace()),
            )
        )
        self.fields = _fields(native)

    @property
    def native(self) -> _native.Creator:
        """The native creator; its methods' return types are unknown to mypy."""
        return self._native

    def check(self) -> None:
        """Asks of the creator what a list of creators does without.

        Raises:
            Finding: its name, version or namespace is not ASCII, or too long (I4).
        """
        for method, text in (
            ("getPluginName", self.name),
            ("getPluginVersion", self.version),
            ("getPluginNamespace", self.namespace),
        ):
            if not text.isascii():
                raise Finding(f"IPluginCreator::{method}", f"answered {text!r}, expected ASCII characters", rule="I4")
            if len(text) > MAX_NAME:
                message = f"answered {len(text)} characters ({text[:40]}...), expected {MAX_NAME} at most"
                raise Finding(f"IPluginCreator::{method}", message, rule="I4")
        check_fields("IPluginCreator::getFieldNames", [(field.name, field.type) for field in self.fields])

    def __repr__(self) -> str:
        return f"<{self.kind} creator {self.namespace}::{self.name} {self.version}>"

    def create(self, layer: str, fields: Fields) -> V2Plugin[Any]:
        """`createPlugin` for a layer of that name; the field data is wiped after the call (rule F5).

        Raises:
            Finding: the answer is null, or of an interface that the host doesn't drive, or of another layout.
        """
        plugin = self.create_of(layer, [field_of(n, *tv) for n, tv in fields.items()], fields)
        plugin.fields = fields
        return plugin

    def create_of(self, layer: str, given: Given, fields: Fields | None = None) -> V2Plugin[Any]:
        """`createPlugin` of fields as the native module takes them: name, `PluginFieldType`, data, number of elements.
        A message lists `fields`, if they are given.

        Raises:
            Finding: as `create`.
        """
        method = "IPluginCreator::createPlugin"
        raw = self._call(method, lambda: self._native.create(layer, given))
        return _faced(_made(method, raw, given, fields))

    def deserialize(self, layer: str, data: bytes) -> V2Plugin[Any]:
        """`deserializePlugin`; `data` is wiped after the call.

        Raises:
            Finding: as `create`.
        """
        method = "IPluginCreator::deserializePlugin"
        raw = self._call(method, lambda: self._native.deserialize(layer, data))
        return _faced(must(method, raw, f"a plugin from {len(data)} bytes", rule="S3"))

    @contextmanager
    def in_another_namespace(self) -> Iterator[str | None]:
        """Within it the creator is in the namespace `SPACE`, as after a registration there; gives what it answers."""
        self._native.set_namespace(SPACE)
        found = self._native.namespace()
        if found != SPACE:
            doubt("I6", "IPluginCreator::setPluginNamespace", f"the creator answers {found!r} after it, not {SPACE!r}")
        try:
            yield found
        finally:
            self._native.set_namespace(self.namespace)

    def create_v3(self, layer: str, fields: Fields) -> PluginV3:
        """`createPlugin` with kBUILD, of a creator of kind "v3"; the field data is wiped after the call (rule F5).

        Raises:
            Finding: the answer is null.
        """
        return self.create_v3_of(layer, [field_of(n, *tv) for n, tv in fields.items()], fields)

    def create_v3_of(self, layer: str, given: Given, fields: Fields | None = None) -> PluginV3:
        """`createPlugin` with kBUILD of fields as the native module takes them. A message lists `fields`, if they are
        given.

        Raises:
            Finding: the answer is null.
        """
        return PluginV3(_made(_CREATE_V3, self._made_v3(layer, given, BUILD), given, fields))

    def restore_v3(self, layer: str, kept: Sequence[KeptField]) -> PluginV3:
        """`createPlugin` with kRUNTIME, of a creator of kind "v3"; the field data is wiped after the call.

        Raises:
            Finding: the answer is null.
        """
        named = ", ".join(field.name for field in kept)
        made = self._made_v3(layer, [field.native() for field in kept], RUNTIME)
        return PluginV3(must(_CREATE_V3, made, f"a plugin from the serialized fields ({named})", rule="S9"))

    def _made_v3(self, layer: str, fields: Given, phase: int) -> _native.PluginV3 | None:
        return self._call(_CREATE_V3, lambda: self._native.create_v3(layer, fields, phase))

    def _call(self, method: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except ValueError as e:
            raise Finding(method, f"made a plugin that this host can't call: {e}", rule="I7") from None
        except _native.UseError as e:
            raise HostBug(str(e)) from None


class Library:
    """A plugin library, loaded into this process; a context manager.

    `host_version` is the TensorRT version that the library sees: a layout's `host_version`, or `layouts.RTX_HOST`.

    Raises:
        UsageError: there is no such file, or it is no ELF library.
        CheckFailed: it can't be loaded, or doesn't export `getCreators` and `setLoggerFinder`.
        Finding: `getCreators` answers nonsense or no creator (rule B4), or as `Creator`.
    """

    def __init__(self, path: str | Path, host_version: int = layouts.LAYOUTS[0].host_version) -> None:
        self.path = Path(path).resolve()
        self.host_version = host_version
        _check_file(self.path)
        try:
            self._native = _native.Library(str(self.path), host_version)
            first, second = self._native.creators(), self._native.creators()
        except _native.LoadError as e:
            raise _load_error(self.path, *e.args) from None
        if not first:
            message = f"answered no creator to a host of version {host_version}: {self.path.name} has none for it"
            raise Finding("getCreators", message, rule="B4")
        if self._native.unresolved:
            doubt("B1", "dlopen", f"{self._native.unresolved}: the process ends where that is called")
        self.creators = [Creator(c) for c in first]
        if [repr(c) for c in self.creators] != [repr(Creator(c)) for c in second]:
            doubt("B5", "getCreators", "the second call answered another list than the first")

    def creator(self, name: str, version: str = "1", namespace: str = "") -> Creator:
        """The creator of that identity.

        Raises:
            Finding: as `Creator.check`.
            UsageError: there is none; the message lists those that are.
        """
        for creator in self.creators:
            if (creator.name, creator.version, creator.namespace) == (name, version, namespace):
                creator.check()
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


def _faced(native: _native.Plugin) -> V2Plugin[Any]:
    return FACES[type(native)](native)


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise UsageError(f"there is no plugin library {path}", hint="Run `pluginkit build` first.")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != b"\x7fELF":
        raise UsageError(f"{path} is no ELF shared library: it starts with {magic!r}")


def _load_error(path: Path, step: str, message: str) -> CheckFailed:
    if step == "getCreators":
        return Finding("getCreators", message.removeprefix("getCreators "), rule="B4")
    if step == "dlsym":
        hint = "Put PLUGINKIT_PLUGINS(...) of <pluginkit/entry.h> into one source file."
        return Finding("dlsym", message, rule="B3", hint=hint)
    return CheckFailed(
        f"{path} can't be loaded: {message}", hint="A plugin library links everything it uses, and no libnvinfer."
    )


def _made(method: str, answer: T | None, given: Given, fields: Fields | None) -> T:
    """The plugin that createPlugin has answered. Fields can be weights: they become text only where it is null."""
    if answer is not None:
        return answer
    named = None if fields is None else ", ".join(f"{name}={value!r}" for name, (_, value) in fields.items())
    shown = named or _values(given)
    return must(method, answer, f"a plugin for {f'the fields ({shown})' if shown else 'no fields'}", rule="F3")


def _values(given: Given) -> str:
    """Fields as a message has them: `alpha=0.5, axes=[0, 1]`."""
    return ", ".join(f"{name}={_value(code, data or b'', length)}" for name, code, data, length in given)


def _value(code: int, data: bytes, length: int) -> str:
    kind = of_code(code)
    size = 1 if kind is None else kind.numpy.itemsize
    most = MOST_LETTERS if kind is None or kind.is_text else MOST_SHOWN * size
    value = None if len(data) % size else decode(code, data[:most])
    if not isinstance(value, tuple):
        named = NAMES[code] if code in range(len(NAMES)) else f"type {code}"
        more = f" and {len(data) - most} bytes more" if len(data) > most else ""
        return repr(value) + more if isinstance(value, str) else f"{length} of {named}"
    numbers = [f"{one:.9g}" if isinstance(one, float) else str(one) for one in value]
    left = len(data) // size - len(value)
    rest = [f"... {left} more"] if left else []
    return numbers[0] if len(numbers) == 1 and not left else f"[{', '.join([*numbers, *rest])}]"


def _shown(text: str) -> str:
    """Printable, whatever bytes it was."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _fields(native: _native.Creator) -> tuple[Field, ...]:
    method = "IPluginCreator::getFieldNames"
    count, fields = must(method, native.field_names(), "a PluginFieldCollection", rule="F1")
    if count < 0 or (count > 0 and fields is None):
        message = f"nbFields is {count} and fields is {'null' if fields is None else 'set'}"
        raise Finding(method, message, rule="F1")
    result: list[Field] = []
    for i, (name, kind, length) in enumerate(fields or []):
        if name is None:
            raise Finding(method, f"field {i} has a null name", rule="F1")
        result.append(Field(_shown(name), kind, length))
    return tuple(result)


def field_of(name: str, dtype: DType | FieldType, value: Any) -> tuple[str, int, bytes | None, int]:
    """A field as the native module takes it: name, type, data and number of elements.

    An empty list has no data, as NVIDIA's parser gives it.
    """
    kind = FieldType(dtype)
    array = encode(kind, value)
    return name, kind.code, array.tobytes() if array.size else None, array.size
