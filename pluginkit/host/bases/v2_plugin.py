"""What all plugins of the second generation share: methods by their names in snake_case, answers checked for being
answers at all. `DynamicPlugin` and `IOExtPlugin` have what is their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

import numpy as np

from pluginkit import _native, bases
from pluginkit.demands import warn
from pluginkit.dtypes import DType
from pluginkit.host.bases.changed_fields import Fields, changed
from pluginkit.host.descriptors import Desc
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.handles import NONE, Handles
from pluginkit.host.output_types import output_type, type_name

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")
N = TypeVar("N", bound=_native.Plugin)

MAX_OUTPUTS = 10_000
"""More is taken for a wrong answer of getNbOutputs (an uninitialised member), not for a plugin with many outputs."""

MAX_SERIALIZED = 1 << 31
"""More bytes than this is taken for a wrong answer of getSerializationSize."""

MAX_NAME = 1023
"""Bytes of a string that TensorRT passes on whole: 1024 with the closing zero."""


def must(method: str, answer: T | None, expected: str, *, rule: str) -> T:
    """The answer, or a Finding that it was null."""
    if answer is None:
        raise Finding(method, f"answered null, expected {expected}", rule=rule)
    return answer


def count_outputs(method: str, count: int) -> int:
    """The number of outputs, at least one (T1, T2)."""
    if count < 1:
        raise Finding(method, f"answered {count}, expected 1 or more", rule="T1")
    if count > MAX_OUTPUTS:
        raise Finding(method, f"answered {count}, and this host has room for {MAX_OUTPUTS}", rule="T2")
    return count


@dataclass(frozen=True)
class Serialized:
    """What `serialize` wrote. `open_` are the bytes that it didn't write, or wrote otherwise when asked again."""

    data: bytes
    open_: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.data)

    def like(self, other: Serialized) -> bool:
        """Whether another one is the same, but for bytes that were open in either."""
        return self.size == other.size and not self.other_than(other)

    def other_than(self, other: Serialized) -> set[int]:
        """The bytes that another one of this size has otherwise, without those that were open in either."""
        mine, its = (np.frombuffer(one.data, np.uint8) for one in (self, other))
        return {int(index) for index in np.flatnonzero(mine != its)} - self.open_ - other.open_


