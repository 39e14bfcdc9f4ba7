"""Patterns of operators, found by onnxscript's rewriter."""

from __future__ import annotations

import inspect
import itertools
import keyword
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import onnx
import onnx_ir as ir
from onnxscript.rewriter import pattern as rewriter

from pluginkit.errors import UsageError
from pluginkit.grafting.expressions import plain, same
from pluginkit.grafting.orders import Orders, turned_around
from pluginkit.grafting.pattern import FunctionPattern
from pluginkit.grafting.regions import Subgraph, constant, graphs, name_of
from pluginkit.patterns import Operator, Pattern

WAYS = 16
"""So many orders of a place that is none are looked at for the reason."""
NO_CONSTANT = " is not a constant"


def find(model: Any, wanted: Pattern | FunctionPattern, inputs: Sequence[str]) -> tuple[list[Subgraph], list[str]]:
    """All places, and why others that begin alike are none.

    Args:
        model: the model.
        wanted: the pattern.
        inputs: the names of the plugin's inputs; empty: not known.

    Raises:
        UsageError: the pattern contradicts itself.
    """
    function = wanted.function if isinstance(wanted, FunctionPattern) else _function(wanted)
    graph_patterns: list[Any] = []

    def matcher(pattern: Any) -> Any:
        graph_patterns.append(pattern)
        return rewriter.SimplePatternMatcher(pattern)

    try:
        rule = rewriter.RewriteRule(function, lambda op, **_: op.Identity(), matcher=matcher, name="graft")
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - of the pattern's function, and of onnxscript's for it
        raise UsageError(f"The pattern can't be read: {type(error).__name__}: {error}.") from None
    found: list[Subgraph] = []
    missed: list[str] = []
    for graph, path in graphs(model):
        for node in graph:
            _know_constants(node)
        listed = list(graph)
        strict = Orders(graph_patterns[0], lambda name, value: not _unfit(name, value, wanted))
        loose = Orders(graph_patterns[0], lambda *_: True)
        for node in listed:
            region, reason = _match(model, graph, path, node, rule, strict.of(node, listed), wanted, inputs)
            if region is None:
                # Once more without asking for constants, for what to say.
                near = itertools.islice(loose.of(node, listed), WAYS)
                region, reason = _match(model, graph, path, node, rule, near, wanted, inputs)
            if region is not None:
                found.append(region)
            elif reason:
                missed.append(reason)
    return found, missed


def _know_constants(node: Any) -> None:
    """onnxscript knows the values of Constant nodes in the main graph only."""
    if node.op_type == "Constant" and node.domain in {"", "ai.onnx"} and node.outputs[0].const_value is None:
        node.outputs[0].const_value = ir.convenience.get_const_tensor(node.outputs[0])


def _match(
    model: Any,
    graph: Any,
    path: str,
    node: Any,
    rule: Any,
    orders: Iterator[tuple[Any, ...]],
    wanted: Pattern | FunctionPattern,
    inputs: Sequence[str],
) -> tuple[Subgraph | None, str]:
    reasons = []
    for turned in orders:
        with turned_around(turned):
            match = rule.match(model, graph, node, check_nodes_are_removable=False)
        if not match:
            continue
        bound = {**match.bindings, **_defaults(model, match)}
        if reason := _wrong(bound, wanted):
            reasons.append(f"{'/'.join(filter(None, (path, name_of(node))))}: {reason}")
            continue
        names = _inputs(wanted, inputs, bound)
        order = {id(one): number for number, one in enumerate(graph)}
        nodes = sorted({id(one): one for one in match.nodes}.values(), key=lambda one: order[id(one)])
        values = {name: _bound(value) for name, value in bound.items() if name not in names}
        outputs = tuple(match.outputs)
        known = {name: value for name, value in values.items() if value is not None}
        return Subgraph(graph, path, tuple(nodes), tuple(bound[name] for name in names), outputs, known), ""
    # Of several orders, one that has constants where the pattern has them is nearer.
    return None, min(reasons, key=lambda one: one.endswith(NO_CONSTANT), default="")


def _inputs(wanted: Pattern | FunctionPattern, plugin: Sequence[str], bound: dict[str, Any]) -> list[str]:
    if isinstance(wanted, Pattern) and wanted.inputs is not None:
        names = wanted.inputs
    elif isinstance(wanted, FunctionPattern):
        names = [name for name in inspect.signature(wanted.function).parameters if name in plugin]
        names.sort(key=list(plugin).index)
    else:
        names = [name for name in plugin if name in bound]
    if unknown := [name for name in names if name not in bound]:
        raise UsageError(f"The pattern has no value {unknown[0]!r}.", hint=f"It has {', '.join(bound)}.")
    if not names:
        raise UsageError("The pattern names no input of the plugin.", hint="Write inputs = [...] into it.")
    return list(names)


def _bound(value: Any) -> object:
    """An attribute's value, or a constant's; None for other values."""
    if isinstance(value, ir.Attr):
        found: object = value.value
        return found
    return constant(value)


