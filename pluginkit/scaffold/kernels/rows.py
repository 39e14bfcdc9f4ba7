"""The pattern `rows`: a function of each row, which is the last dimension, of one or several inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pluginkit.manifest import REST, Manifest, Tensor
from pluginkit.scaffold.kernels import fitting

_MOST_OUTPUTS = 3
"""That `launchRows` of `pluginkit/kernels/normalize.cuh` takes."""
_IN_LAYER = (
    "row", "element", "below", "most", "power", "powers", "sum", "kernels", "Row", "columns", "rows", "shape", "out",
    "fields", "Out", *(f"Out{number + 1}" for number in range(_MOST_OUTPUTS)),
)  # fmt: skip
"""Names in the function of a row and in its launch."""


def misfit(manifest: Manifest) -> str:
    given, outputs = manifest.inputs, manifest.outputs
    if problem := _of_tensors(given, outputs):
        return problem
    x, aliased = given[0], [y for y in outputs if y.alias]
    last = manifest.written(x)[-1:]
    reasons = [
        *([f"the last dimension of '{x.name}' may be none"] if REST in last else []),
        *(f"'{t.name}' has neither the shape of '{x.name}' nor that of its last dimension, [{', '.join(last)}]"
          + (f"; name '{t.name}', whose rows '{x.name}' goes with, before it"
             if manifest.written(x) == manifest.written(t)[-1:] else "")
          for t in given if not _role(manifest, t)),
        *(f"'{y.name}' has neither the shape of '{x.name}' nor that without its last dimension"
          for y in outputs if not _made(manifest, y)),
        *(f"'{y.name}' is in the memory of '{y.alias}', which has another shape or is needed for another output"
          for y in aliased if len(outputs) > 1 or not _in_place(manifest, y)),
    ]  # fmt: skip
    return reasons[0] if reasons else fitting.dimensions(manifest) or fitting.plain(manifest)


def _of_tensors(given: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> str:
    reasons = [
        *(["it has no input"] if not given else []),
        *(f"'{t.name}' is a shape input" for t in given if t.is_shape_input),
        *([f"it has more than {_MOST_OUTPUTS} outputs"] if len(outputs) > _MOST_OUTPUTS else []),
        *(["there is no row in a scalar"] if given and not given[0].shape else []),
        *(["integers have no scale to round by"]
          if any(kind.is_integer for t in (*given, *outputs) for kind in t.types) else []),
    ]  # fmt: skip
    return reasons[0] if reasons else ""


def resembles(manifest: Manifest) -> bool:
    """Whether outputs are one number for each row of the first input."""
    made = [_made(manifest, y) for y in manifest.outputs] if manifest.inputs and manifest.inputs[0].shape else []
    return "rowOutput" in made and all(made)


def _role(manifest: Manifest, tensor: Tensor) -> str:
    """What a kernel takes an input as: `input`, a matrix as the first one is, or `row`, the same for all its rows."""
    shape, first = manifest.written(tensor), manifest.written(manifest.inputs[0])
    return "input" if shape == first else "row" if shape == first[-1:] else ""


def _made(manifest: Manifest, tensor: Tensor) -> str:
    """What a kernel takes an output as: `output`, a number for each element, or `rowOutput`, one a row."""
    shape, first = manifest.written(tensor), manifest.written(manifest.inputs[0])
    one_a_row = shape in (first[:-1], (*first[:-1], "1"))
    return "output" if shape == first else "rowOutput" if one_a_row else ""


def _in_place(manifest: Manifest, output: Tensor) -> bool:
    (source,) = (one for one in manifest.inputs if one.name == output.alias)
    return _made(manifest, output) == "output" and _role(manifest, source) == "input"


def variables(manifest: Manifest) -> Mapping[str, Any]:
    """For the kernel: what each tensor is taken as, and its name in the layer's function, which has its own names."""
    inputs, outputs = manifest.inputs, manifest.outputs
    alone = {inputs[0].name: "element"} if len(inputs) == 1 else {}
    alone |= {outputs[0].name: "out"} if len(outputs) == 1 else {}
    taken = {tensor.name for tensor in (*inputs, *outputs)}
    arguments: dict[str, str] = {}
    for tensor in (*inputs, *outputs):
        name = tensor.name
        while name in _IN_LAYER or (name != tensor.name and name in taken):
            name += "Tensor"
        arguments[tensor.name] = alone.get(tensor.name, name)
    numbers, ones = _outputs(manifest)
    return {
        "layer": _layer(manifest),
        "taken_as": {tensor.name: _role(manifest, tensor) for tensor in inputs}
        | {tensor.name: _made(manifest, tensor) for tensor in outputs},
        "arguments": arguments,
        "softmax": numbers[:1],
        "most": ones,
        "parameters": bool(manifest.plain_fields()),
    }


