"""What a manifest means in NumPy: the body of reference.py, and a check of it with numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pluginkit.build.signature.fields import quote
from pluginkit.dtypes import DType
from pluginkit.field_types import Number, Value
from pluginkit.manifest import Attribute, Manifest, Tensor
from pluginkit.scaffold.cpp import is_whole, same_shape, whole_value
from pluginkit.scaffold.fields import cpp as cpp_fields
from pluginkit.scaffold.names import python_module
from pluginkit.scaffold.shape_code import numpy_dimensions

_LIMIT = 88
_NUMPY = (DType.FLOAT32, DType.FLOAT16, DType.INT32, DType.INT64)
"""Precisions to show the Python module in. INT8 stands for other numbers, and NumPy alone has no bfloat16."""
_RTOL = {DType.FLOAT32: "1e-5", DType.FLOAT16: "2e-3", DType.INT32: "0", DType.INT64: "0"}
_ATOL = {DType.FLOAT32: "1e-5", DType.FLOAT16: "2e-3", DType.INT32: "1", DType.INT64: "1"}


def snippets(manifest: Manifest) -> dict[str, Any]:
    """The variables of the template's Python files."""
    fields = manifest.plain_fields()
    given = [tensor.name for tensor in manifest.inputs]
    env = manifest.profiles[0].at("opt")
    keywords = ["*", *(field.name for field in fields)] if fields else []
    return {
        "py_def": call("def reference(", [*given, *keywords], "):"),
        "py_shapes": call("SHAPES = [", [str(list(t.dims(env))) for t in manifest.execution_inputs()], "]"),
        "py_fields_doc": _fields_doc(fields),
        "py_body": _body(manifest),
        "py_test": _test(manifest),
        **_eager(manifest),
    }


def _fields_doc(fields: Sequence[Attribute]) -> str:
    if not fields:
        return ""
    kinds = [
        *(["numbers"] if any(field.is_number for field in fields) else []),
        *(["arrays"] if any(field.is_list for field in fields) else []),
        *(["strings"] if any(field.type.is_text for field in fields) else []),
    ]
    return f"; fields are {' or '.join(kinds)}"


def _as_number(field: Attribute) -> str:
    """The expression of what a field adds."""
    if field.is_number:
        return field.name
    return f"sum({field.name}.encode()) / 1024" if field.type.is_text else f"np.sum({field.name})"


def _number(value: Value) -> Number:
    """What the expression of that value is."""
    if isinstance(value, str):
        return sum(value.encode()) / 1024
    return sum(value) if isinstance(value, tuple) else value


def _literal(field: Attribute, value: Value) -> str:
    """A field's value as NumPy's code has it."""
    if isinstance(value, str):
        return quote(value)
    if not isinstance(value, tuple):
        return repr(value)
    kind = ", np.int64" if field.type.is_integer else ""
    return f"np.array({list(value)!r}{kind})"


def _body(manifest: Manifest) -> list[str]:
    multiplied, added = cpp_fields.split(manifest.plain_fields())
    slope = multiplied.name if multiplied else "0.25"
    biases = [_as_number(field) for field in added]
    same = len({manifest.written(output) for output in manifest.outputs}) == 1
    lines = []
    groups = [list(manifest.outputs)] if same else [[output] for output in manifest.outputs]
    factor, results = 0, []
    if manifest.size_tensors():
        lines += ["shape = ()", *_total([_term(manifest, tensor) for tensor in manifest.execution_inputs()], biases)]
    for output in manifest.size_tensors():
        most = numpy_dimensions.bound(manifest, str(output.upper))
        lines.append(f"{numpy_dimensions.size_variable(output.name)} = {most} if total >= 0 else {most} // 2")
    for group in groups:
        if all(output.upper is not None for output in group):
            factor += len(group)
            results += [numpy_dimensions.size_variable(output.name) for output in group]
            continue
        if not all(same_shape(manifest, tensor) for tensor in manifest.execution_inputs()):
            lines += call("shape = (", numpy_dimensions.dimensions(manifest, group[0]), ")", indent=4)
        terms = [_term(manifest, tensor) for tensor in manifest.execution_inputs()]
        lines += _total(terms, biases)
        lines += ["positive = total >= 0"] if any(map(is_whole, group)) else []
        if not all(map(is_whole, group)):
            lines.append(f"total = np.where(total >= 0, total, {slope} * total)")
        for output in group:
            factor += 1
            value = "total" if factor == 1 else f"{factor} * total"
            value = f"{whole_value(manifest, output)} * positive" if is_whole(output) else value
            if not same:
                lines.append(f"{_result(factor)} = {value}")
                value = _result(factor)
            results.append(value)
    plain = f"return {', '.join(results)}"
    return [*lines, *([plain] if len(plain) + 4 <= _LIMIT else call("return (", results, ")", indent=4))]


def _total(terms: list[str], biases: list[str]) -> list[str]:
    return [f"total = {terms[0]}", *(f"total = total + {term}" for term in [*terms[1:], *biases])]


