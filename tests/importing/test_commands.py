"""What `doctor` prints to be typed is typed here, model by model: it works, or doctor says what is missing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import cli
from pluginkit.cli.inspection import model_report
from pluginkit.importing import Imported, ImportOptions, run
from pluginkit.manifest import Manifest

from . import corpus, own_corpus
from .models import CONDITION, branch, conditional, model, value
from .test_from_onnx import CONSTANTS, looped

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.usefixtures("one_process")
COMMAND = re.compile(r"pluginkit \w+ (?=[^;`)]*(?:--|\.onnx))[^;`)]*")
"""A command in a fix's sentence: with an option or a model. A name alone is not a line to type."""


def own(op: str, inputs: Sequence[str], output: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(op, list(inputs), [output], op.lower(), domain="acme", **attributes)


def constant(name: str, *shape: int) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.ones(shape, np.float32), name)


def chain() -> onnx.ModelProto:
    """Three operators of its author's, behind each other, with ONNX's between them."""
    nodes = [
        own("Stem", ["x"], "a", eps=0.001),
        helper.make_node("MatMul", ["a", "w"], ["b"], "mm"),
        own("Gate", ["b"], "c", alpha=0.1),
        helper.make_node("Relu", ["c"], ["d"], "relu"),
        own("Head", ["d", "ids"], "y"),
    ]
    inputs = [value("x", ["n", 8]), value("ids", ["m"], TensorProto.INT64)]
    return model(nodes, inputs, [value("y", None)], initializers=[constant("w", 8, 6)])


def in_branches() -> onnx.ModelProto:
    then = branch([own("Inner", ["first"], "t")], value("t", ["n", "c"]))
    other = branch([helper.make_node("Identity", ["first"], ["e"], "same")], value("e", ["n", "c"]))
    return model([own("Outer", ["x"], "first"), conditional(then, other)], [value("x", ["n", "c"]), CONDITION])


def image(output: onnx.ValueInfoProto, **attributes: object) -> onnx.ModelProto:
    return model([own("Windows", ["x"], "y", **attributes)], [value("x", ["n", 4, "h", "w"])], [output])


UNIQUE = model([helper.make_node("Unique", ["x"], ["y"], "unique", sorted=1)], [value("x", ["n"])], [value("y", ["m"])])
MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "branches": in_branches,
    "loop": lambda: model([looped("t", nodes=[own("Step", ["s"], "t")])], [value("x", ["n", 6])],
                          [value("y", ["n", 6])], initializers=CONSTANTS[1:]),
    "window": lambda: image(value("y", ["n", 4, None, None]), kernel=3, stride=2, pad=1),
    "unknown output": lambda: image(value("y", None), window=5),
    "ranks": lambda: model([own("Own", ["x"], "y"), own("Own", ["i"], "z")], [value("x", ["n"]), value("i", ["n", 2])],
                           [value("y", None), value("z", None)]),
    "bool": lambda: model([own("Own", ["x"], "y")], [value("x", ["n"], TensorProto.BOOL)]),
    "bad name": lambda: model([own("2Own", ["x"], "y")]),
    "graph": lambda: model([own("Own", ["x"], "y", body=branch([helper.make_node("Relu", ["x"], ["t"])],
                                                                  value("t", ["n", "c"])))]),
    "unique": lambda: UNIQUE,
    "det": lambda: model([helper.make_node("Det", ["x"], ["y"])], [value("x", ["n", 3, 3])], [value("y", ["n"])]),
    "gelu": lambda: model([helper.make_node("QuickGelu", ["x"], ["y"], domain="com.microsoft")],
                          domains=("com.microsoft",)),
    "fine": lambda: model([helper.make_node("Relu", ["x"], ["y"], "relu")]),
}  # fmt: skip
QUICK = ("det", "skip-layer-norm", "crop", "sequence")
LACKS = {
    "bool": "Cast it to int32",
    "bad name": "cannot be a plugin's name",
    "graph": "no field of a pluginkit.toml",
    "unique": "is decided by its inputs' values",
}
"""What no command can make a project of, and what doctor says of it instead."""


def typed(found: Imported) -> tuple[list[str], list[str]]:
    """Type all that is to be typed, in its order; what was, and the lines that say what is missing."""
    lines = model_report.following(found)
    commands = [line for line in lines if not line.startswith("#")]
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "pluginkit"
        # A model that is rewritten may still lack a plugin, which doctor then says of it: 1.
        assert cli.run(arguments) in ({0, 1} if "--fix" in arguments else {0}), command
    for problem in found.problems:
        for command in COMMAND.findall(problem.fix):
            assert cli.run(shlex.split(command)[1:]) == 0, command
    return commands, [line for line in lines if line.startswith("#")]


@pytest.mark.parametrize("name", MODELS)
def test_all_that_doctor_prints_to_be_typed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(MODELS[name](), "model.onnx")
    found = run(ImportOptions(Path("model.onnx")))
    commands, lacking = typed(found)
    new = [one for one in found.unserved if not one.rewrite]
    assert len([one for one in commands if " new " in one]) == len(new) - len(lacking)
    assert len(lacking) == (name in LACKS)
    assert all(LACKS[name] in line for line in lacking)
    # What can't be made isn't refused for another reason than the one that is said.
    for one in new:
        if one.lacks:
            assert cli.run(shlex.split(one.command)[1:]) == 2


@pytest.mark.parametrize(
    "name",
    [
        # NVIDIA's builds of the others take minutes, and nearly all of their operators are the parser's own.
        pytest.param(name, marks=[] if name.startswith("onnxruntime") else pytest.mark.slow)
        for name in corpus.installed()
    ],
)
def test_of_models_that_are_here(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = run(ImportOptions(corpus.installed()[name], timeout=300))
    typed(found)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in own_corpus.MODELS]
)
def test_of_our_own_models(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is typed does what it is for: `new` makes a project, `--fix` a model that lacks less."""
    monkeypatch.chdir(tmp_path)
    onnx.save(own_corpus.MODELS[name](), "model.onnx")
    found = run(ImportOptions(Path("model.onnx"), timeout=300))
    commands, _ = typed(found)
    made = [one for one in tmp_path.iterdir() if (one / "pluginkit.toml").exists()]
    assert len(made) == len([one for one in commands if " new " in one])
    if [one for one in commands if " --fix " in one]:
        again = run(ImportOptions(Path("model-fixed.onnx"), timeout=300))
        before, after = ([one.rule for one in item.problems if one.level == "error"] for item in (found, again))
        assert len(after) < len(before)
        assert not {one.operator for one in again.unserved} >= {one.operator for one in found.unserved}


def test_a_chain_is_made_a_project_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(chain(), "model.onnx")
    commands, _ = typed(run(ImportOptions(Path("model.onnx"))))
    start = "pluginkit new --from-onnx model.onnx --op acme::"
    assert commands == [f"{start}Stem", f"{start}Gate --plugins stem", f"{start}Head --plugins stem --plugins gate"]
    head = Manifest.load(tmp_path / "head")
    assert [one.shape for one in head.inputs] == [("n", "c"), ("m",)]
    assert head.profiles[0].symbols == {"n": (1, 4, 16), "c": (6, 6, 6), "m": (1, 7, 17)}
    # Asked again, it has no command that would find the folder there.
    again = model_report.following(run(ImportOptions(Path("model.onnx"))))
    assert len(again) == 3
    assert all(line.startswith("# acme::") and "there is a folder" in line for line in again)
