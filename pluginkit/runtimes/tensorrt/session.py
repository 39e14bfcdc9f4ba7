"""The full TensorRT, 10.x or 11.x: builds networks with the plugin, and runs them on a GPU.

Here the plugin's own V2 class is built, where it has one. An engine is built in one process, and deserialized and run
in another. It never ran on the machines that pluginkit is made on: docs/proved.md says what is known of this module.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path

from pluginkit import installation, layouts
from pluginkit.build.gpus import find_driver
from pluginkit.errors import ToolMissing
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork, ApiNetwork
from pluginkit.network.model import Array, Case, Network
from pluginkit.network.weak_types import Weak
from pluginkit.runtimes.nvidia.engines import EngineSession
from pluginkit.runtimes.verdict import Availability, BuildVerdict

NAME = "tensorrt"
MAJORS = layouts.DEFAULT
DISTRIBUTIONS = ("tensorrt", "tensorrt_cu13", "tensorrt_cu12")


def probe() -> Availability:
    """Whether the Python package, its libraries' version and a GPU are there. Loads none of NVIDIA's libraries."""
    spec = importlib.util.find_spec("tensorrt")
    if spec is None:
        return Availability(False, reason="the Python package tensorrt is not installed", remedy=_remedy())
    version, where = _version(), str(Path(spec.origin).parent) if spec.origin else ""
    if not version or int(version.partition(".")[0]) not in MAJORS:
        reason = f"tensorrt is {version or 'of no known version'}; needed is 10.x or 11.x"
        return Availability(False, version, where, reason, _remedy())
    driver = find_driver()
    if not driver.gpus:
        reason = f"tensorrt {version} runs on a GPU only: {driver.problem or 'the driver lists no GPU'}"
        return Availability(False, version, where, reason, _remedy())
    return Availability(True, version, where)


def _remedy() -> str:
    return f"{installation.extra(NAME)}  # its libraries come from NVIDIA's own index, and need a GPU"


def _version() -> str:
    for name in DISTRIBUTIONS:
        for distribution in importlib.metadata.distributions(name=name):
            return distribution.version
    return ""


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
    session = TensorrtSession(library.resolve(), manifest, timeout, found.version)
    try:
        session.check()
    except BaseException:
        session.close()
        raise
    return session


class TensorrtSession(EngineSession):
    """One plugin library in TensorRT."""

    CHILD = "pluginkit.runtimes.tensorrt.child"
    WHO = "TensorRT"
    MODULE = "tensorrt"

    def __init__(self, library: Path, manifest: Manifest, timeout: float, version: str) -> None:
        super().__init__(library, manifest, timeout)
        self.weak = version.startswith("10.")
        """Whether it has networks whose precision the builder chooses."""

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
