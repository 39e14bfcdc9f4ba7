"""A plugin project from the nodes of a model: signature, fields, profiles, reference.py and cases with real data."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from pluginkit.dtypes import DType
from pluginkit.errors import PluginkitError, UsageError
from pluginkit.importing import onnx_graph, profiles
from pluginkit.importing.extraction import capture, fields, node_facts, reference, sizes
from pluginkit.importing.extraction import signature as signature_
from pluginkit.importing.extraction.capture_worker import Captured
from pluginkit.importing.extraction.manifest_text import has_places, manifest_of, marked
from pluginkit.importing.extraction.neighbours import Neighbour, declare, read
from pluginkit.importing.extraction.selection import MARK, Selection, select
from pluginkit.importing.extraction.signature import NodeSignature, SignatureGuess
from pluginkit.importing.files import external
from pluginkit.importing.plugin_node import NAMESPACE, VERSION, text
from pluginkit.importing.signature import ELEMENTS
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Array, NetworkProfile
from pluginkit.process.escapes import shown
from pluginkit.scaffold import names, project
from pluginkit.scaffold.kernels import patterns
from pluginkit.testing import saved_cases

CASES = 4
"""So many nodes' data are kept as cases, those with different values of fields first."""
LARGE = 2**21
"""Elements of a case that is kept; of a larger one tests would take minutes on the CPU."""


@dataclass(frozen=True)
class FromModel:
    """What a project is to be made of.

    Attributes:
        model: the ONNX file.
        operator: `domain::type`: all of its nodes are one plugin's.
        node: the name or label of a node; one of the two is given.
        name: the plugin's; the operator's type if it is empty.
        shapes: what --profile says of the model's inputs.
        declared: what --shape says of tensors that nothing in the model does.
        plugins: projects of plugins that other nodes name: their outputs follow from these.
        types: of the floating tensors; empty: those that the model has.
        data: an .npz with the model's inputs, from which the cases are cut; those that it lacks are drawn.
        base: the plugin's interface.
        kernel: the kernel's pattern; empty: what the signature looks like, elementwise, where each output has an
            input's shape, or else a loop.
        seed: what drawn values follow from.
        timeout: seconds for each run of onnxruntime.
    """

    model: Path
    operator: str = ""
    node: str = ""
    name: str = ""
    shapes: Sequence[str] = ()
    declared: Sequence[str] = ()
    plugins: Sequence[Path] = ()
    types: Sequence[DType] = ()
    data: Path | None = None
    base: str = "dynamic"
    kernel: str = ""
    seed: int = 0
    timeout: float = 60.0


@dataclass(frozen=True)
class Prepared:
    """What is written.

    Attributes:
        manifest, toml: the pluginkit.toml.
        files: by path in the project, what the template doesn't make.
        operator: of the nodes.
        nodes: the nodes, by label.
        computed: whether reference.py computes the operator; else it is to be written.
        notes: what was assumed or left out.
        checks: the guesses, which are marked in pluginkit.toml.
        kernel: the pattern that the kernel begins with (`scaffold.kernels.patterns`).
    """

    manifest: Manifest
    toml: str
    files: dict[Path, bytes]
    operator: str
    nodes: tuple[str, ...]
    computed: bool
    notes: tuple[str, ...]
    checks: tuple[SignatureGuess, ...]
    kernel: str


@dataclass(frozen=True)
class Extracted(Prepared):
    """What was made: `project` is its folder, `cases` are the files of test cases, by the nodes that they are from."""

    project: Path
    cases: dict[str, Path]


def extract(asked: FromModel, directory: Path | None = None) -> Extracted:
    """Write a project for an operator of a model, or for one of its nodes, into a new folder of `directory`.

    Raises:
        UsageError: as `prepare`, or the folder is there already.
    """
    ready = prepare(asked, read(asked.plugins))
    test = Path("tests") / f"test_{ready.manifest.slug}.py"
    files: dict[Path, bytes | Callable[[str], str]] = {**ready.files, test: reference.test_file}
    made = project.write(ready.toml, directory, files, kernel=ready.kernel)
    cases = {path.stem: made / path for path in ready.files if path.suffix == ".npz"}
    return Extracted(**vars(ready), project=made, cases=cases)


