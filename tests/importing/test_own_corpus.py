"""What doctor foresees of our own sixty models, with TensorRT-RTX and without, against NVIDIA's verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from pluginkit.runtimes.rtx import session as tensorrt_rtx

from . import own_corpus

REFUSED_SHARE = 1 / 3
WITH, WITHOUT = 0.95, 0.90
"""Recall: of the models that NVIDIA refuses, the share that doctor foresees."""


def test_every_model_has_a_verdict() -> None:
    known = own_corpus.verdicts()
    assert set(known) == set(own_corpus.MODELS)
    assert len(known) >= 60
    assert list(known.values()).count("refused") >= REFUSED_SHARE * len(known)


def test_foresight_without_the_runtime(tmp_path: Path) -> None:
    foreseen = {name: own_corpus.without_runtime(name, tmp_path).foreseen for name in own_corpus.MODELS}
    found = own_corpus.score(foreseen, own_corpus.verdicts())
    assert not found.late
    assert found.recall >= WITHOUT, found.missed


def test_a_score_counts_what_is_missed_and_what_is_false() -> None:
    known = {"a": "refused", "b": "refused", "c": "built", "d": "built"}
    found = own_corpus.score({"a": "refused", "b": "built", "c": "refused", "d": "built"}, known)
    assert (found.missed, found.late, found.recall, found.precision) == (("b",), ("c",), 0.5, 0.5)


@pytest.mark.slow
@pytest.mark.rtx
@pytest.mark.usefixtures("one_process")
@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason=tensorrt_rtx.probe().reason)
def test_foresight_with_the_runtime(tmp_path: Path) -> None:
    found = {name: own_corpus.judged(name, tmp_path) for name in own_corpus.MODELS}
    verdicts = {name: one.verdict.status for name, one in found.items() if one.verdict is not None}
    assert verdicts == own_corpus.verdicts()
    score = own_corpus.score({name: one.foreseen for name, one in found.items()}, verdicts)
    assert not score.late
    assert score.recall >= WITH, score.missed
