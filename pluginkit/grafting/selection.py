"""Places by nodes' names, by the values around them, by a module's scope, or by a chain of operators' types."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pluginkit.errors import UsageError
from pluginkit.grafting.regions import Subgraph, boundary, constant, graphs, name_of
from pluginkit.patterns import Pattern

SCOPES = "pkg.torch.onnx.name_scopes"
"""Where torch's dynamo exporter keeps a node's modules, as a list's text, outermost first."""
SHOWN = 5
"""How many modules a message names."""


def find(model: Any, wanted: Pattern, inputs: Sequence[str], outputs: int | None) -> list[Subgraph]:
    """All places.

    Args:
        model: the model.
        wanted: a pattern of another kind than `node`.
        inputs: the names of the plugin's inputs; empty: not known.
        outputs: how many outputs the plugin has; None: not known.

    Raises:
        UsageError: a name is not one of the model's, a constant is another than the pattern says, or what goes in and
            comes out does not fit the plugin.
    """
    found: list[tuple[Any, str, list[Any]]] = []
    for graph, path in graphs(model):
        found += [(graph, path, nodes) for nodes in _groups(graph, wanted) if nodes]
    if wanted.names:
        _all_there(wanted.names, found)
    return [_region(*one, wanted, inputs, outputs) for one in found]


def why_none(model: Any, wanted: Pattern) -> str:
    """What the model lacks of a pattern that fits no place of it, a sentence; empty if it lacks nothing."""
    nodes = [node for graph, _ in graphs(model) for node in graph]
    if wanted.values:
        made = {value.name for node in nodes for value in node.outputs}
        missing = [name for name in wanted.values["to"] if name not in made]
        return f"No node of the model makes {missing[0]!r}." if missing else ""
    if wanted.scope:
        modules = [one for one in dict.fromkeys(map(_innermost, nodes)) if one]
        more = f" and {len(modules) - SHOWN} more" if len(modules) > SHOWN else ""
        return f"Its nodes are in {', '.join(modules[:SHOWN])}{more}." if modules else "Its nodes name no modules."
    there = {node.op_type for node in nodes}
    types = wanted.chain or [one.op for one in wanted.node]
    missing = [kind for kind in types if kind.rpartition("::")[2] not in there]
    return f"The model has no {missing[0]}." if missing else ""


def _innermost(node: Any) -> str:
    """The module that a node is in, by metadata or by its name; empty if neither says one."""
    # The last of the exporter's names is the operator's own.
    parts = _modules(node)[-2:-1] or (node.name or "").strip("/").split("/")[:-1]
    return "/".join(("", *parts)) if any(parts) else ""


def _modules(node: Any) -> list[str]:
    """The modules that a node is in by the exporter's metadata, outermost first."""
    try:
        listed = ast.literal_eval(node.metadata_props.get(SCOPES, "[]"))
    except (SyntaxError, ValueError):
        return []
    return list(map(str, listed)) if isinstance(listed, list) else []


def _groups(graph: Any, wanted: Pattern) -> list[list[Any]]:
    if wanted.names:
        return [[node for node in graph if node.name in wanted.names]]
    if wanted.values:
        return _between(graph, wanted.values["from"], wanted.values["to"])
    if wanted.scope:
        return _scoped(graph, wanted.scope)
    return _chains(graph, wanted.chain)


def _all_there(names: Sequence[str], found: Sequence[tuple[Any, str, list[Any]]]) -> None:
    there = {node.name for _, _, nodes in found for node in nodes}
    if missing := [name for name in names if name not in there]:
        raise UsageError(
            f"The model has no node {missing[0]!r}.", hint="pluginkit doctor MODEL.onnx --json lists them."
        )
    if len(found) > 1:
        paths = " and ".join(path or "the main graph" for _, path, _ in found)
        raise UsageError(f"The nodes are in several graphs: {paths}.", hint="A plugin's node stands in one graph.")


def _between(graph: Any, start: Sequence[str], end: Sequence[str]) -> list[list[Any]]:
    """The nodes that `end` needs, back to `start`."""
    values = {value.name: value for node in graph for value in node.outputs}
    if not all(name in values for name in end):
        return []
    nodes: dict[int, Any] = {}
    waiting = [values[name] for name in end]
    while waiting:
        value = waiting.pop()
        node = value.producer()
        if value.name in start or node is None or node.graph is not graph or id(node) in nodes:
            continue
        nodes[id(node)] = node
        waiting += [one for one in node.inputs if one is not None]
    return [[node for node in graph if id(node) in nodes]]


def _scoped(graph: Any, scope: str) -> list[list[Any]]:
    """The nodes of each module that the scope names, in the order in which the modules come."""
    groups: dict[str, list[Any]] = {}
    for node in graph:
        module = _module(node, scope)
        if module:
            groups.setdefault(module, []).append(node)
    return list(groups.values())


def _module(node: Any, scope: str) -> str:
    """The module of that scope that a node is in; empty if it is in none."""
    wanted = scope.strip("/")
    # The exporter writes `encoder.layer.0`, the user `/encoder/layer.0`.
    for one in (listed.replace(".", "/") for listed in _modules(node)):
        if fnmatch.fnmatchcase(one, wanted.replace(".", "/")):
            return one
    parts = (node.name or "").strip("/").split("/")
    length = wanted.count("/") + 1
    # Part by part: a star stands for no slash.
    fits = all(fnmatch.fnmatchcase(one, glob) for one, glob in zip(parts, wanted.split("/"), strict=False))
    return "/".join(parts[:length]) if len(parts) > length and fits else ""


