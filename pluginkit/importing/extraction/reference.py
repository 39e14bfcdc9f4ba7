"""The reference.py and the test of a project that is made from a model."""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit.importing.extraction.signature import NodeSignature
from pluginkit.process.escapes import shown

MODEL = "operator.onnx"
"""The node alone, next to reference.py."""


def computed(signature: NodeSignature, operator: str, source: str) -> str:
    """A reference that runs the operator by onnxruntime."""
    pairs = [
        f'"i{position}": {name}' for position, name in zip(signature.positions, signature.input_names, strict=True)
    ]
    fields = [f'"{field.name}": {field.name}' for field in signature.fields]
    return "\n".join(
        [
            '"""The layer in NumPy. Every test compares the plugin with this function."""',
            "",
            "from __future__ import annotations",
            "",
            "from pathlib import Path",
            "",
            "import numpy as np",
            "import onnx",
            "import onnxruntime",
            "",
            f'OPERATOR = onnx.load(Path(__file__).with_name("{MODEL}"))',
            "",
            "",
            f"def reference({_arguments(signature)}):",
            f'    """{_inert(operator)}, computed by onnxruntime: {source}.',
            "",
            "    Inputs are float64 arrays (int64 for integers); onnxruntime computes in float32.",
            '    """',
            *_dictionary("inputs", pairs),
            *_dictionary("fields", fields),
            "    model = onnx.ModelProto()",
            "    model.CopyFrom(OPERATOR)",
            "    node = model.graph.node[0]",
            "    kept = [one for one in node.attribute if one.name not in fields]",
            "    del node.attribute[:]",
            "    node.attribute.extend(kept)",
            "    node.attribute.extend(onnx.helper.make_attribute(name, value) for name, value in fields.items())",
            "    session = onnxruntime.InferenceSession(",
            '        model.SerializeToString(), providers=["CPUExecutionProvider"]',
            "    )",
            '    kinds = {"tensor(float)": np.float32, "tensor(int32)": np.int32, "tensor(int64)": np.int64}',
            "    feeds = {one.name: inputs[one.name].astype(kinds[one.type]) for one in session.get_inputs()}",
            "    return tuple(session.run(None, feeds))",
            "",
        ]
    )


def stub(signature: NodeSignature, operator: str, nodes: Sequence[str]) -> str:
    """A reference that says what is missing."""
    places = _inert(", ".join(nodes[:4])) + (", ..." if len(nodes) > 4 else "")
    operator = _inert(operator)
    outputs = ", ".join(signature.output_names)
    return "\n".join(
        [
            '"""The layer in NumPy. Every test compares the plugin with this function."""',
            "",
            "from __future__ import annotations",
            "",
            "import numpy as np  # noqa: F401",
            "",
            "",
            f"def reference({_arguments(signature)}):",
            f'    """{operator}, as the model has it in {places}.',
            "",
            f"    Inputs are float64 arrays (int64 for integers). Returns {outputs}.",
            '    """',
            "    raise NotImplementedError(",
            f'        "write here in NumPy what {operator} computes: neither ONNX nor onnxruntime has it, "',
            '        "so only who exported the model knows"',
            "    )",
            "",
        ]
    )


def test_file(text: str) -> str:
    """The generated test, without what it says of the generated formula: the model's own data stands in its place."""
    lines = text.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("def test_the_reference_on_numbers"))
    rest = [index for index, line in enumerate(lines) if line.startswith("def ") and index > start]
    end = rest[0] if rest else len(lines)
    own = [
        "def test_the_models_own_data() -> None:",
        '    """What was recorded of the model: the reference takes it, and gives what the model gave, if it ran."""',
        '    files = sorted((PROJECT / "tests" / "cases").glob("*.npz"))',
        "    for file in files:",
        "        case = np.load(file)",
        '        fields = {name[6:]: case[name].tolist() for name in case.files if name.startswith("field.")}',
        '        inputs = [case[name] for name in case.files if name.startswith("input.")]',
        "        wide = [x.astype(np.float64 if x.dtype.kind == 'f' else np.int64) for x in inputs]",
        "        outputs = load_reference()(*wide, **fields)",
        "        outputs = outputs if isinstance(outputs, tuple) else (outputs,)",
        '        recorded = [case[name] for name in case.files if name.startswith("output.")]',
        "        for got, expected in zip(outputs, recorded):",
        "            np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)",
        "",
        "",
    ]
    return "\n".join([*lines[:start], *own, *lines[end:]]).rstrip() + "\n"


def _inert(text: str) -> str:
    """A model's name between double quotes: it ends no string, and begins no escape."""
    return shown(text).replace("\\", "\\\\").replace('"', '\\"')


def _arguments(signature: NodeSignature) -> str:
    fields = ["*", *(field.name for field in signature.fields)] if signature.fields else []
    return ", ".join([*signature.input_names, *fields])


def _dictionary(name: str, pairs: Sequence[str]) -> list[str]:
    line = f"    {name} = {{{', '.join(pairs)}}}"
    if len(line) <= 88:
        return [line]
    return [f"    {name} = {{", *(f"        {pair}," for pair in pairs), "    }"]
