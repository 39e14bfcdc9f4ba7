"""The parts of a `pluginkit.toml`: plugin, tensors, fields, profiles, tolerances; each valid by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr
from typing_extensions import Self

from pluginkit import bases, shapes
from pluginkit.dtypes import PRECISIONS, REFUSED, DType
from pluginkit.errors import UsageError
from pluginkit.formats import DLA_ONLY, Format
from pluginkit.layouts import BEFORE_V3, DEFAULT_TARGETS, Layout, LayoutNumber, TargetName
from pluginkit.manifest import bench_section, open_ranks
from pluginkit.manifest.fields import Attribute
from pluginkit.manifest.mistakes import toml, unknown
from pluginkit.manifest.open_ranks import REST
from pluginkit.manifest.tuning.section import TuningSection

MAX_DIMS = 8
"""`nvinfer1::Dims::MAX_DIMS`."""
MAX_NAME = 1023
"""Bytes of a plugin's name, version or namespace: TensorRT's headers promise 1024 with the closing zero
(NvInferRuntimePlugin.h, IPluginCreator; NvInferRuntimeCommon.h, IPluginRegistry)."""
MAX_TENSOR_NAME = 4095
"""Bytes of a tensor's name: 4096 with the closing zero (NvInfer.h, ITensor::setName). A field's has no limit there."""

PARSER_ATTRIBUTES = ("plugin_version", "plugin_namespace", "tensorrt_plugin_shape_input_indices")
"""Attributes of a plugin's node that NVIDIA's parser reads itself, so that no field can be called so."""

Point = Literal["min", "opt", "max"]


def _type(value: object) -> object:
    if isinstance(value, str) and value in REFUSED:
        raise ValueError(f"no type of a plugin's tensor: {REFUSED[value]}")
    if isinstance(value, str) and value not in [kind.value for kind in DType]:
        raise ValueError(unknown("type", value, [kind.value for kind in DType]))
    return value


def _base(value: object) -> object:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"must be one base, or {bases.written(bases.BOTH)} (got {toml(value)})")
    for name in names:
        if name not in bases.BASES:
            raise ValueError(unknown("base", name, list(bases.BASES)))
    if len(names) > 1 and sorted(names) != sorted(bases.BOTH):
        raise ValueError(f"must be one base, or {bases.written(bases.BOTH)} (got {toml(names)})")
    return tuple(name for name in bases.BASES if name in names)


def _format(value: object) -> object:
    if value in DLA_ONLY:
        raise ValueError(f"the format '{value}' is for DLA cores, which run no plugins")
    if isinstance(value, str) and value not in [one.value for one in Format]:
        raise ValueError(unknown("format", value, [one.value for one in Format]))
    return value


ElementType = Annotated[DType, BeforeValidator(_type)]
TensorFormat = Annotated[Format, BeforeValidator(_format)]


def _dim(value: object) -> object:
    if type(value) not in {int, str}:
        raise ValueError(f"must be a symbol, an expression or a whole number (got {toml(value)})")
    return str(value)


def _axis(value: object) -> object:
    if value is not None and (type(value) is not int or not 0 <= value < MAX_DIMS):
        raise ValueError(f"must be the number of a dimension, from 0 (got {toml(value)})")
    return value


def _workspace(value: object) -> object:
    if type(value) not in {int, str}:
        raise ValueError(f"must be an expression or a whole number, in bytes (got {toml(value)})")
    return str(value)


def _bound(value: object) -> object:
    return value if value is None else _dim(value)


def _range(value: object) -> object:
    if not isinstance(value, (list, tuple)) or len(value) != 3 or any(type(size) is not int for size in value):
        raise ValueError(f"must be [min, opt, max], three whole numbers (got {toml(value)})")
    return value


def _reason(value: object) -> object:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be a text that says why the check is switched off (got {toml(value)})")
    return value


Dim = Annotated[str, BeforeValidator(_dim)]
Reason = Annotated[str, BeforeValidator(_reason)]
"""Why a check of `pluginkit check` is switched off, by its id."""
Range = Annotated[tuple[int, int, int], BeforeValidator(_range)]


class _SectionModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class Plugin(_SectionModel):
    """What TensorRT finds the plugin by, and which interface it is written against.

    Attributes:
        interfaces: one base; or two, of which each TensorRT takes the last that it has.
        workspace: an expression as an output's dimension is: the bytes of scratch memory that a run needs.
    """

    name: str
    version: str = "1"
    namespace: str = ""
    interfaces: Annotated[tuple[bases.Name, ...], BeforeValidator(_base)] = Field(("dynamic",), alias="base")
    description: str = ""
    workspace: Annotated[str, BeforeValidator(_workspace)] | None = None

    @property
    def base(self) -> bases.Name:
        """The interface with TensorRT 10 and later, and TensorRT-RTX."""
        return self.interfaces[-1]

    def base_in(self, layout: Layout) -> bases.Name | None:
        """The interface in a layout; None where that has none of them."""
        fits = [name for name in self.interfaces if layout.has_v3 or bases.BASES[name].generation == "v2"]
        return fits[-1] if fits else None

    @property
    def shown(self) -> str:
        """Its interfaces, for people."""
        *before, last = (bases.BASES[name].interface for name in self.interfaces)
        return f"{last}, and with TensorRT {BEFORE_V3.number} an {before[0]}" if before else last


class Tensor(_SectionModel):
    """An input or output.

    Attributes:
        scale: the float32 field that carries its INT8 or FP8 scale, or a list with the scale of each channel.
        scale_axis: of a list, the dimension that it has an element for each of.
        alias: of an output, the input whose memory it is written into (IPluginV3OneBuildV2::getAliasedInput).
        upper: of an output that is a size tensor, its upper bound, an expression; other outputs' shapes may have its
            name (IExprBuilder::declareSizeTensor).
        opt: the value of a size tensor that TensorRT optimizes for, an expression; None: the upper bound.
        valid: of an output, the output that says how many of its rows mean something, from the first on.
        values: of an input that is a shape input, its elements: symbols, with values by the profiles, and whole
            numbers (INetworkDefinition::addPluginV3).
    """

    name: str
    types: tuple[ElementType, ...]
    shape: tuple[Dim, ...] = Field(max_length=MAX_DIMS)
    formats: tuple[TensorFormat, ...] = (Format.LINEAR,)
    scale: str | None = None
    scale_axis: Annotated[int | None, BeforeValidator(_axis)] = None
    alias: str | None = None
    upper: Annotated[str | None, BeforeValidator(_bound)] = None
    opt: Annotated[str | None, BeforeValidator(_bound)] = None
    valid: str | None = None
    values: tuple[Dim, ...] | None = None

    @property
    def is_shape_input(self) -> bool:
        """Whether getOutputShapes gets its values, and no other method the tensor."""
        return self.values is not None

    def elements(self, env: shapes.Values) -> tuple[int, ...]:
        """The elements of a shape input, each symbol having the value that `env` gives it.

        Raises:
            UsageError: as `pluginkit.shapes.evaluate`.
        """
        return tuple(shapes.evaluate(shapes.parse(value), env) for value in self.values or ())

    def dims(self, env: shapes.Values) -> tuple[int, ...]:
        """The shape, each symbol having the value that `env` gives it; each field too, before `with_fields`.

        Raises:
            UsageError: as `pluginkit.shapes.evaluate`.
        """
        exprs = [shapes.parse(dim) for dim in self.shape]
        return tuple(shapes.evaluate(expr, env) for expr in exprs if shapes.exists(expr, env))

    def names(self) -> tuple[str, ...]:
        """The symbols, fields and size tensors in its shape, bounds and elements, in the order of their first use."""
        dims = [*self.shape, *(bound for bound in (self.upper, self.opt) if bound is not None), *(self.values or ())]
        return tuple(dict.fromkeys(name for dim in dims for name in shapes.symbols(shapes.parse(dim))))

    def folded(self, env: shapes.Values) -> Self:
        """The tensor with numbers in the place of some names of its shape, without dimensions that there aren't then.

        Raises:
            UsageError: as `pluginkit.shapes.fold`.
        """
        exprs = [shapes.parse(dim) for dim in self.shape]
        # A condition of numbers alone chooses too.
        if env.keys().isdisjoint(self.names()) and not any(True for expr in exprs for _ in shapes.conditions(expr)):
            return self
        found = [shapes.fold(expr, env) for expr in exprs]
        changed: dict[str, Any] = {"shape": tuple(shapes.render(one) for one in found if one is not None)}
        for key, bound in (("upper", self.upper), ("opt", self.opt)):
            number = None if bound is None else shapes.fold(shapes.parse(bound), env)
            changed[key] = bound if number is None else shapes.render(number)
        if self.values is not None:
            elements = [shapes.fold(shapes.parse(value), env) for value in self.values]
            changed["values"] = tuple(shapes.render(one) for one in elements if one is not None)
        return self.model_copy(update=changed)


class Profile(_SectionModel):
    """An optimization profile: `[min, opt, max]` of each symbol."""

    name: str = "default"
    symbols: dict[str, Range]

    def at(self, point: Point) -> dict[str, int]:
        """The symbols' values at `"min"`, `"opt"` or `"max"`."""
        index = ("min", "opt", "max").index(point)
        return {name: values[index] for name, values in self.symbols.items()}


