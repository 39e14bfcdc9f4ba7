"""What installs pluginkit and its optional parts: no text names a stranger's distribution; what is printed works."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from pluginkit import info, installation
from pluginkit.cli.inspection.info import command as info_command
from pluginkit.cli.project import new
from pluginkit.installation import foreign

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAME = PROJECT["project"]["name"]
HISTORY = ("tests/compatibility/projects/", "tests/classes/")
"""Projects as they were: what old ones are compared with, and shown to nobody."""
OTHERS = "keras nvidia-cuda-cupti onnxruntime optimum-onnx pip tensorflow-cpu tf2onnx torch uv"
"""Distributions of others that a text may have people install, besides those of pyproject.toml."""
VALUED = {"-d", "-r", "--find-links", "--group", "--index-url", "--python", "--requirement", "--resolution", "--target"}
INSTALL = re.compile(r"""\b(?:pip3?|pipx|uv tool) install(?=\s)((?:[ \t]+(?:'[^'\n]+'|"[^"\n]+"|[^\s'"`()]+))*)""")


def known() -> set[str]:
    """The names of the distributions of others."""
    table = PROJECT["project"]
    lists = [table["dependencies"], *table["optional-dependencies"].values(), *PROJECT["dependency-groups"].values()]
    requirements = [*(one for each in lists for one in each), *PROJECT["build-system"]["requires"], *OTHERS.split()]
    return {canonicalize_name(Requirement(one).name) for one in requirements}


def strangers(text: str) -> Iterator[str]:
    """The commands in a text that install what is neither a path nor a known distribution."""
    for found in INSTALL.finditer(text):
        words = iter(word.strip("'\"") for word in re.findall(r"""'[^']+'|"[^"]+"|[^\s'"]+""", found[1]))
        for word in words:
            if word == "#":
                break
            if word in VALUED:
                next(words, None)
            elif not word.startswith("-") and not re.match(r"[.$/{]|git\+|https?:|[\w./*-]+\.whl$|\w+/", word):
                try:
                    one = Requirement(word.rstrip(",;.:"))
                except InvalidRequirement:
                    yield found[0]
                    break
                if not one.url and canonicalize_name(one.name) not in known():
                    yield found[0]
                    break
                if word != word.rstrip(",;.:"):  # the sentence goes on
                    break


@pytest.mark.parametrize(
    "text",
    ["pip install 'pluginkit[rtx]'", f"$ pip install {NAME}", "run: pip install pluginkit\n",
     "pip install plugin-kit, or"],
)  # fmt: skip
def test_a_stranger_is_found(text: str) -> None:
    assert list(strangers(text))


@pytest.mark.parametrize(
    "text",
    ["pip install '/a/checkout[rtx]'", f"pip install '{NAME} @ file:///a.whl'", "pip install torch onnxscript\n",
     'pip install "$PLUGINKIT" pytest', "pip install --no-index --find-links pluginkit .", "pip installs pluginkit"],
)  # fmt: skip
def test_what_people_have_and_what_is_of_others_may_be_installed(text: str) -> None:
    assert not list(strangers(text))


def test_no_text_of_the_repository_installs_a_stranger() -> None:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("git is not installed, or this is not a checkout of it")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [name for name in listed.splitlines() if not name.startswith(HISTORY)]
    files = [ROOT / name for name in names if ROOT / name != Path(__file__)]
    found = {}
    for file in files:
        if file.is_file() and (bad := list(strangers(file.read_bytes().decode("utf-8", "ignore")))):
            found[str(file.relative_to(ROOT))] = bad
    assert len(files) > 1000
    assert found == {}


def test_the_name_stands_in_one_place() -> None:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("git is not installed, or this is not a checkout of it")
    done = subprocess.run(["git", "grep", "-lF", NAME], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["pyproject.toml"]


@pytest.mark.parametrize("base", ["dynamic", "ioext", "v3"])
def test_no_text_of_a_generated_project_installs_a_stranger(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(new.command, ["MyPlugin", "--base", base]).exit_code == 0
    files = [path for path in (tmp_path / "my_plugin").rglob("*") if path.is_file()]
    texts = {path.name: path.read_text(encoding="utf-8") for path in files}
    assert "pip install" in texts["ci.yml"]
    assert {name: bad for name, text in texts.items() if (bad := list(strangers(text)))} == {}


def test_what_a_projects_ci_installs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """bash runs the step; a pip of ours keeps its words."""
    yaml = pytest.importorskip("yaml")
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(new.command, ["MyPlugin"]).exit_code == 0
    workflow = yaml.safe_load((tmp_path / "my_plugin/.github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert workflow["env"] == {"PLUGINKIT": "${{ vars.PLUGINKIT }}"}
    (step,) = [one["run"] for one in workflow["jobs"]["test"]["steps"] if "pip" in one.get("run", "")]
    (tmp_path / "pip").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "pip").chmod(0o755)

    def run(place: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PLUGINKIT": place}
        return subprocess.run(["bash", "-ec", step], env=env, capture_output=True, text=True, check=False)

    assert run("https://a.b/a b.whl").stdout.splitlines() == [
        "install", "https://a.b/a b.whl", "tensorrt-rtx", "pytest", "pytest-xdist",
    ]  # fmt: skip
    unset = run("")  # what GitHub makes of a variable that there is not
    assert unset.returncode != 0
    assert "no such variable" in unset.stderr


def test_every_extras_command_names_its_packages_alone() -> None:
    for name in info.EXTRAS:
        text = installation.extra(name)
        assert "-m pip install " in text
        assert not list(strangers(text)), text
    assert installation.extra("html", "wheel") == installation.pip(*installation.requirements(("html", "wheel")))
    assert installation.requirements(("html",)) == PROJECT["project"]["optional-dependencies"]["html"]


def test_what_this_python_is_too_new_for_is_installed_for_an_older_one(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = [one.partition(";")[0] for one in PROJECT["project"]["optional-dependencies"]["tensorrt8"]]
    assert installation.requirements(("tensorrt8",), "3.10") == needed
    assert installation.requirements(("tensorrt8",), "3.11") == []
    of_this = installation.requirements
    monkeypatch.setattr(installation, "requirements", lambda names, python="3.11": of_this(names, python))
    assert installation.extra("tensorrt8") == shlex.join(["python3.10", "-m", "pip", "install", *needed])


@pytest.mark.parametrize("name", ["html", "wheel"])
def test_an_extras_command_works_as_printed(name: str) -> None:
    done = subprocess.run(
        f"{installation.extra(name)} --dry-run --no-index", shell=True, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_without_pip_it_is_uvs_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert installation.pip("a>=1") == f"uv pip install --python {shlex.quote(sys.executable)} 'a>=1'"


def test_in_a_checkout_it_is_set_up_again() -> None:
    if Path(sys.prefix).parent != ROOT:
        pytest.skip("these tests run in another environment than the checkout's")
    assert installation.again() == f"make -C {shlex.quote(str(ROOT))} setup"
    done = subprocess.run(f"{installation.again()} --dry-run", shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def pure_wheel(folder: Path, name: str) -> Path:
    """A wheel of that name with a module that nothing has."""
    slug = name.replace("-", "_")
    entry = "[console_scripts]\npluginkit = pluginkit.cli:main\n" if name == NAME else ""
    files = {
        f"{slug}_module.py": "",
        f"{slug}-9.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 9\n",
        f"{slug}-9.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{slug}-9.dist-info/entry_points.txt": entry,
    }
    record = f"{slug}-9.dist-info/RECORD"
    lines = [f"{path},sha256={_digest(text)},{len(text)}" for path, text in files.items()]
    path = folder / f"{slug}-9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for one, text in {**files, record: "\n".join([*lines, f"{record},,"]) + "\n"}.items():
            archive.writestr(one, text)
    return path


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def install(wheel: Path, target: Path) -> Path:
    """The dist-info folder that pip makes of a wheel."""
    words = ["--quiet", "--no-index", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "install", *words], check=True)
    (found,) = target.glob("*.dist-info")
    return found


def test_what_came_as_a_wheel_comes_from_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a folder").mkdir()
    wheel = pure_wheel(tmp_path / "a folder", NAME)
    place = install(wheel, tmp_path / "target")
    monkeypatch.setattr(installation, "distribution", lambda: metadata.PathDistribution(place))
    text = installation.again()
    assert shlex.split(text)[-1] == str(wheel)
    done = subprocess.run(f"{text} --dry-run --no-index", shell=True, capture_output=True, text=True, check=False)
    assert f"Would install {NAME}-9" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("origin", "last"),
    [
        ({"url": "https://a.b/c.whl", "archive_info": {}}, "https://a.b/c.whl"),
        ({"url": "https://a.b/c", "vcs_info": {"vcs": "git", "commit_id": "0123"}}, "git+https://a.b/c@0123"),
        ({"url": ROOT.as_uri(), "dir_info": {"editable": True}}, str(ROOT)),
        (None, "Install it from the wheel, the index or the checkout that it came from."),
    ],
)
def test_where_else_it_can_have_come_from(
    origin: object, last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = install(pure_wheel(tmp_path, NAME), tmp_path / "target")
    (place / "direct_url.json").write_text(json.dumps(origin) if origin else "{}")
    monkeypatch.setattr(installation, "distribution", lambda: metadata.PathDistribution(place))
    monkeypatch.setattr(installation, "package", lambda: tmp_path / "pluginkit")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    text = installation.again()
    assert text == last if origin is None else shlex.split(text)[-1] == last


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder with a distribution `pluginkit`."""
    install(pure_wheel(tmp_path, "pluginkit"), tmp_path / "site")
    return tmp_path / "site"


def test_an_environment_that_has_the_other_pluginkit_says_so_once(other: Path) -> None:
    child = "import sys; sys.path.append(sys.argv[1]); import pluginkit"
    code = f"{child}; import subprocess; subprocess.run([sys.executable, '-c', {child!r}, sys.argv[1]], check=True)"
    done = subprocess.run([sys.executable, "-c", code, other], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr.count("RuntimeWarning") == 1
    assert f"{other}/pluginkit-9.dist-info is of another project" in done.stderr
    assert "-m pip uninstall --yes pluginkit\n" in done.stderr
    assert installation.again() in done.stderr
    quiet = subprocess.run([sys.executable, "-c", "import pluginkit"], capture_output=True, text=True, check=False)
    assert quiet.stderr == ""


def test_info_shows_the_other_pluginkit(other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(other)])
    items = json.loads(CliRunner().invoke(info_command, ["--json"]).output)["items"]
    (item,) = [one for one in items if one["name"] == "another pluginkit"]
    assert item["where"] == str(other / "pluginkit-9.dist-info")
    assert item["remedy"] == foreign.message(item["where"])
    assert foreign.message(item["where"]) in CliRunner().invoke(info_command, []).output


def test_our_own_distribution_is_found_beside_the_other(other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (other / "pluginkit-9.dist-info/entry_points.txt").write_text("[console_scripts]\npluginkit = pluginkit.cli:main\n")
    monkeypatch.setattr(sys, "path", [str(other), *sys.path])
    found = installation.distribution.__wrapped__()
    assert found is not None
    assert found.name == NAME