def prepare(asked: FromModel, neighbours: Sequence[Neighbour] = (), proto: onnx.ModelProto | None = None) -> Prepared:
    """All that is written into a project, without writing it.

    Args:
        asked: what is asked for; its `plugins` are not looked at.
        neighbours: plugins of other nodes.
        proto: the model, if it is read already.

    Raises:
        UsageError: no such node, or a signature that no pluginkit.toml can have.
    """
    proto = proto or onnx_graph.load(asked.model)
    selection = select(proto, asked.operator, asked.node)
    declare(selection.model, asked.declared)
    given = [profiles.parse(text) for text in asked.shapes]
    inputs = profiles.declared_inputs(proto)
    with capture.OnnxProcess(asked.timeout) as process:
        for number, shapes in enumerate(tries := sizes.tried(proto, given)):
            notes: list[str] = []
            profile = profiles.profile(inputs, shapes)
            ran = _captured(process, selection, profile, asked, neighbours, notes)
            last = number == len(tries) - 1
            if ran is None and not last:
                continue  # the model doesn't take these sizes
            captured = ran or {}
            nodes = node_facts.read(selection, profile, captured, neighbours)
            found = signature_.read(selection, nodes, asked.types)
            if last or has_places(found):
                break
        kinds = {index: _wide(facts.kind) for index, facts in nodes[0].inputs.items()}
        alone = capture.single(selection, kinds)
        computed = _runnable(process, alone, notes)
    notes += found.notes
    first = selection.nodes[0]
    manifest, toml = manifest_of(
        found,
        asked.name or _own_name(selection.op_type),
        namespace=text(first, NAMESPACE, ""),
        version=text(first, VERSION, "1"),
        base=asked.base,
        ranges=found.ranges,
    )
    files = _cases(selection, found, captured, notes)
    if computed:
        source = "a local function of the model" if selection.function is not None else "its own kernel or definition"
        files[Path(reference.MODEL)] = alone.SerializeToString()
        files[Path("reference.py")] = reference.computed(found, selection.operator, source).encode()
    else:
        files[Path("reference.py")] = reference.stub(found, selection.operator, selection.labels).encode()
    pattern = _pattern(manifest, asked.kernel)
    return Prepared(
        manifest,
        toml,
        files,
        selection.operator,
        selection.labels,
        computed,
        tuple(dict.fromkeys(notes)),
        marked(found, manifest),
        pattern,
    )


def _pattern(manifest: Manifest, kernel: str) -> str:
    """The pattern that is asked for, or the one to begin with: of other shapes no element is a function of one."""
    try:
        found = patterns.chosen(manifest, kernel)
    except UsageError as error:
        fit = [name for name, one in patterns.PATTERNS.items() if not one.misfit(manifest)]
        # The signature is the model's: no option changes it.
        hint = f"Leave --kernel out, or take one that fits: {', '.join(fit)}."
        raise UsageError(error.message, hint=hint) from None
    shapes = {tuple(manifest.written(one)) for one in manifest.inputs}
    alike = all(tuple(manifest.written(one)) in shapes for one in manifest.outputs)
    return patterns.LOOP if found == patterns.ELEMENTWISE and not kernel and not alike else found


def _own_name(op_type: str) -> str:
    """An operator's type as the plugin's name.

    Raises:
        UsageError: no C++ class can have it.
    """
    try:
        names.check_plugin(op_type)
    except UsageError as error:
        hint = f"Give the plugin a name of its own, as in: pluginkit new MyPlugin --from-onnx MODEL.onnx. {error.hint}"
        raise UsageError(shown(error.message), hint=hint) from None
    return op_type


def _captured(
    process: capture.OnnxProcess,
    selection: Selection,
    profile: NetworkProfile,
    asked: FromModel,
    neighbours: Sequence[Neighbour],
    notes: list[str],
) -> dict[str, Captured] | None:
    """What the nodes are given; None, with a note, where the model can't be run on these sizes."""
    if missing := external.left_out(selection.model):
        notes.append(f"no case was cut out: {missing}")
        return {}
    try:
        found = capture.run(process, selection, profile, asked.data, seed=asked.seed, neighbours=neighbours)
    except UsageError as error:
        if asked.data is not None and str(asked.data) in error.message:
            raise
        notes.append(f"no case was cut out, for the model can't be run up to its nodes: {error.message}")
        return None
    except PluginkitError as error:
        notes.append(f"no case was cut out: {error.message} ({error.hint})" if error.hint else error.message)
        return {}
    without = [label for label in selection.labels if label not in found]
    if without:
        shown = ", ".join(without[:3]) + (", ..." if len(without) > 3 else "")
        notes.append(
            f"no data of {shown}: it stands behind a node that cannot be run here, or in a branch that was not taken"
        )
    return found


