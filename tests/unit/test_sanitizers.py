"""Which builds the checks take, and what a process needs that runs one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pluginkit.build import PLAIN, Instrumentation, build, instrumentations, sanitizers, toolchain
from pluginkit.errors import ToolMissing, UsageError
from pluginkit.evaluators.host.schedules import Schedule, schedules, ways_on_gpu
from pluginkit.run.options import Options
from pluginkit.run.runner import run


@pytest.mark.parametrize(
    ("asked", "builds"),
    [
        ([], [("", "cpu")]),
        (["address"], [("address", "cpu-address")]),
        (["undefined", "address"], [("address+undefined", "cpu-address+undefined")]),
        (["memory"], [("memory", "cpu-thread+memory")]),
        (["thread", "thread"], [("thread", "cpu-thread+memory")]),
        (
            ["memory", "address", "thread", "undefined"],
            [("address+undefined", "cpu-address+undefined"), ("thread+memory", "cpu-thread+memory")],
        ),
    ],
)
def test_checks_that_exclude_each_other_take_two_builds(asked: list[str], builds: list[tuple[str, str]]) -> None:
    assert [(one.name, one.folder) for one in instrumentations(asked)] == builds


@pytest.mark.parametrize("name", ["adress", "", "leak", "Address"])
def test_a_check_that_is_not_there(name: str) -> None:
    with pytest.raises(UsageError, match=f"no sanitizer '{name}'") as error:
        instrumentations(["address", name])
    assert "address, undefined, thread, memory" in error.value.hint


def test_tools_of_compute_sanitizer_run_one_at_a_time() -> None:
    assert [one.name for one in instrumentations(["racecheck", "memcheck"], "gpu")] == ["memcheck", "racecheck"]
    assert instrumentations([], "gpu") == (PLAIN,)
    assert instrumentations(["memcheck"], "gpu")[0].compiled == ()


@pytest.mark.parametrize(
    ("name", "target", "message"),
    [
        (
            "memcheck",
            "cpu",
            "--sanitize memcheck is for target gpu, where it is run by compute-sanitizer; this run is on",
        ),
        ("address", "gpu", "--sanitize address is for target cpu, where it is compiled in; this run is on target gpu"),
    ],
)
def test_a_check_of_the_other_target(name: str, target: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        instrumentations([name], target)
    assert f"Say --target {'gpu' if target == 'cpu' else 'cpu'}" in error.value.hint
    assert ("address" if target == "cpu" else "memcheck") in error.value.hint


def fake_compute_sanitizer(folder: Path, *, starts: bool) -> Path:
    path = folder / "bin" / "compute-sanitizer"
    path.parent.mkdir(exist_ok=True)
    run_ = 'shift; exec "$@"' if starts else 'echo "========= Error: couldn\'t find exit code."'
    path.write_text(f'#!/bin/sh\ncase "$1" in\n--version) echo "Version 2025.3.1.0 (build 1)";;\n*) {run_};;\nesac\n')
    path.chmod(0o755)
    return path


def test_compute_sanitizer_stands_before_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    path = fake_compute_sanitizer(tmp_path, starts=True)
    command = Instrumentation(("racecheck",)).command(tmp_path / "logs")
    assert command[:5] == [str(path), "--tool", "racecheck", "--log-file", str(tmp_path / "logs/sanitizer-%p.log")]
    assert PLAIN.command(tmp_path) == []


def test_an_allocation_never_ends_where_the_next_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For memcheck: what is written there would be an access like others."""
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    fake_compute_sanitizer(tmp_path, starts=True)
    assert "--padding=512" in Instrumentation(("memcheck",)).command(tmp_path)
    assert "--padding=512" not in Instrumentation(("initcheck",)).command(tmp_path)


