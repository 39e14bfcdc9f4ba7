"""`python -m pluginkit.cuda_cpu`: one file, tried without a project."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pluginkit.paths import include_dir
from pluginkit.process.programs import Completed, run

pytestmark = pytest.mark.compile

_RACE = """
#include <cstdio>
__global__ void k(int* x) { __shared__ int s[64];
    s[threadIdx.x] = 1;
    x[threadIdx.x] = s[63 - threadIdx.x];
}
int main()
{
    int* x = nullptr;
    cudaMalloc(&x, 256);
    k<<<1, 64>>>(x);
    return static_cast<int>(cudaDeviceSynchronize());
}
"""


def _tool(*arguments: str | Path) -> Completed:
    return run([sys.executable, "-m", "pluginkit.cuda_cpu", *map(str, arguments)])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "race.cu"
    file.write_text(_RACE, encoding="utf-8")
    return file


def test_the_checks_of_accesses_and_the_line_of_what_they_find(source: Path) -> None:
    program = source.with_suffix("")
    done = _tool("-O1", "-g", "-fsanitize=thread", "-o", program, source)
    assert done.ok, done.stderr
    ran = subprocess.run([program], capture_output=True, text=True, check=False)
    assert "pluginkit cpu: race: " in ran.stderr
    assert re.search(r"  in k\(int\*\) at \S+/race\.cu:[45]\n", ran.stderr), ran.stderr
    assert "addr2line" not in ran.stderr
    plain = _tool("-O1", "-g", "-o", program, source)
    assert plain.ok, plain.stderr
    assert subprocess.run([program], capture_output=True, text=True, check=False).stderr == ""


_SCAN = """
#include <pluginkit/kernels/scan.cuh>

namespace kernels = pluginkit::kernels;

int main()
{
    void* x = nullptr;
    cudaMalloc(&x, 40 * 33);
    cudaMemset(x, 1, 40 * 33);
    kernels::launchScan(cudaStream_t{}, 40, 33, kernels::Sum{}, kernels::output<int8_t>(x, 1.0F),
                        kernels::input<int8_t>(x, 1.0F));
    return static_cast<int>(cudaDeviceSynchronize());
}
"""


@pytest.mark.slow
def test_threads_without_elements_race_with_none(tmp_path: Path) -> None:
    """Rows that aren't made of packs are scanned in shared memory, by groups of threads of which some have nothing."""
    source, program = tmp_path / "scan.cu", tmp_path / "scan"
    source.write_text(_SCAN, encoding="utf-8")
    done = _tool("-O1", "-g", "-fsanitize=thread", f"-I{include_dir()}", "-o", program, source)
    assert done.ok, done.stderr
    ran = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


_ODD_ROWS = """
#include <pluginkit/kernels/normalize.cuh>
#include <pluginkit/kernels/pad.cuh>
#include <pluginkit/kernels/scan.cuh>

namespace kernels = pluginkit::kernels;

struct Scaled
{
    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        float const most = row.reduce(kernels::Max{}, [](float x, float) { return x; });
        row.write(y, [most](float x, float weight) { return (x - most) * weight; });
    }
};

void* filled(size_t bytes)
{
    void* memory = nullptr;
    cudaMalloc(&memory, bytes);
    cudaMemset(memory, 1, bytes);
    return memory;
}

int main()
{
    for (int columns : {516, 1001, 1003, 100, 36, 201, 333, 33, 50, 252})
    {
        for (int rows : {3, 500001 / columns})
        {
            auto const count = static_cast<size_t>(rows * columns);
            void* const x = filled(count);
            void* const y = filled(count);
            auto const in = kernels::input<int8_t>(x, 0.1F);
            auto const out = kernels::output<int8_t>(y, 0.1F);
            kernels::launchRows(cudaStream_t{}, rows, columns, Scaled{}, out, in,
                                kernels::row<int8_t>(filled(static_cast<size_t>(columns)), columns, 0.1F));
            if (rows == 3)
            {
                kernels::launchScan(cudaStream_t{}, rows, columns, kernels::Sum{}, out, in);
                continue;
            }
            int64_t const xDims[] = {rows, columns};
            int64_t const yDims[] = {rows + 1, columns + 3};
            int64_t const before[] = {1, 2};
            kernels::launchPad(cudaStream_t{}, 2, xDims, before, yDims, {kernels::PadMode::kReflect, 0.0F},
                               kernels::output<int8_t>(filled(static_cast<size_t>((rows + 1) * (columns + 3))), 0.1F),
                               in);
        }
    }
    auto const many = filled(size_t{65537} * 36);
    kernels::launchScan(cudaStream_t{}, 65537, 36, kernels::Sum{}, kernels::output<int8_t>(many, 0.1F),
                        kernels::input<int8_t>(many, 0.1F));
    return static_cast<int>(cudaDeviceSynchronize());
}
"""


_LONG_ROWS = """
#include <pluginkit/kernels/normalize.cuh>

namespace kernels = pluginkit::kernels;

struct Moved
{
    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        float const most = row.reduce(kernels::Max{}, [](float x, float, float) { return x; });
        row.write(y, [most](float x, float weight, float bias) { return (x - most) * weight + bias; });
    }
};

void* filled(size_t bytes)
{
    void* memory = nullptr;
    cudaMalloc(&memory, bytes);
    cudaMemset(memory, 1, bytes);
    return memory;
}

int main()
{
    constexpr int kLong = 8196; // more rows than blocks, which keep the rows that all share
    void* const x = filled(size_t{60} * kLong);
    kernels::launchRows(cudaStream_t{}, 60, kLong, Moved{}, kernels::output<int8_t>(filled(size_t{60} * kLong), 0.1F),
                        kernels::input<int8_t>(x, 0.1F), kernels::row<int8_t>(filled(size_t{kLong}), kLong, 0.1F),
                        kernels::row<float>(filled(sizeof(float) * kLong), kLong, 1.0F));
    return static_cast<int>(cudaDeviceSynchronize());
}
"""


