"""One IPluginV3: every method of it and its capabilities in snake_case, answers checked for being answers at all.

Rules by number are those of `demands`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pluginkit import _native, bases, field_types
from pluginkit.demands import warn
from pluginkit.dtypes import DType
from pluginkit.host.bases.v2_plugin import count_outputs, must
from pluginkit.host.descriptors import Desc, DynamicDesc
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.expressions import ShapeProgram, Size
from pluginkit.host.output_types import output_type, type_name

Capability = Literal["kCORE", "kBUILD", "kRUNTIME"]

_KINDS: dict[Capability, tuple[int, str, tuple[int, ...]]] = {
    "kCORE": (0, "PLUGIN_V3ONE_CORE", (1,)),
    "kBUILD": (1, "PLUGIN_V3ONE_BUILD", (1, 2)),
    "kRUNTIME": (2, "PLUGIN_V3ONE_RUNTIME", (1,)),
}
"""By capability: its number, the kind that getInterfaceInfo answers (load-bearing in NVIDIA's libraries), and the major
versions that there are."""

UNWRITTEN_TACTIC = -(2**31)
"""As in native/bind_plugin_v3.cpp."""
MAX_TACTICS = 10_000
"""More is taken for a wrong answer of getNbTactics."""


def build_name(method: str) -> str:
    """The C++ name of a method of the build capability, as call files have it."""
    return f"IPluginV3OneBuild::{method}"


def runtime_name(method: str) -> str:
    """The C++ name of a method of the runtime capability."""
    return f"IPluginV3OneRuntime::{method}"


@dataclass(frozen=True)
class KeptField:
    """A field that getFieldsToSerialize lists. `type` is the number of `nvinfer1::PluginFieldType`."""

    name: str
    type: int
    length: int
    data: bytes

    def native(self) -> tuple[str, int, bytes, int]:
        """As the native module takes it."""
        return self.name, self.type, self.data, self.length


@dataclass(frozen=True)
class Identity:
    """What the core capability answers."""

    name: str
    version: str
    namespace: str


class PluginV3:
    """A plugin; its owner must `destroy()` it once. Methods raise Finding for an answer that can't be one."""

    BASE: ClassVar[bases.Name] = "v3"

    def __init__(self, native: _native.PluginV3) -> None:
        self._raw: _native.PluginV3 | None = native
        self._build_major: int | None = None

    @property
    def native(self) -> _native.PluginV3:
        """The native plugin.

        Raises:
            HostBug: it was destroyed.
        """
        if self._raw is None:
            raise HostBug("a plugin was used after it was deleted")
        return self._raw

    def check_capabilities(self, wanted: Sequence[Capability]) -> None:
        """Has the capabilities (L9), of known kinds (I8)."""
        for capability in wanted:
            code, kind, majors = _KINDS[capability]
            answer = self.native.capability(code)
            found = must("IPluginV3::getCapabilityInterface", answer, f"the capability {capability}", rule="L9")
            if found[0] != kind or found[1] not in majors:
                known = " or ".join(f"{kind} {major}" for major in majors)
                raise Finding(
                    "IPluginCapability::getInterfaceInfo",
                    f"the capability {capability} answered {found[0]} {found[1]}, expected {known}",
                    rule="I8",
                    hint="Leave getInterfaceInfo() to NVIDIA's class, and return a pointer to the capability's own "
                    "class: static_cast<IPluginV3OneBuild*>(this).",
                )
            if capability == "kBUILD":
                self._build_major = found[1]

    def identity(self) -> Identity:
        """Name, version and namespace by the core capability (I4)."""
        found = {
            method: must(f"IPluginV3OneCore::{method}", answer, "a string", rule="I4")
            for method, answer in (
                ("getPluginName", self.native.name()),
                ("getPluginVersion", self.native.version()),
                ("getPluginNamespace", self.native.namespace()),
            )
        }
        return Identity(*found.values())

    def nb_outputs(self) -> int:
        """The number of outputs, at least one (T1, T2)."""
        return count_outputs(build_name("getNbOutputs"), self.native.nb_outputs())

    def output_data_types(self, nb_outputs: int, input_types: Sequence[DType]) -> tuple[DType, ...]:
        """The outputs' types (T6, T7), the same when asked again (T18)."""
        method = build_name("getOutputDataTypes")
        codes = [t.code for t in input_types]
        (code, first), (_, second) = (self.native.output_data_types(nb_outputs, codes) for _ in range(2))
        _expect_zero(method, code, rule="V8")
        if first != second:
            before, after = (", ".join(map(type_name, answer)) for answer in (first, second))
            warn("T18", method, f"answered {before}, and {after} when asked again")
        found = []
        for i, number in enumerate(first):
            if number == -1:
                raise Finding(method, f"answered 0, but wrote no type for output {i}", rule="T6")
            found.append(output_type(method, i, number))
        return tuple(found)

    def output_shapes(
        self, inputs: Sequence[tuple[int, ...]], shape_inputs: Sequence[int], nb_outputs: int
    ) -> tuple[ShapeProgram, ...]:
        """The outputs' shapes as expressions of the -1 dimensions of `inputs`, of the elements of the shape inputs
        (of which `shape_inputs` has the numbers), and of size tensors (T8, T9, T11, T12, T14)."""
        method = build_name("getOutputShapes")
        code, shapes, nodes, sizes, faults, warnings = self.native.output_shapes(inputs, shape_inputs, nb_outputs)
        if faults:
            raise Finding(method, faults[0], rule="T12")
        for one in warnings:
            warn("T11", method, one)
        _expect_zero(method, code, rule="V8")
        declared = tuple(Size(*size) for size in sizes)
        programs = []
        for index, (nb_dims, roots) in enumerate(shapes):
            if not 0 <= nb_dims <= 8:
                message = "wrote no shape" if nb_dims == -1 else f"nbDims is {nb_dims}, expected 0 to 8"
                raise Finding(method, f"output {index}: {message}", rule="T9")
            wrong = [(i, root) for i, root in enumerate(roots) if isinstance(root, str)]
            if wrong:
                raise Finding(
                    method, f"output {index}: d[{wrong[0][0]}] is {wrong[0][1]}, expected an expression", rule="T9"
                )
            programs.append(ShapeProgram(tuple(nodes), tuple(r for r in roots if isinstance(r, int)), declared, method))
        for size in declared:
            if programs[size.output].roots:
                raise Finding(
                    method,
                    f"output {size.output} is declared a size tensor and has {len(programs[size.output].roots)} "
                    "dimensions, expected none: a size tensor is a scalar",
                    rule="T8",
                )
        return tuple(programs)

    def supports_format_combination(
        self, pos: int, in_out: Sequence[DynamicDesc], nb_inputs: int, nb_outputs: int
    ) -> bool:
        """Whether tensor `pos` may have its type and format, given those before it."""
        return self.native.supports_format_combination(pos, [d.native() for d in in_out], nb_inputs, nb_outputs)

    def configure_plugin(self, inputs: Sequence[DynamicDesc], outputs: Sequence[DynamicDesc]) -> None:
        """Passes it types, formats and a profile's shapes; expects 0 (C13)."""
        code = self.native.configure_plugin([d.native() for d in inputs], [d.native() for d in outputs])
        _expect_zero(build_name("configurePlugin"), code, rule="C13")

    def workspace_size(self, inputs: Sequence[DynamicDesc], outputs: Sequence[DynamicDesc]) -> int:
        """The workspace that it wants for these profiles' shapes, in bytes."""
        return self.native.workspace_size([d.native() for d in inputs], [d.native() for d in outputs])

    def tactics(self) -> tuple[int, ...]:
        """The tactics that it advertises; (0,), the default one, where there are none (V1, V7)."""
        count = self.native.nb_tactics()
        if count < 0:
            raise Finding(build_name("getNbTactics"), f"answered {count}, expected 0 or more", rule="V1")
        if count > MAX_TACTICS:
            message = f"answered {count}, and this host tries {MAX_TACTICS} at most"
            raise Finding(build_name("getNbTactics"), message, rule="T2")
        method = build_name("getValidTactics")
        (code, first), (_, second) = (self.native.valid_tactics(count) for _ in range(2))
        _expect_zero(method, code, rule="V1")
        if first.pop() != UNWRITTEN_TACTIC or second.pop() != UNWRITTEN_TACTIC:
            raise Finding(
                method,
                f"wrote more than the {count} tactics of getNbTactics",
                rule="V1",
                hint="TensorRT-RTX's builder asks for valid tactics with a count of 0 too: write nbTactics of them.",
            )
        if first != second:
            warn("V7", method, f"answered {first}, and {second} when asked again")
        if not first:
            return (0,)
        if UNWRITTEN_TACTIC in first:
            written = first.index(UNWRITTEN_TACTIC)
            raise Finding(method, f"wrote {written} tactics, and getNbTactics answered {count}", rule="V1")
        if 0 in first:
            raise Finding(method, f"answered {first}: no tactic is 0, that is the default one's number", rule="V1")
        if len(set(first)) < len(first):
            raise Finding(method, f"answered {first}: there is one twice", rule="V1")
        if min(first) < 0:
            warn("V7", method, f"answered {first}: a tactic that is negative")
        return tuple(first)

    def format_combination_limit(self) -> int:
        """How many combinations TensorRT may try, at least one (V5)."""
        limit = self.native.format_combination_limit()
        if limit < 1:
            warn("V5", build_name("getFormatCombinationLimit"), f"answered {limit}, so that nothing would be tried")
        return limit

    def stable_texts(self) -> tuple[str | None, str | None]:
        """getTimingCacheID and getMetadataString, the same when asked again (V3)."""
        found = []
        for method, ask in (
            ("getTimingCacheID", self.native.timing_cache_id),
            ("getMetadataString", self.native.metadata_string),
        ):
            first, second = ask(), ask()
            if first != second:
                message = f"answered {first!r}, and {second!r} when asked again"
                raise Finding(build_name(method), message, rule="V3")
            found.append(first)
        return found[0], found[1]

    @property
    def has_aliases(self) -> bool:
        """Whether it is asked for them, as an IPluginV3OneBuildV2 is."""
        return (self._build_major or 0) > 1

    def aliases(self, nb_inputs: int, nb_outputs: int) -> tuple[int | None, ...]:
        """For each output the input whose memory it shares, None for its own (V4). Only IPluginV3OneBuildV2 has any."""
        if self._build_major is None:
            raise HostBug("aliases were asked for before the capabilities")
        if self._build_major < 2:
            return (None,) * nb_outputs
        method = "IPluginV3OneBuildV2::getAliasedInput"
        found = [self.native.aliased_input(index) for index in range(nb_outputs)]
        for output, index in enumerate(found):
            if not -1 <= index < nb_inputs:
                message = f"answered {index} for output {output}, expected -1 to {nb_inputs - 1}"
                raise Finding(method, message, rule="V4")
            if index != -1 and found.count(index) > 1:
                message = f"answered input {index} for two outputs: an input has one output at most"
                raise Finding(method, message, rule="V4")
        return tuple(None if index == -1 else index for index in found)

    def set_tactic(self, tactic: int) -> None:
        """The tactic of the enqueues to come; expects 0 (V2)."""
        code = self.native.set_tactic(tactic)
        if code != 0:
            message = f"answered {code} for the tactic {tactic}, expected 0"
            raise Finding(runtime_name("setTactic"), message, rule="V2")

    def on_shape_change(self, inputs: Sequence[Desc], outputs: Sequence[Desc]) -> None:
        """Passes it the shapes of the enqueues to come; another answer than 0 is a warning (V6)."""
        code = self.native.on_shape_change([d.native() for d in inputs], [d.native() for d in outputs])
        if code != 0:
            warn("V6", runtime_name("onShapeChange"), f"answered {code}, which no header gives a meaning")

    def enqueue(
        self,
        inputs: Sequence[Desc],
        outputs: Sequence[Desc],
        *,
        in_addresses: Sequence[int],
        out_addresses: Sequence[int],
        workspace: int,
        stream: int,
        times: int = 1,
    ) -> None:
        """Expects 0 (E1). Addresses are of host memory for target cpu, else of the GPU's."""
        code = self.native.enqueue(
            [d.native() for d in inputs],
            [d.native() for d in outputs],
            in_addresses,
            out_addresses,
            workspace,
            stream,
            times,
        )
        _expect_zero(runtime_name("enqueue"), code, rule="E1")

    def fields_to_serialize(self) -> tuple[KeptField, ...]:
        """What an engine keeps of it; nothing where it answers null (S8); the same when asked again (S11)."""
        first, second = self._fields_to_serialize(), self._fields_to_serialize()
        if first != second:
            warn(
                "S11",
                runtime_name("getFieldsToSerialize"),
                f"{difference(first, second)} when asked again: do fields and data live as long as the plugin?",
            )
        return first

    def _fields_to_serialize(self) -> tuple[KeptField, ...]:
        method = runtime_name("getFieldsToSerialize")
        answer = self.native.fields_to_serialize()
        if answer is None:
            warn("S8", method, "answered null, which some take for an empty PluginFieldCollection: answer that")
            return ()
        count, fields = answer
        if count < 0 or (count > 0 and fields is None):
            message = f"nbFields is {count} and fields is {'null' if fields is None else 'set'}"
            raise Finding(method, message, rule="S10")
        found: list[KeptField] = []
        for name, kind, length, data in fields or []:
            if length < 0 or (length > 0 and data is None):
                message = f"field {name!r} has length {length} and {'no' if data is None else 'some'} data"
                raise Finding(method, message, rule="S10")
            found.append(KeptField(name or "", kind, length, data or b""))
        check_fields(method, [(name, kind) for name, kind, _, _ in fields or []])
        return tuple(found)

    def clone(self, capabilities: Sequence[Capability]) -> PluginV3:
        """A copy with the same identity, outputs and fields to serialize, and at least these capabilities (L1, L9)."""
        method = "IPluginV3::clone"
        copy = PluginV3(must(method, self.native.clone(), "a plugin", rule="L1"))
        copy.check_capabilities(capabilities)
        self._check_same(copy, method, "the clone", capabilities, rule="L1")
        return copy

    def attach_to_context(self, capabilities: Sequence[Capability]) -> PluginV3:
        """A new, entire plugin for a context (L10). Its resources are a context without allocator and recorder."""
        method = runtime_name("attachToContext")
        native, same = self.native.attach_to_context()
        if same:
            raise Finding(
                method,
                "answered the plugin itself, expected a new one: each context owns its own",
                rule="L10",
                hint="return clone() where the context's resources are not needed.",
            )
        attached = PluginV3(must(method, native, "a plugin", rule="L10"))
        attached.check_capabilities(capabilities)
        self._check_same(attached, method, "the attached plugin", capabilities, rule="L10")
        return attached

    def _check_same(
        self, other: PluginV3, method: str, what: str, capabilities: Sequence[Capability], *, rule: str
    ) -> None:
        if other.identity() != self.identity():
            raise Finding(method, f"{what} is {other.identity()}, the original {self.identity()}", rule=rule)
        if "kBUILD" in capabilities:
            mine, its = self.nb_outputs(), other.nb_outputs()
            if mine != its:
                raise Finding(method, f"{what}'s getNbOutputs answers {its}, the original's {mine}", rule=rule)
        mine_kept, its_kept = self.fields_to_serialize(), other.fields_to_serialize()
        if mine_kept != its_kept:
            message = f"{what} serializes otherwise than the original: {difference(mine_kept, its_kept)}"
            raise Finding(method, message, rule=rule)

    def destroy(self) -> None:
        """Deletes it, and reports what it did with expressions behind the host's back."""
        native = self.native
        native.destroy()
        self._raw = None
        faults = native.shape_faults()
        if faults:
            raise Finding(build_name("getOutputShapes"), faults[0], rule="T12")


PLUGIN = PluginV3


def _expect_zero(method: str, code: int, *, rule: str) -> None:
    if code != 0:
        raise Finding(method, f"answered {code}, expected 0", rule=rule)


def check_fields(method: str, fields: Sequence[tuple[str | None, int]]) -> None:
    """Warnings names that are null, empty or there twice, and types that no header has (F2); of (name, type)."""
    names = [name for name, _ in fields]
    for i, (name, kind) in enumerate(fields):
        if not name:
            warn("F2", method, f"field {i} has {'a null' if name is None else 'an empty'} name")
        elif names.index(name) < i:
            warn("F2", method, f"there are two fields named {name!r}")
        if not 0 <= kind < len(field_types.NAMES):
            warn("F2", method, f"field {name!r} has the type {kind}, which is not a PluginFieldType")


def difference(first: Sequence[KeptField], second: Sequence[KeptField]) -> str:
    """A description of the first field that differs."""
    if [f.name for f in first] != [f.name for f in second]:
        return f"fields {[f.name for f in first]} are {[f.name for f in second]}"
    a, b = next((a, b) for a, b in zip(first, second, strict=True) if a != b)
    before, after = (field_types.decode(one.type, one.data) for one in (a, b))
    if isinstance(before, tuple) and isinstance(after, tuple) and (a.type, a.length, b.length) == (b.type, 1, 1):
        return f"field '{a.name}' is {after[0]:.9g}, and was {before[0]:.9g}"
    return (
        f"field {a.name!r} of {len(a.data)} bytes {a.data[:32].hex()} has the {len(b.data)} bytes {b.data[:32].hex()}"
    )