def _term(manifest: Manifest, tensor: Tensor) -> str:
    """What an input adds."""
    if same_shape(manifest, tensor):
        return tensor.name
    if manifest.aliased(tensor):
        return f"np.resize(np.append({tensor.name}, np.zeros(shape)), shape)"
    return f"np.resize({tensor.name}, shape)"


def call(head: str, arguments: list[str], tail: str, *, indent: int = 0) -> list[str]:
    """A bracketed list as ruff formats it: on one line where it fits into 88 columns, else one item a line."""
    comma = "," if head.endswith("= (") and len(arguments) == 1 else ""
    line = f"{head}{', '.join(arguments)}{comma}{tail}"
    if len(line) + indent <= _LIMIT or not arguments:
        return [line]
    return [
        head,
        *(f"    {argument}{'' if argument == '*' and argument is arguments[-1] else ','}" for argument in arguments),
        tail,
    ]


def _result(number: int) -> str:
    return f"result{number}"


def _test(manifest: Manifest) -> list[str]:
    """Inputs of ones make N + biases, inputs of minus that size the flattened negative."""
    fields = manifest.plain_fields()
    env = manifest.profiles[0].at("opt")
    known = {field.name: field.example(env) for field in fields}
    multiplied, added = cpp_fields.split(fields)
    biases = [_number(known[field.name]) for field in added]
    keywords = [f"{field.name}={_literal(field, known[field.name])}" for field in fields]
    slope = _number(known[multiplied.name]) if multiplied else 0.25
    lines = ["reference = load_reference()"]
    for value in (1, -3):
        total = value * len(manifest.execution_inputs()) + sum(biases)
        expected = total if total >= 0 else slope * total
        bounds = manifest.with_fields({}).upper_bounds(env)
        sizes = {name: most if total >= 0 else most // 2 for name, most in bounds.items()}
        lines.append(f"inputs = [np.full(shape, {value}.0) for shape in SHAPES]")
        lines += [
            f"inputs.insert({index}, np.array({np.reshape(tensor.elements(env), tensor.dims(env)).tolist()}))"
            for index, tensor in enumerate(manifest.inputs)
            if tensor.is_shape_input
        ]
        lines += call("outputs = reference(", ["*inputs", *keywords], ")", indent=4)
        lines.append("outputs = outputs if isinstance(outputs, tuple) else (outputs,)")
        for index, output in enumerate(manifest.with_fields({}).outputs):
            number = whole_value(manifest, output) * ((total >= 0) if is_whole(output) else expected)
            number = sizes.get(output.name, number)
            lines.append(f"expected = np.full({output.dims({**env, **sizes})}, {_short(float(number))!r})")
            lines.append(f"np.testing.assert_allclose(outputs[{index}], expected)")
    return lines


def _short(number: float) -> float:
    """-0.3 for -0.30000000000000004, which is within the comparison's tolerance of it."""
    return float(f"{number:.12g}")


def _eager(manifest: Manifest) -> dict[str, list[str]]:
    """A test of the Python module, and lines that show it; empty for a plugin without a precision that NumPy has."""
    precision = next((p for p in _NUMPY if p in manifest.precisions()), None)
    # An eager call has no memory for what only enqueue knows the size of, and shapes by no values.
    if precision is None or manifest.size_tensors() or manifest.shape_inputs():
        return {"py_eager": [], "py_readme": []}
    name, env = manifest.plugin.name, manifest.profiles[0].at("opt")
    fields = manifest.plain_fields()
    required = [f"{f.name}=1" for f in manifest.fields if f.default is None and f not in fields]
    kinds = [f"np.{manifest.type_of(tensor, precision).value}" for tensor in manifest.inputs]
    keywords = [f"{field.name}={_literal(field, field.example(env))}" for field in fields]
    made = [*keywords, *required]
    lines = call("kinds = [", kinds, "]", indent=4)
    lines += [
        "values = np.arange(-3, 4)",
        "inputs = [np.resize(values, s).astype(k) for s, k in zip(SHAPES, kinds)]",
    ]
    lines += call(f"layer = module.{name}(", made, ")", indent=4)
    lines += [
        "outputs = layer(*inputs)",
        "outputs = outputs if isinstance(outputs, tuple) else (outputs,)",
        "wide = [x.astype(np.float64) for x in inputs]",
    ]
    lines += call("expected = load_reference()(", ["*wide", *keywords], ")", indent=4)
    lines += [
        "expected = expected if isinstance(expected, tuple) else (expected,)",
        "for y, z in zip(outputs, expected):",
        f"    np.testing.assert_allclose(y, z, rtol={_RTOL[precision]}, atol={_ATOL[precision]})",
    ]
    shown = [
        f"{tensor.name} = np.ones({list(tensor.dims(env))}, {kind})"
        for tensor, kind in zip(manifest.inputs, kinds, strict=True)
    ]
    results = ", ".join(tensor.name for tensor in manifest.outputs)
    given = ", ".join(tensor.name for tensor in manifest.inputs)
    shown += call(f"layer = {python_module(name)}.{name}(", made, ")")
    shown.append(f"{results} = layer({given})")
    return {"py_eager": lines, "py_readme": shown}
