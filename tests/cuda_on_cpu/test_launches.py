"""The rewriting of launches, as text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.cuda_cpu.rewrite import rewrite
from pluginkit.cuda_cpu.tokens import Tokens
from pluginkit.errors import BuildFailed


def _kernel(source: str) -> str:
    """What the first launch calls."""
    found = re.search(
        r"auto\.\.\. pluginkit_cpu_arguments\) \{ (.*?)\(pluginkit_cpu_arguments\.\.\.\)", source, re.DOTALL
    )
    assert found, source
    return found[1].strip()


@given(st.text(alphabet="abc<>(){}[]\"'\\;,.:#/ \n0R_-", max_size=60))
def test_tokens_are_the_source_again(source: str) -> None:
    assert str(Tokens(source)) == source


@given(st.text(alphabet="abc<>(){};, \n0x\"'", max_size=60).filter(lambda text: "<<<" not in text))
def test_without_launches_nothing_changes(source: str) -> None:
    assert rewrite(source) == source


@pytest.mark.parametrize(
    "source",
    [
        's = "k<<<1, 2>>>(x)";',
        's = R"(k<<<1,2>>>(x))";',
        's = R"x(" k<<<1 )x";',
        "c = '<<<';",
        'u8"<<<" L"<<<"',
        "a << 1 < b;",
    ],
)
def test_literals_are_no_launches(source: str) -> None:
    assert rewrite(source) == source


@pytest.mark.parametrize(
    "callee",
    [
        "k",
        "k<T>",
        "k<float, 4>",
        "ns::k",
        "::ns::k<T>",
        "a::b<c>::k<(1 > 2)>",
        "this->kernels[i]",
        "table[i][j]",
        "(*pointer)",
        "object.kernel",
        "get(x, y)",
        "k<a<b<1> > >",
        "t.template k<int>",
        "k<sizeof(int[2])>",
    ],
)
@pytest.mark.parametrize("before", ["", "return ", "if (a < b) ", "else ", "{ x = 1; } ", "a = b; ", "do "])
def test_callees(callee: str, before: str) -> None:
    out = rewrite(f"{before}{callee}<<<g, b>>>(x, y);")
    assert out.startswith(before)
    assert _kernel(out) == callee
    assert out.endswith(").on(g, b).with(x, y);")


@pytest.mark.parametrize(
    "configuration", ["dim3{1, 2}, dim3(3)", "f(a, b), 1", "{1, 2}, {3}", "(n + 1) >> 2, 1", "a < b, 2, 0, s"]
)
def test_configurations_stay_as_they_are(configuration: str) -> None:
    assert f".on({configuration}).with(x)" in rewrite(f"k<<<{configuration}>>>(x);")


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
def test_lines_stay(a: int, b: int, c: int) -> None:
    source = "x;" + "\n" * a + "k<T>\n<<<" + "\n" * b + "1, 2>>>" + "\n" * c + "(x,\n 0);\nlast;"
    out = rewrite(source)
    assert out.count("\n") == source.count("\n")
    assert out.splitlines()[-1] == "last;"


def test_two_launches_and_one_in_a_lambda() -> None:
    out = rewrite("a<<<1, 2>>>(x); auto f = [&] { b<<<3, 4>>>(y); };")
    assert out.count("::pluginkit_cpu::v2::kernel(") == 2
    assert ".on(1, 2).with(x); auto f = [&] { ::pluginkit_cpu" in out


@pytest.mark.parametrize(
    ("given_arguments", "called", "passed"),
    [
        ("x, 0", "(pluginkit_cpu_arguments0, 0)", "x"),
        ("0, x", "(0, pluginkit_cpu_arguments0)", "x"),
        ("__null", "(__null)", ""),
        ("x, 0, f(y, 0), 0", "(pluginkit_cpu_arguments0, 0, pluginkit_cpu_arguments1, 0)", "x,f(y,0)"),
        ("static_cast<T*>(x), 0", "(pluginkit_cpu_arguments0, 0)", "static_cast<T*>(x)"),
        ("f<1, 0, 2>(), 0", "(pluginkit_cpu_arguments0, 0)", "f<1,0,2>()"),
        ("a < b, 0", "(pluginkit_cpu_arguments0, 0)", "a<b"),
        ("x..., 0", "(pluginkit_cpu_arguments0..., 0)", "x..."),
        ("x..., y, 0", "(pluginkit_cpu_arguments...)", "x...,y,0"),
        ("10, x0", "(pluginkit_cpu_arguments...)", "10,x0"),
        ("{1, n}, x", "({1, pluginkit_cpu_arguments0}, pluginkit_cpu_arguments1)", "n,x"),
        ("x, {}", "(pluginkit_cpu_arguments0, {})", "x"),
        ("{{f(1, 2)}, .y = 3}", "({{pluginkit_cpu_arguments0}, .y = 3})", "f(1,2)"),
    ],
)
def test_literal_zeros_stay_literals(given_arguments: str, called: str, passed: str) -> None:
    out = rewrite(f"k<<<1, 2>>>({given_arguments});")
    assert f"k{called};" in out
    assert out.replace(" ", "").endswith(f".with({passed});")


@pytest.mark.parametrize("cast", ["(void*)", "(const void *)", "reinterpret_cast<void const*>"])
def test_launch_function_sees_the_kernels_type(cast: str) -> None:
    assert rewrite(f"cudaLaunchKernel({cast}(k<T>), g);").replace(" ", "") == "cudaLaunchKernel((k<T>),g);"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("cudaLaunchCooperativeKernel((void*)k, g);", "cudaLaunchCooperativeKernel(k,g);"),
        ("cudaLaunchKernelExC(&c, (const void*)k<A, B>, a);", "cudaLaunchKernelExC(&c,k<A,B>,a);"),
        ("return cudaLaunchKernelEx(&c, k, 1);", "return::pluginkit_cpu::v2::launchKernelEx(&c,k,1);"),
        ("x = ::cudaLaunchKernelEx(&c, k);", "x=::pluginkit_cpu::v2::launchKernelEx(&c,k);"),
        ("cudaError_t cudaLaunchKernelEx(int);", "cudaError_tcudaLaunchKernelEx(int);"),
    ],
)
def test_other_launch_functions(call: str, expected: str) -> None:
    assert rewrite(call).replace(" ", "") == expected


def test_cudas_own_call_of_the_launch_function_stays() -> None:
    source = '# 1 "/usr/include/cuda_runtime.h" 1 3\nreturn ::cudaLaunchKernel((const void *)func, g);'
    assert rewrite(source) == source


@pytest.mark.parametrize("source", ["k<<<1, 2;", "k<<<1, 2>>> x;", "k<<<1, 2>>>(x", "k<<<(1>>>(x);"])
def test_broken_launches_are_named(source: str) -> None:
    with pytest.raises(BuildFailed, match=r"user\.cu:8: a launch"):
        rewrite(f'# 7 "user.cu"\n\n{source}\n')