class V2Plugin(Generic[N]):
    """A plugin; its owner must `destroy()` it once. Methods raise Finding for an answer that can't be one."""

    BASE: ClassVar[bases.Name]
    INTERFACE: ClassVar[str]
    """The C++ class."""
    NATIVE: ClassVar[type[_native.Plugin]]
    """What the native host makes of such a plugin."""

    def __init__(self, native: N) -> None:
        self._raw: N | None = native
        self.fields: Fields = {}
        """What its layer's createPlugin was given; empty where that is unknown."""
        self._unset: frozenset[int] = frozenset()
        """Bytes of its serialized form that no member sets, as far as clones have shown."""
        self.made_over: Callable[[int], _native.Plugin | None] | None = None
        """Makes it again, over memory that holds a byte wherever it writes nothing; None once it is configured."""

    @property
    def native(self) -> N:
        """The native plugin.

        Raises:
            HostBug: it was destroyed.
        """
        if self._raw is None:
            raise HostBug("a plugin was used after its destroy()")
        return self._raw

    @classmethod
    def name_of(cls, method: str) -> str:
        """The C++ name of a method, as call files have it."""
        return f"{cls.INTERFACE}::{method}"

    def tensorrt_version(self) -> int:
        """The interface in the top byte, and the version of the headers that it was compiled with."""
        return self.native.tensorrt_version()

    def plugin_type(self) -> str:
        """The plugin's name."""
        return must(self.name_of("getPluginType"), self.native.plugin_type(), "the plugin's name", rule="I4")

    def plugin_version(self) -> str:
        """The plugin's version."""
        return must(self.name_of("getPluginVersion"), self.native.plugin_version(), "the plugin's version", rule="I4")

    def plugin_namespace(self) -> str:
        """The namespace it was given last."""
        return must(self.name_of("getPluginNamespace"), self.native.plugin_namespace(), "the namespace", rule="I4")

    def set_plugin_namespace(self, namespace: str) -> None:
        """Gives it a namespace, and asks for it (rule I5)."""
        self.native.set_plugin_namespace(namespace)
        found = self.plugin_namespace()
        if found[:MAX_NAME] != namespace[:MAX_NAME]:
            raise Finding(
                self.name_of("getPluginNamespace"),
                f"answered {found!r} after setPluginNamespace({namespace!r})",
                rule="I5",
            )
        if self.native.keeps_namespace(namespace):
            warn(
                "I10",
                self.name_of("setPluginNamespace"),
                "keeps the pointer that it is given, which may be of text that ends before the plugin does: keep a "
                "std::string of it",
            )

    def nb_outputs(self) -> int:
        """The number of outputs, at least one (rules T1, T2)."""
        return count_outputs(self.name_of("getNbOutputs"), self.native.nb_outputs())

    def output_data_type(self, index: int, input_types: Sequence[DType]) -> DType:
        """The type of output `index` (rules T6, T7), the same when asked again (T18)."""
        method = self.name_of("getOutputDataType")
        codes = [t.code for t in input_types]
        first, second = (self.native.output_data_type(index, codes) for _ in range(2))
        if first != second:
            answers = f"answered {type_name(first)} for output {index}, and {type_name(second)}"
            warn("T18", method, f"{answers} when asked again")
        return output_type(method, index, first)

    def supports_format_combination(self, pos: int, in_out: Sequence[Desc], nb_inputs: int, nb_outputs: int) -> bool:
        """Whether tensor `pos` may have its type and format, given those before it."""
        return self.native.supports_format_combination(pos, [d.native() for d in in_out], nb_inputs, nb_outputs)

    def initialize(self) -> None:
        """Expects 0 (rule L6)."""
        code = self.native.initialize()
        if code != 0:
            raise Finding(self.name_of("initialize"), f"answered {code}, expected 0", rule="L6")

    def terminate(self) -> None:
        """Frees what `initialize` got."""
        self.native.terminate()

    def attach_to_context(self, handles: Handles = NONE) -> None:
        """With a context's handles, or null for both, and without an allocator, which this host has none of (L11)."""
        self.native.attach_to_context(handles.cudnn, handles.cublas)

    def detach_from_context(self) -> None:
        """Ends `attach_to_context`."""
        self.native.detach_from_context()

    def serialize(self) -> Serialized:
        """The serialized bytes, within getSerializationSize (rule S1); all of them, the same each time (S2)."""
        method = self.name_of("serialize")
        first, second = (self._serialize(fill) for fill in (0x5A, 0xA5))
        if first.size != second.size:
            warn("S2", method, f"wrote {first.size} bytes, and {second.size} when asked again")
            return Serialized(first.tobytes(), frozenset(range(first.size)))
        differ = [int(index) for index in np.flatnonzero(first != second)]
        if differ:
            which = f"byte {differ[0]}" if len(differ) == 1 else f"{len(differ)} bytes, the first of them {differ[0]},"
            many = "was" if len(differ) == 1 else "were"
            warn("S2", method, f"{which} of {first.size} {many} not written, or written otherwise when asked again")
        return Serialized(first.tobytes(), self._unset.union(differ))

    def _serialize(self, fill: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        size = self.native.serialization_size()
        if size > MAX_SERIALIZED:
            raise Finding(
                self.name_of("getSerializationSize"),
                f"answered {size} bytes, and this host has room for {MAX_SERIALIZED}",
                rule="T2",
            )
        buffer = _native.Buffer(size)
        data = np.asarray(memoryview(buffer))
        data[:] = fill
        self.native.serialize(buffer.address)
        damage = buffer.damage()
        if damage:
            raise Finding(
                self.name_of("serialize"),
                f"wrote at byte {damage[0]} of a buffer of {size} bytes, which is what "
                "getSerializationSize had answered",
                rule="S1",
            )
        return np.array(data, dtype=np.uint8)

    def clone(self) -> Self:
        """A copy that serializes to the same bytes and has the same namespace (rule L1)."""
        method = self.name_of("clone")
        copy = type(self)(must(method, cast("N | None", self.native.clone()), "a plugin", rule="L1"))
        for what, ask in (
            ("getNbOutputs", V2Plugin.nb_outputs),
            ("getPluginNamespace", V2Plugin.plugin_namespace),
            ("getPluginType", V2Plugin.plugin_type),
            ("getPluginVersion", V2Plugin.plugin_version),
            ("getTensorRTVersion", V2Plugin.tensorrt_version),
        ):
            mine, its = ask(self), ask(copy)
            if mine != its:
                raise Finding(method, f"the clone's {what} answers {its!r}, the original's {mine!r}", rule="L1")
        copy.fields = self.fields
        before, after = self.serialize(), copy.serialize()
        if not after.like(before) and not self._only_unset(before, after):
            which = changed(self.fields, before.data, after.data, "{} in the clone, {} in the original")
            raise Finding(method, f"the clone serializes to other bytes than the original{which}", rule="L1")
        copy._unset = self._unset
        return copy

    def _only_unset(self, before: Serialized, after: Serialized) -> bool:
        """Whether the bytes that a clone has otherwise are those that nothing sets: between a struct's members, or of
        members that configurePlugin alone sets."""
        if before.size != after.size:
            return False
        for whose, method, make in (("clone", "clone", self.native.clone_over), ("plugin", "", self.made_over)):
            if make is None:
                continue
            forms = []
            for fill in (0x5A, 0xA5):
                name = self.name_of(method) if method else "IPluginCreator::createPlugin"
                copy = type(self)(must(name, cast("N | None", make(fill)), "a plugin", rule="L1"))
                forms.append(copy.serialize())
                copy.destroy()
            if forms[0].size != forms[1].size:
                continue
            unset = forms[0].other_than(forms[1])
            if unset and before.other_than(after) <= unset:
                message = (
                    f"wrote {len(unset)} bytes, the first of them byte {min(unset)}, that no member of the {whose} sets"
                )
                warn("S2", self.name_of("serialize"), message)
                self._unset = frozenset(unset)
                return True
        return False

    def destroy(self) -> None:
        """Ends it."""
        self.native.destroy()
        self._raw = None
