"""Which builds the checks take, and what a process needs that runs one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pluginkit.build import PLAIN, Flavour, build, flavours, sanitizers
from pluginkit.errors import ToolMissing, UsageError
from pluginkit.testing.runner import Options, run
from pluginkit.testing.schedules import Schedule, schedules


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
    assert [(one.name, one.folder) for one in flavours(asked)] == builds


@pytest.mark.parametrize("name", ["adress", "", "leak", "Address"])
def test_a_check_that_is_not_there(name: str) -> None:
    with pytest.raises(UsageError, match=f"no sanitizer '{name}'") as error:
        flavours(["address", name])
    assert "address, undefined, thread, memory" in error.value.hint


def test_the_plain_build_needs_nothing() -> None:
    assert PLAIN.environment() == {}
    assert PLAIN.slowdown == 1


def test_only_the_checks_that_were_asked_for_are_switched_on() -> None:
    (memory,) = flavours(["memory"])
    assert memory.environment() == {"PLUGINKIT_CPU_CHECK": "memory"}


def test_address_brings_its_library_into_the_process() -> None:
    environment = Flavour(("address",)).environment()
    assert Path(environment["LD_PRELOAD"]).is_file()
    assert "halt_on_error=0" in environment["ASAN_OPTIONS"]
    assert "LD_PRELOAD" not in Flavour(("undefined",)).environment()


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
        build(tmp_path, "gpu", flavour=Flavour(("address",)))
    with pytest.raises(UsageError, match="contradict each other"):
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
    assert all(order in one.words for one, order in zip(first[3:], random[:2], strict=True))
