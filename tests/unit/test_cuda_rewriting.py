"""The rewriting of preprocessed CUDA C++, on text alone; tests/cuda_on_cpu compiles and runs what comes out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.cuda_cpu.rewrite import rewrite
from pluginkit.cuda_cpu.tokens import Tokens, Unbalanced
from pluginkit.errors import BuildFailed

_PIECES = [
    *("k", "x1", "::", "->", "<", ">", "<<<", ">>>", "(", ")", "[", "]", "{", "}", ",", ";", "=", "&", "*", "\n", " "),
    *('"a<<<b"', "'\\''", 'R"(raw " <<< )"', "1.5e-3f", "0x1'000", "return", "template", "pluginkit_cpu_shared_memory"),
    *('# 7 "file.cu"\n', "asm", '"mov.u32 %0, %%laneid;"', "volatile", "void", "static", "int"),
]
_anything = st.lists(st.sampled_from(_PIECES), max_size=60).map(" ".join)

_STATEMENTS = [
    "int y = 1 << 3;",
    "k<<<1, 2>>>(x);",
    "k<float>\n<<<dim3(1,\n 2), 32, 0, s>>>(a,\n b);",
    'asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));',
    'asm("{ .reg .u32 r;\\n"\n    " add.u32 r, %1, 1; mov.u32 %0, r; }" : "=r"(a) : "r"(b));',
    "pluginkit_cpu_shared_memory float tile[32]\n[33];",
    "auto f = [=](int i) { return tile[i]; };",
    'puts("<<< no launch >>>(\\")");',
    "// nothing\n",
]
_sources = st.lists(st.sampled_from(_STATEMENTS), max_size=12)


@given(_anything)
def test_tokens_are_the_source_again(source: str) -> None:
    assert str(Tokens(source)) == source


@given(_anything)
def test_nonsense_is_refused_or_passed_on(source: str) -> None:
    try:
        rewrite(source)
    except BuildFailed as error:
        assert error.hint
    except Unbalanced:
        pytest.fail("an internal exception came out")


@given(_sources)
def test_lines_keep_their_numbers(statements: list[str]) -> None:
    source = "void f()\n{\n" + "\n".join(statements) + "\n}\n"
    rewritten = rewrite(source)
    assert rewritten.count("\n") == source.count("\n")
    for number, line in enumerate(source.splitlines()):
        if line.startswith("int y"):
            assert rewritten.splitlines()[number] == line


@given(_sources)
def test_nothing_of_cuda_is_left(statements: list[str]) -> None:
    rewritten = rewrite("void f()\n{\n" + "\n".join(statements) + "\n}\n")
    code = re.sub(r'"(?:\\.|[^"\\])*"', "", rewritten)
    assert not re.search(r"<<<|>>>|\basm\b|pluginkit_cpu_shared_memory", code)


@given(st.lists(st.sampled_from(["int a;", "f(1);", '"<<"', "x < y;"]), max_size=9), st.integers(0, 5))
def test_places(before: list[str], blank: int) -> None:
    source = '# 1 "user.cu"\n' + "\n".join(before) + "\n" * (blank + 1) + "k<<<1, 2>>>;\n"
    line = source.count("\n") - 1
    with pytest.raises(BuildFailed, match=rf"user\.cu:{line}: a launch '<<<' without"):
        rewrite(source)


@pytest.mark.parametrize(
    ("instruction", "known"),
    [
        ("add.u32 %0, %1, %2;", True),
        ("fma.rn.f32 %0, %1, %2, %1;", True),
        ("setp.lt.s32 p, %1, %2;", False),  # p was never declared
        ("{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.b32 %0, %1, %2, p; }", True),
        ("add.u32 %0, %1, %%nosuchregister;", False),
        ("wgmma.fence.sync.aligned;", False),
        ("add.rm.f32 %0, %1, %2;", False),
    ],
)
def test_what_ptx_is_there(instruction: str, known: bool) -> None:
    source = f'void f() {{\nasm volatile("{instruction}" : "=r"(a) : "r"(b), "r"(c));\n}}\n'
    assert ("no_ptx" not in rewrite(source)) == known


_OPEN = """# 1 "/cuda/header.h" 1 3
namespace library { template <int N> struct Sum { static char brace() { return '{'; }
# 1 "/cuda/deep.h" 1 3
pluginkit_cpu_shared_memory int storage[4];
# 3 "/cuda/header.h" 2 3
const char* text = R"x(})x"; int many = 1'000; };
"""
"""A header of the system's of which only a part holds what is rewritten; the rest is set aside."""


@pytest.mark.parametrize(("rest", "outside"), [("}\n", True), ("inline void f() {\n", False), ("", True)])
def test_scopes_are_right_behind_headers_that_are_set_aside(rest: str, outside: bool) -> None:
    source = f'{_OPEN}{rest}# 2 "user.cu" 2\npluginkit_cpu_shared_memory int tile[4];\nint f() {{ return tile[1]; }}\n'
    out = rewrite(source)
    assert rest in out
    assert 'R"x(})x"; int many = 1\'000; };' in out
    # Outside of functions a declaration can't be a reference: each use is the call.
    assert ("return tile[1]" not in out) is outside
    assert "pluginkit-aside" not in out
