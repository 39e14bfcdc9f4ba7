"""`pluginkit test --watch`: which run each saved file leads to, and that it ends as it should."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pluginkit.dtypes import DType
from pluginkit.errors import BuildFailed, NothingSelected, PluginkitError
from pluginkit.run import watching
from pluginkit.run.options import Options
from pluginkit.testing.report import CaseResult, Outcome, Report, Verdict

SAMPLE = Path(__file__).parents[2] / "samples" / "leaky_relu" / "pluginkit.toml"


def _case(name: str, outcome: Outcome, after: tuple[str, ...] = ()) -> CaseResult:
    return CaseResult(name, "n", "plain", DType.FLOAT32, "opt", "", outcome, after=after)


def _report(*bad: str, networks: tuple[str, ...] = (), controls: tuple[str, ...] = ()) -> Report:
    cases = tuple(_case(name, Outcome.FAILED) for name in bad) or (_case("good", Outcome.PASSED),)
    verdicts, refused = (tuple(Verdict(one, "rtx", Outcome.FAILED) for one in each) for each in (networks, controls))
    return Report("MyPlugin", "lib.so", "abc", 7, cases, verdicts, controls=refused)


@dataclass
class _Player:
    """Answers the runs one after another; notes what was asked and what was shown."""

    answers: list[Report | Exception]
    runs: list[tuple[str, ...]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def run(self, options: Options) -> Report:
        self.runs.append(options.only)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def error(self, error: PluginkitError) -> None:
        self.errors.append(error.message)

    @property
    def screen(self) -> watching.Screen:
        return watching.Screen(self.run, self.lines.append, self.error)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    text = SAMPLE.read_text(encoding="utf-8")
    (tmp_path / "pluginkit.toml").write_text(text, encoding="utf-8")
    for slug, name in (("second", "Second"), ("third", "Third")):
        folder = tmp_path / "plugins" / slug
        folder.mkdir(parents=True)
        (folder / "pluginkit.toml").write_text(text.replace('"LReLU"', f'"{name}"'), encoding="utf-8")
    return tmp_path


def _played(project: Path, answers: list[Report | Exception], *saved: list[str], only: tuple[str, ...] = ()) -> _Player:
    player = _Player(answers)
    rounds = [[], *([project.resolve() / name for name in names] for names in saved)]
    watching.watch(Options(project=project, only=only), rounds, player.screen)
    assert player.answers == []
    return player


def test_a_saved_source_leads_to_a_run_of_all(project: Path) -> None:
    player = _played(project, [_report(), _report()], ["src/kernel.cu"])
    assert player.runs == [(), ()]
    assert [line.partition(";")[0] for line in player.lines] == [
        f"Waiting for a file to be saved in {project.resolve()}",
        "Saved: src/kernel.cu",
        f"Waiting for a file to be saved in {project.resolve()}",
    ]


@pytest.mark.parametrize("name", ["README.md", "docs/page.html", "report.json", "src/notes.txt", "LICENSE"])
def test_other_files_lead_to_none(project: Path, name: str) -> None:
    assert _played(project, [_report()], [name]).runs == [()]


@pytest.mark.parametrize("name", ["CMakeLists.txt", "pluginkit.toml", "reference.py", "src/a.h", "cmake/x.cmake"])
def test_what_all_plugins_depend_on(project: Path, name: str) -> None:
    assert _played(project, [_report(), _report()], [name]).runs == [(), ()]


def test_an_added_plugins_own_files_concern_it_alone(project: Path) -> None:
    second, third = "plugins/second/reference.py", "plugins/third/pluginkit.toml"
    answers: list[Report | Exception] = [_report() for _ in range(4)]
    player = _played(project, answers, [second], [second, third], [third, "src/kernel.cu"])
    assert player.runs == [(), ("Second/*",), ("Second/*", "Third/*"), ()]


def test_only_stays_as_it_was_given(project: Path) -> None:
    player = _played(project, [_report(), _report()], ["plugins/second/reference.py"], only=("Third/*",))
    assert player.runs == [("Third/*",), ("Third/*",)]


def test_the_last_failures_come_first_and_the_rest_once_they_pass(project: Path) -> None:
    saved = [["src/kernel.cu"]] * 3
    player = _played(project, [_report("a", "b"), _report("b"), _report(), _report(), _report()], *saved)
    assert player.runs == [(), ("a", "b"), ("b",), (), ()]
    assert player.lines.count("What failed passes now. The rest:") == 1


def test_what_failed_is_found_again_by_its_id(project: Path) -> None:
    first = _report(networks=("loop/float32",), controls=("control/cycle",))
    kept = Report("MyPlugin", "lib.so", "abc", 7, (_case("b", Outcome.CRASHED, after=("a", "c")),), ())
    player = _played(project, [first, kept, kept], ["a.cu"], ["a.cu"])
    assert player.runs == [(), ("loop/float32/*", "control/cycle"), ("a", "c", "b")]


def test_a_failure_that_is_no_more_is_no_failure(project: Path) -> None:
    player = _played(project, [_report("a"), NothingSelected("no case matches a"), _report()], ["a.cu"])
    assert player.runs == [(), ("a",), ()]


def test_broken_sources_are_shown_and_waited_for(project: Path) -> None:
    broken = BuildFailed("kernel.cu does not compile.")
    player = _played(project, [_report("a"), broken, _report(), _report()], ["a.cu"], ["a.cu"])
    assert player.runs == [(), ("a",), ("a",), ()]
    assert player.errors == ["kernel.cu does not compile."]
    assert len([line for line in player.lines if line.startswith("Waiting")]) == 3


def test_what_could_not_be_run_is_run_with_the_next(project: Path) -> None:
    player = _played(project, [BuildFailed("x"), _report()], ["plugins/second/reference.py"])
    assert player.runs == [(), ()]
    edits = ["plugins/second/reference.py"], ["plugins/third/reference.py"]
    player = _played(project, [_report(), OSError(errno.ENOSPC, "No space left on device", "x.o"), _report()], *edits)
    assert player.runs == [(), ("Second/*",), ("Second/*", "Third/*")]
    assert len(player.errors) == 1


def test_a_manifest_that_is_wrong_is_the_runs_to_show(project: Path) -> None:
    def saved() -> Iterator[list[Path]]:
        yield []
        (project / "pluginkit.toml").write_text("[plugin", encoding="utf-8")
        yield [project / "pluginkit.toml"]

    player = _Player([_report(), BuildFailed("shown")])
    watching.watch(Options(project=project), saved(), player.screen)
    assert player.errors == ["shown"]


def test_of_a_library_that_is_given_only_it_and_what_judges_it(project: Path) -> None:
    player = _Player([_report(), _report(), _report()])
    library, data = project / "lib.so", project / "mine.npz"
    saved = [[], [library], [project / "src.cu", project / "other.so"], [data]]
    watching.watch(Options(project=project, library=library, data=data), saved, player.screen)
    assert player.runs == [(), (), ()]


def test_saved_files_are_seen(project: Path) -> None:
    for name in ("build", "src"):
        (project / name).mkdir()
    saved = watching.saved_files(Options(project=project))
    assert list(next(saved)) == []
    (project / "build" / "made.cu").touch()
    (project / "src" / ".kernel.cu.swp").touch()
    (project / "src" / "kernel.cu").touch()
    seen: set[Path] = set()
    while project.resolve() / "src" / "kernel.cu" not in seen:
        seen |= set(next(saved))
    assert {file.name for file in seen} <= {"kernel.cu", "src"}


def test_ctrl_c_ends_it(project: Path) -> None:
    """A manifest without sense needs no compiler: what is wrong is shown, waited for, and Ctrl-C ends the waiting."""
    manifest = project / "pluginkit.toml"
    manifest.write_text("[plugin", encoding="utf-8")
    # A shell's background jobs ignore Ctrl-C, and so does what they start: a run of the tests may be one.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "pluginkit", "test", "--watch", str(project)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        shown = ""
        while "Waiting" not in shown:
            shown = process.stdout.readline()
        manifest.write_text("[plug", encoding="utf-8")
        while "Waiting" not in (line := process.stdout.readline()):
            shown += line
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert "Saved: pluginkit.toml" in shown
    assert "error: " in shown
    assert rest.splitlines()[-1] == "Stopped."
    assert "Traceback" not in rest
    assert process.returncode == 0


def test_json_on_stdout_is_of_one_run(project: Path) -> None:
    command = [sys.executable, "-m", "pluginkit", "test", "--watch", "--json", "-", str(project)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--watch and --json - don't go together" in done.stderr
