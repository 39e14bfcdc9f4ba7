"""`--strict-skips`: which skips fail a run of pytest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.skips import Allowed, load, unexpected

ROOT = Path(__file__).resolve().parents[2]
FIRST = Allowed(r"no GPU: .*", "tests/gpu/", "none here")


@pytest.mark.parametrize(
    ("test", "reason", "fits"),
    [
        ("tests/gpu/test_a.py::test_b", "no GPU: no driver", True),
        ("tests/gpu/test_a.py::test_b", "no GPU", False),
        ("tests/gpu/test_a.py::test_b", "there is no GPU: none", False),
        ("tests/unit/test_a.py::test_b", "no GPU: no driver", False),
        ("other/tests/gpu/test_a.py", "no GPU: no driver", False),
        ("tests/gpu/test_a.py", "no GPU: two\nlines", True),
    ],
)
def test_reason_and_place_must_both_fit(test: str, reason: str, *, fits: bool) -> None:
    assert unexpected([(test, reason)], [FIRST]) == ([] if fits else [(test, reason)])


def test_every_allowed_skip_says_why() -> None:
    assert all(len(one.because) > 20 for one in load())


CASES = {
    "allowed": ("pytest.skip('nvcc is not on this machine')", 0),
    "unexpected": ("pytest.skip('clang++ is not installed')", 1),
    "a mark": ("pass\npytestmark = pytest.mark.skip(reason='not today')", 1),
    "a module": ("pass\npytest.importorskip('no_such_module_at_all')", 1),
    "an expected failure": ("pytest.xfail('known')", 0),
    "nothing": ("pass", 0),
    "a failure": ("assert False", 1),
}


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "xdist"])
def test_a_run_of_pytest(tmp_path: Path, workers: list[str]) -> None:
    """All in one run, then only what may be skipped; pytest's line of counts stays the last."""
    for number, (body, _) in enumerate(CASES.values()):
        text = f"import pytest\ndef test_it():\n    {body}\n"
        path = tmp_path / "tests" / f"test_{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.skips",
        "--strict-skips",
        "-p",
        "no:cacheprovider",
        *workers,
    ]

    def run(names: list[str]) -> tuple[int, list[str]]:
        files = [f"tests/test_{list(CASES).index(name)}.py" for name in names]
        done = subprocess.run(
            [*command, "--rootdir", str(tmp_path), *files], cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": ""},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout.splitlines()

    right = [name for name, (_, code) in CASES.items() if code == 0]
    code, lines = run(right)
    assert code == 0, lines
    code, lines = run([*right, "unexpected", "a mark", "a module"])
    assert code == 1
    assert any("3 skips that tests/skips.toml doesn't allow" in line for line in lines), lines
    assert {"tests/test_1.py::test_it: clang++ is not installed", "tests/test_2.py::test_it: not today"} <= set(lines)
    assert "4 skipped" in lines[-1] or "3 skipped" in lines[-1]
    assert run(["a failure", "unexpected"])[0] == 1
