"""Which tools are on this machine: ordered candidates, each asked for its version, the first that fits is used."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import site
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from pluginkit import installation, layouts
from pluginkit.build.gpus import find_driver
from pluginkit.errors import PluginkitError, ToolMissing, UsageError
from pluginkit.process.programs import run

ASK_SECONDS = 20.0
"""How long a tool may take to print its version."""


@dataclass(frozen=True)
class Found:
    """A candidate that exists.

    Attributes:
        path: where.
        version: None if its output can't be read.
        why_not: why it can't be used; empty if it can.
        note: what else there is to know.
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
    """A tool that is looked for: its name, the versions that will do, how to get it, and where it may be.

    Attributes:
        name: what to call it.
        needs: the versions that will do, for people.
        remedy: how to get it.
        places: where the candidates come from, for people.
        candidates: the files that may be it, in order.
        ask: tries what a file is.
    """

    name: str
    needs: str
    remedy: str
    places: str
    candidates: tuple[Path, ...]
    ask: Callable[[Path], Found]

    def existing(self) -> list[Path]:
        """The candidates that exist, in order, each file once."""
        once: dict[Path, Path] = {}
        for path in self.candidates:
            if path.is_file():
                once.setdefault(path.resolve(), path)
        return list(once.values())

    def found(self) -> list[Found]:
        """Every candidate that exists, asked."""
        return [self.ask(path) for path in self.existing()]

    def best(self) -> Found:
        """The first that can be used; those after it are not asked.

        Raises:
            ToolMissing: there is none; with what was found and why that won't do, or the places searched.
        """
        seen = []
        for path in self.existing():
            one = self.ask(path)
            if one.usable:
                return one
            seen.append(f"\n  {one.path}: {one.why_not}")
        what = f"No usable {self.name}:{''.join(seen)}" if seen else f"No {self.name} in {self.places}."
        raise ToolMissing(what, hint=f"Needed is {self.needs}: {self.remedy}")


def _asking(needs: SpecifierSet, pattern: str) -> Callable[[Path], Found]:
    """A question that is put by --version; the answer's version is what `pattern` holds in its group."""

    def ask(path: Path) -> Found:
        output, problem = _answer(path, "--version")
        match = re.search(pattern, output, re.MULTILINE)
        if problem or match is None:
            return Found(path, None, problem or f"does not say its version but {output.strip()[:60]!r}")
        version = Version(match[1])
        return Found(path, version, "" if version in needs else f"version {version} is too old")

    return ask


def _answer(path: Path, *arguments: str) -> tuple[str, str]:
    """A program's stdout, and what is wrong with it."""
    try:
        done = run([path, *arguments], timeout=ASK_SECONDS, env={"LC_ALL": "C"})
    except PluginkitError as error:
        return "", error.message
    if done.ok:
        return done.stdout, ""
    lines = done.stderr.strip().splitlines()
    return "", f"'{path.name} {' '.join(arguments)}' ended with {done.status}" + (f": {lines[0]}" if lines else "")


def _ask_compiler(path: Path) -> Found:
    """By a compiler's predefined macros, which are surer than its name (clang++ defines __GNUC__ too)."""
    output, problem = _answer(path, "-dM", "-E", "-x", "c++", "/dev/null")
    macros = dict(re.findall(r"^#define __(\w+?)__ (\d+)$", output, re.MULTILINE))
    for kind, oldest, names in _COMPILERS:
        if names[0] in macros and not problem:
            version = Version(".".join(macros.get(name, "0") for name in names))
            too_old = "" if version.major >= oldest else f"{kind} {version} is too old, needed is {kind} {oldest}"
            return Found(path, version, too_old, kind)
    return Found(path, None, problem or "is neither g++ nor clang++: it does not define __GNUC__ or __clang_major__")


_COMPILERS = (
    # The first releases with C++17's language and library complete enough for plugin code:
    # https://clang.llvm.org/cxx_status.html and https://gcc.gnu.org/projects/cxx-status.html#cxx17
    ("clang++", 10, ("clang_major", "clang_minor", "clang_patchlevel")),
    # g++ 9 is also the oldest that links the wheel's runtime (docs/wheels.md).
    ("g++", 9, ("GNUC", "GNUC_MINOR", "GNUC_PATCHLEVEL")),
)


