"""From the options of `pluginkit new` to a manifest: `x:float32,int8:n,c,h,w` and `alpha:float32=0.5`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from pluginkit import shapes
from pluginkit.bases import BASES, BOTH, FOR_NEW, Name, written
from pluginkit.build.signature.fields import quote
from pluginkit.dtypes import REFUSED, DType
from pluginkit.errors import UsageError
from pluginkit.field_types import FieldType, Value
from pluginkit.formats import DLA_ONLY, Format
from pluginkit.manifest import MAX_DIMS, MAX_NAME, REST, Manifest
from pluginkit.scaffold import names, profiles
from pluginkit.scaffold.fields import options as field_options
from pluginkit.scaffold.fields.options import FieldOption, unknown_type

_TENSOR_FORM = "Expected NAME:TYPE[,TYPE...]:DIM[,DIM...], as in x:float32,float16,int8:n,c,h,w"
_KEYS = {"an input": ("values", "scale"), "an output": ("alias", "upper", "opt", "valid", "scale")}
"""What may stand behind the dimensions, as in y:float32:n,c:alias=x."""
_MAX_NUMBER = 2**31 - 1
_TEST_SECTION = (
    "",
    "[test]",
    "# Warnings, of what no TensorRT document demands (docs/demands.md), are failures too.",
    "strict = true",
)
DEFAULT_INPUT = "x:float32,float16,int8:n,c,h,w"
FORMATTED_INPUT = "x:float32,float16,int8:n,5,h,w"
"""The default with `--format`: INT8 wants a number of channels, and 5 leaves lanes unused in every format."""
DEFAULT_FIELD = "alpha:float32=0.5"


@dataclass(frozen=True)
class _Tensor:
    name: str
    types: tuple[DType, ...]
    shape: tuple[str, ...]
    alias: str = ""
    upper: str = ""
    opt: str = ""
    valid: str = ""
    values: str = ""
    scale: str = ""

    @property
    def own_scale(self) -> str:
        """The field for its INT8 or FP8 scale that it gets where no other is named."""
        return f"{self.name}_scale" if any(kind.is_quantized for kind in self.types) and not self.scale else ""

    def takes(self, form: Format) -> bool:
        """Whether the format is for one of its types, and for as many dimensions."""
        return len(self.shape) >= form.axis and bool(set(form.types) & set(self.types))


def manifest(
    name: str,
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
    fields: Sequence[str] | None,
    namespace: str,
    version: str,
    base: str,
    formats: Sequence[str] = (),
    workspace: str = "",
) -> tuple[Manifest, str]:
    """The manifest that the options describe, and the text of its `pluginkit.toml`.

    Raises:
        UsageError: a name, type, shape or combination that makes no sense.
    """
    text = write(
        name,
        inputs=inputs,
        outputs=outputs,
        fields=fields,
        namespace=namespace,
        version=version,
        base=base,
        formats=formats,
        workspace=workspace,
    )
    return Manifest.parse(text, "The options"), text


def write(
    name: str,
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
    fields: Sequence[str] | None,
    namespace: str,
    version: str,
    base: str,
    formats: Sequence[str] = (),
    workspace: str = "",
) -> str:
    """The text of the `pluginkit.toml` that the options describe; the rules on the whole of it are not looked at.

    Raises:
        UsageError: an option that makes no sense.
    """
    interfaces = bases_of(base)
    interface = interfaces[-1]
    names.check_plugin(name)
    names.check_text(version, "version", MAX_NAME)
    names.check_text(namespace, "namespace", MAX_NAME)
    if not version:
        raise UsageError("The version must not be empty.", hint="Leave --version out for version 1.")
    forms = list(dict.fromkeys(_form(form) for form in formats))
    if not BASES[interface].dynamic_shapes and set(forms) - {Format.LINEAR}:
        raise UsageError(
            f"The code that is written for base '{interface}' knows linear tensors only.",
            hint="Leave out --format, or take --base dynamic or --base v3.",
        )
    ins = [_tensor(text, "an input") for text in inputs or [FORMATTED_INPUT if forms else DEFAULT_INPUT]]
    outs = [_tensor(text, "an output") for text in outputs] or [_like(ins)]
    for form in forms:
        _check_form(form, [*ins, *outs])
    attributes = [field_options.parse(text) for text in ([DEFAULT_FIELD] if fields is None else fields)]
    _check_names(ins, outs, attributes)
    _check_types(ins, outs)
    scales = [_scale(tensor.own_scale, tensor) for tensor in (*ins, *outs) if tensor.own_scale]
    _check_scales([*ins, *outs], attributes, interface)
    return _toml(
        name=name,
        version=version,
        namespace=namespace,
        interfaces=interfaces,
        inputs=ins,
        outputs=outs,
        fields=[*attributes, *scales],
        forms=forms,
        workspace=_workspace(workspace),
    )


def bases_of(text: str) -> tuple[Name, ...]:
    """The interfaces that an option names, the one of later TensorRT last.

    Raises:
        UsageError: there is no such base, or they don't go together.
    """
    found = [_base(name.strip()) for name in text.split(",")]
    if len(found) > 1 and sorted(found) != sorted(BOTH):
        raise UsageError(
            f"A layer can't be {' and '.join(found)} together.", hint=f"One base, or {','.join(BOTH)}, as {_BOTH}."
        )
    return BOTH if len(found) > 1 else tuple(found)


_BOTH = "an IPluginV3, and with TensorRT 8, which has none, an IPluginV2DynamicExt"


def _base(base: str) -> Name:
    for name in FOR_NEW:
        if name == base:
            return name
    there = ", ".join(f"{name} ({one.interface})" for name, one in FOR_NEW.items())
    if base in BASES:
        raise UsageError(
            f"Base '{base}' ({BASES[base].interface}) is for libraries that exist: there is no template of it.",
            hint=f"New plugins: {there}. A library that another build makes: pluginkit adopt LIB.so.",
        )
    raise UsageError(f"There is no base '{base}'{names.close_to(base, FOR_NEW)}", hint=f"There is: {there}.")


def _tensor(text: str, what: str) -> _Tensor:
    parts = text.split(":")
    more = dict(_suffix(part, text, what) for part in parts[3:])
    if len(parts) < 3 or len(more) < len(parts) - 3:
        raise UsageError(f"'{text}' does not describe {what}.", hint=_TENSOR_FORM + ".")
    if "values" in more:
        more["values"] = ",".join(_dim(value, text) for value in split(more["values"]))
    name = parts[0].strip()
    names.check_member(name, what)
    types = [_dtype(kind.strip(), text, list(DType)) for kind in parts[1].split(",")]
    if len(set(types)) < len(types):
        raise UsageError(f"'{text}' names a type twice.", hint=_TENSOR_FORM + ".")
    dims = split(parts[2])
    if "" in dims:
        raise UsageError(f"'{text}' has an empty dimension.", hint=_TENSOR_FORM + "; no dimension at all is a scalar.")
    if len(dims) > MAX_DIMS:
        raise UsageError(f"'{name}' has {len(dims)} dimensions.", hint=f"TensorRT's limit is {MAX_DIMS}.")
    return _Tensor(name, tuple(types), tuple(_dim(dim, text) for dim in dims), **more)


def _suffix(part: str, text: str, what: str) -> tuple[str, str]:
    """What else a tensor is described by: a key and its value."""
    key, equals, value = (side.strip() for side in part.partition("="))
    known = _KEYS[what]
    if key not in known or not equals or not value:
        there = " or ".join(f"{one}=..." for one in known)
        raise UsageError(
            f"'{text}' does not describe {what}: what is '{part}'?",
            hint=_TENSOR_FORM + (f"; behind that there may be {there}." if known else "."),
        )
    return key, value


def _form(name: str) -> Format:
    known = [form.value for form in Format if form is not Format.LINEAR]
    if name in DLA_ONLY:
        raise UsageError(
            f"The format '{name}' is for DLA cores, which run no plugins.", hint=f"Known: {_names(known)}."
        )
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        guess = f"; did you mean '{close[0]}'?" if close else "."
        raise UsageError(f"There is no format '{name}'{guess}", hint=f"Known, apart from linear: {_names(known)}.")
    return Format(name)


def _check_form(form: Format, tensors: Sequence[_Tensor]) -> None:
    taking = [tensor for tensor in tensors if tensor.takes(form)]
    if not taking:
        raise UsageError(
            f"No tensor can have the format {form.value}.",
            hint=f"It is for {_names([kind.value for kind in form.types])}, and {form.axis} dimensions or more.",
        )
    for tensor in taking:
        channel = tensor.shape[-form.axis]
        if form.lanes > 1 and {DType.INT8} & set(form.types) & set(tensor.types) and not channel.isdigit():
            raise UsageError(
                f"The format {form.value} in INT8 needs a channel count that is known when the engine is built, and "
                f"'{tensor.name}' has '{channel}'.",
                hint="Write a number for it, as in x:float32,int8:n,5,h,w, or leave int8 out.",
            )


def _names(names_: Sequence[str]) -> str:
    return ", ".join(names_)


def _dim(dim: str, text: str) -> str:
    if dim == REST:
        return REST
    try:
        expr = shapes.parse(dim)
    except UsageError as error:
        raise UsageError(f"In '{text}': {error.message}", hint=error.hint) from None
    if not all(shapes.SYMBOL.match(symbol) for symbol in shapes.symbols(expr)):
        raise UsageError(f"In '{text}': the symbols of '{dim}' must be plain identifiers.", hint=_TENSOR_FORM + ".")
    if any(int(number) > _MAX_NUMBER for number in re.findall(r"\b\d+\b", shapes.render(expr))):
        raise UsageError(
            f"In '{text}': '{dim}' has a number above {_MAX_NUMBER}.", hint="TensorRT's dimensions end there."
        )
    return shapes.render(expr)


def _workspace(text: str) -> str:
    """As it stands in pluginkit.toml.

    Raises:
        UsageError: it is not an expression.
    """
    if not text:
        return ""
    try:
        shapes.parse(text)
    except UsageError as error:
        raise UsageError(f"In --workspace: {error.message}", hint=error.hint) from None
    return " ".join(text.split())


def split(text: str) -> list[str]:
    """Split at commas that are not inside parentheses: `n,min(a,b)` has two dimensions."""
    if not text.strip():
        return []
    dims, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            dims.append("")
        else:
            dims[-1] += char
    return [dim.strip() for dim in dims]


def _dtype(name: str, text: str, known: list[DType]) -> DType:
    values = [kind.value for kind in known]
    if name in REFUSED:
        why, _, instead = REFUSED[name].rpartition("; ")
        raise UsageError(f"The type {name} in '{text}' can't be: {why}.", hint=f"{instead[:1].upper()}{instead[1:]}.")
    if name in values:
        return DType(name)
    raise unknown_type(name, text, name.lower(), values, "Types here")


def _scale(name: str, tensor: _Tensor) -> FieldOption:
    kinds = " or ".join(kind.short for kind in tensor.types if kind.is_quantized)
    return FieldOption(name, FieldType.FLOAT32, None, 0.0, f"scale of {tensor.name} in {kinds}")


def _like(inputs: Sequence[_Tensor]) -> _Tensor:
    taken = {tensor.name for tensor in inputs}
    name = next(free for free in ("y", "output", "output_") if free not in taken)
    inputs = [tensor for tensor in inputs if not tensor.values] or inputs
    floating = [tensor for tensor in inputs if not all(kind.is_integer for kind in tensor.types)] or list(inputs)
    return _Tensor(name, floating[0].types, floating[0].shape)


def _check_names(inputs: Sequence[_Tensor], outputs: Sequence[_Tensor], fields: Sequence[FieldOption]) -> None:
    seen: dict[str, str] = {}
    owners = [(t.name, "an input") for t in inputs] + [(t.name, "an output") for t in outputs]
    owners += [(t.own_scale, f"the scale field of {t.name}") for t in (*inputs, *outputs) if t.own_scale]
    for name, what in [*owners, *((f.name, "a field") for f in fields)]:
        if name in seen:
            raise UsageError(
                f"The name '{name}' is taken twice: {seen[name]} and {what}.", hint="Give each a name of its own."
            )
        seen[name] = what


def _check_scales(tensors: Sequence[_Tensor], fields: Sequence[FieldOption], base: Name) -> None:
    """The fields that tensors name as theirs: one number, or a list with an element for each channel."""
    for tensor in tensors:
        if not tensor.scale:
            continue
        field = next((one for one in fields if one.name == tensor.scale), None)
        form = f"--field {tensor.scale}:float32[{tensor.shape[1] if len(tensor.shape) > 1 else 'c'}]"
        if not any(kind.is_quantized for kind in tensor.types):
            raise UsageError(
                f"'{tensor.name}' has a scale, and neither int8 nor float8 is one of its types.",
                hint="Leave scale=... out.",
            )
        if field is None or field.type is not FieldType.FLOAT32:
            raise UsageError(
                f"The scale of '{tensor.name}' is '{tensor.scale}', and there is no float32 field of that name.",
                hint=f"Write {form}, or :scale= of another field.",
            )
        if field.length is None:
            continue
        places = tensor.shape.count(str(field.length))
        if places != 1:
            many = "several dimensions have that size" if places else "no dimension has that size"
            raise UsageError(
                f"The scale of '{tensor.name}' is a list of {field.length} elements, one for each channel, and {many}.",
                hint=f"Give the channels a name of their own, and the list that length, as in {form}.",
            )
        if not BASES[base].dynamic_shapes:
            raise UsageError(
                f"The code that is written for base '{base}' knows one scale a tensor.",
                hint="Take --base dynamic or --base v3 for scales of channels.",
            )


def _check_types(inputs: Sequence[_Tensor], outputs: Sequence[_Tensor]) -> None:
    available = {kind for tensor in inputs for kind in tensor.types} | {kind for kind in DType if kind.is_integer}
    for tensor in outputs:
        for kind in tensor.types:
            if kind not in available:
                raise UsageError(
                    f"The output '{tensor.name}' has the type {kind.value}, but no input has it.",
                    hint="A plugin runs in a precision that an input declares: add it to an input, or drop it here.",
                )


def _toml(
    *,
    name: str,
    version: str,
    namespace: str,
    interfaces: Sequence[Name],
    inputs: Sequence[_Tensor],
    outputs: Sequence[_Tensor],
    fields: Sequence[FieldOption],
    forms: Sequence[Format],
    workspace: str,
) -> str:
    lines = ["[plugin]", f"name = {quote(name)}", f"version = {quote(version)}"]
    lines += [
        f"namespace = {quote(namespace)}",
        f"base = {written(interfaces)}",
        f"description = {quote(name + ': what it does')}",
        *([f"workspace = {workspace if workspace.isdigit() else quote(workspace)}"] if workspace else []),
    ]
    for table, tensors in (("inputs", inputs), ("outputs", outputs)):
        for tensor in tensors:
            lines += [
                "",
                f"[[{table}]]",
                f"name = {quote(tensor.name)}",
                f"types = {_list([kind.value for kind in tensor.types])}",
            ]
            taken = ["linear", *(form.value for form in forms if tensor.takes(form))]
            lines += [f"shape = {_list(tensor.shape)}", *([f"formats = {_list(taken)}"] if len(taken) > 1 else [])]
            lines += [f"values = {_list(split(tensor.values))}"] if tensor.values else []
            lines += [f"scale = {quote(scale)}"] if (scale := tensor.scale or tensor.own_scale) else []
            lengths = [str(field.length) for field in fields if field.name == tensor.scale and field.length is not None]
            lines += [f"scale_axis = {tensor.shape.index(length)}" for length in lengths]
            keys = [key for key in _KEYS["an output"] if key != "scale"]
            lines += [f"{key} = {quote(value)}" for key in keys if (value := getattr(tensor, key))]
    for item in fields:
        lines += ["", *item.toml()]
    dims = [dim for tensor in inputs for dim in (*tensor.shape, *split(tensor.values)) if dim != REST]
    symbols = list(dict.fromkeys(symbol for dim in dims for symbol in shapes.symbols(shapes.parse(dim))))
    if any(REST in tensor.shape for tensor in (*inputs, *outputs)):
        for item in fields:
            if isinstance(item.length, str):
                raise UsageError(
                    f"The field '{item.name}' has {item.length} elements, and a shape is of any rank ('{REST}').",
                    hint=f"Write {item.name}:{item.type.value}[] or {item.name}:{item.type.value}[LEAST..MOST].",
                )
        return "\n".join([*lines, *_profiles_of_ranks(inputs, outputs, symbols), *_TEST_SECTION])
    rank = max(len(tensor.shape) for tensor in (*inputs, *outputs))
    counted = {item.length for item in fields if isinstance(item.length, str)}
    dynamic = BASES[interfaces[-1]].dynamic_shapes
    every = {"default": profiles.usual(len(symbols), rank)} if dynamic else profiles.static(len(symbols), rank)
    for profile, sizes in every.items():
        # A list with an element for each has so many in all profiles.
        fixed = {
            symbol: opt for symbol, (_, opt, _) in zip(symbols, every["default"], strict=True) if symbol in counted
        }
        pairs = profiles.beside(dict(zip(symbols, sizes, strict=True)), fixed)
        for one, another in _broadcast(symbols, outputs):
            # Sizes that an output broadcasts are equal, or one is 1.
            pairs[one] = pairs[another] = pairs[another] if another in counted else pairs[one]
        pairs = _with_elements(pairs, outputs, fields)
        body = ", ".join(f"{symbol} = {list(ends)}" for symbol, ends in pairs.items())
        lines += ["", "[[profiles]]", f"name = {quote(profile)}", f"symbols = {f'{{ {body} }}' if body else '{}'}"]
        if not symbols:
            break
    return "\n".join([*lines, *_TEST_SECTION])


def _with_elements(
    pairs: Mapping[str, profiles.Range], outputs: Sequence[_Tensor], fields: Sequence[FieldOption]
) -> dict[str, profiles.Range]:
    dims = [shapes.parse(dim) for tensor in outputs for dim in tensor.shape]
    known = {item.name: item.default for item in fields if _is_whole(item.default)}
    declared = {
        item.name: [end for end in (item.min, item.max, *item.choices) if isinstance(end, int)]
        for item in fields
        if item.type.is_integer
    }
    return profiles.with_elements(pairs, dims, list(profiles.alternatives(known, declared)))


def _is_whole(value: Value | None) -> TypeGuard[int | tuple[int, ...]]:
    return isinstance(value, int) or (isinstance(value, tuple) and all(isinstance(one, int) for one in value))


def _profiles_of_ranks(inputs: Sequence[_Tensor], outputs: Sequence[_Tensor], symbols: Sequence[str]) -> list[str]:
    """Profiles of several ranks: two dimensions in the place of "...", none, and as many as four."""
    fixed = max(len(tensor.shape) - 1 for tensor in (*inputs, *outputs) if REST in tensor.shape)
    counts = {"default": min(2, MAX_DIMS - fixed), "flat": 0, "deep": min(4, MAX_DIMS - fixed)}
    lines = ["", '# Each profile says by rest which dimensions "..." stands for: so these are of several ranks.']
    for name, count in counts.items():
        sizes = profiles.usual(len(symbols) + count, fixed + count)
        body = ", ".join(f"{symbol} = {list(ends)}" for symbol, ends in zip(symbols, sizes, strict=False))
        lines += ["", "[[profiles]]", f"name = {quote(name)}", f"symbols = {f'{{ {body} }}' if body else '{}'}"]
        lines.append(f"rest = {[list(ends) for ends in sizes[len(symbols) :]]}")
    return lines


def _broadcast(symbols: Sequence[str], outputs: Sequence[_Tensor]) -> list[tuple[str, str]]:
    """Which symbols outputs broadcast, the one that comes first in the inputs first."""
    found = []
    for one in (one for t in outputs for dim in t.shape if dim != REST for one in shapes.broadcasts(shapes.parse(dim))):
        names_ = [name for name in symbols if name in (shapes.render(one.left), shapes.render(one.right))]
        found += [(names_[0], names_[1])] if len(names_) == 2 else []
    return found


def _list(items: Sequence[str]) -> str:
    return f"[{', '.join(item if item.isdigit() else quote(item) for item in items)}]"
