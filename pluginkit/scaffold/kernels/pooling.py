"""The pattern `pool`: a function of each window of the last two dimensions."""

from __future__ import annotations

from pluginkit.field_types import FieldType
from pluginkit.manifest import REST, Manifest
from pluginkit.scaffold.kernels import fitting
from pluginkit.shapes import parse

_FIELDS = {"kernel": 1, "stride": 1, "pad": 0}
"""The fields that say which windows there are, and the least number of each."""


def misfit(manifest: Manifest) -> str:
    if problem := fitting.one_to_one(manifest):
        return problem
    (x,), (y,) = manifest.inputs, manifest.outputs
    reasons = []
    for name, least in _FIELDS.items():
        field = fitting.field(manifest, name)
        if field is None or not fitting.is_whole(field):
            reasons.append(f"it has no integer field '{name}'")
        elif field.type is not FieldType.INT32:  # as kernels::Window has it
            reasons.append(f"the field '{name}' isn't int32")
        elif (start := fitting.ends(field)[0]) is None or start < least:
            reasons.append(f"the field '{name}' may be less than {least}: write {name}:int32:{least}..={max(least, 1)}")
    given, made = list(manifest.written(x)), list(manifest.written(y))
    expected = [*given[:-2], *(f"({size} + 2 * pad - kernel) // stride + 1" for size in given[-2:])]
    reasons += [
        *(["its output is in its input's memory"] if y.alias else []),
        *(["integers have no scale to round by"] if any(kind.is_integer for kind in x.types) else []),
        *(
            [f"an image has two dimensions, and '{x.name}' may have less"]
            if REST in given[-2:] or len(given) < 2
            else []
        ),
    ]
    if reasons:
        return reasons[0]
    if [parse(size) if size != REST else size for size in made] != [
        parse(size) if size != REST else size for size in expected
    ]:
        return f"'{y.name}' has another shape than [{', '.join(expected)}]"
    return ""


def reference(manifest: Manifest) -> list[str]:
    (x,) = manifest.inputs
    rim, sizes, windows = (fitting.local(manifest, one) for one in ("rim", "sizes", "windows"))
    return [
        f"{rim} = [(0, 0)] * ({x.name}.ndim - 2) + [(pad, pad)] * 2",
        f"{rim} = np.pad({x.name}, {rim}, constant_values=-np.inf)",
        f"{sizes} = [({rim}.shape[axis] - kernel) // stride + 1 for axis in (-2, -1)]",
        f"if min({sizes}) <= 0:",
        f"    return np.zeros((*{x.name}.shape[:-2], *{sizes}))",
        f"{windows} = np.lib.stride_tricks.sliding_window_view({rim}, (kernel, kernel), (-2, -1))",
        f"return {windows}[..., ::stride, ::stride, :, :].max(axis=(-2, -1))",
    ]


def test(_manifest: Manifest, arguments: list[str]) -> list[str]:
    given = {**dict(one.split("=") for one in arguments), "kernel": "3", "stride": "2", "pad": "1"}
    return [
        "(shape,) = SHAPES",
        "numbers = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)",
        f"output = reference(numbers, {', '.join(f'{name}={value}' for name, value in given.items())})",
        "for place in np.ndindex(*output.shape):",
        "    top, left = 2 * place[-2] - 1, 2 * place[-1] - 1",
        "    image = numbers[place[:-2]]",
        "    window = image[max(top, 0) : top + 3, max(left, 0) : left + 3]",
        "    assert output[place] == window.max()",
    ]
