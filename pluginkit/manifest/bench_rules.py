"""Rules on the part `[bench]` against the signature."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pluginkit.manifest.bench_section import TORCH, BenchShape, expression
from pluginkit.manifest.field_rules import value_problem
from pluginkit.manifest.signature import ManifestModel


def problems(manifest: ManifestModel) -> list[str]:
    """What is wrong in the section."""
    bench = manifest.bench
    found = _baseline("bench.baseline", bench.baseline, manifest)
    names = [shape.name for shape in bench.shapes]
    found += [f"two shapes of [bench] are called '{name}'" for name in dict.fromkeys(names) if names.count(name) > 1]
    for shape in bench.shapes:
        where = f"bench shape '{shape.name}'"
        found += _shape(where, shape, manifest)
        found += _baseline(f"{where}: baseline", shape.baseline or "", manifest)
    return found


def _shape(where: str, shape: BenchShape, manifest: ManifestModel) -> list[str]:
    known, fields = manifest.symbols(), {field.name: field for field in manifest.fields}
    found = [f"{where}: no number for the symbol '{name}'" for name in known if name not in shape.symbols]
    found += [f"{where}: there is no symbol '{name}'; known: {', '.join(known)}" for name in _others(shape, known)]
    found += [f"{where}: {name} = {n} must be 1 or more" for name, n in shape.symbols.items() if n < 1]
    for name, value in shape.fields.items():
        if name not in fields:
            found.append(f"{where}: there is no field '{name}'; known: {', '.join(fields) or 'none'}")
        elif problem := value_problem(fields[name], value):
            found.append(f"{where}: the field '{name}' {problem}")
    precisions = [kind.value for kind in manifest.precisions()]
    return found + [f"{where}: '{p}' is not a precision of this plugin" for p in shape.allowed if p not in precisions]


def _others(shape: BenchShape, known: Sequence[str]) -> list[str]:
    return [name for name in shape.symbols if name not in known]


def _baseline(where: str, text: str, manifest: ManifestModel) -> list[str]:
    if not text:
        return []
    if not text.startswith(TORCH):
        return [f"{where}: '{text}' must begin with '{TORCH}', as in \"{TORCH} torch.relu({manifest.inputs[0].name})\""]
    try:
        tree: Any = ast.parse(expression(text), mode="eval")
    except SyntaxError as error:
        return [f"{where}: '{expression(text)}' is not a Python expression: {error.msg}"]
    known = {"torch", *(tensor.name for tensor in manifest.inputs), *(field.name for field in manifest.fields)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    builtin = {"int", "float", "bool", "tuple", "list", "range", "len", "min", "max", "sum"}
    return [
        f"{where}: '{name}' is neither an input nor a field; known: {', '.join(sorted(known))}"
        for name in sorted(used - known - bound - builtin)
    ]
