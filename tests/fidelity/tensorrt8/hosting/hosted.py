"""pluginkit's host, asked for cases."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import Self

from pluginkit.errors import CheckFailed
from pluginkit.manifest import Manifest
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerError, WorkerTimeout
from pluginkit.runtimes.tensorrt import foreseen
from tests.compilers import default_cxx
from tests.fidelity.signature import FIELDS, MAX_OUTPUTS
from tests.fidelity.tensorrt8.drawing.case import Case
from tests.fidelity.tensorrt8.drawing.networks import PLUGINS

HERE = Path(__file__).parents[1]
INCLUDE = HERE.parents[2] / "pluginkit" / "include"
CHILD = "tests.fidelity.tensorrt8.hosting.host_child"
NUMBERS = ("format", *(f"{label}{index}" for label in ("source", "factor", "offset") for index in range(MAX_OUTPUTS)))
MANIFESTS = {
    base: Manifest.parse(
        f"""
        plugin = {{name = "{name}", base = "{base}"}}
        inputs = [{{name = "x", types = ["float32"], shape = ["n", 97]}}]
        outputs = [{{name = "y", types = ["float32"], shape = ["n", 97]}}]
        profiles = [{{symbols = {{n = {"[1, 2, 3]" if base == "dynamic" else "[2, 2, 2]"}}}}}]
        fields = [{", ".join(f'{{name = "{field}", type = "{kind.value}"}}' for field, kind in FIELDS.items())},
                  {", ".join(f'{{name = "{field}", type = "int32"}}' for field in NUMBERS)}]
        """
    )
    for base, name in PLUGINS.items()
}


def compile_for_cpu(folder: Path) -> Path:
    """The chameleons, compiled for the host."""
    library = folder / "libchameleons.so"
    options = ["-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-DPLUGINKIT_TRT_LAYOUT=8"]
    source = HERE / "plugin" / "chameleons.cpp"
    subprocess.run([default_cxx(), *options, f"-I{INCLUDE}", source, "-o", library, "-ldl"], check=True)
    return library


class Host:
    """The host, with a process for each interface; one that has died is started again."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self._workers: dict[str, Worker] = {}

    def answer(self, case: Case, scales: Mapping[str, float] | None = None) -> dict[str, Any]:
        """What the host does with a case, as 8.5.3 is foreseen to: see `host_child.CaseChild.answer`."""
        if row := foreseen.of_network(case.network, "8.5"):
            return {"id": case.id, "verdict": "refused", "stage": "build", "message": f"row {row.id}", "row": row.id}
        if case.base not in self._workers:
            init = {"library": self._library, "manifest": MANIFESTS[case.base]}
            self._workers[case.base] = Worker(CHILD, init, timeout=60)
        try:
            answer: dict[str, Any] = self._workers[case.base].call("answer", case=case, scales=scales or {})
        except WorkerTimeout as error:
            self._workers.pop(case.base).close()
            return {"id": case.id, "verdict": "hung", "message": error.message[:400]}
        except WorkerCrashed as error:
            self._workers.pop(case.base).close()
            return {"id": case.id, "verdict": "crashed", "message": error.message[:400]}
        except (CheckFailed, WorkerError) as error:
            # NumPy refuses to add tensors of other shapes.
            return {"id": case.id, "verdict": "refused", "stage": "build", "message": str(error)[:400]}
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for worker in self._workers.values():
            worker.close()