def _on_path(*patterns: str) -> list[Path]:
    """The programs in PATH whose whole name matches: by pattern, then by PATH's order, the highest number first."""
    found = []
    for pattern in patterns:
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
            try:
                names = [entry.name for entry in os.scandir(folder or ".") if re.fullmatch(pattern, entry.name)]
            except OSError:
                continue
            names.sort(key=lambda name: int("0" + re.sub(r"\D", "", name)), reverse=True)
            found += [path for name in names if os.access(path := Path(folder or ".").absolute() / name, os.X_OK)]
    return found


def _script(name: str) -> Path:
    """A program that a wheel has installed next to the running Python."""
    return Path(sysconfig.get_path("scripts")) / name


def cxx_compiler() -> Tool:
    """The C++ compiler: $CXX alone if it is set, else g++, clang++, and numbered ones such as g++-12.

    Raises:
        ToolMissing: $CXX names no program.
    """
    named = os.environ.get("CXX", "").strip()
    if named and not shutil.which(named):
        remark = "; options belong in CXXFLAGS" if len(named.split()) > 1 else ""
        raise ToolMissing(f"CXX is '{named}', but there is no such program{remark}.", hint="Correct CXX, or unset it.")
    chosen = [Path(shutil.which(named) or named)] if named else _on_path(*_COMPILER_NAMES)
    places = "$CXX" if named else "PATH (g++, clang++, g++-N, clang++-N)"
    remedy = "sudo apt-get install g++ (or set CXX to one)"
    return Tool("C++ compiler", "g++ 9 or clang++ 10, or newer", remedy, places, tuple(chosen), _ask_compiler)


_COMPILER_NAMES = (r"g\+\+", r"clang\+\+", r"g\+\+-\d+", r"clang\+\+-\d+")


def clang_compiler() -> Tool:
    """clang++ of whatever name, for its libFuzzer: LLVMFuzzerRunDriver came with clang 12."""
    patterns = [pattern for pattern in _COMPILER_NAMES if pattern.startswith("clang")]

    def ask(path: Path) -> Found:
        found = _ask_compiler(path)
        if found.usable and (found.note != "clang++" or (found.version and found.version.major < 12)):
            return replace(found, why_not=f"{found.note} {found.version} is not clang++ 12 or newer")
        return found

    remedy = "sudo apt-get install clang libclang-rt-dev"
    return Tool("clang++", "clang++ 12 or newer", remedy, "PATH (clang++, clang++-N)", tuple(_on_path(*patterns)), ask)


def cmake() -> Tool:
    """CMake: the wheel's, else the machine's."""
    ask = _asking(SpecifierSet(">=3.24"), r"cmake version (\d+\.\d+(?:\.\d+)?)")
    places = "this Python's scripts and PATH"
    candidates = (*_program_of_wheel(), _script("cmake"), *_on_path("cmake"))
    return Tool("CMake", "CMake 3.24 or newer", installation.pip("cmake"), places, candidates, ask)


def _program_of_wheel() -> list[Path]:
    """The wheel's CMake itself: its script is a Python program that starts it, a fifth of a second later."""
    found = find_spec("cmake")
    return [Path(folder) / "data/bin/cmake" for folder in (found.submodule_search_locations or ())] if found else []


def ninja() -> Tool:
    """Ninja: the wheel's, else the machine's."""
    ask = _asking(SpecifierSet(">=1.10"), r"^(\d+\.\d+(?:\.\d+)?)")
    places = "this Python's scripts and PATH"
    candidates = (_script("ninja"), *_on_path("ninja", "ninja-build"))
    return Tool("Ninja", "Ninja 1.10 or newer", installation.pip("ninja"), places, candidates, ask)


