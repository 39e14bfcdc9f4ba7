"""Which tools are on this machine: ordered candidates, each asked for its version, the first that fits is used."""

from __future__ import annotations

import os
import re
import shutil
import site
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from pluginkit.errors import PluginkitError, ToolMissing
from pluginkit.process import run

ASK_SECONDS = 20.0
"""How long a tool may take to say its version."""


@dataclass(frozen=True)
class Found:
    """A candidate that exists.

    Attributes:
        path: where.
        version: what it says; None if it says nothing that can be read.
        why_not: why it can't be used; empty if it can.
        note: what else is to say of it.
    """

    path: Path
    version: Version | None
    why_not: str = ""
    note: str = ""

    @property
    def usable(self) -> bool:
        """Whether it can be used."""
        return not self.why_not


@dataclass(frozen=True)
class Tool:
    """A tool that is looked for: its name, the versions that will do, and how to get it."""

    name: str
    needs: SpecifierSet
    remedy: str
    candidates: tuple[Path, ...]

    def found(self) -> list[Found]:
        """Every candidate that exists, in order."""
        return [self._ask(path) for path in dict.fromkeys(self.candidates) if path.exists()]

    def best(self) -> Found:
        """The first that can be used.

        Raises:
            ToolMissing: there is none; it says what was found and why that won't do.
        """
        found = self.found()
        for one in found:
            if one.usable:
                return one
        seen = "; ".join(f"{one.path}: {one.why_not}" for one in found)
        what = f"No usable {self.name}: {seen}." if found else f"{self.name} is not on this machine."
        raise ToolMissing(f"{what} Version {self.needs} is needed.", hint=self.remedy)

    def _ask(self, path: Path) -> Found:
        try:
            said = run([path, "--version"], timeout=ASK_SECONDS)
        except PluginkitError as error:
            return Found(path, None, error.message)
        # nvcc's own version stands behind "release", and it names other numbers before it.
        release = re.search(r"release (\d+\.\d+)", said.stdout)
        match = release or re.search(r"(\d+\.\d+(?:\.\d+)?)", said.stdout)
        if not said.ok or match is None:
            return Found(path, None, f"does not say its version ({said.status})")
        version = Version(match[1])
        return Found(path, version, "" if version in self.needs else f"version {version} is too old")


def _on_path(*names: str) -> Iterator[Path]:
    for name in names:
        where = shutil.which(name)
        if where:
            yield Path(where)


def _script(name: str) -> Path:
    """A program that a wheel has put beside the running Python."""
    return Path(sysconfig.get_path("scripts")) / name


def cxx_compiler() -> Tool:
    """The C++ compiler: $CXX alone if it is set, else g++, else clang++."""
    named = os.environ.get("CXX")
    chosen = [Path(shutil.which(named) or named)] if named else list(_on_path("g++", "clang++", "c++"))
    return Tool("C++ compiler", SpecifierSet(">=9"), "sudo apt-get install g++ (or set CXX)", tuple(chosen))


def cmake() -> Tool:
    """CMake: the wheel's, else the machine's."""
    return Tool("CMake", SpecifierSet(">=3.24"), "pip install cmake", (_script("cmake"), *_on_path("cmake")))


def ninja() -> Tool:
    """Ninja: the wheel's, else the machine's."""
    return Tool(
        "Ninja", SpecifierSet(">=1.10"), "pip install ninja", (_script("ninja"), *_on_path("ninja", "ninja-build"))
    )


def nvcc() -> Tool:
    """CUDA's compiler: a toolkit's, else the one that PyPI's wheels carry."""
    homes = [root / "bin" / "nvcc" for root in (*_cuda_homes(), *_wheel_roots())]
    return Tool("nvcc", SpecifierSet(">=11.8"), "pip install 'pluginkit[cuda]'", (*homes, *_on_path("nvcc")))


def _cuda_homes() -> list[Path]:
    named = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    return [*named, Path("/usr/local/cuda")]