_SELECTIONS = """
#include <pluginkit/kernels/select.cuh>

#include <cstring>
#include <type_traits>

namespace kernels = pluginkit::kernels;

struct NotZero
{
    __device__ bool operator()(float x) const
    {
        return x != 0.0F;
    }
};

template <typename T>
void* of(int64_t count)
{
    void* memory = nullptr;
    cudaMalloc(&memory, static_cast<size_t>(count) * sizeof(T));
    return memory;
}

//! Every `apart`-th element.
template <typename T>
void select(int64_t count, int64_t apart)
{
    auto* const x = static_cast<T*>(of<T>(count));
    std::memset(x, 0, static_cast<size_t>(count) * sizeof(T));
    for (int64_t i = 0; i < count; i += apart)
    {
        x[i] = T{1};
    }
    float const scale = std::is_same_v<T, float> ? 1.0F : 0.1F;
    kernels::launchSelect(cudaStream_t{}, 1, &count, NotZero{}, kernels::input<T>(x, scale),
                          static_cast<int64_t*>(of<int64_t>((count + apart - 1) / apart)),
                          static_cast<int32_t*>(of<int32_t>(1)), of<char>(kernels::selectWorkspace(count)),
                          kernels::selectWorkspace(count));
    cudaFree(x);
}

int main()
{
    for (int64_t apart : {1, 50})
    {
        for (int64_t packs : {40, 700, 1300, 66000, 263000, 525000})
        {
            if (packs > 2000 && apart == 1)
            {
                continue;
            }
            select<float>(packs * 4 - 1, apart);
            select<int8_t>(packs * 16 + 1, apart);
        }
    }
    return static_cast<int>(cudaDeviceSynchronize());
}
"""


@pytest.mark.parametrize("sanitizer", ["address", pytest.param("thread", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_ODD_ROWS, id="rows"),
        pytest.param(_LONG_ROWS, marks=pytest.mark.slow, id="long-rows"),
        pytest.param(_SELECTIONS, marks=pytest.mark.slow, id="selections"),
    ],
)
def test_kernels_touch_nothing_behind_their_tensors(tmp_path: Path, text: str, sanitizer: str) -> None:
    """Rows, scans and padding of bytes in words and packs of memory, of which the last one may end behind a tensor;
    selections by a block, and by two kernels, of which the first leaves the second what it needs."""
    source, program = tmp_path / "kernels.cu", tmp_path / "kernels"
    source.write_text(text, encoding="utf-8")
    # -O0: the accesses are those of the sources, and nearly all of the time is the compiler's.
    done = _tool("-O0", "-g", f"-fsanitize={sanitizer}", f"-I{include_dir()}", "-o", program, source)
    assert done.ok, done.stderr
    ran = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_an_object(source: Path) -> None:
    obj, program = source.with_suffix(".o"), source.with_suffix("")
    assert _tool("-c", "-o", obj, source).ok
    assert obj.read_bytes()[:4] == b"\x7fELF"
    assert not program.exists()


def test_mistakes_and_help(tmp_path: Path) -> None:
    nothing = _tool("-c", "-o", tmp_path / "x.o")
    assert (nothing.returncode, nothing.stderr.splitlines()[0]) == (
        2,
        "error: python -m pluginkit.cuda_cpu needs sources and -o OUTPUT.",
    )
    assert "--help" in nothing.stderr
    two = _tool("-c", "-o", tmp_path / "x.o", "a.cu", "b.cu")
    assert two.returncode == 2
    assert "-c makes one object, and 2 sources are named: a.cu, b.cu" in two.stderr
    assert not (tmp_path / "x.o").exists()
    shown = _tool("--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "-fsanitize=thread" in shown.stdout


_HOST = """
__global__ void first(int* x, int* y) { *x = *y; }
__global__ void second(int* x) { *x = 1; }
int main()
{
    int there = 0;
    int* x = nullptr;
    cudaMalloc(&x, 4);
    for (int i = 0; i < 40; ++i) { first<<<1, 1>>>(x, &there); }
    second<<<1, 1>>>(&there);
    return static_cast<int>(cudaDeviceSynchronize());
}
"""


def test_host_memory_in_a_loop_of_launches_is_told_once_an_argument_and_counted(tmp_path: Path) -> None:
    source, findings = tmp_path / "host.cu", tmp_path / "findings.jsonl"
    program = source.with_suffix("")
    source.write_text(_HOST, encoding="utf-8")
    done = _tool("-g", "-o", program, source)
    assert done.ok, done.stderr
    ran = subprocess.run([program], capture_output=True, text=True, check=False)
    told = re.findall(r"host-pointer: (argument \d of \w+).* points to .*the stack of the thread", ran.stderr)
    assert told == ["argument 2 of first", "argument 1 of second"]
    assert re.findall(r"host-pointer: argument \d of (\w+).* at (\d+) more launches", ran.stderr) == [("first", "39")]
    # In the file of a harness each launch has its own: it asks what a case did.
    subprocess.run([program], env={"PLUGINKIT_CPU_FINDINGS": str(findings)}, check=False)
    assert findings.read_text(encoding="utf-8").count('"host-pointer"') == 41
