"""From the options of `pluginkit new` to a manifest: `x:float32,int8:n,c,h,w` and `alpha:float32=0.5`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pluginkit import shapes
from pluginkit.bases import BASES, Name
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.field_types import FieldType
from pluginkit.formats import DLA_ONLY, Format
from pluginkit.manifest import MAX_DIMS, MAX_NAME, REST, Manifest
from pluginkit.scaffold import names
from pluginkit.scaffold.fields import options as field_options
from pluginkit.scaffold.fields.options import FieldOption, quote

_TENSOR_FORM = "Expected NAME:TYPE[,TYPE...]:DIM[,DIM...], as in x:float32,float16,int8:n,c,h,w"
_MAX_NUMBER = 2**31 - 1
_RANGES = {"default": ("[1, 2, 4]", "[1, 8, 16]")}
_STATIC = {"default": ("[2, 2, 2]", "[8, 8, 8]"), "odd": ("[3, 3, 3]", "[5, 5, 5]")}
"""The profiles of a plugin whose shapes are static: a shape each."""
_DEEP_RANGES = {"default": ("[1, 2, 4]", "[1, 2, 4]")}
_DEEP_STATIC = {"default": ("[2, 2, 2]", "[3, 3, 3]"), "odd": ("[3, 3, 3]", "[2, 2, 2]")}
"""The same where a tensor has more than `_USUAL_RANK` dimensions: 16 in each of six would be millions of elements."""
_TEST_SECTION = (
    "",
    "[test]",
    "# What no document of TensorRT asks of a plugin, and a good one does, fails too.",
    "strict = true",
)
_USUAL_RANK = 4
_COUNTED = "[4, 4, 4]"
"""The profile of a dimension that a field has an element for each of."""
DEFAULT_INPUT = "x:float32,float16,int8:n,c,h,w"
FORMATTED_INPUT = "x:float32,float16,int8:n,5,h,w"
"""The default with `--format`: INT8 wants a number of channels, and 5 leaves lanes unused in every format."""
DEFAULT_FIELD = "alpha:float32=0.5"


@dataclass(frozen=True)
class _Tensor:
    name: str
    types: tuple[DType, ...]
    shape: tuple[str, ...]

    @property
    def scale(self) -> str | None:
        return f"{self.name}_scale" if DType.INT8 in self.types else None

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
) -> tuple[Manifest, str]:
    """The manifest that the options describe, and the text of its `pluginkit.toml`.

    Raises:
        UsageError: a name, type, shape or combination that makes no sense.
    """
    interface = _base(base)
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
    scales = [_scale(tensor.scale, tensor) for tensor in (*ins, *outs) if tensor.scale]
    text = _toml(
        name=name,
        version=version,
        namespace=namespace,
        base=interface,
        inputs=ins,
        outputs=outs,
        fields=[*attributes, *scales],
        forms=forms,
    )
    return Manifest.parse(text, "The options"), text


def _base(base: str) -> Name:
    for name in BASES:
        if name == base:
            return name
    there = ", ".join(f"{name} ({one.interface})" for name, one in BASES.items())
    close = difflib.get_close_matches(base.lower(), BASES, n=1)
    guess = f"; did you mean '{close[0]}'?" if close else "."
    raise UsageError(f"There is no base '{base}'{guess}", hint=f"There is: {there}.")


def _tensor(text: str, what: str) -> _Tensor:
    parts = text.split(":")
    if len(parts) != 3:
        raise UsageError(f"'{text}' does not describe {what}.", hint=_TENSOR_FORM + ".")
    name = parts[0].strip()
    names.check_member(name, what)
    types = [_dtype(kind.strip(), text, list(DType)) for kind in parts[1].split(",")]
    if len(set(types)) < len(types):
        raise UsageError(f"'{text}' names a type twice.", hint=_TENSOR_FORM + ".")
    dims = _split(parts[2])
    if "" in dims:
        raise UsageError(f"'{text}' has an empty dimension.", hint=_TENSOR_FORM + "; no dimension at all is a scalar.")
    if len(dims) > MAX_DIMS:
        raise UsageError(f"'{name}' has {len(dims)} dimensions.", hint=f"TensorRT's limit is {MAX_DIMS}.")
    return _Tensor(name, tuple(types), tuple(_dim(dim, text) for dim in dims))


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


def _split(text: str) -> list[str]:
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
    if name in values:
        return DType(name)
    close = difflib.get_close_matches(name, values, n=1)
    guess = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(values)}"
    raise UsageError(f"Unknown type '{name}' in '{text}'; {guess}", hint=f"Types here: {', '.join(values)}.")


def _scale(name: str, tensor: _Tensor) -> FieldOption:
    return FieldOption(name, FieldType.FLOAT32, None, 0.0, f"what an INT8 step of {tensor.name} is worth")


def _like(inputs: Sequence[_Tensor]) -> _Tensor:
    taken = {tensor.name for tensor in inputs}
    name = next(free for free in ("y", "output", "output_") if free not in taken)
    floating = [tensor for tensor in inputs if set(tensor.types) - {DType.INT32}] or list(inputs)
    return _Tensor(name, floating[0].types, floating[0].shape)


def _check_names(inputs: Sequence[_Tensor], outputs: Sequence[_Tensor], fields: Sequence[FieldOption]) -> None:
    seen: dict[str, str] = {}
    owners = [(t.name, "an input") for t in inputs] + [(t.name, "an output") for t in outputs]
    owners += [(t.scale, f"the scale field of {t.name}") for t in (*inputs, *outputs) if t.scale]
    for name, what in [*owners, *((f.name, "a field") for f in fields)]:
        if name in seen:
            raise UsageError(
                f"The name '{name}' is taken twice: {seen[name]} and {what}.", hint="Give each a name of its own."
            )
        seen[name] = what


def _check_types(inputs: Sequence[_Tensor], outputs: Sequence[_Tensor]) -> None:
    available = {kind for tensor in inputs for kind in tensor.types} | {DType.INT32}
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
    base: Name,
    inputs: Sequence[_Tensor],
    outputs: Sequence[_Tensor],
    fields: Sequence[FieldOption],
    forms: Sequence[Format],
) -> str:
    lines = ["[plugin]", f"name = {quote(name)}", f"version = {quote(version)}"]
    lines += [
        f"namespace = {quote(namespace)}",
        f"base = {quote(base)}",
        f"description = {quote(name + ': what it does')}",
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
            lines += [f"scale = {quote(tensor.scale)}"] if tensor.scale else []
    for item in fields:
        lines += ["", *item.toml()]
    dims = [dim for tensor in inputs for dim in tensor.shape if dim != REST]
    symbols = list(dict.fromkeys(symbol for dim in dims for symbol in shapes.symbols(shapes.parse(dim))))
    if any(REST in tensor.shape for tensor in (*inputs, *outputs)):
        for item in fields:
            if isinstance(item.length, str):
                raise UsageError(
                    f"The field '{item.name}' has {item.length} elements, and a shape is of any rank ('{REST}').",
                    hint=f"Write {item.name}:{item.type.value}[] or {item.name}:{item.type.value}[LEAST..MOST].",
                )
        return "\n".join([*lines, *_profiles_of_ranks(inputs, outputs, symbols), *_TEST_SECTION])
    deep = max(len(tensor.shape) for tensor in (*inputs, *outputs)) > _USUAL_RANK
    ranges = (_RANGES, _DEEP_RANGES)[deep] if BASES[base].dynamic_shapes else (_STATIC, _DEEP_STATIC)[deep]
    counted = {item.length for item in fields if isinstance(item.length, str)}
    for profile, (first, other) in ranges.items():
        # A list with an element for each has so many in all profiles.
        usual = {symbol: first if index == 0 else other for index, symbol in enumerate(symbols)}
        pairs = {symbol: _COUNTED if symbol in counted else values for symbol, values in usual.items()}
        for one, another in _broadcast(symbols, outputs):
            # Sizes that an output broadcasts are equal, or one is 1.
            pairs[one] = pairs[another] = _COUNTED if counted & {one, another} else pairs[one]
        body = ", ".join(f"{symbol} = {values}" for symbol, values in pairs.items())
        lines += ["", "[[profiles]]", f"name = {quote(profile)}", f"symbols = {f'{{ {body} }}' if body else '{}'}"]
        if not symbols:
            break
    return "\n".join([*lines, *_TEST_SECTION])


def _profiles_of_ranks(inputs: Sequence[_Tensor], outputs: Sequence[_Tensor], symbols: Sequence[str]) -> list[str]:
    """Profiles of several ranks: two dimensions in the place of "...", none, and as many as four."""
    fixed = max(len(tensor.shape) - 1 for tensor in (*inputs, *outputs) if REST in tensor.shape)
    first, other = _RANGES["default"]
    few = _DEEP_RANGES["default"][1]
    counts = {"default": (min(2, MAX_DIMS - fixed), other), "flat": (0, other), "deep": (min(4, MAX_DIMS - fixed), few)}
    lines = ["", '# Each profile says by rest which dimensions "..." stands for: so these are of several ranks.']
    for name, (count, ends) in counts.items():
        body = ", ".join(f"{symbol} = {first if index == 0 else ends}" for index, symbol in enumerate(symbols))
        lines += ["", "[[profiles]]", f"name = {quote(name)}", f"symbols = {f'{{ {body} }}' if body else '{}'}"]
        lines.append(f"rest = [{', '.join([ends] * count)}]")
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
