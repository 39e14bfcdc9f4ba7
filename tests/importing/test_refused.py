"""What is said of a refusal of NVIDIA's: a row speaks only of a model that has what it is about."""

from __future__ import annotations

from typing import get_args

import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit.importing.building import advice, refusal, structures, unexplained
from pluginkit.importing.implementations import Implementation, find_implementations
from pluginkit.runtimes.rtx import refusals
from pluginkit.runtimes.verdict import BuildVerdict

from .models import CONDITION, branch, conditional, function, library, model, scale, value

RELU = helper.make_node("Relu", ["x"], ["t"], "relu")
SAME = branch([helper.make_node("Identity", ["x"], ["e"], "same")], value("e", ["n", "c"]))
LAYER = helper.make_node("LSTM", ["x", "w", "r"], ["t"], "layer", hidden_size=2)
MODELS = {
    "plain": model([helper.make_node("Relu", ["x"], ["y"], "relu")]),
    "if": model([conditional(branch([RELU], value("t", ["n", "c"])), SAME)], [value("x", ["n", "c"]), CONDITION]),
    "loop in if": model([conditional(branch([LAYER], value("t", None)), SAME)], [value("x", ["n", "c"]), CONDITION]),
    "if in if": model(
        [conditional(branch([conditional(branch([RELU], value("t", None)), SAME, "u")], value("u", None)), SAME)],
        [value("x", ["n", "c"]), CONDITION],
    ),
    "plugin": model([scale()]),
    "plugin in if": model(
        [conditional(branch([scale(outputs=["t"])], value("t", None)), SAME)], [value("x", ["n", "c"]), CONDITION]
    ),
    "cast": model([helper.make_node("Cast", ["x"], ["y"], "cast", to=TensorProto.FLOAT16)]),
    "function": model([helper.make_node("F", ["x"], ["y"], "f")], functions=[function("acme", "F", [RELU])]),
}
HAS = {
    "plain": set(),
    "if": {"if", "flow"},
    "loop in if": {"if", "loop", "loop in if", "flow"},
    "if in if": {"if", "if in if", "flow"},
    "plugin": {"plugin", "quantize"},
    "plugin in if": {"plugin", "plugin in flow", "if", "flow", "quantize"},
    "cast": {"cast", "quantize"},
    "function": set(get_args(refusals.Structure)),
}


def nodes(name: str) -> list[Implementation]:
    return find_implementations(
        MODELS[name], [library()], lambda kind: kind not in {"Scale", "F"} and onnx.defs.has(kind)
    )


@pytest.mark.parametrize("name", MODELS)
def test_what_a_model_has(name: str) -> None:
    assert structures(nodes(name)) == HAS[name]


WORDS = {
    "loop-in-if": ("graphScope.cpp::analyze::463", "loop in if"),
    "if-in-if": ("MyelinCheckException: utils.cpp:3613", "if in if"),
    "workspace-in-flow": ("x_wksp with TYPE unspecified and not inferred", "plugin in if"),
    "quantized-by-cast": ("validateQuantizedTypesProducersConsumers", "cast"),
}


@pytest.mark.parametrize("row", WORDS)
def test_a_row_speaks_of_what_it_is_about(row: str) -> None:
    words, name = WORDS[row]
    verdict = BuildVerdict("refused", words)
    found = refusal(verdict, nodes(name))
    assert found is not None
    assert found.id == row
    assert f"(refusal {row})" in advice(verdict, nodes(name))
    # NVIDIA's compiler says the same of models that have nothing of it.
    assert refusal(verdict, nodes("plain")) is None
    assert not advice(verdict, nodes("plain"))


def test_every_row_says_what_a_model_must_have_or_its_words_do() -> None:
    assert [row.id for row in refusals.REFUSALS if not row.has] == ["uint8-tensor"]


def test_what_nothing_explains() -> None:
    implementations = nodes("loop in if")
    text = unexplained(BuildVerdict("refused", "Assertion failed. In node layer: layerImpls.empty()"), implementations)
    assert "they name if/then_branch/layer." in text
    assert "they name none of the model's nodes" in unexplained(BuildVerdict("refused", "relayer"), implementations)
