"""Models made by hand, and libraries that are only told of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from pluginkit.creators.facts import CreatorFacts, FieldFacts
from pluginkit.importing.implementations import PluginLibrary
from pluginkit.manifest import Manifest
from pluginkit.manifest.project import Member

FLOAT = TensorProto.FLOAT
BAR = {"plugin_version": "1", "plugin_namespace": ""}
SCALE = {"plugin_version": "1", "plugin_namespace": "acme", "factor": 0.25, "mode": 2}
DOMAIN = "pluginkit"


def value(name: str, shape: Sequence[int | str | None] | None, kind: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto] | None = None,
    outputs: Sequence[onnx.ValueInfoProto] | None = None,
    *,
    domains: Sequence[str] = (DOMAIN, "acme"),
    functions: Sequence[onnx.FunctionProto] = (),
    initializers: Sequence[onnx.TensorProto] = (),
    opset: int | None = 17,
) -> onnx.ModelProto:
    """A model; by default from x to y, both float32 [n, c]."""
    graph = helper.make_graph(
        nodes, "g", inputs or [value("x", ["n", "c"])], outputs or [value("y", ["n", "c"])], list(initializers)
    )
    opsets = [helper.make_opsetid("", opset)] if opset is not None else []
    opsets += [helper.make_opsetid(domain, 1) for domain in domains]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=list(functions))


def scale(inputs: Sequence[str] = ("x",), outputs: Sequence[str] = ("y",), **changed: Any) -> onnx.NodeProto:
    """A node of the plugin Scale; `changed` are attributes, `op`, `domain` and `name`; None leaves one out."""
    op, domain = changed.pop("op", "Scale"), changed.pop("domain", DOMAIN)
    name = changed.pop("name", "s")
    attributes = {key: given for key, given in {**SCALE, **changed}.items() if given is not None}
    return helper.make_node(op, list(inputs), list(outputs), name, domain=domain, **attributes)


def library(
    name: str = "Scale",
    *,
    fields: Sequence[FieldFacts] = (FieldFacts("factor", "kFLOAT32", 1), FieldFacts("mode", "kINT32", 1)),
    version: str = "1",
    namespace: str = "acme",
    kind: str = "V2",
    base: str = "IPluginV2DynamicExt",
    path: str = "libscale.so",
    manifest: Manifest | None = None,
    target: str = "cpu",
) -> PluginLibrary:
    creator = CreatorFacts(name, version, namespace, kind, "", base, tuple(fields))
    plugins = (Member(Path(), manifest),) if manifest else ()
    return PluginLibrary(Path(path), (creator,), plugins, target)


def function(domain: str, name: str, nodes: Sequence[onnx.NodeProto]) -> onnx.FunctionProto:
    """From x to y."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1), helper.make_opsetid("acme", 1)]
    return helper.make_function(domain, name, ["x"], ["y"], list(nodes), opsets)


def branch(nodes: Sequence[onnx.NodeProto], output: onnx.ValueInfoProto) -> onnx.GraphProto:
    return helper.make_graph(nodes, "branch", [], [output])


def conditional(then: onnx.GraphProto, other: onnx.GraphProto, output: str = "y") -> onnx.NodeProto:
    return helper.make_node("If", ["condition"], [output], "if", then_branch=then, else_branch=other)


CONDITION = value("condition", [], TensorProto.BOOL)
