"""The pattern `topk`: a function of each element and of whether it is one of its row's k largest."""

from __future__ import annotations

from pluginkit.manifest import Manifest
from pluginkit.scaffold.kernels import fitting


def misfit(manifest: Manifest) -> str:
    if problem := fitting.along_rows(manifest):
        return problem
    (y,) = manifest.outputs
    k = fitting.field(manifest, "k")
    if y.alias:
        return "its output is in its input's memory"
    if k is None or not fitting.is_whole(k):
        return "it has no integer field 'k'"
    if (least := fitting.ends(k)[0]) is None or least < 0:
        return "the field 'k' may be less than 0: write k:int32:1..=2"
    return ""


def reference(manifest: Manifest) -> list[str]:
    (x,) = manifest.inputs
    order, among = (fitting.local(manifest, one) for one in ("order", "among"))
    return [
        f"{order} = np.lexsort((-{x.name}, ~np.isnan({x.name})), axis=-1)",
        f"{among} = np.zeros({x.name}.shape, bool)",
        f"np.put_along_axis({among}, {order}[..., : int(k)], True, axis=-1)",
        f"return np.where({among}, {x.name}, 0.0)",
    ]


def test(_manifest: Manifest, arguments: list[str]) -> list[str]:
    given = {**dict(one.split("=") for one in arguments), "k": "2"}
    return [
        "(shape,) = SHAPES",
        "numbers = np.resize([1.0, 3.0, -2.0, 3.0, 3.0], shape)",
        f"output = reference(numbers, {', '.join(f'{name}={value}' for name, value in given.items())})",
        "for row, kept in zip(numbers.reshape(-1, shape[-1]), output.reshape(-1, shape[-1]), strict=True):",
        "    best = sorted(range(len(row)), key=lambda place: -row[place])[:2]",
        "    assert list(kept) == [number if place in best else 0.0 for place, number in enumerate(row)]",
    ]
