"""What a project of each `--kernel` pattern costs to compile: `python benchmarks/kernels.py`; it needs nvcc, no GPU.

For each pattern it makes a project in FP32, FP16 and INT8, as `pluginkit new` writes it, compiles its `.cu` file for
compute capability 9.0, and prints how many kernels there are, the bytes of their code, and the seconds of CPU that nvcc
took, beside those of a softmax on CUB (`softmax_cub.cu`). `--write` puts the table into docs/kernel-speed.md.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pluginkit import scaffold
from pluginkit.build import toolchain
from pluginkit.build.signature import file_name, header
from pluginkit.manifest import Manifest
from pluginkit.paths import include_dir

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "kernel-speed.md"
T = "float32,float16,int8"
SIDES = ("top", "bottom", "left", "right")
PATTERNS: dict[str, dict[str, Any]] = {
    "elementwise": {"inputs": [f"x:{T}:n,c"]},
    "rows": {"inputs": [f"x:{T}:n,c"]},
    "scan": {"inputs": [f"x:{T}:n,c"]},
    "gather": {"inputs": [f"t:{T}:v,d", "i:int64:b"], "outputs": [f"y:{T}:b,d"]},
    "transpose": {"inputs": [f"x:{T}:n,r,c"], "outputs": [f"y:{T}:n,c,r"]},
    "pad": {
        "fields": [f"{side}:int32:0..=1" for side in SIDES],
        "inputs": [f"x:{T}:n,h,w"],
        "outputs": [f"y:{T}:n,h + top + bottom,w + left + right"],
    },
    "pool": {
        "fields": ["kernel:int32:1..=3", "stride:int32:1..=2"],
        "inputs": [f"x:{T}:n,h,w"],
        "outputs": [f"y:{T}:n,(h - kernel) // stride + 1,(w - kernel) // stride + 1"],
    },
    "nonzero": {
        "base": "v3",
        "fields": [],
        "inputs": [f"x:{T}:r,c"],
        "workspace": "ceil_div(r * c, 8192) * 1184",
        "outputs": ["indices:int64:2,count", "count:int32::upper=r * c:opt=r * c // 2"],
    },
    "topk": {"fields": ["k:int32:1..=2"], "inputs": [f"x:{T}:n,c"]},
}
"""What `pluginkit new --kernel` is asked for."""


@dataclass(frozen=True)
class Cost:
    """A source's kernels, the bytes of the ELF file that nvcc makes of them, and its seconds of CPU."""

    kernels: int
    size: int
    seconds: float


def compiled(source: Path, folder: Path, *includes: Path) -> Cost:
    """Compile a source for compute capability 9.0 (sm_90)."""
    cubin = folder / f"{source.stem}.cubin"
    flags = ["-std=c++17", "-O3", "-arch=sm_90", "-cubin", *(f"-I{one}" for one in includes)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([toolchain.nvcc().best().path, *flags, "-o", cubin, source], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Cost(len(entries(cubin)), cubin.stat().st_size, seconds)


def entries(cubin: Path) -> set[str]:
    """The sections of a cubin that are a kernel's code: `.text.` and its name."""
    data = cubin.read_bytes()
    table, size, count, names = (
        int.from_bytes(data[at : at + width], "little") for at, width in ((0x28, 8), (0x3A, 2), (0x3C, 2), (0x3E, 2))
    )
    at = int.from_bytes(data[table + names * size + 0x18 :][:8], "little")
    starts = [int.from_bytes(data[table + i * size :][:4], "little") for i in range(count)]
    found = (data[at + start : data.index(b"\0", at + start)].decode() for start in starts)
    return {name for name in found if name.startswith(".text.")}


def cost_of(pattern: str, folder: Path) -> Cost:
    """What a project of a pattern costs."""
    project = scaffold.new("Some", directory=folder, kernel=pattern, **PATTERNS[pattern])
    manifest = Manifest.load(project)
    (project / "src" / file_name(manifest)).write_text(header(manifest))
    return compiled(project / "src" / "some.cu", project, include_dir(), project / "src")


def main() -> int:
    """Compile, print, write."""
    parser = argparse.ArgumentParser(description="What each kernel pattern costs to compile.")
    parser.add_argument("patterns", nargs="*", default=[*PATTERNS], metavar="PATTERN")
    parser.add_argument("--write", action="store_true", help="write the table into docs/kernel-speed.md")
    options = parser.parse_args()
    lines = ["| pattern | kernels | KB | CPU s |", "| --- | --- | --- | --- |"]
    for pattern in options.patterns:
        with tempfile.TemporaryDirectory() as folder:
            lines.append(_line(f"`{pattern}`", cost_of(pattern, Path(folder))))
    with tempfile.TemporaryDirectory() as folder:
        lines.append(_line("a softmax on CUB", compiled(HERE / "softmax_cub.cu", Path(folder))))
    sys.stdout.write("\n".join([*lines, ""]))
    if options.write:
        begin, end = "<!-- costs -->\n", "<!-- end of costs -->"
        text = PAGE.read_text(encoding="utf-8")
        before, after = text[: text.index(begin) + len(begin)], text[text.index(end) :]
        PAGE.write_text(before + "\n".join([*lines, ""]) + after, encoding="utf-8")
    return 0


def _line(name: str, cost: Cost) -> str:
    return f"| {name} | {cost.kernels} | {cost.size / 1000:.0f} | {cost.seconds:.1f} |"


if __name__ == "__main__":
    sys.exit(main())
