"""The libraries of broken kernels, each compiled with the checks that find its defects."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from pluginkit import include_dir
from pluginkit.build import sanitizers
from pluginkit.cuda_cpu import RUNTIME_DIR
from pluginkit.process import Completed, run
from pluginkit.runtimes.findings import Defect, Findings

from ..conftest import FLAGS, Kit, compile_object, cuda_flags

HERE = Path(__file__).parent
RUN = HERE / "run.py"
CHECKED = re.compile(r"PLUGINKIT_CPU_CHECKED|\baccesses\b")
ORDINARY = ["-O1", "-fno-omit-frame-pointer", "-w"]
WATCHED = ["-fsanitize=thread", "-DPLUGINKIT_CPU_CHECKED"]
ADDRESS = ["-fsanitize=address", "-fsanitize-recover=address"]
UNDEFINED = ["-fsanitize=undefined,float-cast-overflow", "-fno-sanitize=vptr"]
CHECKS: dict[str, list[str]] = {
    "plain": [],
    "enqueue": [],
    "address": ADDRESS,
    "undefined": UNDEFINED,
    "checked": WATCHED,
    "silent": WATCHED,
}
"""What each source is compiled with."""


@dataclass
class Broken:
    """Builds and calls the sources of this folder."""

    kit: Kit
    folder: Path

    @functools.cached_property
    def checked_runtime(self) -> list[str]:
        """The runtime's objects with the checks of memory accesses: only some of the plain ones are others then."""
        sources = sorted(RUNTIME_DIR.glob("*.cpp"))
        others = [source for source in sources if CHECKED.search(source.read_text(encoding="utf-8"))]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = dict(zip(others, pool.map(self._checked_object, others), strict=True))
        return [made.get(source, plain) for source, plain in zip(sources, self.kit.runtime, strict=True)]

    def _checked_object(self, source: Path) -> str:
        obj = self.folder / f"checked-{source.stem}.o"
        flags = [*FLAGS, "-DPLUGINKIT_CPU_CHECKED", f"-isystem{include_dir()}", *cuda_flags()]
        subprocess.run(["g++", *flags, "-c", str(source), "-o", str(obj)], check=True)
        return str(obj)

    def library(self, name: str, cxx: str = "g++") -> Path:
        """`NAME.cu` as a shared library, with its checks."""
        library = self.folder / f"lib{name}-{cxx}.so"
        if not library.exists():
            obj = library.with_suffix(".o")
            flags = [*CHECKS[name], *ORDINARY]
            done = compile_object(HERE / f"{name}.cu", obj, cxx=cxx, flags=flags)
            assert done.ok, done.stderr
            runtime = self.checked_runtime if CHECKS[name] is WATCHED else self.kit.runtime
            checks = ["-fsanitize=address"] if name == "address" else []
            link = ["-shared", *checks, "-Wl,--no-undefined", "-Wl,-z,now", str(obj), *runtime]
            subprocess.run([cxx, *link, "-o", str(library)], check=True)
        return library

    def call(
        self, source: str, case: str, *, repaired: bool, how: str = "call", cxx: str = "g++", **environment: str
    ) -> tuple[Completed, tuple[Defect, ...]]:
        """Run the case in a process of its own; its end, and what was found."""
        library = self.library(source, cxx)
        file = self.folder / f"{source}-{case}.jsonl"
        file.unlink(missing_ok=True)
        own = sanitizers.flavours(["address"])[0].environment() if source == "address" else {}
        variables = {**own, "PLUGINKIT_CPU_FINDINGS": str(file), **environment}
        word = "repaired" if repaired else "broken"
        done = run([sys.executable, "-S", str(RUN), str(library), case, word, how], env=variables, timeout=60)
        return done, Findings(file, HERE).take()


@pytest.fixture(scope="session")
def broken(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Broken:
    """One for all cases."""
    return Broken(kit, tmp_path_factory.mktemp("broken"))
