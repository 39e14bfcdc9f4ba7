"""A plugin library and its creators, as `IPluginRegistry::loadLibrary` sees them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from pluginkit import _native, layouts
from pluginkit.bases import BASES
from pluginkit.demands import warn
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.field_types import NAMES, FieldType, decode, encode, of_code
from pluginkit.host import stand_ins
from pluginkit.host.bases.changed_fields import Fields
from pluginkit.host.bases.v2_plugin import MAX_NAME, V2Plugin, must
from pluginkit.host.bases.v3.plugin import KeptField, PluginV3, check_fields
from pluginkit.host.errors import Finding, HostBug
from pluginkit.process.protocol import after_absent

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

    What is not UTF-8 in its names is shown as `\\xff`.

    Raises:
        Finding: its kind is unknown (rule I8), or it answers null for its name, version or namespace (I4).
    """

    def __init__(self, native: _native.Creator) -> None:
        self._native = native
        kind, major, minor = native.interface_info
        # TensorRT 8's creators have no getInterfaceInfo.
        self.interface = f"{kind} {major}.{minor}" if kind is not None else layouts.BEFORE_V3.creator
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
        # A registry takes it whatever it lists: what is wrong with that is said of the creator that is used.
        self._unlisted: Finding | None = None
        try:
            self.fields = _fields(native)
        except Finding as finding:
            self.fields, self._unlisted = (), finding

    @property
    def native(self) -> _native.Creator:
        """The native creator; its methods' return types are unknown to mypy."""
        return self._native

    def check(self) -> None:
        """Asks of the creator what a list of creators does without.

        Raises:
            Finding: its name, version or namespace is not ASCII, or too long (I4), or it lists no fields, or some
                without a name (F1).
        """
        if self._unlisted is not None:
            raise self._unlisted
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
        plugin = _faced(_made(method, raw, given, fields, lambda other: self._native.create(layer, other)))
        plugin.made_over = lambda fill: self._native.create_over(layer, given, fill)
        return plugin

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
            warn("I6", "IPluginCreator::setPluginNamespace", f"the creator answers {found!r} after it, not {SPACE!r}")
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
        made = self._made_v3(layer, given, BUILD)
        return PluginV3(_made(_CREATE_V3, made, given, fields, lambda other: self._made_v3(layer, other, BUILD)))

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
    `stand_ins` names the libraries of NVIDIA's that a stand-in takes the place of; with `registers` the creators are
    those that the library registers itself, while it is loaded and by its init functions.

    Raises:
        UsageError: there is no such file, or it is not an ELF library.
        CheckFailed: it can't be loaded, or doesn't export `getCreators` and `setLoggerFinder`.
        Finding: `getCreators` answers nonsense or no creator (rule B4), or as `Creator`.
    """

    def __init__(self, path: str | Path, host_version: int = layouts.LAYOUTS[0].host_version) -> None:
        self.path = Path(path).resolve()
        self.host_version = host_version
        _check_file(self.path)
        try:
            self._native, self.stand_ins, self.registers = _opened(self.path, host_version)
            first, second = self._native.creators(), self._native.creators()
        except _native.LoadError as e:
            raise _load_error(self.path, *e.args) from None
        if not first:
            message = f"answered no creator to a host of version {host_version}: {self.path.name} has none for it"
            raise Finding("getCreators", message, rule="B4")
        if self._native.unresolved:
            warn("B1", "dlopen", f"{self._native.unresolved}: the process ends where that is called")
        self.creators = [Creator(c) for c in first]
        if self.registers:
            # A registry keeps the first of a name, and refuses the next.
            named: dict[str, Creator] = {}
            for one in self.creators:
                named.setdefault(repr(one), one)
            self.creators = list(named.values())
            return
        if [repr(c) for c in self.creators] != [repr(Creator(c)) for c in second]:
            warn("B5", "getCreators", "the second call answered another list than the first")

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


def _opened(path: Path, version: int) -> tuple[_native.Library, tuple[str, ...], bool]:
    """The library, with the stand-ins that it needs, and whether it registers its creators itself."""
    if not stand_ins.mentions_tensorrt(path):
        # Most need nothing, and reading all their symbols takes longer than loading them.
        with suppress(_native.LoadError):
            return _native.Library(str(path), version, lazy=False), (), False
    # Workers that run models are forked without these.
    from pluginkit import elf
    from pluginkit.host.stand_ins.loading import load
    from pluginkit.library.origin import registration

    try:
        facts = elf.read(path)
    except UsageError:
        return _native.Library(str(path), version), (), False
    found = load(path, facts)
    names = tuple(one.name for one in found)
    how = registration(facts)
    functions = how.init_functions if how else ()
    left = [symbol.name for one in found if not one.linked and not (how and one.tensorrt) for symbol in one.functions]
    if left:
        warn("B1", "dlopen", f"undefined symbol: {', '.join(left)}: the process ends where that is called")
    return _native.Library(str(path), version, how is not None, functions), names, how is not None


def _faced(native: _native.Plugin) -> V2Plugin[Any]:
    return FACES[type(native)](native)


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise UsageError(f"there is no plugin library {path}", hint="Run `pluginkit build` first.")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != b"\x7fELF":
        raise UsageError(f"{path} is not an ELF shared library: it starts with {magic!r}")


def _load_error(path: Path, step: str, message: str) -> CheckFailed:
    if step == "getCreators":
        return Finding("getCreators", message.removeprefix("getCreators "), rule="B4")
    if step == "dlsym":
        hint = "Put PLUGINKIT_PLUGINS(...) of <pluginkit/entry.h> into one source file."
        return Finding("dlsym", message, rule="B3", hint=hint)
    after = after_absent(stand_ins.absent_call())
    if step == "static initializers":
        return CheckFailed(f"{path} can't be loaded: a static initializer throws {message!r}{after}")
    hint = "A plugin library links everything it uses, and no libnvinfer." if step == "dlopen" else ""
    return CheckFailed(f"{path} can't be loaded: {message}{after}", hint=hint)


def _made(
    method: str, answer: T | None, given: Given, fields: Fields | None, ask: Callable[[Given], object | None]
) -> T:
    """The plugin that createPlugin has answered. Fields can be weights: they become text only where it is null.

    `ask` gives the creator other fields."""
    if answer is not None:
        return answer
    named = None if fields is None else ", ".join(f"{name}={value!r}" for name, (_, value) in fields.items())
    shown = named or _values(given)
    message = f"answered null, expected a plugin for {f'the fields ({shown})' if shown else 'no fields'}"
    raise Finding(method, message, rule="F3", hint=_of_closing_zeros(given, ask))


def _of_closing_zeros(given: Given, ask: Callable[[Given], object | None]) -> str:
    """What to do where the texts' closing zeros are why there is no plugin; empty where they aren't."""
    ended = [one for one in given if one[1] == FieldType.STRING.code and (one[2] or b"").endswith(b"\0")]
    if not ended:
        return ""
    # The zero is still behind the text, for a plugin that looks for it and not at the length.
    without = [
        (name, kind, data, length - 1 if (name, kind, data, length) in ended else length)
        for name, kind, data, length in given
    ]
    if ask(without) is None:
        return ""
    name, _, _, length = ended[0]
    return (
        f"The length of the text '{name}' ({length}) counts its closing zero, as NVIDIA's ONNX parser gives it, and a "
        f"plugin is made where it is {length - 1}: compare by strcmp, or take one zero off the end."
    )


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
