"""The libraries of broken kernels, each compiled with the checks that find its defects."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from pluginkit.build import sanitizers
from pluginkit.process.findings import Defect, Findings
from pluginkit.process.programs import Completed, run

from ..conftest import Kit, compile_object, link

HERE = Path(__file__).parent
RUN = HERE / "run.py"
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
    """Builds and calls the sources of this folder; what is built is the run's, what is found a worker's."""

    shared: Path
    folder: Path

    def library(self, name: str, cxx: str = "") -> Path:
        """`NAME.cu` as a shared library, with its checks."""
        library = self.shared / f"lib{name}-{cxx or 'default'}.so"
        with FileLock(f"{library}.lock"):
            if not library.exists():
                obj, made = library.with_suffix(".o"), library.with_suffix(".new")
                flags = [*CHECKS[name], *ORDINARY]
                done = compile_object(HERE / f"{name}.cu", obj, cxx=cxx, flags=flags)
                assert done.ok, done.stderr
                checks = ["-fsanitize=address"] if name == "address" else []
                link(obj, made, cxx=cxx, checked=CHECKS[name] is WATCHED, flags=checks)
                made.rename(library)
        return library

    def call(
        self, source: str, case: str, *, repaired: bool, how: str = "call", cxx: str = "", **environment: str
    ) -> tuple[Completed, tuple[Defect, ...]]:
        """Run the case in a process of its own; its end, and what was found."""
        library = self.library(source, cxx)
        file = self.folder / f"{source}-{case}.jsonl"
        file.unlink(missing_ok=True)
        own = sanitizers.instrumentations(["address"])[0].environment() if source == "address" else {}
        variables = {**own, "PLUGINKIT_CPU_FINDINGS": str(file), **environment}
        word = "repaired" if repaired else "broken"
        done = run([sys.executable, "-S", str(RUN), str(library), case, word, how], env=variables, timeout=60)
        return done, Findings(file, HERE).take()


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory, kit: Kit) -> Broken:
    """One for all cases."""
    return Broken(kit.within(HERE).folder, tmp_path_factory.mktemp("broken"))
