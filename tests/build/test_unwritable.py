"""Projects in folders that may not be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "leaky_relu"
UNPRIVILEGED = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
"""root may write everywhere; without these capabilities (capabilities(7)) modes are for it too."""

pytestmark = pytest.mark.skipif(
    bool(UNPRIVILEGED) and not shutil.which("setpriv"), reason="root without setpriv (util-linux) may write everywhere"
)


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    project = tmp_path / "leaky_relu"
    shutil.copytree(SAMPLE, project, ignore=shutil.ignore_patterns("build"))
    project.chmod(0o555)
    yield project
    project.chmod(0o755)


def pluginkit(*arguments: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [*UNPRIVILEGED, sys.executable, "-m", "pluginkit", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["build", "test", "import"])
def test_a_project_that_may_not_be_written_is_one_sentence(locked: Path, tmp_path: Path, command: str) -> None:
    before = sorted(locked.rglob("*"))
    arguments: list[str | Path] = ["--target", "cpu", locked]
    if command == "import":
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], "r")], "g", [x], [y])
        onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
        arguments = [tmp_path / "m.onnx", "--plugins", locked]
    result = pluginkit(command, *arguments, cwd=locked)
    output = " ".join(result.stderr.split())
    assert (result.returncode, "Traceback" in output) == (2, False), output
    assert f"{locked} cannot be built there: {locked / 'build'}: Permission denied." in output
    assert "--library LIB.so" in output
    assert sorted(locked.rglob("*")) == before


def test_no_folder_for_temporary_files(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir(0o555)
    made = (
        f"import tempfile; tempfile._candidate_tempdir_list = lambda: [{str(nowhere)!r}]; from pluginkit import cli; "
    )
    made += "cli.main(['demo'])"
    command = [*UNPRIVILEGED, sys.executable, "-c", made]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, "Traceback" in result.stderr) == (2, False), result.stderr
    assert "TMPDIR" in result.stderr