def _wheel_roots() -> list[Path]:
    folders = dict.fromkeys([*site.getsitepackages(), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    return [Path(folder) / "nvidia" / "cu13" for folder in folders]


def cuda_include_dirs() -> list[Path]:
    """The folders of CUDA's headers, for target cpu: those of the wheels that pluginkit depends on, else a toolkit's.

    The wheels come first since the CUDA-on-CPU layer is tested with exactly them.

    Raises:
        ToolMissing: there are none; it names the places.
    """
    roots = [*_wheel_roots(), *_cuda_homes()]
    for root in roots:
        include = root / "include"
        if (include / "cuda_runtime.h").exists() and (include / "crt" / "host_defines.h").exists():
            return [folder for folder in (include, include / "cccl") if folder.is_dir()]
    looked = ", ".join(str(root / "include") for root in roots)
    raise ToolMissing(
        f"CUDA's headers (cuda_runtime.h) are in none of {looked}.",
        hint="pip install 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-cuda-cccl==13.0.*'",
    )


def headers_beside(nvcc: Path) -> list[Path]:
    """The folders of CUDA's headers that belong to an nvcc; those for target cpu where it has none beside it.

    Raises:
        ToolMissing: there are neither.
    """
    include = nvcc.resolve().parent.parent / "include"
    return [include] if (include / "cuda_runtime.h").exists() else cuda_include_dirs()


def tensorrt_sdks() -> list[Found]:
    """The TensorRT SDKs whose headers are on this machine. The first usable one of each major is used."""
    named = [Path(os.environ[name]) for name in ("TENSORRT_ROOT", "TENSORRT_DIR", "TRT_ROOT") if os.environ.get(name)]
    folders = [folder for root in named for folder in (root / "include", root)]
    folders += [Path("/usr/include/x86_64-linux-gnu"), Path("/usr/include/aarch64-linux-gnu"), Path("/usr/include")]
    folders += sorted(Path("/usr/local").glob("TensorRT*/include"))
    folders += sorted(Path("/opt").glob("TensorRT*/include"))
    return [_sdk(folder) for folder in dict.fromkeys(folders) if (folder / "NvInferVersion.h").exists()]


def _sdk(folder: Path) -> Found:
    text = (folder / "NvInferVersion.h").read_text(encoding="utf-8", errors="replace")
    numbers = [_macro(text, f"{stem}_{part}") for part in ("MAJOR", "MINOR", "PATCH") for stem in ("NV_TENSORRT",)]
    if None in numbers or not (folder / "NvInfer.h").exists():
        return Found(folder, None, "no NvInfer.h with a version beside NvInferVersion.h")
    version = Version(".".join(str(number) for number in numbers))
    return Found(
        folder, version, "" if version.major in {10, 11} else "its plugin interfaces are neither 10's nor 11's"
    )


def _macro(text: str, name: str) -> int | None:
    """The number that a macro stands for; SDKs define some by another macro of theirs."""
    match = re.search(rf"#define\s+{name}\s+(\w+)", text)
    if match is None:
        return None
    return int(match[1]) if match[1].isdigit() else _macro(text, match[1])


def sdk_headers() -> dict[int, Path]:
    """The SDK header folder for each layout (10, 11) that has one; the others get pluginkit's own."""
    chosen: dict[int, Path] = {}
    for sdk in tensorrt_sdks():
        if sdk.usable and sdk.version is not None:
            chosen.setdefault(sdk.version.major, sdk.path)
    return chosen


def native_architectures() -> Sequence[str]:
    """What `nvcc -arch` gets by default: the GPUs of this machine, else a set for the data centre and the desk."""
    ask = shutil.which("nvidia-smi")
    if ask:
        try:
            said = run([ask, "--query-gpu=compute_cap", "--format=csv,noheader"], timeout=ASK_SECONDS)
        except PluginkitError:
            return DEFAULT_ARCHITECTURES
        found = sorted(
            {
                line.strip().replace(".", "")
                for line in said.stdout.splitlines()
                if re.fullmatch(r"\d+\.\d", line.strip())
            }
        )
        if said.ok and found:
            return found
    return DEFAULT_ARCHITECTURES


DEFAULT_ARCHITECTURES = ("80", "86", "89", "90")

ALL = (cxx_compiler, cmake, ninja, nvcc)
"""Everything that `pluginkit info` shows."""
