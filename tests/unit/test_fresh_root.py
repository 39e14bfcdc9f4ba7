"""The machine's part of tools/fresh.py: what goes into a root and what stays outside. .ci/run makes real ones."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def fresh_root(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("fresh_root")


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("fresh")


def test_packages_are_those_of_readme_word_for_word(fresh: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    packages = fresh.readme_packages(readme)
    assert f"`sudo apt-get install {' '.join(packages)}`" in readme
    assert "g++" in packages
    with pytest.raises(fresh.RootFailed, match="has 0 lines"):
        fresh.readme_packages("`apt install g++`")
    with pytest.raises(fresh.RootFailed, match="has 2 lines"):
        fresh.readme_packages(readme + readme)


def test_packages_of_a_file_are_without_comments(fresh: ModuleType) -> None:
    assert fresh.listed_packages("# all\nclang  # second\n\n git\n#no\n") == ["clang", "git"]
    listed = fresh.listed_packages((ROOT / "tools" / "ci-packages.txt").read_text(encoding="utf-8"))
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name) for name in listed)


def test_of_pips_settings_only_indexes_and_certificates_pass(
    fresh_root: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    (tmp_path / "ca.pem").touch()
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://in.the.file/simple\nfind-links = /opt/wheels\nconstraint = /opt/all.txt\n"
        f"extra-index-url = file:///opt/simple https://a.b/c file:///opt/more\ncert = {tmp_path / 'ca.pem'}\n"
        "timeout = 77\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_INDEX_URL", "https://in.the.environment/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "/opt/wheels")
    settings = fresh_root.pip_settings()
    assert settings == {
        "PIP_INDEX_URL": "https://in.the.environment/simple",
        "PIP_EXTRA_INDEX_URL": "https://a.b/c",
        "PIP_CERT": str(tmp_path / "ca.pem"),
        "PIP_DEFAULT_TIMEOUT": "77",
    }
    inside = fresh_root._environment(tmp_path / "root")
    assert (tmp_path / "root" / inside["PIP_CERT"].lstrip("/")).is_file()
    assert inside["HOME"] == "/root"
    assert str(tmp_path) not in " ".join(inside.values())


@pytest.mark.parametrize(
    ("lacking", "reason"),
    [("root", "ordinary user"), ("debootstrap", "apt-get install debootstrap"), ("git", "no git")],
)
def test_what_is_missing_is_said(
    fresh_root: ModuleType, monkeypatch: pytest.MonkeyPatch, lacking: str, reason: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000 if lacking == "root" else 0)
    monkeypatch.setattr(fresh_root.shutil, "which", lambda name: None if name == lacking else f"/usr/bin/{name}")
    assert reason in fresh_root.obstacle()


def test_without_a_root_the_command_ends_with_a_sentence() -> None:
    code = "import os, sys; os.geteuid = lambda: 1000; sys.argv = ['fresh']; import fresh; sys.exit(fresh.main())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "tools")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert done.stderr == "error: no fresh root can be made here: that needs root; this is an ordinary user.\n"


def test_a_command_gets_no_variable_of_the_machine(fresh_root: ModuleType) -> None:
    command = fresh_root.FreshRoot(Path("/r"), {"A": "1"}).command("make demo", cwd="/home/it's")
    assert command[command.index("/r") :] == [
        "/r",
        "A=1",
        "sh",
        "-c",
        "cd '/home/it'\"'\"'s' || exit 1\nmake demo\nexit $?",
    ]
    assert 'env -i "$@"' in fresh_root.ENTER


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_folder_goes_however_the_process_ends(number: signal.Signals, tmp_path: Path) -> None:
    code = (
        "import fresh_root, time\nwith fresh_root._temporary_folder() as folder:\n"
        "    (folder / 'x').touch()\n    print(folder, flush=True)\n    time.sleep(100)\n"
    )
    environment = {"PYTHONPATH": str(ROOT / "tools"), "PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert (folder / "x").exists()
        process.send_signal(number)
    while folder.exists():
        time.sleep(0.01)


def test_steps_are_told_with_their_seconds(fresh: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    steps = fresh.Steps()
    with pytest.raises(ValueError, match="x"), steps.step("first"):
        raise ValueError("x")
    with steps.step("second"):
        pass
    assert [line.split("s  ")[1] for line in steps.table()] == ["first", "second", "all"]
    assert capsys.readouterr().out.startswith("--- first (at 0 s)\n--- first: 0 s\n")


class FakeRoot:
    """Stands for a root: keeps what is asked of it; commands end with `status`."""

    def __init__(self, status: int) -> None:
        self.asked: list[str] = []
        self._status = status

    def install(self, packages: list[str]) -> None:
        self.asked.append(f"install {' '.join(packages)}")

    def bring(self, checkout: Path, place: str) -> None:
        self.asked.append(f"bring {checkout.name} {place}")

    def output(self, text: str) -> str:
        return text.partition(" ")[0]

    def run(self, text: str, *, cwd: str) -> int:
        self.asked.append(f"{cwd}: {text}")
        return self._status


@pytest.mark.parametrize(("status", "code", "last"), [(0, 0, "passed"), (5, 1, "FAILED")])
def test_two_passes_and_how_they_end(
    fresh: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    status: int,
    code: int,
    last: str,
) -> None:
    root = FakeRoot(status)
    monkeypatch.setattr(fresh, "fresh_root", lambda suite, site: contextlib.nullcontext(root))
    monkeypatch.setattr(fresh, "head", lambda: "commit 0123456")  # git may be missing where tests run
    assert fresh.run("trixie", "http://mirror", ["bare", "equipped"]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"fresh root: Debian trixie: {last}"
    packages = " ".join(fresh.readme_packages((ROOT / "README.md").read_text(encoding="utf-8")))
    assert root.asked[:3] == [
        f"bring {ROOT.name} {fresh.PROJECT}",
        f"install {packages}",
        f"{fresh.PROJECT}: make demo",
    ]
    if status:  # pytest's 5, no tests at all, comes as make's 2; nothing but 0 is right
        assert len(root.asked) == 3
        assert "error: bare: 'make demo' ended with exit status 5" in lines
    else:
        assert root.asked[4].startswith(f"install {packages} clang libclang-rt-dev git")
        assert root.asked[-1] == f"{fresh.PROJECT}: PYTEST='--strict-skips --durations=40' .ci/here"


def test_the_bare_pass_names_tests_that_there_are(fresh: ModuleType) -> None:
    given = [sys.executable, "-m", "pytest", "-q", "--collect-only", *fresh.BARE]
    done = subprocess.run(given, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(name in fresh.PASSES["bare"][-1] for name in fresh.BARE)


def test_the_mirror_is_the_first_of_apts_that_is_debians_and_has_the_release(
    fresh_root: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    of = {"other": ("Other", "Debian"), "security": ("Debian", "Debian-Security")}
    for site in ("other", "security", "debian", "second"):
        origin, label = of.get(site, ("Debian", "Debian"))
        folder = tmp_path / site / "dists" / "trixie"
        folder.mkdir(parents=True)
        (folder / "Release").write_text(f"Origin: {origin}\nLabel: {label}\nSuite: stable\n")
    sites = [(tmp_path / site).as_uri() for site in ("gone", "other", "security", "debian", "second")]
    monkeypatch.setattr(
        fresh_root, "_output", lambda *command, **_: "\n".join(sites) if "indextargets" in command else ""
    )
    assert fresh_root.mirror("trixie") == (tmp_path / "debian").as_uri()
    with pytest.raises(fresh_root.RootFailed, match="no Debian mirror that has sarge; file://"):
        fresh_root.mirror("sarge")
