"""What a plugin would take instead of what a model gives it, and what the model declares of what it gives."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import host
from pluginkit.dtypes import DType
from pluginkit.field_types import FieldType
from pluginkit.importing import Imported, ImportOptions, run
from pluginkit.importing.implementations import find_implementations
from pluginkit.importing.rules import signature
from pluginkit.importing.sizes import other_inputs
from pluginkit.library import Problem
from pluginkit.manifest import Manifest
from tests.compilers import default_cxx

from .models import DOMAIN, library, model, scale, value
from .test_rules import MANIFEST

REFUSED = host.Finding("createPlugin", "answered null", rule="F3")
NO_FORMAT = host.Finding("supportsFormatCombination", "no combination", rule="C3")


def spec(kind: DType) -> host.TensorSpec:
    return host.TensorSpec(kind, (2,), (2,), (2,), (2,))


def build(fields: other_inputs.Fields, specs: Sequence[host.TensorSpec]) -> object:
    """A plugin of int32 indices, whose creator compares a text with its length."""
    if fields.get("mode", (None, "mean"))[1] != "mean":
        raise REFUSED
    if [one.dtype for one in specs] != [DType.FLOAT32, DType.INT32, DType.INT32]:
        raise NO_FORMAT
    return specs


def test_a_text_whose_closing_zero_counts() -> None:
    specs = [spec(DType.FLOAT32), spec(DType.INT32), spec(DType.INT32)]
    fields = {"mode": (FieldType.STRING, "mean\0"), "n": (FieldType.INT32, 2)}
    found = other_inputs.advice(REFUSED, ["x", "i", "j"], fields, specs, build)
    assert "mode='mean' with length 4, and of length 5 it does not" in found
    other = {"mode": (FieldType.STRING, "sum\0")}
    assert not other_inputs.advice(REFUSED, ["x", "i", "j"], other, specs, build)
    assert not other_inputs.advice(REFUSED, ["x", "i", "j"], {"n": (FieldType.INT32, 2)}, specs, build)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((DType.FLOAT32, DType.INT64, DType.INT32), "takes i as kINT32, not as kINT64: put a Cast to INT32"),
        ((DType.FLOAT32, DType.INT64, DType.INT64), "takes i and j as kINT32"),
        ((DType.FLOAT16, DType.INT32, DType.INT32), "takes x as kFLOAT, not as kHALF: put a Cast to FLOAT before"),
        # Two causes at once are not looked for.
        ((DType.FLOAT16, DType.INT64, DType.INT32), ""),
    ],
)
def test_types_that_a_plugin_takes_instead(kinds: Sequence[DType], expected: str) -> None:
    found = other_inputs.advice(NO_FORMAT, ["x", "i", "j"], {}, [spec(kind) for kind in kinds], build)
    assert expected in found
    assert bool(found) == bool(expected)


@pytest.fixture(scope="module")
def careless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin of the runtimes' tests with a text that it compares by its length."""
    tests, folder = Path(__file__).resolve().parents[1], tmp_path_factory.mktemp("careless")
    text = (tests / "runtimes" / "behaving.cpp").read_text()
    begin = text.index("static PluginField const fields[] = {")
    text = text[:begin] + text[begin:].replace("= {", '= {{"mode", nullptr, PluginFieldType::kCHAR, 0},\n', 1)
    loop = text.index("void* const place = std::strcmp")
    check = 'if (std::strcmp(field.name, "mode") == 0) { if (std::string(static_cast<char const*>(field.data), '
    check += 'field.length) != "mean") { return nullptr; } continue; }\n'
    text = "#include <string>\n" + text[:loop] + check + text[loop:]
    text = text.replace(", 2};", ", 3};").replace("{2, fields}", "{3, fields}")
    (folder / "careless.cpp").write_text(text)
    flags = ["-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{tests.parent / 'pluginkit' / 'include'}"]
    subprocess.run(
        [default_cxx(), folder / "careless.cpp", "-o", folder / "libcareless.so", *flags, "-ldl"], check=True
    )
    return folder / "libcareless.so"


def imported(folder: Path, plugins: Path, kind: int = TensorProto.FLOAT, declared: int = TensorProto.FLOAT,
             shape: Sequence[int | str] = ("n", "c"), **attributes: object) -> Imported:  # fmt: skip
    node = helper.make_node("Behaving", ["x"], ["y", "z"], "b", domain=DOMAIN, plugin_version="1", fault=0,
                            alpha=2.0, **attributes)  # fmt: skip
    outputs = [value("y", shape, declared), value("z", ["n", "c"], kind)]
    onnx.save(model([node], [value("x", ["n", "c"], kind)], outputs=outputs), folder / "model.onnx")
    return run(ImportOptions(folder / "model.onnx", (plugins,)))


@pytest.mark.compile
def test_what_the_host_proves_is_the_fix_of_nvidias_refusal_too(careless: Path, tmp_path: Path) -> None:
    text = imported(tmp_path, careless, mode="mean")
    assert "mode='mean' with length 4" in text.ran.remedy
    assert text.verdict is None or (text.verdict.status, text.build_fix) == ("refused", text.ran.remedy)
    kind = imported(tmp_path, careless, TensorProto.BFLOAT16)
    assert "takes x as kFLOAT, not as kBF16" in kind.ran.remedy
    assert kind.verdict is None or (kind.verdict.status, kind.build_fix) == ("refused", kind.ran.remedy)
    assert not kind.last_line.endswith(":")


@pytest.mark.compile
@pytest.mark.parametrize(
    ("declared", "shape", "rule", "expected"),
    [
        (TensorProto.FLOAT16, ("n", "c"), "M17", "its output y is float, and the model declares float16"),
        (TensorProto.FLOAT, ("n", "c", 1), "M18", "its output y is of rank 2, and the model declares rank 3"),
        (TensorProto.FLOAT, ("n", 9), "M18", "its output y is 4 long in dimension 1, and the model declares 9"),
    ],
)
def test_an_output_that_the_model_declares_otherwise(
    declared: int, shape: Sequence[int | str], rule: str, expected: str, careless: Path, tmp_path: Path
) -> None:
    found = imported(tmp_path, careless, TensorProto.FLOAT, declared, shape)
    (problem,) = (one for one in found.problems if one.rule == rule)
    assert (problem.level, problem.node) == ("warning", "b")
    assert expected in problem.text
    # It takes what the plugin gives.
    assert found.verdict is None or found.verdict.ok
    fine = imported(tmp_path, careless)
    assert not [one for one in fine.problems if one.rule in {"M17", "M18"}]


def by_manifest(declared: onnx.ValueInfoProto) -> list[Problem]:
    own = library(manifest=Manifest.parse(MANIFEST))
    proto = model([scale(mode=None)], [value("x", ["n", 4])], outputs=[declared])
    (one,) = find_implementations(proto, [own], lambda _: False)
    assert one.creator is not None
    known = {value_.name: value_.type.tensor_type for value_ in (*proto.graph.input, *proto.graph.output)}
    return list(signature.check(one, one.creator, known))


def test_outputs_by_the_manifest() -> None:
    assert not by_manifest(value("y", ["m", 4]))
    assert not by_manifest(value("y", None))
    for wrong, rule, text in (
        (value("y", ["n", 4], TensorProto.INT64), "M17", "is float, and the model declares int64"),
        (value("y", ["n"]), "M18", "is of rank 2, and the model declares rank 1"),
        (value("y", ["n", 5]), "M18", "is 4 long in dimension 1, and the model declares 5"),
    ):
        (problem,) = by_manifest(wrong)
        assert (problem.rule, problem.level) == (rule, "warning")
        assert text in problem.text
