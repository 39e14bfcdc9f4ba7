"""All facts about a plugin library that need no loading."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pluginkit import elf
from pluginkit.elf import Elf
from pluginkit.library import build_record, file_checks, gpu_code, linkage
from pluginkit.library.build_record import BuildRecord
from pluginkit.library.gpu_code import GpuCodes
from pluginkit.library.linkage import Linkage
from pluginkit.library.problem import Problem

ENTRIES = {
    "getCreators": "TensorRT 10 and later: the creators",
    "setLoggerFinder": "TensorRT 8.6 and later: which library loads",
    "getPluginCreators": "TensorRT 8.6: the creators",
    "pluginkit_cpu_control": "target cpu: its device",
}
"""What is exported for whom."""
INIT = re.compile(r"init(\w+)Plugins")


@dataclass(frozen=True)
class Inspection:
    """A plugin library, not loaded.

    Attributes:
        path: the file.
        sha256, size: of the file; bytes.
        target: `gpu` if it has GPU code, `cpu` if it is pluginkit's target cpu, else `unknown`.
        elf: what it exports and needs.
        linkage: where what it needs is.
        gpu: its GPU code; None if it has none.
        record: the build's JSON file; None if there is none.
        compiler: by the build record or the compiler itself (`.comment`).
        problems: what is wrong, the errors first.
    """

    path: Path
    sha256: str
    size: int
    target: Literal["cpu", "gpu", "unknown"]
    elf: Elf
    linkage: Linkage
    gpu: GpuCodes | None
    record: BuildRecord | None
    compiler: str
    problems: tuple[Problem, ...]

    @property
    def exports(self) -> dict[str, str]:
        """The C functions that it exports: name -> its caller; empty where none is known."""
        names = sorted(symbol.name for symbol in self.elf.exports if not symbol.name.startswith("_Z"))
        return {name: ENTRIES.get(name) or _init(name) for name in names}

    @property
    def layouts(self) -> tuple[str, ...]:
        """The layouts that are in it by its build record: `10`, `11`."""
        return self.record.layouts if self.record else ()

    @property
    def broken(self) -> bool:
        """Whether there are errors among the problems."""
        return any(problem.level == "error" for problem in self.problems)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        cxx = [symbol.name for symbol in self.elf.exports if symbol.name.startswith("_Z")]
        return {
            "library": str(self.path),
            "sha256": self.sha256,
            "size": self.size,
            "target": self.target,
            "compiler": self.compiler,
            "layouts": list(self.layouts),
            "soname": self.elf.soname,
            "exports": list(self.exports),
            "exported_cxx": cxx,
            "needed": [{"name": n.name, "path": str(n.path) if n.path else None} for n in self.linkage.needed],
            "runpath": list(self.elf.runpath),
            "needed_versions": {name: sorted(versions) for name, versions in self.elf.versions().items()},
            "gpu_code": [asdict(code) for code in self.gpu.codes] if self.gpu else [],
            "manifest": {"path": str(self.record.path), "same": self.record.same, "content": self.record.content}
            if self.record
            else None,
            "problems": [asdict(problem) for problem in self.problems],
        }


def inspect(path: Path) -> Inspection:
    """Look at a library without loading it.

    Raises:
        UsageError: no such file, it cannot be read, or it is not a shared library that this machine could load.
    """
    facts = elf.read(path)
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    codes = gpu_code.read(path)
    found_libraries = linkage.resolve(path, facts)
    record = build_record.read(path, digest)
    names = {symbol.name for symbol in facts.exports}
    target: Literal["cpu", "gpu", "unknown"] = (
        "gpu" if codes else "cpu" if "pluginkit_cpu_control" in names else "unknown"
    )
    found = [
        *file_checks.of_exports(facts),
        *file_checks.of_linkage(path, facts, found_libraries),
        *file_checks.of_gpu_code(codes),
        *file_checks.of_manifest(path, record, target, codes),
    ]
    found.sort(key=lambda problem: problem.level)
    return Inspection(
        path, digest, len(data), target, facts, found_libraries, codes, record, _compiler(record, data), tuple(found)
    )


def _init(name: str) -> str:
    stem = INIT.fullmatch(name)
    return f"you: registers {stem[1]} under a namespace" if stem else ""


def _compiler(record: BuildRecord | None, data: bytes) -> str:
    """By the build record if that is the file's own, else the string that compilers leave."""
    if record and record.content and record.same:
        recorded = [record.content.get(key) or {} for key in ("compiler", "cuda_compiler")]
        return ", ".join(f"{one.get('id', '?')} {one.get('version', '?')}" for one in recorded if one)
    found = re.findall(rb"(?:GCC: \([^)\0]*\) [\d.]+|clang version [\d.]+)", data)
    return ", ".join(sorted({text.decode(errors="replace") for text in found}))
