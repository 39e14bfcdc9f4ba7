"""A plugin project from the nodes of a model: signature, fields, profiles, reference.py and cases with real data."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from pluginkit.bases import BASES
from pluginkit.errors import PluginkitError, UsageError
from pluginkit.importing import model as model_
from pluginkit.importing import profiles
from pluginkit.importing.extraction import capture, node_facts, reference
from pluginkit.importing.extraction import signature as signature_
from pluginkit.importing.extraction.capture_child import Captured
from pluginkit.importing.extraction.selection import MARK, Selection, select
from pluginkit.importing.extraction.signature import NodeSignature
from pluginkit.importing.files import external
from pluginkit.importing.plugin_node import NAMESPACE, VERSION, text
from pluginkit.importing.signature import ELEMENTS
from pluginkit.manifest import Manifest
from pluginkit.network.model import Array, NetworkProfile
from pluginkit.process.escapes import shown
from pluginkit.scaffold import names, project, signature
from pluginkit.scaffold.kernels import patterns
from pluginkit.testing import saved_cases

CASES = 4
"""So many nodes' data are kept as cases, those with different values of fields first."""
LARGE = 2**21
"""Elements of a case that is kept; of a larger one tests would take minutes on the CPU."""


@dataclass(frozen=True)
class Extracted:
    """What was made.

    Attributes:
        project: its folder.
        operator: of the nodes.
        nodes: the nodes, by label.
        cases: the files of test cases, by the nodes that they are from.
        computed: whether reference.py computes the operator; else it is to be written.
        notes: what was assumed or left out.
        kernel: the pattern that the kernel begins with (`scaffold.kernels.patterns`).
    """

    project: Path
    operator: str
    nodes: tuple[str, ...]
    cases: dict[str, Path]
    computed: bool
    notes: tuple[str, ...]
    kernel: str


def extract(
    model: Path,
    *,
    operator: str = "",
    node: str = "",
    name: str = "",
    directory: Path | None = None,
    shapes: Sequence[str] = (),
    data: Path | None = None,
    base: str = "dynamic",
    kernel: str = "",
    seed: int = 0,
    timeout: float = 60.0,
) -> Extracted:
    """Write a project for an operator of a model, or for one of its nodes.

    Args:
        model: the ONNX file.
        operator: `domain::type`: all of its nodes are one plugin's.
        node: the name or label of a node; one of the two is given.
        name: the plugin's; the operator's type if it is empty.
        directory: where the project's folder is made.
        shapes: what --profile says of the model's inputs.
        data: an .npz with the model's inputs, from which the cases are cut; those that it lacks are drawn.
        base: the plugin's interface.
        kernel: the kernel's pattern; empty: elementwise, where each output has an input's shape, else a loop.
        seed: what drawn values follow from.
        timeout: seconds for each run of onnxruntime.

    Raises:
        UsageError: no such node, a signature that no pluginkit.toml can have, or the folder is there already.
    """
    proto = model_.load(model)
    selection = select(proto, operator, node)
    profile = profiles.profile(profiles.declared_inputs(proto), [profiles.parse(text) for text in shapes])
    notes: list[str] = []
    with capture.OnnxProcess(timeout) as process:
        captured = _captured(process, selection, profile, data, notes, seed=seed)
        nodes = node_facts.read(selection, profile, captured)
        found = signature_.read(selection, nodes)
        notes += found.notes
        kinds = {index: _wide(facts.kind) for index, facts in nodes[0].inputs.items()}
        alone = capture.single(selection, kinds)
        computed = _runnable(process, alone, notes)
    first = selection.nodes[0]
    manifest, toml = manifest_of(
        found,
        name or _own_name(selection.op_type),
        namespace=text(first, NAMESPACE, ""),
        version=text(first, VERSION, "1"),
        base=base,
        ranges=found.ranges,
    )
    files = _cases(selection, found, captured, notes)
    if computed:
        source = "a local function of the model" if selection.function is not None else "its own kernel or definition"
        files[Path(reference.MODEL)] = alone.SerializeToString()
        files[Path("reference.py")] = reference.computed(found, selection.operator, source).encode()
    else:
        files[Path("reference.py")] = reference.stub(found, selection.operator, selection.labels).encode()
    test = Path("tests") / f"test_{manifest.slug}.py"
    pattern = _pattern(Manifest.parse(toml, "The model"), kernel)
    made = project.write(toml, directory, {**files, test: reference.test_file}, kernel=pattern)
    cases = {path.stem: made / path for path in files if path.suffix == ".npz"}
    return Extracted(made, selection.operator, selection.labels, cases, computed, tuple(dict.fromkeys(notes)), pattern)


def _pattern(manifest: Manifest, kernel: str) -> str:
    """The pattern that is asked for, or the one to begin with: of other shapes no element is a function of one."""
    found = patterns.chosen(manifest, kernel)
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


