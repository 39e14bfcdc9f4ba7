"""The full TensorRT, 8.5 to 11.x: builds networks with the plugin, and runs them on a GPU.

Here the plugin's own V2 class is built, where it has one. An engine is built in one process, and deserialized and run
in another; of TensorRT 8, which has bindings up to Python 3.10, these may run in another interpreter than this. 8.5.3
ran on an H100; 10 and 11 never ran on the machines that pluginkit is made on: docs/proved.md.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pluginkit import elf, installation, layouts
from pluginkit.build.gpus import find_driver
from pluginkit.errors import ToolMissing
from pluginkit.installation import tensorrt8
from pluginkit.installation.tensorrt8 import TensorRT8
from pluginkit.library.origin import INIT_FUNCTION
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork, ApiNetwork
from pluginkit.network.networks import Array, Case, Network
from pluginkit.network.weak_types import Weak
from pluginkit.runtimes.nvidia.engines import BINDINGS, EngineSession
from pluginkit.runtimes.verdict import Availability, BuildVerdict

NAME = "tensorrt"
MAJORS = layouts.DEFAULT
"""Of those that run in this interpreter without further ado."""
DISTRIBUTIONS = ("tensorrt", "tensorrt_cu13", "tensorrt_cu12")


def probe() -> Availability:
    """Whether the Python package, its libraries' version and a GPU are there. Loads none of NVIDIA's libraries."""
    if eight := tensorrt8.find():
        if eight.problem:
            return Availability(False, eight.version, eight.where, eight.problem, eight.remedy)
        return _on_gpu(eight.version, eight.where, "run it on a machine with one")
    spec = importlib.util.find_spec("tensorrt")
    if spec is None:
        return Availability(False, reason="the Python package tensorrt is not installed", remedy=_remedy())
    version, where = _version(), str(Path(spec.origin).parent) if spec.origin else ""
    if not version or int(version.partition(".")[0]) not in MAJORS:
        reason = f"tensorrt is {version or 'of no known version'}; needed is 8.5, 8.6, 10.x or 11.x"
        return Availability(False, version, where, reason, _remedy())
    return _on_gpu(version, where, _remedy())


def _on_gpu(version: str, where: str, remedy: str) -> Availability:
    driver = find_driver()
    if not driver.gpus:
        reason = f"tensorrt {version} runs on a GPU only: {driver.problem or 'the driver lists no GPU'}"
        return Availability(False, version, where, reason, remedy)
    return Availability(True, version, where)


def _remedy() -> str:
    return f"{installation.extra(NAME)}  # its libraries come from NVIDIA's own index, and need a GPU"


def _version() -> str:
    for name in DISTRIBUTIONS:
        for distribution in importlib.metadata.distributions(name=name):
            return distribution.version
    return ""


def searching(eight: TensorRT8) -> dict[str, str]:
    """What a worker's environment must have, so that the libraries of a TensorRT 8 are found."""
    searched = [*eight.libraries, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {"LD_LIBRARY_PATH": os.pathsep.join(searched)}


def interpreter(eight: TensorRT8) -> str:
    """The interpreter of a worker with a TensorRT 8; empty if it is this one."""
    return eight.python if eight.foreign else ""


def worker_of(eight: TensorRT8) -> dict[str, Any]:
    """The arguments of a `Worker` with the bindings of a TensorRT 8."""
    env = {BINDINGS: TensorrtSession.MODULE, **searching(eight)}
    return {"env": env, "python": interpreter(eight)}


def open(library: Path, manifest: Manifest, *, timeout: float = 60.0) -> TensorrtSession:  # noqa: A001
    """Has TensorRT's registry load the library, in a process of its own, and checks that it lists the plugin.

    Raises:
        ToolMissing: see `probe`.
        CheckFailed: the registry doesn't load the library, or lists no creator of the manifest's plugin.
        WorkerCrashed, WorkerTimeout: loading took the process down, or never ended.
    """
    found = probe()
    if not found.found:
        raise ToolMissing(f"TensorRT: {found.reason}", hint=found.remedy)
    session = TensorrtSession(library.resolve(), manifest, timeout, found.version, tensorrt8.find())
    try:
        session.check()
    except BaseException:
        session.close()
        raise
    return session


class TensorrtSession(EngineSession):
    """One plugin library in TensorRT."""

    CHILD = "pluginkit.runtimes.tensorrt.tensorrt_worker"
    WHO = "TensorRT"
    MODULE = "tensorrt"

    def __init__(
        self, library: Path, manifest: Manifest, timeout: float, version: str, eight: TensorRT8 | None = None
    ) -> None:
        super().__init__(library, manifest, timeout)
        self.version = version
        self.major = int(version.partition(".")[0])
        self.is_8 = self.major == layouts.BEFORE_V3.number
        self.weak = layouts.layout(self.major).weakly_typed
        """Whether it has networks whose precision the builder chooses."""
        self._eight = eight

    def _environment(self) -> Mapping[str, str]:
        return searching(self._eight) if self._eight else {}

    def _init(self) -> Mapping[str, Any]:
        if not self._eight:
            return {}
        functions = [one.name for one in elf.exports(self._library) if INIT_FUNCTION.fullmatch(one.name)]
        return {"functions": functions, "namespace": self._identity[2]}

    def _python(self) -> str:
        return interpreter(self._eight) if self._eight else ""

    def lacking(self) -> list[str]:
        """The tactic sources that are switched off, because their libraries aren't here: of TensorRT 8."""
        found: list[str] = self._ask("builder", "lacking")
        return found

    def build_control(self, network: AnyNetwork) -> BuildVerdict:
        """Builds a network that has a plugin that copies in the place of the one that is tested: TensorRT 8 only."""
        return self._verdict("build_control", network.id, {"network": network})

    def cache(self) -> bytes:
        """What the calibrator of the network that was built last was given to keep."""
        found: bytes = self._ask("builder", "cache")
        return found

    def run_in(self, network: AnyNetwork, case: Case) -> dict[str, list[str]]:
        """Plugin layer -> types and formats of its inputs, then of its outputs, as the engine tells of the context that
        ran a case last: of TensorRT 8. A layer that is fused into another isn't there."""
        asked = self._asked(network, case)
        found: dict[str, list[str]] = self._ask("runner", "run_in", file=asked["file"], profile=asked["profile"])
        return found

    def both(self, network: AnyNetwork, cases: Sequence[Case]) -> list[dict[str, Array]]:
        """Runs two cases of different profiles at once, each in a context of its own; raises as `run`."""
        asked = [self._asked(network, case) for case in cases]
        runs = [(one["profile"], one["feeds"]) for one in asked]
        found: list[dict[str, Array]] = self._ask("runner", "both", file=asked[0]["file"], runs=runs)
        return found

    def accepts(self, network: AnyNetwork, profile: int, name: str, dims: Sequence[int]) -> bool:
        """Whether the engine takes a shape of an input in the context of a profile."""
        file = self._file(network.id)
        return bool(self._ask("runner", "accepted", file=file, profile=profile, name=name, dims=tuple(dims)))

    def build_weak(self, network: Network, weak: Weak) -> BuildVerdict:
        """As `build`, of a network whose precisions the builder chooses."""
        return self._verdict("build_weak", network.id, {"network": network, "weak": weak})

    def build_shapes(self, network: Network) -> BuildVerdict:
        """As `build`, with the outputs' shapes as shape-tensor outputs besides: see `shape_values`."""
        return self._verdict("build_shapes", network.id, {"network": network})

    def build_api(self, network: ApiNetwork) -> BuildVerdict:
        """Makes a network by NVIDIA's API, its plugin layers by add_plugin_v2 or add_plugin_v3, and builds it."""
        return self._verdict("build_api", network.id, {"network": network, "identity": self._identity})

    def shape_values(self, network: AnyNetwork, case: Case) -> dict[str, Array]:
        """Graph output -> its shape, an int32 vector, as the plugin computes it for a case; raises as `run`."""
        values: dict[str, Array] = self._ask("runner", "shape_values", **self._asked(network, case))
        return {name.removesuffix("_shape"): value for name, value in values.items()}
