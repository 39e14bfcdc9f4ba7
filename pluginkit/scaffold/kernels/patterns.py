"""Kernel patterns: what a new project's kernel is made of, and which signatures it is for.

A pattern is a file of `templates/project/templates/kernels/`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.scaffold.kernels import fitting, gathering, padding, pooling, ranking, rows, selecting, transposition

LOOP = "loop"
"""The pattern for every signature; what projects have that were made before there were others."""
ELEMENTWISE = "elementwise"


def _no_variables(_manifest: Manifest) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class KernelPattern:
    """A kernel pattern.

    Attributes:
        about: what it is for, for the command's help.
        misfit: why a signature can't have it; empty where it can.
        layer: what the generated layer computes, for the user; empty: what it does for every signature.
        reference: the same in NumPy, lines of reference.py.
        test: lines that hold `reference` against numbers known otherwise; gets the fields as arguments.
        variables: what its kernel's file needs of a signature, besides what every kernel has.
        example: options of a signature that it is for, where the usual one isn't.
        tunable: whether its launch takes values that `pluginkit tune` measures.
        resembles: whether a signature looks like it, so that a project begins with it where it fits.
    """

    about: str
    misfit: Callable[[Manifest], str]
    layer: str = ""
    reference: Callable[[Manifest], list[str]] = lambda _manifest: []
    test: Callable[[Manifest, list[str]], list[str]] = lambda _manifest, _arguments: []
    variables: Callable[[Manifest], Mapping[str, Any]] = _no_variables
    example: str = ""
    tunable: bool = False
    resembles: Callable[[Manifest], bool] = lambda _manifest: False


def _lines(*lines: str) -> Callable[[Manifest], list[str]]:
    """Lines of reference.py whose input is X."""
    return lambda manifest: [line.replace("X", manifest.inputs[0].name) for line in lines]


def _of_equal_numbers(expected: str) -> Callable[[Manifest, list[str]], list[str]]:
    """A test by inputs that are all `value`: the output is `expected`, an expression of NumPy's."""
    return lambda _manifest, arguments: [
        "(shape,) = SHAPES",
        "for value in (1.0, -3.0):",
        f"    output = reference({', '.join(['np.full(shape, value)', *arguments])})",
        f"    np.testing.assert_allclose(output, {expected})",
    ]


PATTERNS = {
    ELEMENTWISE: KernelPattern(
        "a function of each element, at the speed of the memory", fitting.elementwise, tunable=True
    ),
    "rows": KernelPattern(
        "a function of each row, as a softmax, a norm or a maximum, at the speed of the memory",
        rows.misfit,
        "A softmax of each row, which is the last dimension.",
        rows.reference,
        rows.test,
        rows.variables,
        "--input x:float32:n,c --input weight:float32:c --output y:float32:n,c --output most:float32:n",
        tunable=True,
        resembles=rows.resembles,
    ),
    "scan": KernelPattern(
        "running sums along rows, at the speed of the memory",
        fitting.along_rows,
        "The running sum of each row, which is the last dimension.",
        _lines("return np.cumsum(X, axis=-1)"),
        _of_equal_numbers("value * np.ones(shape).cumsum(axis=-1)"),
        tunable=True,
    ),
    "gather": KernelPattern(
        "rows of a table by their numbers, as an embedding, at the speed of the memory",
        gathering.misfit,
        "The table's rows that the second input names; -1 is the last one, and a number of none gives zeros.",
        gathering.reference,
        gathering.test,
        example="--input table:float32:v,d --input ids:int32:n --output y:float32:n,d",
        tunable=True,
        resembles=gathering.resembles,
    ),
    "transpose": KernelPattern(
        "dimensions exchanged, as NCHW to NHWC, at nearly the speed of the memory",
        transposition.misfit,
        "The input with two groups of its last dimensions exchanged.",
        transposition.reference,
        transposition.test,
        transposition.variables,
        "--input x:float32:n,c,h,w --output y:float32:n,h,w,c",
        tunable=True,
        resembles=transposition.resembles,
    ),
    "pad": KernelPattern(
        "a rim of a constant, the edge, or a reflection",
        padding.misfit,
        "The input with a rim.",
        padding.reference,
        padding.test,
        padding.variables,
        "--field top:int32:0..=1 --field bottom:int32:0..=1 --field mode:int32:0..2=0 --input x:float32:n,h,w "
        "--output 'y:float32:n,h + top + bottom,w'",
        tunable=True,
        resembles=padding.resembles,
    ),
    "pool": KernelPattern(
        "a function of each window of an image, as a maximum",
        pooling.misfit,
        "The maximum of each window of the last two dimensions.",
        pooling.reference,
        pooling.test,
        pooling.variables,
        "--field kernel:int32:1..=3 --field stride:int32:1..=2 --field pad:int32:0..=1 --input x:float32:n,h,w "
        "--output 'y:float32:n,(h + 2 * pad - kernel) // stride + 1,(w + 2 * pad - kernel) // stride + 1'",
        tunable=True,
        resembles=pooling.resembles,
    ),
    "nonzero": KernelPattern(
        "the places of elements that are not 0, and how many there are",
        selecting.misfit,
        "The places of the elements that are not 0, in row-major order, and how many there are.",
        selecting.reference,
        selecting.test,
        example="--base v3 --input x:float32:r,c --output indices:int64:2,count --output 'count:int32::upper=r * c"
        ":opt=r * c // 2' --workspace 'ceil_div(r * c, 8192) * 1184'",
        tunable=True,
    ),
    "topk": KernelPattern(
        "a function of each element and of whether it is among its row's k largest, at the speed of the memory",
        ranking.misfit,
        "The k largest elements of each row, which is the last dimension; the others become 0.",
        ranking.reference,
        ranking.test,
        example="--field k:int32:1..=2 --input x:float32:n,c",
        tunable=True,
    ),
    LOOP: KernelPattern("a plain loop over the output's elements, for every signature", fitting.always),
}


