"""The full TensorRT, 10.x or 11.x: builds networks with the plugin, and runs them on a GPU.

Here the plugin's own V2 class is built, where it has one. An engine is built in one process, and deserialized and run
in another. It never ran on the machines that pluginkit is made on: docs/proved.md says what is known of this module.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import tempfile
import time
from pathlib import Path
from typing import Any

from typing_extensions import Self

from pluginkit.build.gpus import find_driver
from pluginkit.errors import CheckFailed, ToolMissing
from pluginkit.manifest import Manifest
from pluginkit.runtimes.verdict import Availability, BuildVerdict, Ran
from pluginkit.runtimes.weak import Weak
from pluginkit.runtimes.worker import Worker, WorkerCrashed, WorkerError, WorkerTimeout
from pluginkit.testing.api_model import ApiNetwork
from pluginkit.testing.model import Array, Case, Network

NAME = "tensorrt"
BINDINGS = "PLUGINKIT_BINDINGS"
"""As in nvidia.py, which can't be imported here: it loads one of them."""
CHILD = "pluginkit.runtimes.tensorrt_child"
REMEDY = "pip install 'pluginkit[tensorrt]', whose libraries come from NVIDIA's own index, on a machine with a GPU"
MAJORS = (10, 11)
DISTRIBUTIONS = ("tensorrt", "tensorrt_cu13", "tensorrt_cu12")
NOT_COUNTED = -1
"""Enqueues: NVIDIA doesn't say how often it called."""


def probe() -> Availability:
    """Whether the Python package, its libraries' version and a GPU are there. Loads none of NVIDIA's libraries."""
    spec = importlib.util.find_spec("tensorrt")
    if spec is None:
        return Availability(False, reason="the Python package tensorrt is not installed", remedy=REMEDY)
    version, where = _version(), str(Path(spec.origin).parent) if spec.origin else ""
    if not version or int(version.partition(".")[0]) not in MAJORS:
        reason = f"tensorrt is {version or 'of no known version'}; needed is 10.x or 11.x"
        return Availability(False, version, where, reason, REMEDY)
    driver = find_driver()
    if not driver.gpus:
        reason = f"tensorrt {version} runs on a GPU only: {driver.problem or 'the driver lists no GPU'}"
        return Availability(False, version, where, reason, REMEDY)
    return Availability(True, version, where)


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


class TensorrtSession:
    """One plugin library in TensorRT. A context manager."""

    def __init__(self, library: Path, manifest: Manifest, timeout: float, version: str) -> None:
        plugin = manifest.plugin
        self._identity = (plugin.name, plugin.version, plugin.namespace)
        self._library = library
        self._timeout = timeout
        self.weak = version.startswith("10.")
        """Whether it has networks whose precision the builder chooses."""
        self._folder = tempfile.TemporaryDirectory(prefix="pluginkit-tensorrt-")
        self._workers: dict[str, Worker] = {}

    def check(self) -> None:
        """Has the registry load the library.

        Raises:
            CheckFailed: NVIDIA's words for why not, or what it lists instead of the plugin; or why the bindings
                don't import.
            WorkerCrashed, WorkerTimeout: loading took the process down, or never ended.
        """
        creators = self._ask("builder", "creators")
        if self._identity not in [tuple(identity) for *identity, _ in creators]:
            name, version, namespace = self._identity
            listed = ", ".join(f"{c[0]} {c[1]} in {c[2]!r}" for c in creators) or "none"
            raise CheckFailed(
                f"{self._library}: TensorRT's registry lists no creator {name} {version} in namespace {namespace!r}; "
                f"new: {listed}"
            )

    def build(self, network: Network, *, weak: Weak | None = None, shapes: bool = False) -> BuildVerdict:
        """Parses and builds an ONNX network.

        Args:
            network: what to build, with all its profiles.
            weak: how the builder chooses precisions; None: strongly typed.
            shapes: with the outputs' shapes as shape-tensor outputs besides: see `shape_values`.
        """
        return self._verdict("build", network.id, {"network": network, "weak": weak, "shapes": shapes})

    def build_api(self, network: ApiNetwork) -> BuildVerdict:
        """Makes a network by NVIDIA's API, its plugin layers by add_plugin_v2 or add_plugin_v3, and builds it."""
        return self._verdict("build_api", network.id, {"network": network, "identity": self._identity})

    def run(self, network: Network, case: Case, *, switch: bool = False) -> Ran:
        """Runs a case on the engine that was built last of its network, in a process that didn't build it.

        Args:
            network: the one that was built.
            case: its profile, and its inputs.
            switch: in the context of another profile, which is switched to this one.

        Raises:
            CheckFailed: TensorRT refuses the engine, a context or the shapes; or Polygraphy the run.
            WorkerCrashed, WorkerTimeout: the process died, or gave no answer. The next run works again.
        """
        outputs = self._ask("runner", "run", **self._asked(network, case), switch=switch)
        return Ran(outputs, NOT_COUNTED)

    def shape_values(self, network: Network, case: Case) -> dict[str, Array]:
        """Graph output -> its shape, an int32 vector, as the plugin computes it for a case; raises as `run`."""
        values: dict[str, Array] = self._ask("runner", "shape_values", **self._asked(network, case))
        return {name.removesuffix("_shape"): value for name, value in values.items()}

    def _asked(self, network: Network, case: Case) -> dict[str, Any]:
        profile = [profile.name for profile in network.profiles].index(case.profile)
        return {"file": self._file(network.id), "profile": profile, "feeds": case.feeds}

    def _file(self, network_id: str) -> str:
        return str(Path(self._folder.name) / f"{network_id.replace('/', '-')}.engine")

    def _verdict(self, method: str, network_id: str, asked: dict[str, Any]) -> BuildVerdict:
        begun = time.monotonic()
        file = self._file(network_id)

        def verdict(status: Any, message: str, log: tuple[str, ...] = ()) -> BuildVerdict:
            return BuildVerdict(status, message, log, seconds=time.monotonic() - begun)

        try:
            if "runner" in self._workers:
                self._ask("runner", "forget", file=file)
            ok, message, log = self._ask("builder", method, file=file, **asked)
        except WorkerTimeout as error:
            return verdict("hung", f"TensorRT: no end within {error.seconds:g} s", (error.log_tail,))
        except WorkerCrashed as error:
            return verdict("crashed", f"TensorRT: {error.how}", (error.log_tail,))
        except CheckFailed as error:
            return verdict("refused", error.message)
        return verdict("built" if ok else "refused", message, log)

    def _ask(self, role: str, method: str, **kwargs: Any) -> Any:
        try:
            return self._worker(role).call(method, **kwargs)
        except (WorkerTimeout, WorkerCrashed):
            self._workers.pop(role, None)
            raise
        except WorkerError as error:
            # Polygraphy's exceptions, and those of NVIDIA's bindings, which don't import without their libraries.
            if role in self._workers:
                self._workers.pop(role).close()
            raise CheckFailed(f"TensorRT: {error.message}") from None

    def _worker(self, role: str) -> Worker:
        if role not in self._workers:
            init = {"library": str(self._library)}
            self._workers[role] = Worker(CHILD, init, timeout=self._timeout, env={BINDINGS: NAME})
        return self._workers[role]

    def close(self) -> None:
        """Ends the processes and removes the engines."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