def _chains(graph: Any, types: Sequence[str]) -> list[list[Any]]:
    """Chains of nodes of these types, each of which is given what the one before makes."""
    found: list[list[Any]] = []
    for node in graph:
        found += _followed([node], types, graph) if _is(node, types[0]) else []
    return found


def _followed(chain: list[Any], types: Sequence[str], graph: Any) -> list[list[Any]]:
    if len(chain) == len(types):
        return [chain]
    users = {id(use.node): use.node for value in chain[-1].outputs for use in value.uses()}
    following = [node for node in users.values() if node.graph is graph and _is(node, types[len(chain)])]
    return [one for node in following for one in _followed([*chain, node], types, graph)]


def _is(node: Any, kind: str) -> bool:
    domain, _, name = kind.rpartition("::")
    return bool(node.op_type == name and node.domain == domain)


def _region(
    graph: Any,
    path: str,
    nodes: list[Any],
    wanted: Pattern,
    inputs: Sequence[str],
    outputs: int | None,
) -> Subgraph:
    nodes = [node for node in nodes if node.op_type != "Constant"] or nodes
    data, constants, made = boundary(nodes)
    label = name_of(nodes[0])
    bound = _bound(nodes, constants, wanted, label)
    if wanted.values:
        _reaches(wanted.values["from"], [*data, *constants], label)
        by_name = {value.name: value for node in nodes for value in node.outputs}
        made = [by_name[name] for name in wanted.values["to"]]
        given = [next(one for one in (*data, *constants) if one.name == name) for name in wanted.values["from"]]
        if wanted.inputs is None:
            return Subgraph(graph, path, tuple(nodes), tuple(given), tuple(made), bound)
    if outputs is not None and len(made) > outputs:
        names = ", ".join(value.name for value in made)
        raise UsageError(
            f"Place {label} makes {len(made)} values that are used outside, {names}, and the plugin has {outputs} "
            f"output{'' if outputs == 1 else 's'}.",
            hint="Choose nodes of which only as many values are used outside.",
        )
    if wanted.inputs is not None:
        chosen = [_value_named(name, [*data, *constants], label) for name in wanted.inputs]
    else:
        chosen = data + constants[: max(0, len(inputs) - len(data))] if inputs else data
        if inputs and len(chosen) != len(inputs):
            listed = ", ".join(value.name for value in (*data, *constants))
            raise UsageError(
                f"Place {label} is given {len(data)} value{'' if len(data) == 1 else 's'} and {len(constants)} "
                f"constants ({listed}), and the plugin has {len(inputs)} inputs.",
                hint="Say which by inputs = [...] in a pattern file.",
            )
    return Subgraph(graph, path, tuple(nodes), tuple(chosen), tuple(made), bound)


def _reaches(names: Sequence[str], given: Iterable[Any], label: str) -> None:
    there = [one.name for one in given]
    if missing := [name for name in names if name not in there]:
        raise UsageError(
            f"No value {missing[0]!r} goes into the nodes of place {label}.", hint=f"These do: {', '.join(there)}."
        )
    if more := [name for name in there if name not in names and not _is_constant(name, given)]:
        raise UsageError(
            f"{more[0]} goes into the nodes of place {label} too, and is not one of the values given.",
            hint=f"Give it before the '->': {','.join([*names, *more])}",
        )


def _is_constant(name: str, given: Iterable[Any]) -> bool:
    return any(one.name == name and constant(one) is not None for one in given)


def _value_named(name: str, values: Sequence[Any], label: str) -> Any:
    found = [value for value in values if fnmatch.fnmatchcase(value.name or "", name)]
    if len(found) != 1:
        listed = ", ".join(value.name for value in values)
        what = "No value" if not found else f"{len(found)} values"
        raise UsageError(f"Place {label}: {what} called {name!r} goes into it.", hint=f"These do: {listed}.")
    return found[0]


def _bound(nodes: Sequence[Any], constants: Sequence[Any], wanted: Pattern, label: str) -> dict[str, object]:
    """What the pattern has names for: attributes by `TYPE.attribute`, constants by their values' names."""
    by_name: dict[str, object] = {value.name: constant(value) for value in constants if value.name}
    for node in nodes:
        by_name |= {f"{node.op_type}.{name}": one.value for name, one in node.attributes.items()}
    bound: dict[str, object] = {}
    for name, glob in wanted.bind.items():
        found = {key: value for key, value in by_name.items() if fnmatch.fnmatchcase(key, glob)}
        if not found:
            raise UsageError(
                f"Place {label} has no constant or attribute {glob!r}.", hint=f"It has {', '.join(by_name) or 'none'}."
            )
        bound[name] = next(iter(found.values()))
    for name in wanted.constants:
        array = bound.get(name, by_name.get(name))
        if array is None:
            raise UsageError(f"Place {label} has no constant {name!r}.", hint=f"It has {', '.join(by_name) or 'none'}.")
        if reason := wanted.rule(name).broken_by(np.asarray(array)):
            raise UsageError(f"Place {label}: {name} is {reason}.")
    return bound
