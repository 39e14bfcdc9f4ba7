"""Rules on what only an IPluginV3 has, checked on a manifest: aliases, shape inputs, and sizes known after enqueue."""

from __future__ import annotations

from collections.abc import Iterator

from pluginkit import shapes
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.formats import Format
from pluginkit.manifest.mistakes import unknown
from pluginkit.manifest.open_ranks import REST
from pluginkit.manifest.signature import MAX_DIMS, ManifestModel, Point, Tensor

ALIASES = "NvInferRuntime.h, IPluginV3OneBuildV2::getAliasedInput"
SIZES = "NvInferRuntime.h, IExprBuilder::declareSizeTensor"
SIZE_TYPES = "NvInferRuntime.h, IPluginV3OneBuild::getOutputDataTypes"
SIZE_SHAPES = "NvInferRuntime.h, IPluginV3OneBuild::getOutputShapes"
SHAPE_INPUTS = "NvInfer.h, INetworkDefinition::addPluginV3"
VALUES = "NvInferRuntime.h, IPluginV3OneBuild::getOutputShapes"
SHAPE_TENSORS = 'TensorRT Developer Guide, "Execution Tensors vs. Shape Tensors"'
ONE_D = 'TensorRT-RTX 1.7.1 refuses others: "getAsSymbolicDims ... Assertion rank() == 1 failed"'

CHANNELS = 'Dynamic Shapes: Advanced Topics, "Restrictions for Dynamic Shapes": a constant at build time'
OPERATIONS = 'IExprBuilder::operation of TensorRT-RTX 1.7.1 fails of others: "condition: !x.isSizeTensor()"'

_POINTS: tuple[Point, ...] = ("min", "opt", "max")
_MAX_INT32 = 2**31 - 1
_INTEGERS = ((DType.INT32,), (DType.INT64,))


def problems(manifest: ManifestModel) -> list[str]:
    """What can't be, a sentence each."""
    if not all(_is_expression(dim) for tensor in (*manifest.inputs, *manifest.outputs) for dim in tensor.shape):
        return []  # shape_rules says it
    if elements := list(_elements(manifest)):
        return elements
    bounds = [problem for tensor in manifest.outputs for problem in _size_tensor(manifest, tensor)]
    shaped = [problem for tensor in manifest.shape_inputs() for problem in _shape_input(manifest, tensor)]
    return [
        *_aliases(manifest),
        *_inputs(manifest),
        *(shaped or _values(manifest)),
        *(bounds or _sized(manifest)),
        *_valid(manifest),
    ]


def _named(manifest: ManifestModel) -> str:
    return " and ".join(manifest.plugin.interfaces)


def _is_expression(dim: str) -> bool:
    try:
        shapes.parse(dim)
    except UsageError:
        return False
    return True


def _ranges(manifest: ManifestModel) -> Iterator[str]:
    """What elements of INT32 shape inputs can't be."""
    for tensor in manifest.shape_inputs():
        for name in tensor.names() if tensor.types == (DType.INT32,) else ():
            yield from (
                f"profile '{profile.name}': {name} = {list(profile.symbols[name])} doesn't fit into '{tensor.name}', "
                "which is int32"
                for profile in manifest.profiles
                if profile.symbols[name][2] > _MAX_INT32
            )


def bounds_problems(manifest: ManifestModel) -> Iterator[str]:
    """What shape inputs' elements and size tensors' bounds can't be at profiles; for a manifest whose shapes and
    profiles are right.
    """
    yield from _ranges(manifest)
    for profile in manifest.profiles:
        for point in _POINTS:
            env = {**manifest.shape_values({}), **profile.at(point)}
            for tensor in manifest.size_tensors():
                where = f"{tensor.name}: in profile '{profile.name}' at {point}"
                try:
                    upper = shapes.evaluate(shapes.parse(str(tensor.upper)), env)
                    opt = shapes.evaluate(shapes.parse(tensor.opt or str(tensor.upper)), env)
                except UsageError as error:
                    yield f"{where}: {error.message}"
                    return
                if not 0 <= opt <= upper <= _MAX_INT32:
                    yield (
                        f"{where} opt is {opt} and upper {upper}: must rise, 0 <= opt <= upper, and fit into the INT32 "
                        f"of a size tensor ({SIZES})"
                    )
                    return


def _inputs(manifest: ManifestModel) -> Iterator[str]:
    yield from (
        f"{tensor.name}.values: an output has none: they are the elements of a shape input"
        for tensor in manifest.outputs
        if tensor.values is not None
    )
    for tensor in manifest.inputs:
        yield from (
            f"{tensor.name}.{key}: an input has none: {what}"
            for key, value, what in (
                ("upper", tensor.upper, "size tensors are outputs, which enqueue writes"),
                ("opt", tensor.opt, "size tensors are outputs, which enqueue writes"),
                ("valid", tensor.valid, "it says which rows of an output mean something"),
            )
            if value is not None
        )


