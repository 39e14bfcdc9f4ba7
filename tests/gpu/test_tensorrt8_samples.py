"""samples/tensorrt8 in TensorRT 8.5 on a GPU: each program ends with 0, and says that its results are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from pluginkit.build import build
from tests import tensorrt8

pytestmark = [pytest.mark.gpu, pytest.mark.real_tensorrt, pytest.mark.xdist_group("gpu")]


@pytest.fixture(autouse=True)
def _tensorrt8() -> None:
    tensorrt8.python()


@pytest.mark.parametrize("example", sorted({*tensorrt8.EXAMPLES} - {*tensorrt8.PLUGINS}))
def test_the_example_is_right(example: str) -> None:
    done = tensorrt8.run(example)
    assert done.returncode == 0, done.stdout + done.stderr
    assert tensorrt8.EXAMPLES[example] in done.stdout


@pytest.mark.compile
@pytest.mark.parametrize("example", tensorrt8.PLUGINS)
def test_the_plugin_is_right(example: str, tmp_path: Path) -> None:
    project = tensorrt8.copied(example, tmp_path)
    (made,) = build(project, "gpu", chosen=[8])
    done = tensorrt8.run(example, str(made.library))
    assert done.returncode == 0, done.stdout + done.stderr
    assert tensorrt8.EXAMPLES[example] in done.stdout


def test_with_a_builder_null_is_none(tmp_path: Path) -> None:
    """The guide's field, not held against the list: with a logger the plugin library says why, and doesn't crash."""
    folder = tensorrt8.changed(tmp_path, "common.py", "    creator_fields.check(creator, fields)\n", "")
    text = (folder / "lrelu.py").read_text(encoding="utf-8")
    (folder / "lrelu.py").write_text(text.replace('{"negSlope":', '{"neg_slope":'), encoding="utf-8")
    done = tensorrt8.run("lrelu", folder=folder)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "LReLU_TRT: createPlugin gives null" in done.stderr


def test_a_wrong_result_ends_with_1(tmp_path: Path) -> None:
    """The same program, but that it expects another slope."""
    folder = tensorrt8.changed(tmp_path, "lrelu.py", "SLOPE * values)", "2 * SLOPE * values)")
    done = tensorrt8.run("lrelu", folder=folder)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Stopped: LReLU_TRT: the largest difference to NumPy is" in done.stderr
