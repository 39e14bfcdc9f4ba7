"""`pluginkit doctor`: what nobody implements, graphs that can't be computed, files that are not ONNX, external data."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from pluginkit import cli
from pluginkit.cli import progress
from pluginkit.errors import UsageError
from pluginkit.importing import ImportOptions, missing_operators, onnx_graph, run
from pluginkit.importing.files import external
from pluginkit.importing.implementations import find_implementations
from pluginkit.importing.rules import structure
from pluginkit.parser_operators import OPERATORS
from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .models import CONDITION, branch, conditional, model, value

pytestmark = pytest.mark.usefixtures("one_process")
RTX = pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here")


def swish(name: str, source: str, made: str) -> onnx.NodeProto:
    return helper.make_node("Swish2", [source], [made], name, domain="acme", beta=1.5, mode=1)


def with_swish() -> onnx.ModelProto:
    """Two unserved nodes, one of them in a branch."""
    then = branch([swish("inner", "first", "t")], value("t", ["n", "c"]))
    other = branch([helper.make_node("Identity", ["first"], ["e"], "same")], value("e", ["n", "c"]))
    return model([swish("outer", "x", "first"), conditional(then, other)], [value("x", ["n", "c"]), CONDITION])


def saved(folder: Path, proto: onnx.ModelProto, name: str = "model.onnx") -> Path:
    onnx.save(proto, folder / name)
    return folder / name


def archive(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, "{}")
    return path


def groups(proto: onnx.ModelProto) -> tuple[missing_operators.MissingOperator, ...]:
    native = OPERATORS.__contains__
    return missing_operators.find(Path("model.onnx"), proto, find_implementations(proto, [], native), native)


def test_what_nobody_serves_is_counted_with_its_places() -> None:
    (found,) = groups(with_swish())
    assert (found.operator, found.nodes) == ("acme::Swish2", ("outer", "if/then_branch/inner"))
    assert found.places == {"main graph": 1, "inside If": 1}
    assert "no definition by other operators" in found.expressible
    assert not found.rewrite


def test_nodes_in_functions_are_found_in_them() -> None:
    wrap = helper.make_function(
        "local", "Wrap", ["x"], ["y"], [swish("in", "x", "y")], [helper.make_opsetid("acme", 1)]
    )
    call = helper.make_node("Wrap", ["x"], ["y"], "call", domain="local")
    (found,) = groups(model([call], domains=("local", "acme"), functions=[wrap]))
    assert found.places == {"in function local::Wrap": 1}


@pytest.mark.parametrize(
    ("node", "opset", "expressible", "slow", "rewrite"),
    [
        (helper.make_node("QuickGelu", ["x"], ["y"], domain="com.microsoft"), 17, "yes: onnxruntime", "fuses", True),
        (helper.make_node("CenterCropPad", ["x", "s"], ["y"]), 18, "yes: ONNX's own", "measure", True),
        (helper.make_node("Det", ["x"], ["y"]), 17, "not defined in ONNX", "", False),
    ],
)
def test_the_documents_questions(node: onnx.NodeProto, opset: int, expressible: str, slow: str, rewrite: bool) -> None:
    inputs = [value("x", ["n", "c"]), value("s", [2], onnx.TensorProto.INT64)]
    (found,) = groups(model([node], inputs, domains=("com.microsoft",), opset=opset))
    assert expressible in found.expressible
    assert slow in found.slow
    assert bool(found.chain) == bool(found.slow)
    assert found.rewrite == rewrite


CYCLE = [
    helper.make_node("Add", ["x", "b"], ["a"], "one"),
    helper.make_node("Relu", ["a"], ["b"], "two"),
    helper.make_node("Relu", ["b"], ["y"], "three"),
]
CLASH = [helper.make_node("Relu", ["x"], ["a"], "one"), helper.make_node("Neg", ["x"], ["a"], "two")]
CLASH += [helper.make_node("Relu", ["a"], ["y"], "three")]


@pytest.mark.parametrize(
    ("nodes", "level", "output"),
    [
        (CYCLE, "error", "one -> two -> one"),
        (CLASH, "error", "one and two make one tensor: a"),
        ([helper.make_node("Relu", ["q"], ["y"], "one")], "error", "input q is made by no node"),
        ([helper.make_node("Relu", ["x"], ["z"], "one")], "error", "nothing makes y"),
        (
            [helper.make_node("Relu", ["x"], ["a"], "one"), helper.make_node("Neg", ["a"], ["y"], "one")],
            "warning",
            "2 nodes of the graph have this name",
        ),
    ],
)
def test_graphs_that_can_not_be_computed(nodes: list[onnx.NodeProto], level: str, output: str) -> None:
    (found,) = structure.check(model(nodes))
    assert (found.level, found.rule) == (level, "M19")
    assert output in found.text


def test_a_branch_uses_what_is_around_it() -> None:
    assert not list(structure.check(with_swish()))


@RTX
@pytest.mark.rtx
@pytest.mark.parametrize("nodes", [CYCLE, CLASH])
def test_nvidia_refuses_them_too(
    nodes: list[onnx.NodeProto], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["doctor", str(saved(tmp_path, model(nodes))), "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["models"]
    assert found["build"]["status"] == "refused"
    assert [problem["rule"] for problem in found["problems"]] == ["M19"]
    assert found["run"]["message"] == "the graph can't be computed"


@RTX
@pytest.mark.rtx
def test_doctor_on_several_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = saved(tmp_path, with_swish())
    fine = saved(tmp_path, model([helper.make_node("Relu", ["x"], ["y"], "relu")]), "fine.onnx")
    text = tmp_path / "weights.pt"
    archive(text, "weights/data.pkl")
    page = tmp_path / "page.html"
    assert cli.run(["doctor", str(first), str(fine), str(text), "--html", str(page)]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert re.search(r"acme::Swish2 2 1 main graph, 1 inside If .* outer, if/then_branch/inner ", out)
    assert "nodes outer, if/then_branch/inner: nothing implements Swish2" in out
    assert "pluginkit new" in out
    assert "is a checkpoint of PyTorch" in out
    assert out.rindex(" 1 - 0 built ran ") > out.rindex(" 4 acme::Swish2 2 refused not run ")
    written = page.read_text()
    assert "acme::Swish2" in written
    assert "outer, if/then_branch/inner" in written


@pytest.mark.parametrize(
    ("name", "members", "command"),
    [
        ("m.pt2", ("m/archive_format", "m/models/model.json"), "torch.onnx.export(torch.export.load("),
        ("m.pt", ("m/data.pkl", "m/code/__torch__.py"), "torch.jit.load("),
        ("m.pth", ("m/data.pkl", "m/data/0"), "load_state_dict(torch.load("),
        ("m.keras", ("config.json", "metadata.json", "model.weights.h5"), "export("),
    ],
)
def test_archives_of_other_formats(name: str, members: tuple[str, ...], command: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        onnx_graph.load(archive(tmp_path / name, *members))
    assert command in caught.value.hint
    assert str(tmp_path / name) in caught.value.hint


@pytest.mark.parametrize(
    ("name", "data", "command"),
    [
        ("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(64), "m.inputs))); m.export("),
        ("m.safetensors", (2).to_bytes(8, "little") + b"{}" + bytes(8), "optimum-cli export onnx"),
        ("m.tflite", b"\x1c\0\0\0TFL3" + bytes(64), "tf2onnx.convert --tflite"),
        ("frozen.pb", b"\x0a\x05graph" + bytes(9), "tf2onnx.convert --graphdef"),
        ("saved_model.pb", b"\x08\x01\x12\x02ab", "tf2onnx.convert --saved-model"),
        ("old.pt", b"\x80\x02ctorch", "load_state_dict(torch.load("),
    ],
)
def test_files_of_other_formats(name: str, data: bytes, command: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        onnx_graph.load(path)
    assert command in caught.value.hint


def test_the_folder_of_a_saved_model(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"")
    with pytest.raises(UsageError) as caught:
        onnx_graph.load(tmp_path)
    assert f"--saved-model {tmp_path}" in caught.value.hint


def weighty(folder: Path) -> Path:
    weights = onnx.numpy_helper.from_array(np.ones((1, 400), np.float32), "w")
    proto = model([helper.make_node("Add", ["x", "w"], ["y"], "add")], initializers=[weights])
    onnx.save(proto, folder / "big.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    return folder / "big.onnx"


def test_external_data_that_is_cut_off(tmp_path: Path) -> None:
    path = weighty(tmp_path)
    data = (tmp_path / "w.bin").read_bytes()
    (tmp_path / "w.bin").write_bytes(data[:800])
    with pytest.raises(UsageError, match=r"w\.bin has 800 bytes, and the tensor w ends at byte 1600"):
        onnx_graph.load(path)


@pytest.mark.parametrize("above", ["../w.bin", "/tmp/w.bin", "parts/../../w.bin"])
def test_external_data_outside_of_the_models_folder(tmp_path: Path, above: str) -> None:
    (tmp_path / "inner").mkdir()
    path = weighty(tmp_path / "inner")
    proto = onnx.load(path, load_external_data=False)
    (tmp_path / "inner" / "w.bin").rename(tmp_path / "w.bin")
    next(one for one in proto.graph.initializer[0].external_data if one.key == "location").value = above
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(UsageError, match=f"of tensor w stands at {above}, and ONNX has it in the model's folder"):
        onnx_graph.load(path)


def test_external_data_by_a_way_around(tmp_path: Path) -> None:
    """What is in the folder in the end: onnx and onnxruntime take it."""
    (tmp_path / "parts").mkdir()
    path = weighty(tmp_path)
    proto = onnx.load(path, load_external_data=False)
    next(one for one in proto.graph.initializer[0].external_data if one.key == "location").value = "parts/../w.bin"
    path.write_bytes(proto.SerializeToString())
    assert onnx.numpy_helper.to_array(onnx_graph.load(path).graph.initializer[0]).sum() == 400


def test_much_external_data_stays_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = weighty(tmp_path)
    assert external.left_out(onnx_graph.load(path)) == ""
    monkeypatch.setattr(external, "WHOLE", 1000)
    monkeypatch.setattr(external, "SMALL", 1000)
    assert "(1 tensors)" in external.left_out(onnx_graph.load(path))


@RTX
@pytest.mark.rtx
def test_a_model_with_much_external_data_is_built_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(external, "WHOLE", 1000)
    monkeypatch.setattr(external, "SMALL", 1000)
    assert cli.run(["doctor", str(weighty(tmp_path)), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["models"]
    assert found["build"]["status"] == "built"
    assert "more than is run here" in found["run"]["message"]


def test_profile_is_for_one_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["doctor", str(tmp_path / "a"), str(tmp_path / "b"), "--profile", "x:1"]) == 2
    assert "--profile is for one model" in capsys.readouterr().err


def test_every_wait_shows_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A build by NVIDIA, or a run, may take minutes: a terminal shows what is done, and for how long."""
    pytest.importorskip("onnxruntime")
    seen: dict[str, bool] = {}
    steps: list[str] = []

    @contextlib.contextmanager
    def spinner(text: str, _: object, *, elapsed: bool = False) -> Iterator[Callable[..., None]]:
        seen[text] = elapsed
        yield lambda what, *_: steps.append(what)

    monkeypatch.setattr(progress, "spinner", spinner)
    path = str(saved(tmp_path, with_swish()))
    celu = model([helper.make_node("Celu", ["x"], ["h"], "celu"), helper.make_node("Relu", ["h"], ["y"], "relu")])
    other = str(saved(tmp_path, celu, "other.onnx"))
    assert cli.run(["doctor", path]) == 1
    assert cli.run(["import", path]) == 1
    assert cli.run(["new", "--from-onnx", path, "--op", "acme::Swish2", "--dir", str(tmp_path)]) == 0
    assert cli.run(["doctor", other, "--fix", str(tmp_path / "fixed.onnx")]) in {0, 1}
    (tmp_path / "parts").mkdir()
    assert cli.run(["doctor", other, "--cut", "h", "--into", str(tmp_path / "parts")]) in {0, 1}
    assert len(seen) >= 6
    assert all(seen.values()), seen
    assert "looking up what implements each node" in steps
    capsys.readouterr()


