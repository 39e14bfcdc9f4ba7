"""What is looked at in a wheel before it is given to anybody, on wheels made up for it."""

from __future__ import annotations

import platform
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.compilers import default_cxx

from .conftest import ROOT

Tool = Callable[[str], ModuleType]
MANYLINUX = "own-0.1.0-cp313-cp313-manylinux_2_28_x86_64.whl"
PLAIN = "own-0.1.0-cp313-cp313-linux_x86_64.whl"


def archive(folder: Path, *called: str) -> bytes:
    """An archive of one object that calls functions of those names."""
    source, obj, made = (folder / f"one.{suffix}" for suffix in ("cpp", "o", "a"))
    declared = "".join(f'extern "C" void {name}();\n' for name in called)
    source.write_text(f"{declared}void run() {{ {' '.join(f'{name}();' for name in called)} }}\n", encoding="utf-8")
    made.unlink(missing_ok=True)
    subprocess.run([default_cxx(), "-c", source, "-o", obj], check=True)
    subprocess.run(["ar", "rc", made, obj], check=True)
    return made.read_bytes()


def wheel(path: Path, archives: dict[str, bytes], without: str = "") -> Path:
    """A wheel with the package's files, but one, and these archives."""
    with zipfile.ZipFile(path, "w") as packed:
        for file in (ROOT / "pluginkit").rglob("*"):
            name = file.relative_to(ROOT).as_posix()
            if file.is_file() and name != without:
                packed.write(file, name)
        for name, content in archives.items():
            packed.writestr(name, content)
    return path


@pytest.mark.compile
def test_archives_of_a_wheel_for_others_suit_old_compilers(tool: Tool, tmp_path: Path) -> None:
    check = tool("check_wheel")
    good, bad = archive(tmp_path, "malloc"), archive(tmp_path, *check.TOO_NEW, "malloc")
    assert check.problems(wheel(tmp_path / MANYLINUX, dict.fromkeys(check.ARCHIVES, good))) == []
    for place in check.ARCHIVES:
        archives = {**dict.fromkeys(check.ARCHIVES, good), place: bad}
        (problem,) = check.problems(wheel(tmp_path / MANYLINUX, archives))
        assert f"{place} calls " in problem
        assert all(f"{name} ({origin})" in problem for name, origin in check.TOO_NEW.items())
    # The machine's own wheel is for its own compiler.
    assert check.problems(wheel(tmp_path / PLAIN, archives)) == []
    (problem,) = check.problems(wheel(tmp_path / MANYLINUX, {check.ARCHIVES[0]: good}))
    assert f"{check.ARCHIVES[1]} is missing" in problem


def test_a_file_that_is_left_out_is_named(tool: Tool, tmp_path: Path) -> None:
    lost = "pluginkit/cmake/pluginkit-config.cmake"
    (problem,) = tool("check_wheel").problems(wheel(tmp_path / PLAIN, {}, without=lost))
    assert f"lacks 1 files of the package:\n  {lost}" in problem


@pytest.mark.parametrize(("audited", "fits"), [
    ("manylinux_2_17_x86_64", True),
    ("manylinux_2_28_x86_64", True),
    ("manylinux_2_34_x86_64", False),
    ("manylinux_2_5_x86_64", True),
    ("linux_x86_64", False),
])  # fmt: skip
def test_auditwheels_word_counts(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, audited: str, fits: bool
) -> None:
    wheels = tool("wheels")
    monkeypatch.setattr(wheels, "run", lambda _: f'{{"overall_tag": "{audited}"}}')
    monkeypatch.setattr(wheels.check_wheel, "problems", lambda _: [])
    if fits:
        assert wheels.look_at(tmp_path / MANYLINUX) == audited
    else:
        with pytest.raises(wheels.WheelFailed, match=f"not for manylinux_2_28_x86_64: auditwheel says {audited}"):
            wheels.look_at(tmp_path / MANYLINUX)


def test_every_python_of_the_classifiers_has_a_way(tool: Tool) -> None:
    """A wheel here, or the recipe's: none is forgotten when the classifiers change."""
    tomllib = pytest.importorskip("tomllib")
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    prefix = "Programming Language :: Python :: "
    promised = [line.removeprefix(prefix) for line in project["project"]["classifiers"] if line.startswith(prefix)]
    wheels = tool("wheels")
    assert set(promised) <= {*wheels.PYTHONS, *wheels.ELSEWHERE}
    built = project["tool"]["cibuildwheel"]["build"].split()
    assert {f"cp{version.replace('.', '')}-*" for version in promised} <= set(built)


def test_a_machine_without_apt_is_told(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheels = tool("wheels")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["wheels.py"])
    assert wheels.main() == 4
    output = capsys.readouterr().err
    assert (
        "there is no apt-get and no dpkg-deb here" if platform.machine() == "x86_64" else "this machine is"
    ) in output
    assert "docs/wheels.md" in output