def manifest_of(
    found: NodeSignature,
    called: str,
    *,
    namespace: str,
    version: str,
    base: str,
    ranges: Mapping[str, tuple[int, int, int]],
) -> tuple[Manifest, str]:
    """The manifest of a signature that was found, and its text, with the sizes and the fields' values that were found.

    Raises:
        UsageError: as `signature.manifest`.
    """
    # TensorRT has no names of C++ keywords, and so on: `signature.manifest` says what is wrong with a name.
    manifest, toml = signature.manifest(
        called,
        inputs=found.inputs,
        outputs=found.outputs,
        fields=[field.option for field in found.fields],
        namespace=namespace,
        version=version,
        base=base,
    )
    if not BASES[manifest.plugin.base].dynamic_shapes:
        ranges = {symbol: (opt, opt, opt) for symbol, (_, opt, _) in ranges.items()}
    return manifest, _with_choices(_with_ranks(toml, found) if found.ranks else _with_ranges(toml, ranges), found)


def _captured(
    process: capture.OnnxProcess,
    selection: Selection,
    profile: NetworkProfile,
    data: Path | None,
    notes: list[str],
    *,
    seed: int,
) -> dict[str, Captured]:
    """What the nodes are given; nothing, with a note, where the model can't be run."""
    if missing := external.left_out(selection.model):
        notes.append(f"no case was cut out: {missing}")
        return {}
    try:
        found = capture.run(process, selection, profile, data, seed=seed)
    except UsageError as error:
        if data is not None and str(data) in error.message:
            raise
        notes.append(f"no case was cut out, for the model can't be run up to its nodes: {error.message}")
        return {}
    except PluginkitError as error:
        notes.append(f"no case was cut out: {error.message} ({error.hint})" if error.hint else error.message)
        return {}
    without = [label for label in selection.labels if label not in found]
    if without:
        shown = ", ".join(without[:3]) + (", ..." if len(without) > 3 else "")
        notes.append(
            f"no data of {shown}: it stands behind a node that nobody can run here, or in a branch that was not taken"
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


def _arrays(selection: Selection, found: NodeSignature, label: str, captured: Captured) -> dict[str, Array]:
    inputs, outputs = captured
    arrays: dict[str, Array] = {}
    for name, position in zip(found.input_names, found.positions, strict=True):
        array = inputs[position]
        assert array is not None
        arrays[f"input.{name}"] = _narrow(array)
    node = selection.nodes[selection.labels.index(label)]
    own = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    for field in found.fields:
        value = own.get(field.name, field.values[0])
        arrays[f"field.{field.name}"] = np.asarray(value.decode() if isinstance(value, bytes) else value)
    for name, array in zip(found.output_names, outputs or (), strict=False):
        arrays[f"output.{name}"] = _narrow(array)
    return arrays


def _narrow(array: Array) -> Array:
    """As a plugin has it: float64 is float32 there; bfloat16, which NumPy's files don't know, is kept as float32."""
    kind = ELEMENTS.get(onnx.helper.np_dtype_to_tensor_dtype(array.dtype))
    return array.astype(np.float32) if kind is not None and array.dtype.kind not in "iu" else array


def _with_ranges(toml: str, ranges: Mapping[str, tuple[int, int, int]]) -> str:
    """The manifest with the model's sizes in its first profile."""
    for symbol, points in ranges.items():
        pattern = rf"(?m)^(symbols = \{{.*?\b{re.escape(symbol)} = )\[[^\]]*\]"
        toml = re.sub(pattern, rf"\g<1>{list(points)}", toml, count=1)
    return toml


def _with_ranks(toml: str, found: NodeSignature) -> str:
    """The manifest with a profile for each rank that the nodes have, instead of those of a new project."""
    start, end = toml.index('\n# Each profile says by rest which dimensions "..." stands for'), toml.index("\n[test]")
    lines = ["", '# Each profile says by rest which dimensions "..." stands for: those of the model\'s nodes.']
    for number, one in enumerate(found.ranks):
        body = ", ".join(f"{symbol} = {list(points)}" for symbol, points in one.symbols.items())
        lines += ["", "[[profiles]]", f'name = "{f"rank{one.rank}" if number else "default"}"']
        lines += [f"symbols = {f'{{ {body} }}' if body else '{}'}", f"rest = {list(map(list, one.rest))}"]
    return toml[:start] + "\n".join(lines) + "\n" + toml[end:]


def _with_choices(toml: str, found: NodeSignature) -> str:
    """The manifest with the values that the nodes have, where these differ."""
    for field in found.fields:
        if len(field.values) > 1 and not isinstance(field.values[0], tuple):
            written = ", ".join(json.dumps(value) for value in field.values)
            pattern = rf'(?m)^(name = "{re.escape(field.name)}"\ntype = .*\ndefault = .*)$'
            found_at = re.search(pattern, toml)
            if found_at:
                toml = f"{toml[: found_at.end()]}\nchoices = [{written}]{toml[found_at.end() :]}"
    return toml
