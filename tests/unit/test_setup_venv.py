"""What tools/setup_venv.py says on a machine that lacks something; nothing is downloaded."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pluginkit import paths

FILE = Path(__file__).resolve().parents[2] / "tools" / "setup_venv.py"


@pytest.fixture
def setup_venv() -> ModuleType:
    spec = importlib.util.spec_from_file_location("setup_venv", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_this_machine_has_everything(setup_venv: ModuleType) -> None:
    setup_venv.check_machine()


def test_all_that_is_missing_is_said_at_once(
    setup_venv: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(setup_venv.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit) as stop:
        setup_venv.check_machine()
    output = capsys.readouterr().out
    assert "a C++ compiler" in output
    assert "Python.h" in output
    assert "venv module" in output
    assert "sudo apt-get install g++ python3-dev python3-venv" in str(stop.value)


def test_an_old_python_is_refused(setup_venv: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 0))
    with pytest.raises(SystemExit, match="python3"):
        setup_venv.check_machine()


def test_what_is_installed_beside_is_not_installed_twice(
    setup_venv: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(setup_venv, "ROOT", tmp_path)
    words = tmp_path / "words"
    python = program(tmp_path / "python", f'mkdir -p {tmp_path}/.venv-nvidia/x; echo "$*" >> {words}')
    for requirement in ("a==1", "a==1", "a==2"):
        step = setup_venv.beside(python, "x", requirement)
        setup_venv.follow(*([step] if step else []))
    assert [line.split()[-1] for line in words.read_text().splitlines()] == ["a==1", "a==2"]


def program(path: Path, text: str) -> Path:
    """A program of the shell's."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_failing_pip_ends_with_its_words(setup_venv: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"no-such-command \.\.\. failed"):
        setup_venv.follow(setup_venv.pip(Path(sys.executable), "x", "no-such-command"))
    assert 'unknown command "no-such-command"' in capsys.readouterr().out