def _runnable(process: capture.OnnxProcess, alone: onnx.ModelProto, notes: list[str]) -> bool:
    try:
        return capture.runnable(process, alone)
    except PluginkitError as error:
        notes.append(f"reference.py is to be written: {error.message} ({error.hint})")
        return False


def _wide(kind: int) -> int:
    """The type in which onnxruntime computes the reference: float32 for every floating type."""
    return int(onnx.TensorProto.FLOAT) if kind in node_facts.FLOATS or not kind else kind


def _cases(
    selection: Selection, found: NodeSignature, captured: Mapping[str, Captured], notes: list[str]
) -> dict[Path, bytes]:
    """Files of test cases: of nodes with different values of fields, then of any."""
    by_fields: dict[str, list[str]] = {}
    for label, node in zip(selection.labels, selection.nodes, strict=True):
        if label in captured:
            key = json.dumps([onnx.helper.printable_attribute(one) for one in node.attribute if one.name != MARK])
            by_fields.setdefault(key, []).append(label)
    ordered = [labels[0] for labels in by_fields.values()] + [
        one for labels in by_fields.values() for one in labels[1:]
    ]
    files: dict[Path, bytes] = {}
    for label in ordered:
        if len(files) == CASES:
            break
        arrays = _arrays(selection, found, label, captured[label])
        if arrays is None:
            notes.append(
                f"the data of {label} is not kept as a case: it is in INT8 or FP8, and the node has no attribute "
                "<tensor>_scale that says what a step is worth"
            )
            continue
        if sum(array.size for array in arrays.values()) > LARGE:
            notes.append(f"the data of {label} is not kept as a case: it has more than {LARGE} elements")
            continue
        stream = io.BytesIO()
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", label).strip("-") or "node"
        path = saved_cases.FOLDER / f"{name}.npz"
        while path in files:
            path = path.with_stem(f"{path.stem}_")
        files[path] = stream.getvalue()
    return files


def _arrays(selection: Selection, found: NodeSignature, label: str, captured: Captured) -> dict[str, Array] | None:
    """What a case's file has; None where quantized data has no scale, for cases have real numbers."""
    inputs, outputs = captured
    node = selection.nodes[selection.labels.index(label)]
    own = {one.name: one for one in node.attribute}
    scales = {name: one.f for name, one in own.items() if one.type == onnx.AttributeProto.FLOAT}
    tensors: list[tuple[str, str, Array]] = []
    for name, position in zip(found.input_names, found.positions, strict=True):
        array = inputs[position]
        assert array is not None
        tensors.append(("input", name, array))
    tensors += [("output", name, array) for name, array in zip(found.output_names, outputs or (), strict=False)]
    if any(_is_quantized(array) and f"{name}_scale" not in scales for _, name, array in tensors):
        return None
    arrays: dict[str, Array] = {
        f"{kind}.{name}": _narrow(array, scales.get(f"{name}_scale", 1.0)) for kind, name, array in tensors
    }
    for field in found.fields:
        value = fields.value_of(own[field.name]) if field.name in own else field.values[0]
        arrays[f"field.{field.name}"] = np.asarray(value)
    return arrays


def _is_quantized(array: Array) -> bool:
    kind = ELEMENTS.get(onnx.helper.np_dtype_to_tensor_dtype(array.dtype))
    return kind is not None and kind.is_quantized


def _narrow(array: Array, scale: float) -> Array:
    """As a plugin has it: float64 is float32 there; bfloat16, which NumPy's files don't know, is kept as float32; what
    is quantized is the number that it stands for, with a step of `scale`."""
    if _is_quantized(array):
        return np.asarray(array.astype(np.float32) * np.float32(scale))
    kind = ELEMENTS.get(onnx.helper.np_dtype_to_tensor_dtype(array.dtype))
    return array.astype(np.float32) if kind is not None and array.dtype.kind not in "iu" else array