def chosen(manifest: Manifest, name: str) -> str:
    """The pattern of a new project. Without a name: what the signature looks like, elementwise, or else a loop.

    Raises:
        UsageError: there is no such pattern, or it isn't for this signature.
    """
    if not name:
        alike = (
            one for one, pattern in PATTERNS.items() if pattern.resembles(manifest) and not pattern.misfit(manifest)
        )
        return next(alike, LOOP if fitting.elementwise(manifest) else ELEMENTWISE)
    if name not in PATTERNS:
        close = difflib.get_close_matches(name, PATTERNS, n=1)
        guess = f"; did you mean '{close[0]}'?" if close else "."
        raise UsageError(f"There is no kernel pattern '{name}'{guess}", hint=f"There is: {', '.join(PATTERNS)}.")
    pattern = PATTERNS[name]
    if problem := pattern.misfit(manifest):
        fitting_signature = f"Give a signature as {pattern.example}; or take" if pattern.example else "Take"
        raise UsageError(
            f"The kernel pattern '{name}' isn't for this signature: {problem}.",
            hint=f"{fitting_signature} --kernel {LOOP}, or leave --kernel out.",
        )
    return name


def advice(manifest: Manifest, name: str) -> list[str]:
    """Sentences on other patterns than `name` that the user may want: which fit, and what others lack."""
    fit = [one for one, pattern in PATTERNS.items() if one != name and not pattern.misfit(manifest)]
    found = [f"--kernel {'|'.join(fit)} for another one"] if fit else []
    for one, pattern in PATTERNS.items():
        if one != name and pattern.resembles(manifest) and (problem := pattern.misfit(manifest)):
            found.append(f"it looks like a {one}, but --kernel {one} is not for it: {problem}")
    weights = rows.misfit(manifest) == "" and any(
        field.name.lower().startswith(("eps", "epsilon")) for field in manifest.plain_fields()
    )
    if weights and name != "rows":
        found.append("it looks like a norm of rows: take --kernel rows if it is one")
    return found


def fields(name: str, given: Sequence[str] | None) -> Sequence[str] | None:
    """The fields of a new project, as `pluginkit.scaffold.new` takes them: a layer of its own has none by itself."""
    return [] if given is None and name in PATTERNS and PATTERNS[name].layer else given


def kept(manifest: Manifest, name: str) -> str:
    """The pattern of a project whose signature was edited: its own, where it fits, else a loop."""
    return LOOP if PATTERNS[name].misfit(manifest) else name


def variables(manifest: Manifest, name: str) -> dict[str, Any]:
    """What a pattern has of its own of the template's variables, in place of `scaffold.python`'s too."""
    pattern = PATTERNS[name]
    if not pattern.layer:
        return {"layer": ""}
    arguments = [f"{field.name}=None" for field in manifest.plain_fields()]
    return {
        "layer": pattern.layer,
        "py_body": pattern.reference(manifest),
        "py_test": ["reference = load_reference()", *pattern.test(manifest, arguments)],
        **pattern.variables(manifest),
    }
