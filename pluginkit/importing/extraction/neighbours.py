"""What a model doesn't show of tensors behind operators that onnx doesn't know: `--shape`, and plugins' projects."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from pluginkit.errors import UsageError
from pluginkit.importing import implementations
from pluginkit.importing.files.libraries import project_of
from pluginkit.importing.onnx_graph import places, subgraphs
from pluginkit.importing.signature import ELEMENTS, outputs
from pluginkit.manifest import FILE_NAME, Manifest
from pluginkit.manifest.project import members, root
from pluginkit.network.networks import NetworkProfile

_FORM = "NAME:DIMS or NAME:TYPE:DIMS, as in features:n,64,56,56 or ids:int64:n,16"
_TYPES = {kind.value: number for number, kind in reversed(ELEMENTS.items())}


@dataclass(frozen=True)
class Neighbour:
    """Another plugin of the model: its manifest, and its project's folder, where its reference.py is; None: not yet."""

    manifest: Manifest
    folder: Path | None

    @property
    def identity(self) -> tuple[str, str, str]:
        """Its creator's name, version and namespace."""
        plugin = self.manifest.plugin
        return plugin.name, plugin.version, plugin.namespace


def read(paths: Sequence[Path]) -> tuple[Neighbour, ...]:
    """The plugins of projects, each given as its folder or as the library that its build made. Nothing is built.

    Raises:
        UsageError: there is no pluginkit.toml, or it is wrong.
    """
    found: list[Neighbour] = []
    for path in paths:
        folder = path if path.is_dir() else path.parent if path.name == FILE_NAME else project_of(path)
        if folder is None or not (folder / FILE_NAME).is_file():
            raise UsageError(
                f"--plugins {path}: there is no {FILE_NAME}, which says what the plugin's outputs are.",
                hint="Give a project's folder, or say the outputs' shapes by --shape NAME:DIMS.",
            )
        found += [Neighbour(one.manifest, one.folder) for one in members(root(folder))]
    return tuple(found)


def of(node: onnx.NodeProto, neighbours: Sequence[Neighbour]) -> Neighbour | None:
    """The plugin that implements a node, as NVIDIA's parser looks for it."""
    identities = implementations.wanted(node, native=False)
    return next((one for identity in identities for one in neighbours if one.identity == identity), None)


def types(
    node: onnx.NodeProto, neighbours: Sequence[Neighbour], known: Mapping[str, onnx.TypeProto.Tensor]
) -> dict[str, onnx.TypeProto]:
    """The outputs of a node by the manifest of its plugin; empty where it has none, or an input isn't known yet."""
    found = of(node, neighbours)
    whole = all(name in known and known[name].HasField("shape") for name in node.input if name)
    return outputs(found.manifest, node, known) if found and whole else {}


def parse(text: str) -> tuple[str, onnx.TypeProto]:
    """Read one --shape.

    Raises:
        UsageError: it is not of the form.
    """
    # Names of tensors may have colons in them.
    head, _, shape = text.rpartition(":")
    name, _, kind = head.rpartition(":")
    if kind not in _TYPES:
        name, kind = head, "float32"
    dims = [dim.strip() for dim in shape.split(",")] if shape.strip() else []
    if not name or not all(dim.isdecimal() or dim.isidentifier() for dim in dims):
        raise UsageError(f"--shape {text!r} does not describe a tensor.", hint=f"Write {_FORM}.")
    return name, onnx.helper.make_tensor_type_proto(
        _TYPES[kind], [int(dim) if dim.isdecimal() else dim for dim in dims]
    )


def declare(model: onnx.ModelProto, shapes: Sequence[str]) -> None:
    """Write into a model what --shape says of its tensors, in place.

    Raises:
        UsageError: a text is not of the form, or no node makes such a tensor.
    """
    graphs = [model.graph, *(graph for place in places(model.graph) for _, graph in subgraphs(place.node))]
    for name, kind in map(parse, shapes):
        owners = [graph for graph in graphs if any(name in node.output for node in graph.node)]
        if not owners:
            made = [one for graph in graphs for node in graph.node for one in node.output if one]
            close = difflib.get_close_matches(name, made, n=1)
            hint = f"Is {close[0]} meant?" if close else "The nodes' outputs are what can be given."
            raise UsageError(f"--shape: no node of the model makes a tensor {name!r}.", hint=hint)
        values = (*owners[0].value_info, *owners[0].output)
        there = next((value for value in values if value.name == name), None)
        (there or owners[0].value_info.add(name=name)).type.CopyFrom(kind)


def resolved(model: onnx.ModelProto, profile: NetworkProfile, point: int) -> onnx.ModelProto:
    """A copy whose named dimensions have the numbers that the inputs give them at min (0), opt (1) or max (2)."""
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    sizes: dict[str, int] = {}
    for value in copied.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, _at(profile, value.name, point), strict=False):
            if dim.dim_param:
                sizes.setdefault(dim.dim_param, size)
    graphs = [copied.graph, *(graph for place in places(copied.graph) for _, graph in subgraphs(place.node))]
    for dim in (dim for graph in graphs for value in _values(graph) for dim in value.type.tensor_type.shape.dim):
        if dim.dim_param in sizes:
            dim.dim_value = sizes[dim.dim_param]
    return copied


def _values(graph: onnx.GraphProto) -> Iterator[onnx.ValueInfoProto]:
    yield from graph.value_info
    yield from graph.output


def _at(profile: NetworkProfile, name: str, point: int) -> Sequence[int]:
    return profile.shapes[name][point] if name in profile.shapes else ()