@pytest.mark.parametrize("never", [False, True])
def test_bytecode_is_left_to_the_first_import_where_it_is_kept_then(
    setup_venv: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, never: bool
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" > {tmp_path / "words"}\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "dont_write_bytecode", never)
    setup_venv.follow(setup_venv.pip(python, "x", "install", "x"))
    assert ("--no-compile" in (tmp_path / "words").read_text().split()) is not never


def installed(setup_venv: ModuleType, folder: Path, *, demo: bool) -> set[str]:
    """The names that set-up asks pip for, in an environment whose Python only keeps them."""
    (folder / "bin").mkdir(parents=True)
    python = folder / "bin" / "python"
    python.write_text(
        f'#!/bin/sh\n[ "$1" = -c ] && exec {sys.executable} "$@"\nprintf "%s\\n" "$@" >> {folder / "words"}\n'
    )
    python.chmod(0o755)
    setup_venv.main(folder, demo=demo)
    words = (folder / "words").read_text().splitlines()
    return {canonicalize_name(Requirement(one).name) for one in words if re.match(r"[a-z_A-Z0-9]+.*[<>=]|wheel", one)}


def test_the_demo_gets_what_it_uses_and_nothing_else(
    setup_venv: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(setup_venv, "prebuilt", lambda *_: "")
    beside: list[str] = []
    monkeypatch.setattr(setup_venv, "beside", lambda _, name, *words: beside.append(name))
    project = setup_venv.pyproject(Path(sys.executable))
    used = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    used += [*project["project"]["optional-dependencies"]["rtx"], *setup_venv.RTX_BUILT_WITH]
    names = {canonicalize_name(Requirement(one).name) for one in used}
    demo = installed(setup_venv, tmp_path / "demo", demo=True)
    assert demo == names
    assert beside == []
    assert [(tmp_path / "demo" / name).exists() for name in (".demo", ".ready")] == [True, False]
    assert installed(setup_venv, tmp_path / "all", demo=False) > names | {"pytest", "mypy", "onnxruntime", "matplotlib"}
    assert beside == ["lean10", "lean11", "bindings10", "bindings11"]
    assert (tmp_path / "all" / ".ready").exists()


def test_what_runs_is_said_with_its_seconds_until_it_ends(
    setup_venv: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(setup_venv, "EVERY", 0.2)
    code = "import time; print('Downloading a.whl', flush=True); time.sleep(1.2)"
    setup_venv.follow(setup_venv.Step("packages", [sys.executable, "-c", code]))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 3
    assert re.fullmatch(r"  packages: \d+ s, Downloading a\.whl", lines[-2])
    assert re.fullmatch(r"packages: \d s", lines[-1])


def test_set_up_and_cmake_have_the_same_digest_of_what_is_compiled(setup_venv: ModuleType) -> None:
    if paths.ROOT != setup_venv.ROOT / "pluginkit":
        pytest.skip("pluginkit is not installed from this checkout")
    _, sources = (paths.built_dir() / "compiled.txt").read_text().split()
    assert sources == setup_venv.digest(setup_venv.ROOT), "set-up was not run after a change: make setup"


@pytest.mark.compile
@pytest.mark.parametrize("same", [True, False])
def test_what_is_compiled_goes_into_a_wheel_of_the_same_sources_alone(
    setup_venv: ModuleType, tmp_path: Path, same: bool
) -> None:
    (tmp_path / "made/pluginkit").mkdir(parents=True)
    sources = setup_venv.digest(setup_venv.ROOT) if same else "0" * 64
    (tmp_path / "made/pluginkit/compiled.txt").write_text(f"12.2.0 {sources}\n")
    command = ["cmake", "-S", setup_venv.ROOT, "-B", tmp_path / "build", "-G", "Ninja", "-DSKBUILD_PROJECT_VERSION=1"]
    given = f"-DPLUGINKIT_PREBUILT={tmp_path / 'made'}"
    done = subprocess.run(
        [*command, given], check=False, capture_output=True, text=True,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert (done.returncode == 0) is same, done.stderr
    assert ("was not made of the sources in" in " ".join(done.stderr.split())) is not same


@pytest.mark.parametrize("wrong", ["nothing", "sources", "compiler", "module", "python"])
def test_a_wheels_compiled_part_is_taken_where_it_fits(
    setup_venv: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: str
) -> None:
    (tmp_path / "root/dist").mkdir(parents=True)
    (tmp_path / "root/CMakeLists.txt").write_text("x")
    monkeypatch.setattr(setup_venv, "ROOT", tmp_path / "root")
    sources = "0" * 64 if wrong == "sources" else setup_venv.digest(tmp_path / "root")
    (module,) = paths.built_dir().glob("_native.*.so")
    name = "_native.cpython-27.so" if wrong == "python" else module.name
    with zipfile.ZipFile(tmp_path / "root/dist/a.whl", "w") as archive:
        archive.writestr("pluginkit/compiled.txt", f"{'99.1' if wrong == 'compiler' else '5.1'} {sources}\n")
        archive.writestr(f"pluginkit/{name}", b"no library" if wrong == "module" else module.read_bytes())
        archive.writestr("pluginkit/a.py", "")
    found = setup_venv.prebuilt(tmp_path / "scratch", Path(sys.executable))
    assert found == (str(tmp_path / "scratch") if wrong == "nothing" else "")
    if found:
        assert {path.name for path in Path(found).rglob("*.*")} == {"compiled.txt", module.name}


def fake_pip(folder: Path, message: str) -> Path:
    """A Python whose pip fails with these words."""
    return program(folder / "python", f"echo {message!r} >&2\nexit 1")


def test_what_has_no_wheel_for_this_python_is_skipped_with_a_sentence(
    setup_venv: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(setup_venv, "ROOT", tmp_path)
    python = fake_pip(tmp_path, "ERROR: No matching distribution found for tensorrt-lean-cu12==10.16.1.11")
    step = setup_venv.beside(python, "lean10", "tensorrt-lean-cu12==10.16.1.11")
    setup_venv.follow(optional=[step])
    output = capsys.readouterr().out
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"skipped: tensorrt-lean-cu12==10.16.1.11 has no wheel for Python {version} on " in output
    assert not (tmp_path / ".venv-nvidia/lean10/.requirement").exists()  # another set-up tries again
    with pytest.raises(setup_venv.NoWheel):  # main makes an error of it where it isn't NVIDIA's
        setup_venv.follow(setup_venv.pip(python, "x", "install", "x"))


@pytest.mark.parametrize("lacking", ["tensorrt_rtx_cu13_bindings==1.7.1.116", "numpy>=1.26"])
def test_of_the_demos_packages_only_tensorrt_rtx_may_have_no_wheel(
    setup_venv: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    lacking: str,
) -> None:
    monkeypatch.setattr(setup_venv, "prebuilt", lambda *_: "")
    asked = "tensorrt-rtx" if "rtx" in lacking else "numpy"
    (tmp_path / "bin").mkdir()
    program(
        tmp_path / "bin" / "python",
        f'[ "$1" = -c ] && exec {sys.executable} "$@"\ncase "$*" in *{asked}*)\n'
        f"sleep 1; echo 'ERROR: No matching distribution found for {lacking}'; exit 1;; esac",
    )
    if asked == "numpy":
        with pytest.raises(setup_venv.NoWheel, match="numpy"):
            setup_venv.main(tmp_path, demo=True)
    else:
        setup_venv.main(tmp_path, demo=True)
        assert "skipped: TensorRT-RTX has no wheel for" in capsys.readouterr().out
    assert (tmp_path / ".demo").exists() == (asked != "numpy")


def test_another_failure_of_pip_is_no_reason_to_skip(setup_venv: ModuleType, tmp_path: Path) -> None:
    python = fake_pip(tmp_path, "ERROR: No space left on device")
    with pytest.raises(SystemExit, match="failed"):
        setup_venv.follow(optional=[setup_venv.pip(python, "x", "install", "x")])