def nvcc() -> Tool:
    """CUDA's compiler: a toolkit's, else the one that PyPI's wheels carry."""
    ask = _asking(SpecifierSet(">=11.8"), r"release (\d+\.\d+)")
    named = [Path(os.environ[name]) / "bin/nvcc" for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    candidates = (
        *named,
        *_on_path("nvcc"),
        Path("/usr/local/cuda/bin/nvcc"),
        *(r / "bin/nvcc" for r in _wheel_roots()),
    )
    places = "$CUDA_HOME, $CUDA_PATH, PATH, /usr/local/cuda and the PyPI package nvidia-cuda-nvcc"
    return Tool("nvcc", "nvcc 11.8 or newer", installation.extra("cuda"), places, candidates, ask)


def compute_sanitizer() -> Tool:
    """NVIDIA's compute-sanitizer, of a CUDA toolkit."""
    named = [Path(root) / "bin/compute-sanitizer" for root in _cuda_homes()]
    places = "$CUDA_HOME, $CUDA_PATH, PATH and /usr/local/cuda"
    remedy = "sudo apt-get install cuda-sanitizer-13-0 (from NVIDIA's repository; every full CUDA toolkit has it)"
    candidates = (*named[:-1], *_on_path("compute-sanitizer"), named[-1])
    return Tool("compute-sanitizer", "that of CUDA 12 or newer", remedy, places, candidates, _ask_compute_sanitizer)


def _ask_compute_sanitizer(path: Path) -> Found:
    asked = _asking(SpecifierSet(">=2022.4"), r"^Version (\d+\.\d+\.\d+)")(path)
    if not asked.usable:
        return asked
    output, _ = _answer(path, "--require-cuda-init=no", "/bin/echo", "started")
    # PyPI's nvidia-cuda-sanitizer-api 13.0 has no TreeLauncherSubreaper, which starts what is to be looked at.
    return asked if "started" in output else replace(asked, why_not="can't start a program: parts of it are missing")


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
        hint=installation.pip("nvidia-cuda-runtime==13.0.*", "nvidia-cuda-crt==13.0.*", "nvidia-cuda-cccl==13.0.*"),
    )


def toolkit_root(nvcc: Path) -> Path:
    """The folder of an nvcc's toolkit, by its own word: nvcc in PATH may be a script that calls another."""
    try:
        output = run([nvcc, "--dryrun", "-x", "cu", "-c", "/dev/null", "-o", "/dev/null"], timeout=ASK_SECONDS).stderr
    except PluginkitError:
        output = ""
    match = re.search(r"^#\$ TOP=(.+)$", output, re.MULTILINE)
    return Path(match[1].strip()).resolve() if match else nvcc.resolve().parent.parent


def headers_of(nvcc: Path) -> list[Path]:
    """The folders of CUDA's headers that belong to an nvcc; those for target cpu where it has none.

    Raises:
        ToolMissing: there are neither.
    """
    root = toolkit_root(nvcc)
    for include in (root / "include", root / f"targets/{platform.machine()}-linux/include"):
        if (include / "cuda_runtime.h").exists():
            return [folder for folder in (include, include / "cccl") if folder.is_dir()]
    return cuda_include_dirs()


def library_flags(nvcc: Path) -> str:
    """The options that an nvcc needs to find its own libraries: it looks in lib64, and PyPI's wheels have lib alone."""
    root = toolkit_root(nvcc)
    if (root / "lib64").exists() or not (root / "lib/libcudart_static.a").exists():
        return ""
    return shlex.quote(f"-L{root / 'lib'}")


def cuda_headers_version(include: Path) -> Version | None:
    """The version of the CUDA headers in a folder."""
    try:
        number = _macro(
            (include / "cuda_runtime_api.h").read_text(encoding="utf-8", errors="replace"), "CUDART_VERSION"
        )
    except OSError:
        return None
    return Version(f"{number // 1000}.{number % 1000 // 10}") if number else None


def tensorrt_sdks() -> list[Found]:
    """The TensorRT SDKs whose headers are on this machine. The first usable one of each major is used."""
    named = [Path(os.environ[name]) for name in ("TENSORRT_ROOT", "TENSORRT_DIR", "TRT_ROOT") if os.environ.get(name)]
    folders = [folder for root in named for folder in (root / "include", root)]
    folders += [Path("/usr/include") / f"{platform.machine()}-linux-gnu", Path("/usr/include")]
    for parent in ("/usr/local", "/opt"):
        folders += sorted(
            (*Path(parent).glob("TensorRT*/include"), *Path(parent).glob("tensorrt*/include")), reverse=True
        )
    here = [folder for folder in dict.fromkeys(folders) if (folder / "NvInferVersion.h").exists()]
    empty = [
        root for root in named if not any((folder / "NvInferVersion.h").exists() for folder in (root / "include", root))
    ]
    absent = [
        Found(root, None, "named by the environment, but has no NvInfer.h, nor has its include folder")
        for root in empty
    ]
    return absent + [_sdk(folder) for folder in here]