@pytest.mark.parametrize("opset", [3, 99])
def test_an_opset_that_onnxruntime_does_not_take(opset: int, tmp_path: Path) -> None:
    """The fix is that of the opset, not other shapes."""
    pytest.importorskip("onnxruntime")
    relu = helper.make_node("Relu", ["x"], ["y"], "relu")
    found = run(ImportOptions(saved(tmp_path, model([relu], opset=opset))))
    assert (found.ran.status, found.exit_code) == ("not run", 0)
    assert "M13" in found.ran.remedy
    assert "/onnxruntime_src/" not in found.ran.message
    assert [one.rule for one in found.problems] == ["M13"]


@pytest.mark.parametrize("where", ["input", "initializer", "cast"])
def test_a_type_that_onnx_does_not_have(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [helper.make_node("Add", ["x", "w"], ["h"], "add"), helper.make_node("Cast", ["h"], ["y"], "cast", to=1)]
    weights = helper.make_tensor("w", onnx.TensorProto.FLOAT, [1], [1.0])
    proto = model(nodes, initializers=[weights])
    if where == "input":
        proto.graph.input[0].type.tensor_type.elem_type = 77
    elif where == "initializer":
        proto.graph.initializer[0].data_type = 77
    else:
        proto.graph.node[1].attribute[0].i = 77
    assert cli.run(["doctor", str(saved(tmp_path, proto))]) == 1
    output = capsys.readouterr()
    assert "bug" not in output.err
    assert where == "cast" or "type 77" in output.out


@RTX
@pytest.mark.rtx
def test_functions_that_call_themselves_and_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """NVIDIA's parser ends its process there."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    call = {name: helper.make_node(name, ["x"], ["y"], name.lower(), domain="local") for name in ("F", "G")}
    functions = [
        helper.make_function("local", "F", ["x"], ["y"], [call["G"]], opsets),
        helper.make_function("local", "G", ["x"], ["y"], [call["F"]], opsets),
    ]
    path = saved(tmp_path, model([call["F"]], domains=("local",), functions=functions))
    found = run(ImportOptions(path))
    assert ("M19", "error") in {(one.rule, one.level) for one in found.problems}
    assert found.verdict is not None
    assert (found.foreseen, found.verdict.ok, found.exit_code) == ("refused", False, 1)
    pipe = tmp_path / "pipe.onnx"
    os.mkfifo(pipe)
    assert cli.run(["doctor", str(pipe)]) == 2
    assert "is not a file: a pipe or a device" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"PK\x03\x04" + bytes(40), "an archive, perhaps one that is cut off"),
        (gzip.compress(b"\x08\x08", mtime=0), "Unpack it"),
        (b"<!DOCTYPE html>\n<html>404</html>", "a page of HTML"),
    ],
)
def test_what_no_command_makes_onnx_of(
    content: bytes, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    assert cli.run(["doctor", str(path)]) == 2
    assert expected in " ".join(capsys.readouterr().err.split())
    assert cli.run(["doctor", str(tmp_path)]) == 2
    assert "model.onnx" in capsys.readouterr().err


ODD = "na\nme\x1b[31m"


@RTX
@pytest.mark.rtx
def test_names_with_control_characters_keep_to_their_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the table, the page and the commands to type; which the shell, and pluginkit, read as they are meant."""
    nodes = [
        helper.make_node("Swi\nsh", ["x\ny"], ["size\n"], ODD, domain="ac\nme"),
        helper.make_node("Reshape", ["x\ny", "size\n"], ["y\n"], "reshape\r"),
    ]
    proto = model(nodes, [value("x\ny", ["n", 4])], [value("y\n", None)], domains=("ac\nme",))
    path, page = saved(tmp_path, proto, "the\nmodel[red].onnx"), tmp_path / "page.html"
    assert cli.run(["doctor", str(path), "--html", str(page)]) == 1
    out = capsys.readouterr().out
    assert r"  # ac\nme::Swi\nsh: 'Swi\nsh' cannot be a plugin's name" in out
    rows = [line.split() for line in out.splitlines()]
    assert [r"na\nme\x1b[31m", r"ac\nme::Swi\nsh", "missing"] in rows
    assert [r"ac\nme::Swi\nsh", "1", "1", "main", "graph"] in [row[:5] for row in rows]
    assert [r"size\n", r"ac\nme::Swi\nsh"] in [row[:2] for row in rows]
    assert r"reshape\r takes it as its output's dimensions" in out
    assert re.search(r"the\\nmodel\[red\]\.onnx: \d errors?;", out)
    assert not {char for char in out + page.read_text() if ord(char) < 32} - {"\n"}
    assert cli.run(["new", "--from-onnx", str(path), "--op", "ac\nme::Swi\nsh", "--dir", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert r"'Swi\nsh' cannot be a plugin's name" in error
    assert "pluginkit new MyPlugin --from-onnx" in error