def _shape_input(manifest: ManifestModel, tensor: Tensor) -> Iterator[str]:
    """What is wrong with a shape input by itself."""
    where, values = f"{tensor.name}.values", tensor.values or ()
    if manifest.plugin.interfaces != ("v3",):
        yield f"{where}: only base v3 has shape inputs ({SHAPE_INPUTS}); this plugin is of base {_named(manifest)}"
    if tensor.types not in _INTEGERS:
        shown = ", ".join(kind.value for kind in tensor.types)
        yield f'{tensor.name}.types: a shape input is ["int32"] or ["int64"] ({SHAPE_TENSORS}); this is [{shown}]'
    if tensor.formats != (Format.LINEAR,):
        yield f"{tensor.name}.formats: a shape tensor is linear (NvInfer.h, ITensor::setAllowedFormats)"
    if tensor.scale is not None:
        yield f"{tensor.name}.scale: a shape input is never INT8 or FP8, so it has no scale"
    shape = manifest.written(tensor)
    if not shape:
        how = "write [1], and Reshape a 0-D tensor before the node"
        yield f"{tensor.name}.shape: a shape input is 1-D: {how} ({ONE_D})"
    elif len(shape) > 1 or not shape[0].isdigit():
        shown = ", ".join(shape)
        yield (
            f"{tensor.name}.shape: a shape input is 1-D, of a fixed length: [{max(len(values), 1)}]; this is [{shown}]"
        )
    elif len(values) != int(shape[0]):
        there = f"{shape[0]} element{'s' * (shape[0] != '1')}"
        yield f"{where}: {len(values)} for the {there} of its shape: write a symbol or a whole number for each"
    elif not 1 <= len(values) <= MAX_DIMS:
        yield f"{where}: {len(values)} elements: from 1 to {MAX_DIMS}, for they come as a DimsExprs ({VALUES})"


def _elements(manifest: ManifestModel) -> Iterator[str]:
    """Which elements of shape inputs are not symbols or numbers."""
    for tensor in manifest.inputs:
        for value in tensor.values or ():
            expr = shapes.parse(value) if _is_expression(value) else None
            if not isinstance(expr, shapes.Symbol) and not (isinstance(expr, shapes.Constant) and expr.value >= 0):
                yield (
                    f"{tensor.name}.values: '{value}' must be a symbol, which profiles give values, or a whole number "
                    "from 0 on"
                )


def _values(manifest: ManifestModel) -> Iterator[str]:
    """What elements of shape inputs can't be: what getOutputShapes alone knows."""
    only = manifest.value_symbols()
    used = {name for tensor in manifest.outputs for dim in tensor.shape for name in shapes.symbols(shapes.parse(dim))}
    for tensor in manifest.shape_inputs():
        yield from (
            f"{tensor.name}.values: no output's shape has '{name}': a shape input's values are passed to "
            f"getOutputShapes ({VALUES}), and to no other method"
            for name in tensor.names()
            if name not in used
        )
    bounds = [
        (f"{tensor.name}.{key}", bound)
        for tensor in manifest.outputs
        for key, bound in (("upper", tensor.upper), ("opt", tensor.opt))
        if bound is not None
    ]
    for where, text in [*bounds, ("plugin.workspace", manifest.plugin.workspace or "0")]:
        yield from (
            f"{where}: '{name}' is an element of a shape input, which only getOutputShapes knows ({VALUES}), and "
            "enqueue needs this too"
            for name in (shapes.symbols(shapes.parse(text)) if _is_expression(text) else ())
            if name in only
        )
    yield from (
        f"the field '{field.name}' has {field.symbol} elements, and {field.symbol} is an element of a shape input, "
        f"which only getOutputShapes knows ({VALUES})"
        for field in manifest.fields
        if field.symbol in only
    )
    for tensor in manifest.outputs:
        if DType.INT8 in tensor.types and len(tensor.shape) > 1:
            name = next((name for name in shapes.symbols(shapes.parse(tensor.shape[1])) if name in only), "")
            if name:
                yield (
                    f"{tensor.name}.shape: in INT8 the second dimension, the channels, depends on no element of a "
                    f"shape input, as on '{name}' ({CHANNELS})"
                )