def _sdk(folder: Path) -> Found:
    text = (folder / "NvInferVersion.h").read_text(encoding="utf-8", errors="replace")
    numbers = [_macro(text, f"NV_TENSORRT_{part}") for part in ("MAJOR", "MINOR", "PATCH")]
    if None in numbers or not (folder / "NvInfer.h").exists():
        return Found(folder, None, "no NvInfer.h with a version next to NvInferVersion.h")
    version = Version(".".join(str(number) for number in numbers))
    served = layouts.of(version.major, version.minor)
    return Found(folder, version, "" if served else f"its interfaces are not those of TensorRT {layouts.majors()}")


def _macro(text: str, name: str) -> int | None:
    """The number that a macro stands for; SDKs define some by another macro of theirs."""
    match = re.search(rf"#define\s+{name}\s+(\w+)", text)
    if match is None:
        return None
    if match[1] == name:
        return None
    return int(match[1]) if match[1].isdigit() else _macro(text, match[1])


def sdk_headers() -> dict[int, Path]:
    """The SDK header folder for each layout that has one; the others get pluginkit's own."""
    chosen: dict[int, Path] = {}
    for sdk in tensorrt_sdks():
        if sdk.usable and sdk.version is not None:
            chosen.setdefault(sdk.version.major, sdk.path)
    return chosen


def native_architectures() -> list[str]:
    """The architectures of this machine's GPUs, as nvcc numbers them (`90`); none without a driver or a GPU."""
    return sorted({gpu.arch for gpu in find_driver().gpus}, key=int)


def known_architectures(nvcc: Path) -> list[str]:
    """The architectures that an nvcc makes code for, as it numbers them."""
    output, _ = _answer(nvcc, "--list-gpu-code")
    return sorted(re.findall(r"^sm_(\d+)$", output, re.MULTILINE), key=int)


def architectures(nvcc: Path, wanted: Sequence[str] = ()) -> list[str]:
    """CMake's list of architectures: code for each, and PTX of the highest for GPUs that come later.

    Args:
        nvcc: the compiler, which knows some and not others.
        wanted: such as `90`, `sm_90`, `9.0` or `90a`, several in one by `;` or `,`; `native` for those of this
            machine's GPUs, `all-major` for the first of each major number. None means native, where there is no GPU a
            set for the data centre and the desk.

    Raises:
        UsageError: nvcc doesn't know a wanted one; or `native` without a GPU.
    """
    known = known_architectures(nvcc)
    chosen: list[str] = []
    unknown: list[str] = []
    for name in [part.strip() for names in wanted for part in re.split(r"[;,\s]+", names) if part.strip()]:
        number = re.sub(r"^(sm_|compute_)", "", name.lower()).replace(".", "")
        if number == "native":
            chosen += _native()
        elif number == "all-major":
            chosen += _first_of_each_major(known)
        elif number.rstrip("af") in known:
            chosen.append(number)
        else:
            unknown.append(name)
    if unknown:
        raise UsageError(
            f"{nvcc} makes no code for GPU architecture {', '.join(unknown)}.",
            hint=f"It knows {', '.join(known)}; native is this machine's, all-major the first of each major number.",
        )
    chosen = chosen or [number for number in native_architectures() or DEFAULT_ARCHITECTURES if number in known]
    chosen = sorted(set(chosen or known[-1:]), key=lambda name: (int(name.rstrip("af")), name))
    return [*(f"{number}-real" for number in chosen), *(f"{number}-virtual" for number in chosen[-1:])]


def _native() -> list[str]:
    driver = find_driver()
    if not driver.gpus:
        raise UsageError(
            f"--arch native is for this machine's GPUs, and there is none: {driver.problem or 'none is listed'}.",
            hint="Name an architecture, such as --arch 90; pluginkit info lists GPUs.",
        )
    return [gpu.arch for gpu in driver.gpus]


def _first_of_each_major(known: Sequence[str]) -> list[str]:
    first: dict[int, str] = {}
    for number in known:
        first.setdefault(int(number) // 10, number)
    return list(first.values())


DEFAULT_ARCHITECTURES = ("75", "80", "86", "89", "90", "100", "120")

ALL = (cxx_compiler, cmake, ninja, nvcc)
"""Everything that `pluginkit info` shows."""
