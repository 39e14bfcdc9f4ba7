"""`pluginkit.toml`: the one place where a plugin's signature is written.

The test networks, their shapes, the tolerances and the generated code all come from what stands here.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from pluginkit import bases, bench_section, shapes, signature_rules
from pluginkit.dtypes import PRECISIONS, DType
from pluginkit.errors import UsageError
from pluginkit.formats import DLA_ONLY, Format
from pluginkit.manifest_errors import explain, toml, unknown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE_NAME = "pluginkit.toml"
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
    if isinstance(value, str) and value not in [kind.value for kind in DType]:
        raise ValueError(unknown("type", value, [kind.value for kind in DType]))
    return value


def _base(value: object) -> object:
    if isinstance(value, str) and value not in bases.BASES:
        raise ValueError(unknown("base", value, list(bases.BASES)))
    return value


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


def _range(value: object) -> object:
    if not isinstance(value, (list, tuple)) or len(value) != 3 or any(type(size) is not int for size in value):
        raise ValueError(f"must be [min, opt, max], three whole numbers (got {toml(value)})")
    return value


def _number(value: object) -> object:
    # pydantic would take true for 1, and "2" for 2.
    if value is not None and type(value) not in {int, float}:
        raise ValueError(f"must be a number (got {toml(value)})")
    return value


Dim = Annotated[str, BeforeValidator(_dim)]
Range = Annotated[tuple[int, int, int], BeforeValidator(_range)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class Plugin(_Model):
    """What TensorRT finds the plugin by, and which interface it is written against."""

    name: str
    version: str = "1"
    namespace: str = ""
    base: Annotated[bases.Name, BeforeValidator(_base)] = "dynamic"
    description: str = ""


class Tensor(_Model):
    """An input or output. `scale` names the float32 field that carries its INT8 scale."""

    name: str
    types: tuple[ElementType, ...]
    shape: tuple[Dim, ...] = Field(max_length=MAX_DIMS)
    formats: tuple[TensorFormat, ...] = (Format.LINEAR,)
    scale: str | None = None

    def dims(self, env: Mapping[str, int]) -> tuple[int, ...]:
        """The shape, each symbol having the value that `env` gives it."""
        return tuple(shapes.evaluate(shapes.parse(dim), env) for dim in self.shape)


class Attribute(_Model):
    """A field of the plugin's creator: an attribute of the ONNX node. No default means that it must be given."""

    name: str
    type: Literal["float32", "int32"]
    default: Annotated[int | float | None, BeforeValidator(_number)] = None
    description: str = ""

    @property
    def dtype(self) -> DType:
        """The field's type: `PluginFieldType::kFLOAT32` or `kINT32`."""
        return DType(self.type)


class Profile(_Model):
    """An optimization profile: `[min, opt, max]` of each symbol."""

    name: str = "default"
    symbols: dict[str, Range]

    def at(self, point: Point) -> dict[str, int]:
        """The symbols' values at `"min"`, `"opt"` or `"max"`."""
        index = ("min", "opt", "max").index(point)
        return {name: values[index] for name, values in self.symbols.items()}


class Close(_Model):
    """A floating-point tolerance: `|got - expected| <= max(atol, rtol * |expected|)`."""

    rtol: float = Field(ge=0)
    atol: float = Field(ge=0)


class Steps(_Model):
    """An INT8 tolerance, in quantization steps of the output's scale."""

    steps: int = Field(ge=0)


class Tolerances(_Model):
    """Tolerances by precision; what is not said follows from the type (see `docs/testing.md`)."""

    float32: Close | None = None
    float16: Close | None = None
    bfloat16: Close | None = None
    int8: Steps | None = None


class Test(_Model):
    """How the plugin is tested. `strict`: a warning is a failure, as with `pluginkit test --strict`."""

    strict: bool = False


