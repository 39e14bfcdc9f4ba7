"""Checks of an ONNX model's nodes of the plugin: the rules of `pluginkit import` that are about plugins."""

from __future__ import annotations

from collections.abc import Callable

from pluginkit.host import Finding
from pluginkit.manifest import PARSER_ATTRIBUTES
from pluginkit.validation.catalog import Kind, NothingToCheck, check
from pluginkit.validation.subjects.model_nodes import ModelSubject

BY_MANIFEST = ("M15", "M17", "M18")
"""What is held against a `pluginkit.toml`."""
OF_FIELDS = ("M3", "M4", "M12")
OWN = frozenset(PARSER_ATTRIBUTES)
VERSION, NAMESPACE, SHAPE_INPUTS = PARSER_ATTRIBUTES
_PARSER = "NVIDIA's parser (onnx-tensorrt, onnxOpImporters.cpp, and TensorRT-RTX 1.7.1)"


def _of_model(name: str, title: str, *, level: int, source: str, fix: str, kind: Kind = "contract") -> None:
    entry = check(name, title, group="model", level=level, kind=kind, need="model", source=source, fix=fix)
    entry(_problems(name))


def _problems(name: str) -> Callable[[ModelSubject], None]:
    def ask(model: ModelSubject) -> None:
        found = model.of(name)
        if not found and (why := _nothing(name, model)):
            raise NothingToCheck(why)
        if found:
            first = found[0]
            more = f"\nand {len(found) - 1} more" if len(found) > 1 else ""
            where = f"node {first.node}: " if first.node else ""
            raise Finding("", f"{where}{first.text}{more}", rule=name, hint=first.fix)

    return ask


def _nothing(name: str, model: ModelSubject) -> str:
    """Why a check sees nothing in a model that doesn't break it; empty where it sees something."""
    if not model.nodes:
        return "the model has no node of the plugin"
    if name in BY_MANIFEST and not model.declared:
        return "there is no pluginkit.toml of the plugin"
    if name == "M1" and model.attributes.isdisjoint((VERSION, NAMESPACE)):
        return f"no node of it has {VERSION} or {NAMESPACE}"
    if name == "M5" and SHAPE_INPUTS not in model.attributes:
        return f"no node of it has {SHAPE_INPUTS}"
    return "no node of it has attributes for fields" if name in OF_FIELDS and not model.attributes - OWN else ""


_of_model(
    "M1",
    "plugin_version and plugin_namespace of its nodes are strings.",
    level=2,
    source=f"{_PARSER}: reads both as strings, '1' and '' where they are missing",
    fix='Write plugin_version="1" and plugin_namespace="".',
)
_of_model(
    "M2",
    "Its nodes reach the plugin: no operator of NVIDIA's parser and no function of the model goes before it.",
    level=2,
    source=f"{_PARSER}: its own operator goes first unless the node has plugin_namespace",
    fix="Give the node the attribute plugin_namespace, or the plugin another name.",
)
_of_model(
    "M3",
    "Every attribute of its nodes is a field that the creator lists.",
    level=2,
    kind="robustness",
    source=f"{_PARSER}: loadFields passes on those alone that getFieldNames lists",
    fix="List the field, or take the attribute out of the model.",
)
_of_model(
    "M4",
    "Integers of its nodes' attributes fit 32 bits.",
    level=2,
    source=f"{_PARSER}: passes kINT32, and cuts silently",
    fix="Write a number that fits.",
)
_of_model(
    "M5",
    "tensorrt_plugin_shape_input_indices are inputs, each once, of an IPluginV3.",
    level=2,
    source=f"{_PARSER}: refuses others",
    fix="Name inputs from 0 on, each once.",
)
_of_model(
    "M6",
    "Its nodes' inputs are what the base takes: no dynamic dimensions in a static one.",
    level=3,
    kind="robustness",
    source="NvInfer.h, INetworkDefinition::addPluginV2: no INT32 input; IPluginV2 and IPluginV2Ext are static",
    fix="Use a base with dynamic shapes, or export the model with fixed ones.",
)
_of_model(
    "M11",
    "Each node of the plugin's name finds it: version and namespace are the creator's.",
    level=1,
    source=f"{_PARSER}: looks up name, version and namespace, or the node's domain",
    fix="Set plugin_version and plugin_namespace, or the node's domain, to the creator's.",
)
_of_model(
    "M12",
    "Attributes come as the types and lengths of their fields.",
    level=2,
    source=f"{_PARSER}: the attribute's own type counts, whatever the creator lists",
    fix="Write 2.0 for a float and 2 for an integer.",
)
_of_model(
    "M14",
    "onnx's checker takes its nodes: their domain is imported.",
    level=3,
    kind="robustness",
    source="onnx's checker: an operator's domain must be among the model's opset_import",
    fix="Add onnx.helper.make_opsetid(domain, 1).",
)
_of_model(
    "M15",
    "Its nodes have the inputs, outputs and fields of pluginkit.toml.",
    level=2,
    source=f"the plugin's pluginkit.toml; {_PARSER} refuses a plugin that wants other inputs",
    fix="Give the node these inputs in this order, and each field that has no default.",
)
_of_model(
    "M16",
    "An INT8 input of its nodes has a constant number of channels.",
    level=3,
    kind="robustness",
    source="NVIDIA's documents on INT8: the channel dimension must be a build-time constant",
    fix="Export the model with a number in axis 1.",
)
_of_model(
    "M17",
    "Its nodes' inputs have types that pluginkit.toml lists.",
    level=2,
    source=f"the plugin's pluginkit.toml; {_PARSER} refuses types that no combination has",
    fix="Put a Cast before the node.",
)
_of_model(
    "M18",
    "Its nodes' inputs have ranks and sizes that pluginkit.toml allows.",
    level=2,
    kind="declared",
    source="the plugin's pluginkit.toml",
    fix="Give the node the tensors that are meant, in their order.",
)
_of_model(
    "M19",
    "The graph around its nodes can be computed: no cycle, and each tensor made once.",
    level=2,
    source="TensorRT-RTX 1.7.1 refuses others",
    fix="Give tensors and nodes names of their own.",
)
