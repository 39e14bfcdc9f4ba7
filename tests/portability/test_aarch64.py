"""Another machine, aarch64: pluginkit and a project cross-compile, and a kernel and a library run under qemu-user.

Needs g++-aarch64-linux-gnu and qemu-user. The native module is compiled and linked, and not run: that would take a
Python for aarch64.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import pluginkit
from pluginkit import scaffold
from pluginkit.build import toolchain

from .conftest import ROOT

PREFIX = "aarch64-linux-gnu"
LACKING = [name for name in (f"{PREFIX}-g++", "qemu-aarch64") if shutil.which(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.compile,
    pytest.mark.xdist_group("aarch64"),
    pytest.mark.skipif(bool(LACKING), reason=f"no {' and no '.join(LACKING)}: g++-aarch64-linux-gnu, qemu-user"),
]
MACHINE = [f"-DCMAKE_CXX_COMPILER={PREFIX}-g++", "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64"]

REDUCE = """#include <cuda_runtime.h>
#include <cstdio>
__global__ void reduce(int const* x, int* y)
{
    __shared__ int sums[2];
    int sum = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int step = 16; step > 0; step /= 2)
    {
        sum += __shfl_down_sync(0xffffffffU, sum, step);
    }
    if (threadIdx.x % 32 == 0)
    {
        sums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0)
    {
        atomicAdd(y, sums[0] + sums[1]);
    }
}
int main()
{
    constexpr int kBLOCKS = 64;
    int host[kBLOCKS * 64];
    for (int i = 0; i < kBLOCKS * 64; ++i)
    {
        host[i] = i;
    }
    int *x = nullptr, *y = nullptr, sum = 0;
    cudaMalloc(reinterpret_cast<void**>(&x), sizeof host);
    cudaMalloc(reinterpret_cast<void**>(&y), sizeof sum);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(y, 0, sizeof sum);
    reduce<<<kBLOCKS, 64>>>(x, y);
    cudaError_t const status = cudaMemcpy(&sum, y, sizeof sum, cudaMemcpyDeviceToHost);
    std::printf("%d %d\\n", static_cast<int>(status), sum);
}
"""
ASK = """#include <NvInfer.h>
#include <cstdio>
#include <dlfcn.h>
int main(int, char** argv)
{
    void* const library = dlopen(argv[1], RTLD_NOW);
    if (library == nullptr)
    {
        std::puts(dlerror());
        return 1;
    }
    using Creators = nvinfer1::IPluginCreatorInterface* const* (*) (int32_t&);
    int32_t count = 0;
    auto* const creators = reinterpret_cast<Creators>(dlsym(library, "getCreators"))(count);
    std::printf("%d %s\\n", count, creators[0]->getInterfaceInfo().kind);
}
"""


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def cmake(source: Path, out: Path, *options: str) -> None:
    """Configure and build with warnings as errors."""
    program, ninja = toolchain.cmake().best().path, toolchain.ninja().best().path
    configure = [program, "-S", source, "-B", out, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", *MACHINE]
    run(*configure, "-DPLUGINKIT_WERROR=ON", *options)
    run(program, "--build", out)


def is_aarch64(path: Path) -> bool:
    """Whether an ELF file is of that machine (e_machine 183, EM_AARCH64)."""
    header = path.read_bytes()[:20]
    return header[:4] == b"\x7fELF" and int.from_bytes(header[18:20], "little") == 183


def exported(library: Path) -> set[str]:
    """The names that a library defines for others."""
    lines = run(f"{PREFIX}-nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[-1] for line in lines}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with pluginkit's own libraries for aarch64."""
    folder = tmp_path_factory.mktemp("aarch64")
    # Python's headers are the same for both machines but for pyconfig.h, of which Debian has one each; all sizes agree.
    include = Path(sysconfig.get_path("include"))
    headers = shutil.copytree(include, folder / "include")
    if (own := include.parent / str(sysconfig.get_config_var("MULTIARCH")) / include.name / "pyconfig.h").exists():
        shutil.copy(own, headers)
    out = folder / "out"
    cmake(
        ROOT, out, "-DCMAKE_BUILD_TYPE=Release", "-DSKBUILD_PROJECT_VERSION=0", f"-DPython_EXECUTABLE={sys.executable}",
        f"-Dpybind11_DIR={run(sys.executable, '-m', 'pybind11', '--cmakedir').strip()}",
        f"-DPLUGINKIT_PYTHON_INCLUDE_DIRS={headers}", f"-DPLUGINKIT_PYTHON_SUFFIX=.cpython-3-{PREFIX}.so",
    )  # fmt: skip
    return out


def test_pluginkit_cross_compiles(built: Path) -> None:
    module = built / f"_native.cpython-3-{PREFIX}.so"
    assert is_aarch64(module)
    assert is_aarch64(built / "_probe.so")
    assert "PyInit__native" in exported(module)
    for name in ("libpluginkit_cpu.a", "libpluginkit_cpu_checked.a"):
        assert "pluginkit_cpu_v2_cudaMalloc" in run(f"{PREFIX}-nm", "--defined-only", built / name)


@pytest.mark.parametrize("workers", ["1", "4"])
def test_a_kernel_with_barrier_and_shuffle(built: Path, tmp_path: Path, workers: str) -> None:
    (tmp_path / "reduce.cu").write_text(REDUCE, encoding="utf-8")
    headers = [f"-isystem{folder}" for folder in toolchain.cuda_include_dirs()]
    cxx = f"{PREFIX}-g++"
    compiler = [sys.executable, "-m", "pluginkit.cuda_cpu.compile", "--cxx", cxx, "-std=c++17", "-O2"]
    run(*compiler, *headers, "-o", tmp_path / "reduce.o", tmp_path / "reduce.cu")
    runtime = ["-Wl,--whole-archive", built / "libpluginkit_cpu.a", "-Wl,--no-whole-archive", "-pthread", "-ldl"]
    run(cxx, tmp_path / "reduce.o", *runtime, "-o", tmp_path / "reduce")
    output = run("env", f"PLUGINKIT_CPU_WORKERS={workers}", "qemu-aarch64", "-L", f"/usr/{PREFIX}", tmp_path / "reduce")
    assert output == f"0 {sum(range(64 * 64))}\n"


def test_a_generated_plugin(built: Path, tmp_path: Path) -> None:
    """Its library has both layouts in it, joined by the other machine's linker, and answers its host there."""
    project = scaffold.new("MyPlugin", directory=tmp_path)
    out = tmp_path / "out"
    found = [f"-Dpluginkit_DIR={pluginkit.cmake_dir()}", f"-DPLUGINKIT_PYTHON={sys.executable}"]
    cmake(project, out, *found, f"-DPLUGINKIT_CPU_RUNTIME_DIR={built}")
    library = out / "libmy_plugin.so"
    assert is_aarch64(library)
    assert exported(library) == {"getCreators", "setLoggerFinder", "initMyPluginPlugins", "pluginkit_cpu_control"}
    (tmp_path / "ask.cpp").write_text(ASK, encoding="utf-8")
    flags = ["-std=c++17", f"-isystem{pluginkit.include_dir()}", "-DPLUGINKIT_TRT_LAYOUT=11"]
    run(f"{PREFIX}-g++", *flags, tmp_path / "ask.cpp", "-ldl", "-o", tmp_path / "ask")
    output = run("qemu-aarch64", "-L", f"/usr/{PREFIX}", tmp_path / "ask", library)
    assert output.startswith("1 PLUGIN CREATOR_V")
