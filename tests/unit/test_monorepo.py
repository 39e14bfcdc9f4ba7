"""Runs of many projects, of what a change concerns, and of parts: what is chosen, and what the report is."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit import cli
from pluginkit.dtypes import DType
from pluginkit.errors import BuildFailed, NothingSelected, PluginkitError, UsageError
from pluginkit.evaluators.protocol import Item
from pluginkit.run import messages, project_checks, several_plugins
from pluginkit.run.items import EvaluatorPart, part_of
from pluginkit.run.monorepo import changes, projects
from pluginkit.run.monorepo.changes import Concerned, concerned
from pluginkit.run.options import Options, Shard
from pluginkit.run.several_plugins import Runs
from pluginkit.testing.report import CaseResult, Outcome, Report, Verdict

SAMPLES = Path(__file__).parents[2] / "samples"
EVALUATOR = SimpleNamespace(NAME="host")


def manifest(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "pluginkit.toml").write_text((SAMPLES / "bar_plugin" / "pluginkit.toml").read_text())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Three projects, one of them two folders deep, and what looks like one."""
    for name in ("bar", "vision/pool", "vision/pool-2", "bar/plugins/added", "bar/build/cpu", ".git/x", "old/dist/y"):
        manifest(tmp_path / name)
    return tmp_path


def test_every_project_below_a_folder(repository: Path) -> None:
    found = projects.find(repository / "...")
    assert [one.name for one in found] == ["bar", "vision/pool", "vision/pool-2"]
    assert [one.folder for one in found] == [repository / one.name for one in found]
    assert projects.find(repository / "\N{HORIZONTAL ELLIPSIS}") == found
    assert not projects.is_many(repository)


