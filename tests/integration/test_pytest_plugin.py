"""`pytest` in a plugin project: the cases of `pluginkit test` as items, alone and by pytest-xdist."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pluginkit.process.programs import Completed, run
from pluginkit.run.options import Options
from pluginkit.run.runner import run as run_all
from pluginkit.testing.report import Outcome, Report

pytestmark = [pytest.mark.compile, pytest.mark.rtx, pytest.mark.xdist_group("bar")]

RIGHT = "joined[i] = word;"
WRONG = "joined[i] = wordsA > 0 ? a[0] : word;"


@pytest.fixture
def project(own_bar: Path) -> Path:
    return own_bar


@contextlib.contextmanager
def changed(file: Path, text: str) -> Iterator[None]:
    before = file.read_text()
    assert text != before
    file.write_text(text)
    try:
        yield
    finally:
        file.write_text(before)


def in_project(folder: Path, *arguments: str, **environment: str | None) -> Completed:
    # This run's own workers, plugins and options are not that one's.
    own = dict.fromkeys([name for name in os.environ if name.startswith(("PYTEST_", "PLUGINKIT_LEAN"))])
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder), *arguments]
    return run(command, cwd=folder, env={**own, **environment}, timeout=500)


def compiled(log: Path) -> int:
    """How often the kernel's object was made."""
    return len(re.findall(r"bar_plugin\.cu\S*\.o\t", log.read_text())) if log.exists() else 0


def ends(done: Completed) -> dict[str, str]:
    """Item -> its end, of a run with -v."""
    lines = re.findall(r"^(?:\[gw\d+\] \[ *\d+%\] )?(PASSED|FAILED|SKIPPED|ERROR)? ?\S+::test_in_networks\[(.+?)\] ?"
                       r"(PASSED|FAILED|SKIPPED|ERROR)?", done.stdout, re.MULTILINE)  # fmt: skip
    return {name: before or after for before, name, after in lines if before or after}


def test_every_case_verdict_and_control_is_an_item(project: Path, bar_report: Report) -> None:
    report = bar_report
    done = in_project(project, "--collect-only", "-q")
    items = re.findall(r"::test_in_networks\[(.+)\]$", done.stdout, re.MULTILINE)
    expected = [case.id for case in report.cases]
    expected += [control.network for control in report.controls if control.runtime == "host"]
    # What runs engines is one item.
    by_network = [verdict for verdict in report.verdicts if verdict.runtime == "tensorrt-rtx"]
    expected += [f"{verdict.network}/{verdict.runtime}" for verdict in by_network]
    expected += [control.network for control in report.controls if control.runtime != "host"]
    assert items[: len(expected)] == expected
    # One each for what isn't installed or there; where a GPU is, one a case.
    on_gpu = {f"{case.id}/gpu" for case in report.cases}
    assert set(items[len(expected) :]) <= {"tensorrt", "tensorrt-rtx engines", "tensorrt-lean", "gpu"} | on_gpu
    assert report.exit_code == 0


def test_a_part_is_chosen_by_k_and_missing_runtimes_are_skipped_with_the_reason(project: Path) -> None:
    done = in_project(project, "-v", "-rs", "-k", "plain/float16 or tensorrt-lean")
    assert done.ok, done.stdout
    found = ends(done)
    assert found["plain/float16/opt"] == found["plain/float16/tensorrt-rtx"] == "PASSED"
    assert found["tensorrt-lean"] == "SKIPPED"
    assert "tensorrt_lean is not installed" in " ".join(done.stdout.split())
    assert all("plain/float16" in name or name == "tensorrt-lean" for name in found)


def test_a_failure_by_xdist_has_the_words_of_pluginkit_test_and_builds_once(project: Path) -> None:
    kernel = project / "src" / "bar_plugin.cu"
    log = project / "build" / "cpu" / "cmake" / ".ninja_log"
    before = compiled(log)
    with changed(kernel, kernel.read_text().replace(RIGHT, WRONG)):
        done = in_project(project, "-v", "-n", "2", "-k", "plain/float32", "-p", "xdist")
        (case,) = run_all(Options(project=project, only=("plain/float32/opt",))).cases
    assert done.returncode == 1, done.stdout
    found = ends(done)
    assert found["plain/float32/opt"] == "FAILED"
    assert found["plain/float32/tensorrt-rtx"] == "PASSED", "NVIDIA's builder runs nothing"
    assert case.outcome is Outcome.FAILED
    for line in (*case.message.splitlines(), "again: pluginkit test --only plain/float32/opt --seed 0"):
        assert line in done.stdout
    assert "Traceback" not in done.stdout
    assert compiled(log) - before in (1, 2), "once a layout at most"


def test_what_cannot_be_built_or_planned_is_said_without_a_traceback(project: Path) -> None:
    with changed(project / "reference.py", "def reference(a, b):\n    raise ValueError('no such thing')\n"):
        done = in_project(project, "-k", "plain")
    assert done.returncode == 2
    assert "no such thing" in done.stdout
    assert "planning.py" not in done.stdout
    kernel = project / "src" / "bar_plugin.cu"
    with changed(kernel, "#error broken on purpose\n" + kernel.read_text()):
        done = in_project(project, "-q", "-k", "plain/float32/opt or plain/float32/min")
    assert done.returncode == 1
    assert "broken on purpose" in done.stdout
    assert "items.py" not in done.stdout


def test_a_project_without_plugins_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n\n\ndef test_nothing_heavy_is_imported():\n"
        "    heavy = {'numpy', 'onnx', 'pluginkit.testing', 'pluginkit.manifest', 'rich', 'pydantic'}\n"
        "    assert 'pluginkit.pytest_plugin' in sys.modules\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    done = in_project(tmp_path, "-q")
    assert done.ok, done.stdout
    (tmp_path / "test_lost.py").write_text("def test_lost(pluginkit_case):\n    pluginkit_case.check()\n")
    done = in_project(tmp_path, "-q", "test_lost.py")
    assert done.returncode == 2
    assert "no folder above" in done.stdout