class Close(_SectionModel):
    """A floating-point tolerance: `|got - expected| <= max(atol, rtol * |expected|)`."""

    rtol: float = Field(ge=0)
    atol: float = Field(ge=0)


class Steps(_SectionModel):
    """A tolerance of a quantized output: in INT8 in steps of its scale, in FP8 in numbers that FP8 has."""

    steps: int = Field(ge=0)


class Tolerances(_SectionModel):
    """Tolerances by precision; the others follow from the type (see `docs/testing.md`)."""

    float32: Close | None = None
    float16: Close | None = None
    bfloat16: Close | None = None
    int8: Steps | None = None
    float8: Steps | None = None


class Test(_SectionModel):
    """How the plugin is tested.

    Attributes:
        strict: a warning is a failure, as with `pluginkit test --strict`.
        special: the values for which the layer is defined: what comes of them is compared with reference().
    """

    strict: bool = False
    special: tuple[Literal["nan", "infinity"], ...] = ()


class LibrarySection(_SectionModel):
    """A library that another build makes. Without this section `pluginkit build` makes it.

    Attributes:
        path: of the library, relative to the folder of `pluginkit.toml`.
        command: builds it; run by a shell in that folder before each test. Empty: the library is taken as it is.
        layout: the only major version of TensorRT that it can be loaded by: the host is that one, and NVIDIA's
            registries of others are not asked. Without it the library is for TensorRT 10 and 11.
    """

    path: str
    command: str = ""
    layout: LayoutNumber | None = None


