"""The wheels that `make wheels` makes, used where they are meant to be used: on a machine of another release.

Long: the wheels are built, and a Debian root is made. Figures of a run stand in docs/proved.md.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from .conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.compile, pytest.mark.xdist_group("released wheels")]
Tool = Callable[[str], ModuleType]
PYTHON, SUITE = "3.13", "trixie"
ALL_PASSED = re.compile(r"\b(\d+) passed of \1 cases")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel for one Python, as the user builds it."""
    out = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, ROOT / "tools/wheels.py", "--python", PYTHON, "--out", out]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode == 4:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "auditwheel: manylinux_2_" in done.stdout
    (made,) = out.iterdir()
    return made


def test_its_archives_call_nothing_that_is_too_new(wheel: Path, tool: Tool) -> None:
    assert tool("check_wheel").problems(wheel) == []
    assert wheel.name.endswith(f"-cp{PYTHON.replace('.', '')}-manylinux_2_28_x86_64.whl")


def test_the_demo_in_a_root_of_another_release(wheel: Path, tool: Tool) -> None:
    """By that release's g++, and by g++ 9, the oldest that pluginkit takes, with C and C++ libraries of its age."""
    fresh_root, debian = tool("fresh_root"), tool("debian")
    if reason := fresh_root.obstacle():
        pytest.skip(f"no fresh root can be made here: {reason}")
    with fresh_root.fresh_root(SUITE, fresh_root.mirror(SUITE)) as root:
        root.install(["python3-venv", "g++"])
        shutil.copy(wheel, root.path / "root")
        workflow = (ROOT / "samples/pad/.github/workflows/ci.yml").read_text(encoding="utf-8")
        (install,) = re.findall(r"- run: (pip install .+)", workflow)
        root.output(f"python3 -m venv venv && . venv/bin/activate && PLUGINKIT='/root/{wheel.name}' && {install}")
        assert ALL_PASSED.search(root.output("venv/bin/pluginkit demo"))
        oldest = debian.compiler("bullseye", 9, ROOT / "build/debian").parents[1]
        shutil.copytree(oldest, root.path / "oldest", symlinks=True)
        assert " 9.3.0" in root.output("/oldest/bin/g++ --version")
        output = root.output("CXX=/oldest/bin/g++ venv/bin/pluginkit demo --keep kept")
        assert ALL_PASSED.search(output)
        assert '"9.3.0"' in root.output("cat kept/my_plugin/build/cpu/libmy_plugin.json")