@pytest.mark.parametrize(("folder", "message"), [("none", "There is no folder"), ("empty", "No project is in")])
def test_no_projects(folder: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert cli.run(["test", f"{tmp_path / folder}/..."]) == 2
    assert message in capsys.readouterr().err


def case(name: str, outcome: Outcome = Outcome.PASSED) -> CaseResult:
    return CaseResult(f"{name}/opt", name, name.partition("/")[0], DType.FLOAT32, "opt", "n=2", outcome)


def report(options: Options, outcome: Outcome = Outcome.PASSED) -> Report:
    verdict = Verdict("plain/float32", "tensorrt-rtx", Outcome.PASSED)
    library = str(options.project / "lib.so")
    return Report("Bar", library, "0", 0, (case("plain/float32", outcome),), (verdict,), {"host": "all"})


def test_one_report_of_all(repository: Path) -> None:
    asked: dict[str, Options] = {}

    def one(options: Options, step: object) -> Runs:
        del step
        asked[options.project.relative_to(repository).as_posix()] = options
        if options.project.name == "pool":
            raise BuildFailed("it did not build", hint="fix it")
        return Runs((report(options, Outcome.FAILED if options.project.name == "pool-2" else Outcome.PASSED),))

    found = projects.find(repository / "...")
    runs = projects.run(found, Options(shard=Shard(1, 2)), one, lambda *_: None)
    joined = runs.joined
    assert [one.id for one in joined.cases] == ["bar/plain/float32/opt", "vision/pool-2/plain/float32/opt"]
    assert [one.network for one in joined.verdicts] == ["bar/plain/float32", "vision/pool-2/plain/float32"]
    assert joined.plugin == "bar: Bar, vision/pool-2: Bar"
    assert joined.exit_code == 1
    assert joined.library == f"{repository}/bar/lib.so, {repository}/vision/pool-2/lib.so"
    assert runs.error is not None
    assert (runs.error.message, runs.error.exit_code) == ("vision/pool: it did not build", BuildFailed.exit_code)
    assert {name: one.shard and one.shard.lead for name, one in asked.items()} == {
        "bar": "bar/", "vision/pool": "vision/pool/", "vision/pool-2": "vision/pool-2/",
    }  # fmt: skip
    again = messages.failure(joined.cases[1], joined, "pluginkit test repo/...").again
    assert again == "pluginkit test repo/... --only vision/pool-2/plain/float32/opt --seed 0"
    check = Verdict("vision/pool-2/check/E1", "pluginkit check", Outcome.FAILED)
    with_check = replace(joined, checks=(check,))
    again = messages.failure(check, with_check, f"pluginkit test {repository}/...").again
    assert again == f"pluginkit check {repository}/vision/pool-2 --include E1"


@pytest.mark.parametrize(
    ("only", "asked"),
    [
        ((), {"bar": (), "vision/pool": (), "vision/pool-2": ()}),
        (("plain/*",), {"bar": ("plain/*",), "vision/pool": ("plain/*",), "vision/pool-2": ("plain/*",)}),
        (("vision/pool-2/plain/*",), {"vision/pool-2": ("plain/*",)}),
        (("bar/cond/*", "vision/pool/plain/*"), {"bar": ("cond/*",), "vision/pool": ("plain/*",)}),
    ],
)
def test_only_takes_ids_with_a_projects_name(only: tuple[str, ...], asked: object, repository: Path) -> None:
    found: dict[str, tuple[str, ...]] = {}

    def one(options: Options, step: object) -> Runs:
        del step
        found[options.project.relative_to(repository).as_posix()] = options.only
        return Runs((report(options),))

    projects.run(projects.find(repository / "..."), Options(only=only), one, lambda *_: None)
    assert found == asked


def test_nothing_for_any_project(repository: Path) -> None:
    def one(options: Options, step: object) -> Runs:
        raise NothingSelected("No case matches x.")

    with pytest.raises(NothingSelected, match="No case matches x"):
        projects.run(projects.find(repository / "..."), Options(only=("x",)), one, lambda *_: None)


@pytest.mark.parametrize("option", ["--watch", "--library=lib.so", "--data=x.npz", "--calibration-data=x.npz"])
def test_what_is_for_one_project(option: str, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["test", f"{repository}/...", option]) == 2
    assert f"{option.partition('=')[0]} is for one project" in capsys.readouterr().err


def items(names: list[str]) -> tuple[Item, ...]:
    return tuple(Item(f"{name}/{end}", "host", "cases", name) for name in names for end in ("opt", "max"))


@given(st.lists(st.text(min_size=1, max_size=8), unique=True), st.integers(1, 9))
def test_shards_are_all_of_a_run_and_nothing_twice(names: list[str], count: int) -> None:
    """With what has no network, too: a control, a registry."""
    controls = (Item("control", "host", "controls"), Item("registry/10", "lean", "registries"))
    whole = [
        EvaluatorPart(EVALUATOR, items(names)),
        EvaluatorPart(EVALUATOR, controls),
        EvaluatorPart(EVALUATOR, (), "not here"),
    ]  # type: ignore[arg-type]
    shards = [part_of(whole, Shard(index, count)) for index in range(1, count + 1)]
    for place, part in enumerate(whole):
        found = [item for shard in shards for item in shard[place].items]
        assert sorted(found, key=lambda one: one.id) == sorted(part.items, key=lambda one: one.id)
    assert all(shard[2].absent == "not here" for shard in shards)
    for name in names:
        assert sum(any(item.network == name for item in shard[0].items) for shard in shards) == 1, "built once"
    assert part_of(whole, None) == whole


def test_a_networks_shard_is_the_same_on_every_machine() -> None:
    names = ["plain/float32", "loop-count/float16", "cond-both/int8", "api-unused/bfloat16"]
    assert [next(i for i in (1, 2, 3) if Shard(i, 3).takes(name)) for name in names] == SHARDS
    many = [str(number) for number in range(50)]
    assert [Shard(1, 2).within("A").takes(name) for name in many] != [Shard(1, 2).takes(name) for name in many]


SHARDS = [3, 2, 1, 1]


@pytest.mark.parametrize("text", ["3/2", "0/2", "1", "a/b", "1/0", "-1/2", "1/2/3", "", "1/1e9"])
def test_no_shard(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError):
        Shard.parse(text)
    assert cli.run(["test", ".", f"--shard={text}"]) == 2
    assert f"--shard {text}: that is not part of a run." in capsys.readouterr().err


def test_the_last_line_of_a_shard() -> None:
    whole = Report("P", "lib.so", "0", 0, (case("plain/float32"),), (), shard="2/3")
    assert "shard 2/3; seed 0" in messages.closing(whole)
    empty = replace(whole, cases=(), runtimes={"host": "took no part: not in shard 2/3"})
    assert messages.closing(empty) == "P: shard 2/3, which has nothing of it; seed 0"
    assert empty.exit_code == 0


@pytest.fixture
def git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name, value in {"NAME": "A", "EMAIL": "a@b"}.items():
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    shutil.rmtree(repository / ".git")
    run(repository, "init", "-q", "-b", "main")
    (repository / "shared").mkdir()
    for name in ("bar/kernel.cu", "vision/pool/pool.cu", "shared/common.cuh", "README.md", ".gitignore"):
        (repository / name).write_text("build\n")
    run(repository, "add", "-A")
    run(repository, "commit", "-qm", "first")
    return repository


def run(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def names(repository: Path, revision: str = "main") -> list[str]:
    found = [one.folder for one in projects.find(repository / "...")]
    return [one.relative_to(repository).as_posix() for one in concerned(found, repository, revision).projects]


def test_what_a_change_concerns(git: Path) -> None:
    assert names(git) == []
    run(git, "switch", "-qc", "mine")
    (git / "vision" / "pool" / "pool.cu").write_text("changed")
    assert names(git) == ["vision/pool"], "what isn't committed counts"
    run(git, "commit", "-qam", "mine")
    assert names(git) == ["vision/pool"]
    (git / "bar" / "plugins" / "added" / "new.cpp").write_text("new")
    (git / "bar" / "build" / "x.cpp").write_text("made")
    assert names(git) == ["bar", "vision/pool"], "what git doesn't know yet counts, what it ignores doesn't"
    assert names(git, "HEAD") == ["bar"]
    run(git, "switch", "-q", "main")
    (git / "vision" / "pool-2" / "x.cu").write_text("theirs")
    run(git, "add", "vision")
    run(git, "commit", "-qam", "theirs")
    run(git, "switch", "-q", "mine")
    assert names(git) == ["bar", "vision/pool"], "what main has got meanwhile isn't ours"


def test_a_file_that_moved_concerns_where_it_was(git: Path) -> None:
    (git / "bar" / "kernel.cu").rename(git / "vision" / "pool" / "kernel.cu")
    run(git, "add", "-A")
    assert names(git) == ["bar", "vision/pool"]


def test_shared_files(git: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (git / "README.md").write_text("no source")
    assert names(git) == []
    header = git / "shared" / "common.cuh"
    header.write_text("changed")
    assert names(git) == ["bar", "vision/pool", "vision/pool-2"], "without a build any may read it"
    read = {git / "bar": frozenset({header}), git / "vision" / "pool": frozenset({git / "other.h"})}
    monkeypatch.setattr(changes, "compiled_from", read.get)
    assert names(git) == ["bar", "vision/pool-2"]
    found = concerned([git / "bar"], git, "main")
    assert found.why == "common.cuh lies outside of all projects, and concerns those that read it"


def test_what_a_build_read_counts_wherever_it_lies(git: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another project's folder, and whatever its name ends with."""
    read = {git / "vision" / "pool-2": frozenset({git / "bar" / "kernel.cu", git / "README.md"})}
    monkeypatch.setattr(changes, "compiled_from", read.get)
    (git / "bar" / "kernel.cu").write_text("changed")
    assert names(git) == ["bar", "vision/pool-2"]
    run(git, "checkout", "-q", ".")
    (git / "README.md").write_text("changed")
    assert names(git) == ["vision/pool-2"]


def test_a_repository_in_the_repository(git: Path) -> None:
    """As a submodule is, and before git knows it."""
    inner = git / "inner"
    manifest(inner / "scale")
    run(inner, "init", "-q", "-b", "main")
    run(inner, "add", "-A")
    run(inner, "commit", "-qm", "first")
    assert names(git) == ["inner/scale"]
    run(git, "add", "inner")
    run(git, "commit", "-qm", "second")
    assert names(git) == []
    (inner / "scale" / "pluginkit.toml").write_text("changed")
    assert names(git) == ["inner/scale"]


def test_what_git_refuses_is_not_taken_for_no_change(git: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        with pytest.raises(UsageError, match=r"(?s)rev-parse.*dubious ownership"):
            names(git)
    (git / ".git" / "index").write_bytes(b"torn")
    with pytest.raises(UsageError, match=r"(?s)git diff.*index"):
        names(git)


def test_a_shallow_clone_tests_all_and_says_why(git: Path) -> None:
    (git / "README.md").write_text("second")
    run(git, "commit", "-qam", "second")
    run(git.parent, "clone", "-q", "--depth=1", f"file://{git}", "clone")
    clone = git.parent / "clone"
    found = concerned([clone / "bar"], clone, "HEAD~1")
    assert found.projects == (clone / "bar",)
    assert "shallow clone" in found.why


def test_no_repository_and_no_revision(git: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(UsageError, match="git knows no such revision"):
        concerned([], git, "nowhere")
    with pytest.raises(UsageError, match="git knows no such revision"):
        concerned([], git, "--output=x")
    with pytest.raises(UsageError, match="in no repository"):
        concerned([], tmp_path_factory.mktemp("outside"), "main")


def test_nothing_has_changed(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(changes, "concerned", lambda *_: Concerned(()))
    junit, html = tmp_path / "j.xml", tmp_path / "page.html"
    files = ["--junit", str(junit), "--html", str(html)]
    assert cli.run(["test", f"{repository}/...", "--changed-since", "main", *files]) == 0
    assert "Nothing of a project has changed since main" in capsys.readouterr().out
    assert junit.exists()
    assert "--changed-since main" in html.read_text()
    assert cli.run(["test", str(repository), "--changed-since", "main"]) == 2


def test_the_command_runs_what_is_concerned(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Options] = []

    def one(options: Options, *_: object) -> Runs:
        asked.append(options)
        if options.project.name == "pool":
            raise PluginkitError("broken")
        return Runs((report(options),))

    monkeypatch.setattr(several_plugins, "run", one)
    monkeypatch.setattr(project_checks, "with_checks", lambda options, reports, *_: reports)
    chosen = (repository / "bar", repository / "vision" / "pool")
    monkeypatch.setattr(changes, "concerned", lambda *_: Concerned(chosen, "a reason"))
    assert cli.run(["test", f"{repository}/...", "--changed-since", "main", "--shard", "1/2"]) == 70
    assert [one.project for one in asked] == list(chosen)
    shown = capsys.readouterr()
    assert "--changed-since main: a reason." in shown.err
    assert "bar: Bar" in shown.out
    assert "vision/pool: broken" in shown.err