@pytest.mark.parametrize("there", [False, True])
def test_without_compute_sanitizer(there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyPI's nvidia-cuda-sanitizer-api has the program, but not what it starts others with."""
    monkeypatch.setattr(toolchain, "_cuda_homes", lambda: [tmp_path])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    if there:
        fake_compute_sanitizer(tmp_path, starts=False)
    with pytest.raises(ToolMissing, match="can't start a program" if there else "No compute-sanitizer in") as error:
        Instrumentation(("memcheck",)).environment()
    assert "apt-get install cuda-sanitizer" in error.value.hint
    assert error.value.exit_code == 4


def test_on_a_gpu_a_case_runs_in_three_ways() -> None:
    assert [one.way for one in ways_on_gpu(checked=False)] == ["eager", "graph", "concurrent"]
    assert [bool(one.description) for one in ways_on_gpu(checked=False)] == [False, True, True]
    assert ways_on_gpu(checked=True) == (Schedule(),)


def test_the_plain_build_needs_nothing() -> None:
    assert PLAIN.environment() == {}
    assert PLAIN.slowdown == 1


def test_only_the_checks_that_were_asked_for_are_switched_on() -> None:
    (memory,) = instrumentations(["memory"])
    assert memory.environment() == {"PLUGINKIT_CPU_CHECK": "memory"}


def test_address_brings_its_library_into_the_process() -> None:
    environment = Instrumentation(("address",)).environment()
    assert Path(environment["LD_PRELOAD"]).is_file()
    assert "halt_on_error=0" in environment["ASAN_OPTIONS"]
    assert "LD_PRELOAD" not in Instrumentation(("undefined",)).environment()


@pytest.mark.parametrize(("kind", "package"), [("g++", "libgcc-12-dev"), ("clang++", "libclang-rt-14-dev")])
def test_a_compiler_without_address_sanitizer(
    kind: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    macros = {"g++": "#define __GNUC__ 12", "clang++": "#define __clang_major__ 14"}[kind]
    cxx = tmp_path / kind
    # As compilers do: a library that they don't have is answered by its bare name.
    cxx.write_text(f'#!/bin/sh\ncase "$1" in\n-print-*) echo "${{1#*=}}";;\n-dumpmachine) echo x86_64-linux;;\n'
                   f'*) echo "{macros}";;\nesac\n')  # fmt: skip
    cxx.chmod(0o755)
    monkeypatch.setenv("CXX", str(cxx))
    with pytest.raises(ToolMissing, match="--sanitize address needs") as error:
        sanitizers.asan_library()
    assert f"apt-get install {package}" in error.value.hint


def test_sanitizers_are_for_target_cpu(tmp_path: Path) -> None:
    (tmp_path / "pluginkit.toml").write_text('[plugin]\nname = "X"\n[[inputs]]\nname = "x"\nshape = ["n"]\n'
        'types = ["float32"]\n[[outputs]]\nname = "y"\nshape = ["n"]\ntypes = ["float32"]\n'
        '[[profiles]]\nsymbols = { n = [1, 2, 3] }\n')  # fmt: skip
    (tmp_path / "CMakeLists.txt").touch()
    with pytest.raises(UsageError, match="target cpu alone"):
        build(tmp_path, "gpu", instrumentation=Instrumentation(("address",)))
    with pytest.raises(UsageError, match="is tested as it is"):
        run(Options(project=tmp_path, library=tmp_path / "lib.so", sanitize=("thread",)))


def test_schedules_need_a_library_of_target_cpu(tmp_path: Path) -> None:
    other = Path(os.__file__).parent / "lib-dynload"
    library = next(iter(other.glob("*.so")), None)
    if library is None:
        pytest.skip("this Python has no library of its own to stand for one of another target")
    test_sanitizers_are_for_target_cpu(tmp_path)
    with pytest.raises(UsageError, match="--schedules is for target cpu"):
        run(Options(project=tmp_path, library=library, schedules=1))


def test_a_case_runs_in_order_first() -> None:
    assert schedules(0, 7, deferred=False) == (Schedule(),)
    assert schedules(0, 7, deferred=True) == (Schedule(), Schedule(deferred=True))


def test_random_orders_follow_from_the_seed_and_differ() -> None:
    first, second = schedules(2, 7, deferred=False), schedules(2, 8, deferred=False)
    assert [one.order for one in first[:3]] == ["forward", "forward", "reverse"]
    assert first == schedules(2, 7, deferred=True)
    random = [one.order for one in (*first[3:], *second[3:])]
    assert len(random) == 4
    assert len(set(random)) == 4
    assert all(order in one.description for one, order in zip(first[3:], random[:2], strict=True))