def _size_tensor(manifest: ManifestModel, tensor: Tensor) -> Iterator[str]:
    """What is wrong with an output's upper bound and opt by themselves."""
    if tensor.upper is None:
        if tensor.opt is not None:
            yield f"{tensor.name}.opt: only a size tensor has one: write its upper bound too ({SIZES})"
        return
    where = f"{tensor.name}.upper"
    if manifest.plugin.interfaces != ("v3",):
        yield f"{where}: only base v3 has size tensors ({SIZES}); this plugin is of base {_named(manifest)}"
    if tensor.types != (DType.INT32,):
        shown = ", ".join(kind.value for kind in tensor.types)
        yield f'{tensor.name}.types: a size tensor is ["int32"] ({SIZE_TYPES}); this is [{shown}]'
    if manifest.written(tensor):
        yield f"{tensor.name}.shape: a size tensor is 0-D ({SIZE_SHAPES}): shape = []; this has {len(tensor.shape)}"
    if tensor.name in manifest.symbols():
        yield f"{tensor.name}: a size tensor's name stands in outputs' shapes, and a dimension is called so too"
    sizes = {one.name for one in manifest.size_tensors()}
    for key, bound in (("upper", tensor.upper), ("opt", tensor.opt)):
        try:
            names = shapes.symbols(shapes.parse(bound)) if bound is not None else ()
        except UsageError as error:
            yield f"{tensor.name}.{key}: {error.message}"
            continue
        yield from (
            f"{tensor.name}.{key}: '{bound}' depends on the size tensor '{name}', and must not ({SIZES})"
            for name in names
            if name in sizes
        )


def _sized(manifest: ManifestModel) -> Iterator[str]:
    """What outputs with a size tensor in their shape can't have."""
    sizes = {tensor.name for tensor in manifest.size_tensors()}
    for tensor in manifest.outputs:
        if manifest.is_sized(tensor) and REST in manifest.written(tensor):
            yield f'{tensor.name}.shape: "{REST}" and a size that only enqueue knows in one shape: write the dimensions'
        for dim in tensor.shape:
            if dim not in sizes and not sizes.isdisjoint(shapes.symbols(shapes.parse(dim))):
                yield (
                    f"{tensor.name}.shape: '{dim}' computes with a size tensor: it can only be a whole dimension "
                    f"({OPERATIONS})"
                )
        if DType.INT8 in tensor.types and len(tensor.shape) > 1 and tensor.shape[1] in sizes:
            yield f"{tensor.name}.shape: in INT8 the second dimension, the channels, is not a size tensor ({CHANNELS})"
        if manifest.is_sized(tensor) and tensor.formats != (Format.LINEAR,):
            yield f"{tensor.name}.formats: what has a size that only enqueue knows is linear: pluginkit tests no other"


def _valid(manifest: ManifestModel) -> Iterator[str]:
    outputs = {tensor.name: tensor for tensor in manifest.outputs}
    for tensor in manifest.outputs:
        if tensor.valid is None:
            continue
        where = f"{tensor.name}.valid"
        count = outputs.get(tensor.valid)
        if count is None:
            yield f"{where}: {unknown('output', tensor.valid, list(outputs))}"
        elif count.types != (DType.INT32,) or list(manifest.written(count)) not in ([], ["1"]):
            yield f"{where}: '{count.name}' must be one INT32 number: types = [\"int32\"] and shape = [] or [1]"
        elif not tensor.shape:
            yield f"{where}: '{tensor.name}' has no rows: it is 0-D"


def _aliases(manifest: ManifestModel) -> Iterator[str]:
    inputs = {tensor.name: tensor for tensor in manifest.inputs}
    yield from (
        f"{tensor.name}.alias: an input has none: it is an output that is written into an input's memory"
        for tensor in manifest.inputs
        if tensor.alias is not None
    )
    owners: dict[str, Tensor] = {}
    for tensor in manifest.outputs:
        if tensor.alias is None:
            continue
        where = f"{tensor.name}.alias"
        if manifest.plugin.interfaces != ("v3",):
            yield f"{where}: only base v3 has aliases ({ALIASES}); this plugin is of base {_named(manifest)}"
        elif tensor.alias not in inputs:
            yield f"{where}: {unknown('input', tensor.alias, list(inputs))}"
        elif inputs[tensor.alias].is_shape_input:
            yield f"{where}: '{tensor.alias}' is a shape input, whose memory no method of a plugin gets ({VALUES})"
        elif tensor.alias in owners:
            yield (
                f"{where}: '{owners[tensor.alias].name}' is written into '{tensor.alias}' already: an input can be "
                f"aliased to a single output ({ALIASES})"
            )
        else:
            owners[tensor.alias] = tensor
            yield from _one_memory(manifest, tensor, inputs[tensor.alias], where)


def _one_memory(manifest: ManifestModel, output: Tensor, source: Tensor, where: str) -> Iterator[str]:
    for key, mine, its in (
        ("types", list(output.types), list(source.types)),
        ("shape", list(manifest.written(output)), list(manifest.written(source))),
        ("formats", list(output.formats), list(source.formats)),
    ):
        if mine != its:
            shown = (
                ", ".join(getattr(one, "value", one) for one in mine),
                ", ".join(getattr(one, "value", one) for one in its),
            )
            yield (
                f"{where}: '{output.name}' and '{source.name}' are one memory ({ALIASES}), so their {key} must be the "
                f"same: [{shown[0]}] and [{shown[1]}]"
            )