def _wrong(bound: dict[str, Any], wanted: Pattern | FunctionPattern) -> str:
    """Why what was matched is not what is wanted; empty if it is."""
    for name, value in bound.items():
        if isinstance(value, ir.Attr) and value.is_ref():
            return f"{name} is {value.ref_attr_name} of the local function, which each of its nodes gives"
    if isinstance(wanted, FunctionPattern):
        return ""
    for index, one in enumerate(wanted.node):
        for attribute, expected in one.attributes.items():
            name = _variable(index, attribute, expected)
            if not isinstance(expected, str) and (reason := _unfit(name, bound.get(name), wanted)):
                return reason
    for name in wanted.constants:
        if reason := _unfit(name, bound.get(name), wanted):
            return reason
    return ""


def _unfit(name: str, value: Any, wanted: Pattern | FunctionPattern) -> str:
    """Why a value is not the constant, or the attribute, that the pattern calls so; empty if it is, or the pattern asks
    for none."""
    if isinstance(wanted, FunctionPattern):
        return ""
    if (expected := _expected(wanted).get(name)) is not None:
        kind, attribute, required = expected
        found = plain(_bound(value))
        return "" if same(found, required, rtol=1e-5) else f"{attribute} of its {kind} is {found}, not {required}"
    if name not in wanted.constants:
        return ""
    array = constant(value)
    if array is None:
        return f"{name}{NO_CONSTANT}"
    reason = wanted.rule(name).broken_by(array)
    return f"{name} is {reason}" if reason else ""


def _expected(wanted: Pattern) -> dict[str, tuple[str, str, object]]:
    """What attributes must be, by what they are bound to: the operator, the attribute, and its value."""
    return {
        _variable(index, name, value): (one.op, name, _number_or_text(value))
        for index, one in enumerate(wanted.node)
        for name, value in one.attributes.items()
        if not isinstance(value, str)
    }


def _defaults(model: Any, match: Any) -> dict[str, Any]:
    """The bound attributes that nodes don't have, as ONNX defines them."""
    found = {}
    for pattern, node in match.node_bindings.items():
        for name, variable in pattern.attributes.items():
            if variable.name and name not in node.attributes:
                domain, imports = node.domain, model.graph.opset_imports
                if domain in {"", "ai.onnx"}:
                    domain, imports = "", {"": imports.get("ai.onnx", 1), **imports}
                version = imports.get(domain, 1)
                try:
                    default = onnx.defs.get_schema(node.op_type, version, domain).attributes[name].default_value
                except (onnx.defs.SchemaError, KeyError):
                    continue
                if default.type:
                    found[variable.name] = ir.serde.deserialize_attribute(default)
    return found


def _variable(index: int, attribute: str, expected: object) -> str:
    """What an attribute of the pattern's node of that number is bound to."""
    return expected if isinstance(expected, str) else f"{attribute} of node {index + 1}"


def _number_or_text(expected: object) -> object:
    return expected["equals"] if isinstance(expected, dict) else expected


def _function(wanted: Pattern) -> Callable[..., Any]:
    """The pattern as a function of onnxscript's."""
    listed = [name for one in wanted.node for name in one.outputs]
    made = set(listed)
    if len(made) < len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        raise UsageError(f"Two nodes of the pattern make {twice!r}.", hint="Give each output a name of its own.")
    free = [name for one in wanted.node for name in one.inputs if name and name not in made]
    variables = list(dict.fromkeys(free))
    # They become parameters, as those of a pattern in Python.
    if odd := [name for name in variables if not name.isidentifier() or keyword.iskeyword(name) or name == "op"]:
        raise UsageError(f"The pattern's value {odd[0]!r} is not a valid name.", hint="Take a word: x, gamma, lo_2.")
    used = {name for one in wanted.node for name in one.inputs}
    last = wanted.outputs or [name for one in wanted.node for name in one.outputs if name not in used]
    if unknown := [name for name in last if name not in made]:
        raise UsageError(f"No node of the pattern makes {unknown[0]!r}.", hint=f"They make {', '.join(sorted(made))}.")

    def build(op: Any, *given: Any) -> Any:
        values = dict(zip(variables, given, strict=True))
        waiting = list(wanted.node)
        while waiting:
            ready = [one for one in waiting if all(name in values for name in one.inputs if name)]
            if not ready:
                raise UsageError("The pattern's nodes have a circle.")
            for one in ready:
                waiting.remove(one)
                values.update(zip(one.outputs, _call(op, one, wanted.node.index(one), values), strict=True))
        return [values[name] for name in last]

    # onnxscript reads the parameters' names.
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("op", *variables)]
    build.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return build


def _call(op: Any, one: Operator, index: int, values: dict[str, Any]) -> list[Any]:
    domain, _, kind = one.op.rpartition("::")
    attributes = {
        # A node may leave out what has a default.
        name: rewriter.AttrVar(_variable(index, name, value), can_match_none=True)
        for name, value in one.attributes.items()
    }
    given = [values[name] if name else None for name in one.inputs]
    made = getattr(op, kind)(*given, _domain=domain, _outputs=list(one.outputs), **attributes)
    return list(made) if len(one.outputs) > 1 else [made]
