"""What the user gets wrong: a clear message, the documented exit code, no traceback."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pluginkit import cli
from tests.compilers import default_cxx

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("bad-input")]


@pytest.fixture
def project(my_plugin: Path, tmp_path: Path) -> Path:
    """A copy without its build folder: the tests name the library, so nothing is compiled."""
    return Path(shutil.copytree(my_plugin, tmp_path / "my_plugin", ignore=shutil.ignore_patterns("build")))


@pytest.fixture
def library(my_plugin: Path) -> Path:
    return my_plugin / "build" / "cpu" / "libmy_plugin.so"


def printed(capsys: pytest.CaptureFixture[str], code: int, *arguments: object) -> str:
    """Run the command line; what it said, once the exit code is as expected."""
    capsys.readouterr()
    got = cli.run([str(argument) for argument in arguments])
    out = capsys.readouterr()
    text = " ".join((out.out + out.err).split())
    assert got == code, text
    assert "Traceback (most recent" not in text
    return text


QUICK = ("--fp32", "--only", "plain/*/min")


def compiled(folder: Path, source: str) -> Path:
    (folder / "bad.cpp").write_text(source)
    subprocess.run([default_cxx(), "-shared", "-fPIC", "-o", folder / "bad.so", folder / "bad.cpp"], check=True)
    return folder / "bad.so"


def test_a_library_that_is_missing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nope.so" in printed(capsys, 2, "test", project, *QUICK, "--library", project / "nope.so")


def test_a_library_that_is_no_library(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "not an ELF" in printed(capsys, 2, "test", project, *QUICK, "--library", project / "pluginkit.toml")


def test_a_library_without_exports(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = compiled(tmp_path, "int nothing() { return 0; }")
    assert "getCreators" in printed(capsys, 1, "test", project, *QUICK, "--library", bad)


@pytest.mark.parametrize(
    ("die", "how"),
    [
        ("std::abort();", "SIGABRT in dlopen"),
        ("std::raise(SIGSEGV);", "SIGSEGV in dlopen"),
        ("std::_Exit(0);", "exit code 0 in dlopen"),
        ("for (volatile int i = 0;; i = 0) {}", "no answer within 3 s in dlopen"),
    ],
)
def test_a_library_that_crashes_on_load(
    project: Path, tmp_path: Path, die: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = "#include <csignal>\n#include <cstdlib>\n"
    bad = compiled(tmp_path, f"{headers}__attribute__((constructor)) void die() {{ {die} }}")
    timeout = ("--timeout", "3") if "3 s" in how else ()
    text = printed(capsys, 6, "test", project, *QUICK, "--library", bad, *timeout)
    assert how in text
    assert f"{bad} cannot be loaded" in text


REFERENCES = {
    "raises": ("def reference(x, *, alpha):\n    return x + undefined\n", 1, "undefined"),
    "wrong shape": ("def reference(x, *, alpha):\n    return x[:, :0]\n", 1, "shape"),
    "wrong type": ("def reference(x, *, alpha):\n    return 'text'\n", 1, "expected real numbers"),
    "NaN": ("def reference(x, *, alpha):\n    return x * float('nan')\n", 1, "NaN"),
    "no function": ("answer = 42\n", 2, "reference"),
    "no Python": ("def reference(x:\n", 2, "reference.py"),
    "dies": ("import os\n\ndef reference(x, *, alpha):\n    os._exit(3)\n", 6, "exit code 3"),
    "hangs": ("def reference(x, *, alpha):\n    while True:\n        pass\n", 1, "did not come back within 3 s"),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_a_bad_reference(project: Path, library: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    source, code, message = REFERENCES[name]
    (project / "reference.py").write_text(source)
    timeout = ("--timeout", "3") if name == "hangs" else ()
    assert message in printed(capsys, code, "test", project, *QUICK, "--library", library, *timeout)


def test_a_reference_that_is_missing(project: Path, library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "reference.py").unlink()
    assert "reference.py" in printed(capsys, 2, "test", project, *QUICK, "--library", library)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[[inputs]]", "[[input]]", "did you mean 'inputs'?"),
        ('version = "1"', "version = 1", "plugin.version"),
        ("n = [1, 2, 4]", "n = [3, 2, 4]", "n = [3, 2, 4] must rise: 0 <= min <= opt <= max"),
        (
            'types = ["float32", "float16", "int8"]',
            'types = ["float32", "float16", "int8"]\nformats = ["hwc8"]',
            "none of them is for float32",
        ),
        ('scale = "x_scale"', 'formats = ["linear", "chw4"]', "write a number instead of 'c'"),
        ('shape = ["n", "c", "h", "w"]\nscale = "y_scale"', 'shape = ["n", "c", "h", "ww"]', "did you mean 'w'?"),
    ],
)
def test_a_bad_manifest(
    project: Path, before: str, after: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project / "pluginkit.toml"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after, 1))
    assert message in printed(capsys, 2, "test", project)


def test_bad_data(project: Path, library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ("test", project, "--fp32", "--network", "plain", "--library", library, "--data")
    assert "none.npz" in printed(capsys, 2, *run, tmp_path / "none.npz")
    np.savez(tmp_path / "names.npz", z=np.zeros((1, 1, 1, 1), np.float32))
    assert "'z'" in printed(capsys, 2, *run, tmp_path / "names.npz")
    np.savez(tmp_path / "rank.npz", x=np.zeros((1, 1), np.float32))
    assert "x" in printed(capsys, 2, *run, tmp_path / "rank.npz")
    np.savez(tmp_path / "outside.npz", x=np.zeros((1, 1, 1, 999), np.float32))
    assert "profile" in printed(capsys, 2, *run, tmp_path / "outside.npz")


def test_bad_calibration_data(project: Path, library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = (
        "test",
        project,
        "--int8",
        "--network",
        "plain",
        "--library",
        library,
        "--calibration-data",
        tmp_path / "my.npz",
    )
    assert "my.npz cannot be read" in printed(capsys, 2, *run)
    values = np.random.default_rng(0).normal(size=(2, 1, 3, 8, 8)).astype(np.float32)
    for x, message in (
        (values[:0], "'x' is empty: shape [0, 1, 3, 8, 8]"),
        (np.full_like(values, 2.5), "'x' is 2.5 everywhere, which says nothing about its range"),
        (np.where(values > 1, np.nan, values), "isn't finite in float32"),
    ):
        np.savez(tmp_path / "my.npz", x=x)
        assert message in printed(capsys, 2, *run)


def test_a_reference_that_is_wrong_only_at_max(
    project: Path, library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "    if x.shape == (4, 16, 16, 16):\n        total[3, 15, 15, 15] += 0.125\n    return total"
    file = project / "reference.py"
    assert "    return total" in file.read_text()
    file.write_text(file.read_text().replace("    return total", wrong))
    text = printed(capsys, 1, "test", project, "--fp32", "--network", "plain", "--library", library)
    assert re.search(r"plain/float32/max: failed in \d+ cases, all at max: ", text)
    assert "at [3, 15, 15, 15]" in text
    assert "(1 of 16384 values are off)" in text
    assert "--only plain/float32/max --seed 0" in text
    counts = re.search(r"(\d+) passed, (\d+) failed of (\d+) cases", text)
    assert counts is not None
    assert int(counts[1]) + int(counts[2]) == int(counts[3])


def test_nothing_selected(project: Path, library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "No case matches" in printed(capsys, 3, "test", project, "--only", "nothing/*", "--library", library)
    assert "did you mean 'loop'?" in printed(capsys, 2, "test", project, "--network", "lop", "--library", library)
    text = (project / "pluginkit.toml").read_text()
    (project / "pluginkit.toml").write_text(text.replace(', "int8"]', "]"))
    assert "int8" in printed(capsys, 3, "test", project, "--int8", "--library", library)


def test_a_report_that_cannot_be_written(project: Path, library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = project / "no" / "such" / "folder" / "report.json"
    assert "report.json" in printed(capsys, 2, "test", project, *QUICK, "--library", library, "--json", where)


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"PK\x03\x04 cut off"])
def test_data_that_cannot_be_read(
    project: Path, library: Path, tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.npz").write_bytes(content)
    data = ("--data", tmp_path / "mine.npz")
    assert "mine.npz" in printed(capsys, 2, "test", project, *QUICK, "--library", library, *data)


def test_a_report_may_be_a_file_in_a_folder_that_is_not_mine(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != "/dev")  # root may write everywhere
    text = printed(capsys, 2, "test", project, *QUICK, "--library", project / "no.so", "--json", "/dev/null")
    assert "there is no plugin library" in text


def test_a_project_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"no pluginkit.toml in {tmp_path / 'gone'}." in printed(capsys, 2, "test", tmp_path / "gone")


def test_no_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("build", "test"):
        assert "pluginkit new" in printed(capsys, 2, command, tmp_path)