def _outputs(manifest: Manifest) -> tuple[list[str], list[str]]:
    """Those with a number for each element, and those with one a row."""
    made = {tensor.name: _made(manifest, tensor) for tensor in manifest.outputs}
    return [name for name, what in made.items() if what == "output"], [
        name for name, what in made.items() if what == "rowOutput"
    ]


def _layer(manifest: Manifest) -> str:
    """What the generated layer computes, for the user."""
    numbers, ones = _outputs(manifest)
    of = "" if len(manifest.inputs) == 1 else " of the inputs' sum"
    if not numbers:
        return f"The largest number of each row{of}; a row is the last dimension."
    more = [f"`{name}` is the sum itself" for name in numbers[1:]] if of else [
        f"`{name}` is the input itself" for name in numbers[1:]
    ]  # fmt: skip
    more += [f"`{name}` is each row's largest number" for name in ones]
    return "; ".join([f"A softmax of each row{of}, which is the last dimension", *more]) + "."


def reference(manifest: Manifest) -> list[str]:
    numbers, ones = _outputs(manifest)
    x = manifest.inputs[0]
    total, most, powers = (fitting.local(manifest, one) for one in ("total", "most", "powers"))
    lines = []
    if len(manifest.inputs) == 1:
        total = x.name
    else:
        lines.append(f"{total} = {' + '.join(tensor.name for tensor in manifest.inputs)}")
    largest = f"np.max({total}, axis=-1, keepdims=True, initial=-np.inf)"
    if ones:
        lines.append(f"{most} = {largest}")
        largest = most
    if numbers:
        lines.append(f"{powers} = np.exp({total} - {largest})")
    results = dict.fromkeys(numbers, total)
    results |= dict.fromkeys(numbers[:1], f"{powers} / np.sum({powers}, axis=-1, keepdims=True)")
    for tensor in manifest.outputs:
        if tensor.name in ones:
            results[tensor.name] = most if len(tensor.shape) == len(x.shape) else f"{most}[..., 0]"
    return [*lines, f"return {', '.join(results[tensor.name] for tensor in manifest.outputs)}"]


def test(manifest: Manifest, arguments: list[str]) -> list[str]:
    numbers, ones = _outputs(manifest)
    count = len(manifest.inputs)
    total = f"{count} * value" if count > 1 else "value"
    given = ", ".join(["*inputs", *arguments])
    if count == 1 and len(manifest.outputs) == 1 and numbers:
        return [
            "(shape,) = SHAPES",
            "for value in (1.0, -3.0):",
            f"    output = reference({', '.join(['np.full(shape, value)', *arguments])})",
            "    np.testing.assert_allclose(output, np.full(shape, 1.0 / shape[-1]))",
        ]
    expected = dict.fromkeys(numbers, f"np.full(shape, {total})")
    expected |= dict.fromkeys(numbers[:1], "np.full(shape, 1.0 / shape[-1])")
    for tensor in manifest.outputs:
        if tensor.name in ones:
            rows = "(*shape[:-1], 1)" if len(tensor.shape) == len(manifest.inputs[0].shape) else "shape[:-1]"
            expected[tensor.name] = f"np.full({rows}, {total})"
    return [
        "shape = SHAPES[0]",
        "for value in (1.0, -3.0):",
        "    inputs = [np.full(one, value) for one in SHAPES]",
        f"    outputs = reference({given})",
        *(["    outputs = (outputs,)"] if len(manifest.outputs) == 1 else []),
        "    expected = [",
        *(f"        {expected[tensor.name]}," for tensor in manifest.outputs),
        "    ]",
        "    for output, numbers in zip(outputs, expected):",
        "        np.testing.assert_allclose(output, numbers)",
    ]
