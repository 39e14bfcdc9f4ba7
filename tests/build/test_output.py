"""Telling Ninja's, CMake's and the compilers' words apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.build import cache
from pluginkit.build.output import BuildOutput, hint_for


def split(text: str) -> tuple[list[str], list[str]]:
    message: list[str] = []
    output = BuildOutput(message.append)
    for line in text.splitlines():
        output.take(line)
    return message, output.errors


def test_a_failed_step_is_kept_as_the_compiler_said_it() -> None:
    message, errors = split("""[0/3/1] Compiling a.cpp
[0/3/2] Compiling b.cpp
[1/3/2] Compiling a.cpp
a.cpp:1:1: warning: w
[2/3/2] Compiling b.cpp
FAILED: [code=1] b.o
cd /x && g++ -c b.cpp -o b.o
b.cpp: In function 'int f()':
b.cpp:3:5: error: no
    3 |     g(1);
[the compiler's own bracket]
ninja: build stopped: subcommand failed.""")
    assert errors == [
        "b.cpp: In function 'int f()':", "b.cpp:3:5: error: no", "    3 |     g(1);", "[the compiler's own bracket]",
    ]  # fmt: skip
    assert message == [
        "[0/3] Compiling a.cpp", "[1/3] Compiling b.cpp", "a.cpp:1:1: warning: w", "[2/3] Building",
    ]  # fmt: skip


def test_what_is_named_is_running() -> None:
    """The step that has run longest; Ninja counts again once it has run CMake. A pipe gets what has ended alone."""
    message, _ = split("""[0/1/1] Re-running CMake...
-- Configuring done
[0/3/1] Compiling a.cu
[0/3/2] Compiling b.cpp
[1/3/2] Compiling b.cpp
[1/3/3] Compiling c.cpp
[2/3/3] Compiling a.cu
[3/3/3] Compiling c.cpp""")
    assert message == [
        "[0/1] Re-running CMake...", "[0/3] Compiling a.cu", "[1/3] Compiling a.cu", "[2/3] Compiling c.cpp",
        "[3/3] Building",
    ]  # fmt: skip
    assert split("[1/3/2] Compiling a.cu\n[2/3/3] Compiling b.cpp")[0] == ["[1/3] Building", "[2/3] Building"]


def test_cmakes_error_without_its_talk() -> None:
    message, errors = split("""loading initial cache file /x
-- The CXX compiler identification is GNU 12.2.0
CMake Error at CMakeLists.txt:4 (pluginkit_add_plugin):
  pluginkit_add_plugin(x ...): y

-- Configuring incomplete, errors occurred!""")
    assert message == []
    assert errors[:2] == [
        "CMake Error at CMakeLists.txt:4 (pluginkit_add_plugin):", "  pluginkit_add_plugin(x ...): y",
    ]  # fmt: skip
    assert not any("Configuring" in line for line in errors)


@pytest.mark.parametrize(("text", "output"), [
    ("undefined reference to `getPluginRegistry'", "getPluginRegistry belongs to libnvinfer"),
    ("undefined reference to `cudnnCreate'", "cudnnCreate is of a library"),
    ("x.a(device.cpp.o): undefined reference to `__libc_single_threaded'", "__libc_single_threaded is newer"),
    ("undefined reference to `std::__throw_bad_array_new_length()'", "std::__throw_bad_array_new_length is newer"),
    ("undefined reference to `__isoc23_strtoull'", "or install pluginkit's wheel"),
    ("x.cpp:1:10: fatal error: missing.h: No such file or directory", "missing.h is in none"),
    ("x.cpp:1:10: fatal error: 'missing.h' file not found", "missing.h is in none"),
    ("multiple definition of `getCreators'; a.o", "one source only"),
    ("error: no match for ‘operator[]’ (operand types are ‘const pluginkit::Shape’ and ‘int’)", "shape.dims[i]"),
    ("error: type 'const pluginkit::Shape' does not provide a subscript operator", "shape.dims[i]"),
    ("x.cpp:1: error: expected ';'", ""),
])  # fmt: skip
def test_hints(text: str, output: str) -> None:
    assert output in hint_for(text)
    assert bool(output) == bool(hint_for(text))


@given(
    st.dictionaries(st.from_regex(r"[A-Z_]{1,20}", fullmatch=True), st.text(st.characters(exclude_characters="\r\n")))
)
def test_a_script_differs_from_itself_in_nothing(values: dict[str, str]) -> None:
    assert cache.difference(cache.script(values), cache.script(values)) == ""


def test_what_differs_is_named() -> None:
    before, after = cache.script({"A": "1", "B": "2"}), cache.script({"A": "3", "C": "4"})
    assert cache.difference(before, after) == "A was 1 and is 3; C was not set and is 4; B was 2 and is not set"