class Manifest(_Model):
    """A plugin's signature. Made by `Manifest.load` or `Manifest.parse`."""

    plugin: Plugin
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    fields: tuple[Attribute, ...] = ()
    profiles: tuple[Profile, ...]
    tolerances: Tolerances = Tolerances()
    test: Test = Test()
    bench: bench_section.Bench = bench_section.Bench()

    @classmethod
    def load(cls, path: Path) -> Manifest:
        """Read a `pluginkit.toml`, or the one in the folder `path`.

        Raises:
            UsageError: no such file, no TOML, or a signature that makes no sense; it names the line or the key.
        """
        file = path if path.is_file() or path.name == FILE_NAME else path / FILE_NAME
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise UsageError(
                f"There is no {FILE_NAME} in {file.parent.resolve()}.",
                hint="Go to a plugin project's folder, or make one: pluginkit new MyPlugin",
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from None
        return cls.parse(text, str(file))

    @classmethod
    def parse(cls, text: str, where: str = FILE_NAME) -> Manifest:
        """Read the text of a `pluginkit.toml`; `where` names it in errors.

        Raises:
            UsageError: as `load`.
        """
        try:
            return cls.model_validate(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{where} is not valid TOML: {error}.") from None
        except ValidationError as error:
            raise UsageError(f"{where}:\n" + "\n".join(f"  {line}" for line in explain(error, cls))) from None

    @model_validator(mode="after")
    def _consistent(self) -> Manifest:
        for problem in _problems(self):
            raise ValueError(problem)
        return self

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

    def symbols(self) -> tuple[str, ...]:
        """The symbols of the inputs' shapes, in the order of their first use."""
        return tuple(
            dict.fromkeys(s for t in self.inputs for dim in t.shape for s in shapes.symbols(shapes.parse(dim)))
        )

    def input_shapes(self, env: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """Each input's shape at the symbols' values."""
        return {tensor.name: tensor.dims(env) for tensor in self.inputs}

    def output_shapes(self, env: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """Each output's shape at the symbols' values."""
        return {tensor.name: tensor.dims(env) for tensor in self.outputs}

    def static(self) -> tuple[Manifest, ...]:
        """The signature as it is tested: itself, or one for each profile with numbers for symbols if its base has
        static shapes.
        """
        if bases.BASES[self.plugin.base].dynamic_shapes:
            return (self,)
        return tuple(self._at(profile) for profile in self.profiles)

    def _at(self, profile: Profile) -> Manifest:
        return self.with_constants(profile.at("opt"), (profile,))

    def with_constants(self, env: Mapping[str, int], profiles: Sequence[Profile]) -> Manifest:
        """The signature with numbers in the place of some symbols, in other profiles."""

        def fixed(dim: str) -> str:
            number = re.sub(r"[A-Za-z_]\w*(?!\w*\s*\()", lambda name: str(env.get(name[0], name[0])), dim)
            return number if shapes.symbols(shapes.parse(number)) else str(shapes.evaluate(shapes.parse(number), {}))

        def at(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return tuple(tensor.model_copy(update={"shape": tuple(map(fixed, tensor.shape))}) for tensor in tensors)

        changed = {"inputs": at(self.inputs), "outputs": at(self.outputs), "profiles": tuple(profiles)}
        return self.model_copy(update=changed)

    def batch(self) -> str | None:
        """The symbol that is the first dimension of every tensor and no other: what can stand beside the shapes."""
        firsts = {tensor.shape[:1] for tensor in (*self.inputs, *self.outputs)}
        if len(firsts) != 1 or firsts == {()}:
            return None
        ((symbol,),) = firsts
        rest = [dim for tensor in (*self.inputs, *self.outputs) for dim in tensor.shape[1:]]
        used = {name for dim in rest for name in shapes.symbols(shapes.parse(dim))}
        return symbol if symbol in self.symbols() and symbol not in used else None

    def scale_fields(self) -> set[str]:
        """The names of the fields that carry INT8 scales."""
        return {tensor.scale for tensor in (*self.inputs, *self.outputs) if tensor.scale}


def slug(name: str) -> str:
    """`MyPlugin` -> `my_plugin`, `RMSNorm2d` -> `rms_norm2d`."""
    split = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", split).lower()


def _problems(manifest: Manifest) -> list[str]:
    """What the manifest says that can't be, first things first."""
    empty = [
        f"{key}: at least one is needed" for key in ("inputs", "outputs", "profiles") if not getattr(manifest, key)
    ]
    empty += [f"{t.name}.types: at least one is needed" for t in (*manifest.inputs, *manifest.outputs) if not t.types]
    return empty or [*_naming(manifest), *_shaping(manifest), *_typing(manifest)]


def _naming(manifest: Manifest) -> list[str]:
    found = []
    plugin, tensors = manifest.plugin, (*manifest.inputs, *manifest.outputs)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", plugin.name):
        found.append(f"plugin.name: '{plugin.name}' is not a C++ identifier")
    if not plugin.version:
        found.append("plugin.version: must not be empty")
    found += [
        f"plugin.{key}: longer than TensorRT's limit of {MAX_NAME} bytes"
        for key in ("name", "version", "namespace")
        if len(getattr(plugin, key).encode()) > MAX_NAME
    ]
    found += [
        f"{tensor.name[:40]}...: a tensor's name is longer than TensorRT's limit of {MAX_TENSOR_NAME} bytes"
        for tensor in tensors
        if len(tensor.name.encode()) > MAX_TENSOR_NAME
    ]
    names = [tensor.name for tensor in tensors] + [field.name for field in manifest.fields]
    found += [
        f"'{name}' is not usable as a name: it must be an identifier and no Python keyword"
        for name in names
        if not shapes.SYMBOL.match(name) or keyword.iskeyword(name)
    ]
    found += [f"two tensors or fields are called '{name}'" for name in dict.fromkeys(names) if names.count(name) > 1]
    found += [
        f"a field cannot be called '{field.name}': NVIDIA's ONNX parser has an attribute of that name"
        for field in manifest.fields
        if field.name in PARSER_ATTRIBUTES
    ]
    by_name = {field.name: field for field in manifest.fields}
    for tensor in tensors:
        if tensor.scale is not None and tensor.scale not in by_name:
            found.append(f"{tensor.name}.scale: {unknown('field', tensor.scale, list(by_name))}")
        elif tensor.scale is not None and by_name[tensor.scale].type != "float32":
            found.append(f"{tensor.name}.scale: the field '{tensor.scale}' must be of type float32")
    return found


def _shaping(manifest: Manifest) -> list[str]:
    found = []
    for tensor in manifest.inputs:
        for dim in tensor.shape:
            expr = _parse(dim)
            if expr is None or isinstance(expr, shapes.Operation):
                found.append(
                    f"{tensor.name}.shape: '{dim}' must be a symbol or a whole number (it is an input's dimension)"
                )
    if found:
        return found
    known = list(manifest.symbols())
    for tensor in manifest.outputs:
        for dim in tensor.shape:
            expr = _parse(dim)
            if expr is None:
                found.append(f"{tensor.name}.shape: '{dim}' is not a dimension")
                continue
            found += [
                f"{tensor.name}.shape: {unknown('symbol', s, known)}" for s in shapes.symbols(expr) if s not in known
            ]
    if found:
        return found
    for profile in manifest.profiles:
        found += _profile_problems(manifest, profile, known)
    names = [profile.name for profile in manifest.profiles]
    return found + [f"two profiles are called '{name}'" for name in dict.fromkeys(names) if names.count(name) > 1]


def _profile_problems(manifest: Manifest, profile: Profile, known: list[str]) -> list[str]:
    where = f"profile '{profile.name}'"
    found = [f"{where}: no [min, opt, max] for the symbol '{s}'" for s in known if s not in profile.symbols]
    found += [f"{where}: {unknown('symbol', s, known)}" for s in profile.symbols if s not in known]
    found += [
        f"{where}: {name} = {list(values)} must rise: 0 <= min <= opt <= max"
        for name, values in profile.symbols.items()
        if not 0 <= values[0] <= values[1] <= values[2]
    ]
    base = bases.BASES[manifest.plugin.base]
    found += [
        f"{where}: {name} = {list(values)} must be one number three times: an {base.interface} has static shapes, so a "
        "profile is one shape; write another profile for another"
        for name, values in profile.symbols.items()
        if not base.dynamic_shapes and len(set(values)) > 1
    ]
    if found:
        return found
    points: tuple[Point, ...] = ("min", "opt", "max")
    for point in points:
        for tensor in manifest.outputs:
            try:
                dims = tensor.dims(profile.at(point))
            except UsageError as error:
                return [f"{tensor.name}.shape at {where}'s {point}: {error.message}"]
            if any(dim < 0 for dim in dims):
                return [f"{tensor.name}.shape at {where}'s {point} is {list(dims)}: a dimension cannot be negative"]
    return found


def _typing(manifest: Manifest) -> list[str]:
    if not manifest.precisions():
        return ["no input is of type float32, float16, bfloat16 or int8: there would be nothing to test"]
    available = set(manifest.precisions())
    found = [
        f"{tensor.name}.types: {kind.value} is no input's type, so no precision would ever choose it"
        for tensor in manifest.outputs
        for kind in tensor.types
        if kind in PRECISIONS and kind not in available
    ]
    return [*found, *signature_rules.problems(manifest), *bench_section.problems(manifest)]


def _parse(dim: str) -> shapes.Expr | None:
    try:
        return shapes.parse(dim)
    except UsageError:
        return None
