"""Kernel patterns: what a new project's kernel is made of, and which signatures it is for.

A pattern is a file of `templates/project/templates/kernels/`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pluginkit.bases import BASES
from pluginkit.errors import UsageError
from pluginkit.formats import Format
from pluginkit.manifest import REST, Manifest

LOOP = "loop"
"""The pattern for every signature; what projects have that were made before there were others."""
ELEMENTWISE = "elementwise"


@dataclass(frozen=True)
class KernelPattern:
    """A kernel pattern.

    Attributes:
        about: what it is for, for the command's help.
        misfit: why a signature can't have it; empty where it can.
        layer: what the generated layer computes, for a person; empty: what it does for every signature.
        body: the same in NumPy, lines of reference.py whose input is X.
        constant: what becomes of inputs that are all `value`, an expression of NumPy's.
    """

    about: str
    misfit: Callable[[Manifest], str]
    layer: str = ""
    body: tuple[str, ...] = ()
    constant: str = ""


def _always(_manifest: Manifest) -> str:
    return ""


def _elementwise(manifest: Manifest) -> str:
    given, outputs = manifest.execution_inputs(), manifest.outputs
    shapes = {tuple(manifest.written(output)) for output in outputs}
    reasons = [
        *(["it has no input"] if not given else []),
        *(["its outputs differ in shape"] if len(shapes) > 1 else []),
        *(["it has a workspace"] if manifest.plugin.workspace else []),
        *(f"'{output.name}' is a size tensor" for output in outputs if output.upper is not None),
        *(f"'{t.name}' has other formats than linear" for t in (*given, *outputs) if set(t.formats) != {Format.LINEAR}),
        *(f"'{t.name}' has a scale for each channel" for t in (*given, *outputs) if t.scale_axis is not None),
    ]
    return reasons[0] if reasons else ""


def _along_rows(manifest: Manifest) -> str:
    """One tensor to one of the same shape, each row of it by itself."""
    given, outputs = manifest.execution_inputs(), manifest.outputs
    if len(manifest.inputs) != 1 or len(outputs) != 1:
        return "it takes one input and one output"
    (x,), (y,) = given, outputs
    reasons = [
        *(["its output has another shape than its input"] if manifest.written(x) != manifest.written(y) else []),
        *(["its output has other types than its input"] if x.types != y.types else []),
        *(["there is no row in a scalar"] if not x.shape else []),
        *([f"the last dimension of '{x.name}' may be none"] if REST in list(manifest.written(x))[-1:] else []),
        *(
            [f"base {manifest.plugin.base} is of fixed shapes"]
            if not BASES[manifest.plugin.base].dynamic_shapes
            else []
        ),
        *(["integers have no scale to round by"] if any(kind.is_integer for kind in x.types) else []),
    ]
    return reasons[0] if reasons else _elementwise(manifest)


PATTERNS = {
    ELEMENTWISE: KernelPattern("a function of each element, at the speed of the memory", _elementwise),
    "rows": KernelPattern(
        "a function of each row, as a softmax or a norm, at the speed of the memory",
        _along_rows,
        "A softmax of each row, which is the last dimension.",
        (
            "powers = np.exp(X - np.max(X, axis=-1, keepdims=True, initial=-np.inf))",
            "return powers / np.sum(powers, axis=-1, keepdims=True)",
        ),
        "np.full(shape, 1.0 / shape[-1])",
    ),
    "scan": KernelPattern(
        "running sums along rows, at the speed of the memory",
        _along_rows,
        "The running sum of each row, which is the last dimension.",
        ("return np.cumsum(X, axis=-1)",),
        "value * np.ones(shape).cumsum(axis=-1)",
    ),
    LOOP: KernelPattern("a plain loop over the output's elements, for every signature", _always),
}


def chosen(manifest: Manifest, name: str) -> str:
    """The pattern of a new project. Without a name: elementwise, where the signature fits, else a loop.

    Raises:
        UsageError: there is no such pattern, or it isn't for this signature.
    """
    if not name:
        return LOOP if _elementwise(manifest) else ELEMENTWISE
    if name not in PATTERNS:
        close = difflib.get_close_matches(name, PATTERNS, n=1)
        guess = f"; did you mean '{close[0]}'?" if close else "."
        raise UsageError(f"There is no kernel pattern '{name}'{guess}", hint=f"There is: {', '.join(PATTERNS)}.")
    if problem := PATTERNS[name].misfit(manifest):
        raise UsageError(
            f"The kernel pattern '{name}' isn't for this signature: {problem}.",
            hint=f"Take --kernel {LOOP}, or leave --kernel out.",
        )
    return name


def kept(manifest: Manifest, name: str) -> str:
    """The pattern of a project whose signature was edited: its own, where it fits, else a loop."""
    return LOOP if PATTERNS[name].misfit(manifest) else name


def python(manifest: Manifest, name: str) -> dict[str, Any]:
    """What a pattern has of its own of the template's Python files and README, instead of `scaffold.python`'s."""
    pattern = PATTERNS[name]
    if not pattern.layer:
        return {"layer": ""}
    (x,) = manifest.execution_inputs()
    keywords = [f"{field.name}=None" for field in manifest.plain_fields()]
    test = ["reference = load_reference()", "(shape,) = SHAPES", "for value in (1.0, -3.0):"]
    test += [f"    output = reference({', '.join(['np.full(shape, value)', *keywords])})"]
    test += [f"    np.testing.assert_allclose(output, {pattern.constant})"]
    return {"layer": pattern.layer, "py_body": [line.replace("X", x.name) for line in pattern.body], "py_test": test}
