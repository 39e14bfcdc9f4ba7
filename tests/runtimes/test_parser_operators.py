"""The list of operators that NVIDIA's parser serves itself, against the parser, and what is said of such names."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from pluginkit import cli, parser_operators
from pluginkit.importing.building import ModelSession
from pluginkit.runtimes.rtx import session as tensorrt_rtx


@pytest.mark.rtx
@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason=tensorrt_rtx.probe().reason)
def test_the_list_is_the_parsers_answer() -> None:
    asked = {schema.name for schema in onnx.defs.get_all_schemas()} | parser_operators.OPERATORS
    with ModelSession([], 60) as session:
        native = session.native(sorted(asked))
    assert native == parser_operators.OF_RTX


def test_who_has_an_operator() -> None:
    assert parser_operators.parsers("Relu") == "TensorRT 8.5 and later, TensorRT-RTX 1.7.1"
    assert parser_operators.parsers("DFT") == "TensorRT 11.2 and later"
    assert parser_operators.parsers("NonZero") == "TensorRT 8.5 and later"
    assert not parser_operators.parsers("Det")
    assert not parser_operators.parsers("MatMulNBits")
    assert list(parser_operators.not_in_all(["Relu", "LayerNormalization", "Det"])) == ["LayerNormalization"]


def test_new_and_add_warn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["new", "Relu"]) == 0
    assert "Call the plugin ReluPlugin" in capsys.readouterr().err
    assert cli.run(["add", "Gelu", "--project", "relu"]) == 0
    assert "Call the plugin GeluPlugin" in capsys.readouterr().err
    assert cli.run(["new", "ReluPlugin"]) == 0
    assert "Warning" not in capsys.readouterr().err