class BuildSection(_SectionModel):
    """What `pluginkit build` builds.

    Attributes:
        target: as its `--target`, which goes before it.
        layouts: the major versions of TensorRT whose plugin classes the library holds besides 10's and 11's; empty: 8
            where an SDK of it is found.
    """

    target: Literal["auto", "cpu", "gpu", "all"] = "auto"
    layouts: tuple[LayoutNumber, ...] = ()


class TargetsSection(_SectionModel):
    """Which TensorRT the plugin is for.

    Attributes:
        tensorrt: of `layouts.TARGETS`; a command's `--for` goes before it.
    """

    tensorrt: tuple[TargetName, ...] = Field(DEFAULT_TARGETS, min_length=1)


class ManifestModel(_SectionModel):
    """The content of a `pluginkit.toml`, each part valid by itself. One that keeps all rules is a `Manifest`."""

    plugin: Plugin
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    fields: tuple[Attribute, ...] = ()
    profiles: tuple[Profile, ...]
    tolerances: Tolerances = Tolerances()
    test: Test = Test()
    build: BuildSection = BuildSection()
    targets: TargetsSection = TargetsSection()
    library: LibrarySection | None = None
    bench: bench_section.BenchSection = bench_section.BenchSection()
    tuning: TuningSection = TuningSection()
    checks: dict[str, Reason] = {}
    _written: dict[str, tuple[str, ...]] = PrivateAttr(default_factory=dict)
    _others: tuple[Any, ...] = PrivateAttr(())
    _sized: frozenset[str] = PrivateAttr(frozenset())

    def of_ranks(self, content: Mapping[str, Any], others: Sequence[Self]) -> Self:
        """The signature, which knows its shapes as they are written, and itself with other ranks."""
        tables = [*content["inputs"], *content["outputs"]]
        if not any(REST in one["shape"] for one in tables):
            return self
        for one in (self, *others):
            one._written = {table["name"]: tuple(str(dim) for dim in table["shape"]) for table in tables}
        self._others = tuple(others)
        return self

    @property
    def named_targets(self) -> tuple[TargetName, ...]:
        """The TensorRTs that the file names in `[targets]`; none where it has no such section."""
        return self.targets.tensorrt if "targets" in self.model_fields_set else ()

    def for_targets(self, names: Sequence[TargetName]) -> Self:
        """The plugin for other TensorRTs than pluginkit.toml says; itself where none is named."""
        return self.model_copy(update={"targets": TargetsSection(tensorrt=tuple(names))}) if names else self

    def in_layout(self, layout: Layout) -> Self:
        """The plugin as it is in a layout: with the interface that it has there."""
        base = self.plugin.base_in(layout)
        if base is None or self.plugin.interfaces == (base,):
            return self
        found = self.model_copy(update={"plugin": self.plugin.model_copy(update={"interfaces": (base,)})})
        found._others = tuple(one.in_layout(layout) for one in self._others)
        return found

    @property
    def is_open(self) -> bool:
        """Whether some tensor has any number of dimensions: `"..."` in its shape."""
        return bool(self._written)

    def written(self, tensor: Tensor) -> tuple[str, ...]:
        """A tensor's shape as `pluginkit.toml` has it, `"..."` too."""
        return self._written.get(tensor.name, tensor.shape)

    def ranked(self) -> tuple[Self, ...]:
        """The signature once for each number of dimensions that its profiles give `"..."`; itself is the first."""
        return (self, *self._others)

    def like(self, ranks: Sequence[int | None]) -> Self:
        """The signature of any rank with the number of dimensions that the inputs have; None where it isn't known.

        One that no profile has is made without profiles. Itself, if its ranks are fixed or the inputs fit none.
        """
        for one in self.ranked():
            if all(rank in (None, len(tensor.shape)) for rank, tensor in zip(ranks, one.inputs, strict=False)):
                return one
        pairs = zip(ranks, self.inputs, strict=False)
        counts = [rank - len(self.written(t)) + 1 for rank, t in pairs if rank is not None and REST in self.written(t)]
        if not counts or counts[0] < 0:
            return self
        taken = {name for shape in self._written.values() for name in shape}
        taken |= {one.name for one in (*self.inputs, *self.outputs)} | {field.name for field in self.fields}
        taken |= self.value_symbols()
        rest = open_ranks.symbols(taken, counts[0])

        def at(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            made = [open_ranks.replaced(self.written(tensor), rest) for tensor in tensors]
            return tuple(t.model_copy(update={"shape": shape}) for t, shape in zip(tensors, made, strict=True))

        return self.model_copy(update={"inputs": at(self.inputs), "outputs": at(self.outputs), "profiles": ()})

    @property
    def slug(self) -> str:
        """The name in snake_case: folder, library and C++ namespace."""
        return slug(self.plugin.name)

    def precisions(self) -> tuple[DType, ...]:
        """The precisions that some input declares, FP32 first."""
        declared = {kind for tensor in self.inputs for kind in tensor.types}
        return tuple(kind for kind in PRECISIONS if kind in declared)

    @staticmethod
    def type_of(tensor: Tensor, precision: DType) -> DType:
        """The tensor's type at a precision: that one if it declares it, else its first."""
        return precision if precision in tensor.types else tensor.types[0]

    def layouts(self, precision: DType) -> tuple[Format, ...]:
        """The formats that some tensor has at a precision, in the order of `Format`."""
        tensors = (*self.inputs, *self.outputs)
        found = {one for t in tensors for one in t.formats if self.type_of(t, precision) in one.types}
        return tuple(one for one in Format if one in found)

    @staticmethod
    def format_of(tensor: Tensor, kind: DType, layout: Format) -> Format:
        """The tensor's format at a layout: that one if it declares it for the type, else its first for the type."""
        fitting = [one for one in tensor.formats if kind in one.types]
        return layout if layout in fitting else fitting[0]

    def shape_inputs(self) -> tuple[Tensor, ...]:
        """The inputs whose values are for getOutputShapes."""
        return tuple(tensor for tensor in self.inputs if tensor.is_shape_input)

    def execution_inputs(self) -> tuple[Tensor, ...]:
        """The inputs that every method but getOutputShapes knows alone: all that are not shape inputs."""
        return tuple(tensor for tensor in self.inputs if not tensor.is_shape_input)

    def value_symbols(self) -> frozenset[str]:
        """The symbols that are elements of shape inputs and no dimension of an input: getOutputShapes alone knows
        them."""
        dims = {dim for tensor in self.inputs for dim in tensor.shape}
        elements = {name for tensor in self.shape_inputs() for name in tensor.names()}
        return frozenset(elements - dims)

    def symbols(self) -> tuple[str, ...]:
        """The symbols of the inputs' shapes, and of shape inputs' elements, in the order of their first use."""
        return tuple(dict.fromkeys(name for tensor in self.inputs for name in tensor.names()))

    def shape_fields(self) -> tuple[Attribute, ...]:
        """The fields that outputs' shapes depend on. A name that a symbol has too is the symbol's."""
        return self._fields_of(name for tensor in self.outputs for name in tensor.names())

    def _fields_of(self, names: Iterable[str]) -> tuple[Attribute, ...]:
        used = set(names) - set(self.symbols())
        return tuple(field for field in self.fields if field.name in used)

    def with_fields(self, values: Mapping[str, Any]) -> Self:
        """The signature with numbers in the place of the fields in its outputs' shapes.

        Args:
            values: the fields' values, those of other fields too. One that is missing has its default, or 1.

        Raises:
            UsageError: a shape divides by zero or overflows then, or a list lacks an element of it.
        """
        env = self.shape_values(values)
        outputs = tuple(tensor.folded(env) for tensor in self.outputs)
        if all(one is other for one, other in zip(outputs, self.outputs, strict=True)):
            return self
        return self.model_copy(update={"outputs": outputs})

    def shape_values(self, values: Mapping[str, Any]) -> dict[str, int | tuple[int, ...]]:
        """What `shape_fields` are worth: as of `field_values`."""
        return self.field_values(self.shape_fields(), values)

    @staticmethod
    def field_values(fields: Sequence[Attribute], values: Mapping[str, Any]) -> dict[str, int | tuple[int, ...]]:
        """What integer fields are worth: one that is not in `values` its default, or 1; a list its elements."""
        found: dict[str, int | tuple[int, ...]] = {}
        for field in fields:
            if field.is_list:
                found[field.name] = tuple(map(int, values.get(field.name, field.example({}))))
            else:
                found[field.name] = int(values.get(field.name, 1 if field.default is None else field.default))
        return found

    def workspace_fields(self) -> tuple[Attribute, ...]:
        """The fields that the workspace depends on."""
        return self._fields_of(shapes.symbols(shapes.parse(self.plugin.workspace or 0)))

    def workspace_bytes(self, values: Mapping[str, Any], env: Mapping[str, int]) -> int:
        """What a run needs as workspace, in bytes; 0 where the manifest says none.

        Args:
            values: the fields' values, as of `with_fields`.
            env: the symbols' values.

        Raises:
            UsageError: as `pluginkit.shapes.evaluate`.
        """
        expr = shapes.parse(self.plugin.workspace or 0)
        return shapes.evaluate(expr, {**self.field_values(self.workspace_fields(), values), **env})

    def size_tensors(self) -> tuple[Tensor, ...]:
        """The outputs that carry a size that only enqueue knows."""
        return tuple(tensor for tensor in self.outputs if tensor.upper is not None)

    def is_sized(self, tensor: Tensor) -> bool:
        """Whether an output has a dimension that only enqueue knows."""
        return tensor.name in self._sized or not {one.name for one in self.size_tensors()}.isdisjoint(tensor.names())

    def bounded(self) -> Self:
        """The signature with size tensors' upper bounds in the place of their names; `is_sized` is as before."""
        sizes = {tensor.name: shapes.parse(tensor.upper) for tensor in self.outputs if tensor.upper is not None}
        sized = frozenset(tensor.name for tensor in self.outputs if self.is_sized(tensor))
        if not sized:
            return self

        def at(tensor: Tensor) -> Tensor:
            dims = (shapes.render(shapes.substituted(shapes.parse(dim), sizes)) for dim in tensor.shape)
            return tensor.model_copy(update={"shape": tuple(dims)})

        found = self.model_copy(update={"outputs": tuple(map(at, self.outputs))})
        found._sized = sized
        return found

    def upper_bounds(self, env: shapes.Values) -> dict[str, int]:
        """The largest value of each size tensor at the symbols' values."""
        return {
            tensor.name: shapes.evaluate(shapes.parse(tensor.upper), env)
            for tensor in self.outputs
            if tensor.upper is not None
        }

    def possible(self, env: Mapping[str, int]) -> bool:
        """Whether the outputs have shapes at the symbols' values: none that divides by zero, or is below 0."""
        try:
            return all(size >= 0 for sizes in self.output_shapes(env).values() for size in sizes)
        except UsageError:
            return False

    def aliased(self, tensor: Tensor) -> bool:
        """Whether an output is written into an input's memory."""
        return any(output.alias == tensor.name for output in self.outputs)

    def input_shapes(self, env: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """Each input's shape at the symbols' values."""
        return {tensor.name: tensor.dims(env) for tensor in self.inputs}

    def output_shapes(self, env: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """Each output's shape at the symbols' values; a size tensor that `env` doesn't have is its upper bound."""
        known = {**self.upper_bounds(env), **env}
        return {tensor.name: tensor.dims(known) for tensor in self.outputs}

    def static(self) -> tuple[Self, ...]:
        """The signature as it is tested: itself, or one for each profile with numbers for symbols if its base has
        static shapes.
        """
        if bases.BASES[self.plugin.base].dynamic_shapes:
            return (self,)
        return tuple(self._at(profile) for profile in self.profiles)

    def _at(self, profile: Profile) -> Self:
        return self.with_constants(profile.at("opt"), (profile,))

    def with_constants(self, env: Mapping[str, int], profiles: Sequence[Profile]) -> Self:
        """The signature with numbers in the place of some symbols, in other profiles."""

        def at(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return tuple(tensor.folded(env) for tensor in tensors)

        changed: dict[str, Any] = {"inputs": at(self.inputs), "outputs": at(self.outputs), "profiles": tuple(profiles)}
        if self.plugin.workspace is not None:
            left = shapes.fold(shapes.parse(self.plugin.workspace), env)
            text = None if left is None else shapes.render(left)
            changed["plugin"] = self.plugin.model_copy(update={"workspace": text})
        return self.model_copy(update=changed)

    def batch(self) -> str | None:
        """The symbol that is the first dimension of every tensor and no other: what can be an implicit batch."""
        firsts = {tensor.shape[:1] for tensor in (*self.inputs, *self.outputs)}
        if len(firsts) != 1 or firsts == {()}:
            return None
        ((symbol,),) = firsts
        rest = [dim for tensor in (*self.inputs, *self.outputs) for dim in tensor.shape[1:]]
        used = {name for dim in rest for name in shapes.symbols(shapes.parse(dim))}
        return symbol if symbol in self.symbols() and symbol not in used else None

    def scale_fields(self) -> set[str]:
        """The names of the fields that carry scales."""
        return {tensor.scale for tensor in (*self.inputs, *self.outputs) if tensor.scale}

    def plain_fields(self) -> tuple[Attribute, ...]:
        """The fields that carry no scale: those that `reference()` gets."""
        scales = self.scale_fields()
        return tuple(field for field in self.fields if field.name not in scales)


def slug(name: str) -> str:
    """`MyPlugin` -> `my_plugin`, `RMSNorm2d` -> `rms_norm2d`."""
    split = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", split).lower()
