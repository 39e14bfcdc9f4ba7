"""Engines of NVIDIA's, built in one process and run on a GPU there or in another: what its two runtimes have alike."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import Self

from pluginkit.errors import CheckFailed
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.networks import Case, Network
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerError, WorkerTimeout
from pluginkit.runtimes.verdict import BuildVerdict, Ran

BINDINGS = "PLUGINKIT_BINDINGS"
"""As in nvidia.py, which can't be imported here: it loads one of them."""
NOT_COUNTED = -1
"""Enqueues: NVIDIA doesn't report how often it called."""


class EngineSession:
    """One plugin library with one of NVIDIA's runtimes. A context manager."""

    CHILD: ClassVar[str]
    """The module of the worker's side: builds networks to files, and runs those."""
    WHO: ClassVar[str]
    """NVIDIA's name of the runtime."""
    MODULE: ClassVar[str]
    """The Python module of its bindings."""

    def __init__(self, library: Path, manifest: Manifest, timeout: float) -> None:
        plugin = manifest.plugin
        self._identity = (plugin.name, plugin.version, plugin.namespace)
        self._library = library
        self._timeout = timeout
        self._folder = tempfile.TemporaryDirectory(prefix=f"pluginkit-{self.MODULE}-")
        self._workers: dict[str, Worker] = {}

    def _environment(self) -> Mapping[str, str]:
        """What the workers need in addition to the bindings' name."""
        return {}

    def _init(self) -> Mapping[str, Any]:
        """What the worker's side gets in addition to the library."""
        return {}

    def _python(self) -> str:
        """The interpreter of the workers; empty if it is this one."""
        return ""

    def check(self) -> None:
        """Has the registry load the library.

        Raises:
            CheckFailed: NVIDIA's message on why not, or what it lists instead of the plugin; or why the bindings
                don't import.
            WorkerCrashed, WorkerTimeout: loading took the process down, or never ended.
        """
        creators = self._ask("builder", "creators")
        if self._identity not in [tuple(identity) for *identity, _ in creators]:
            name, version, namespace = self._identity
            listed = ", ".join(f"{c[0]} {c[1]} in {c[2]!r}" for c in creators) or "none"
            raise CheckFailed(
                f"{self._library}: {self.WHO}'s registry lists no creator {name} {version} in namespace {namespace!r}; "
                f"new: {listed}"
            )

    def build(self, network: Network) -> BuildVerdict:
        """Parses and builds an ONNX network with all its profiles, strongly typed."""
        return self._verdict("build", network.id, {"network": network})

    def run(self, network: AnyNetwork, case: Case, *, fresh: bool = True, switch: bool = False) -> Ran:
        """Runs a case on the engine that was built last of its network.

        Args:
            network: the one that was built.
            case: its profile, and its inputs.
            fresh: in a process that has built nothing, or in the one that built the engine.
            switch: in the context of another profile, which is switched to this one.

        Raises:
            CheckFailed: NVIDIA refuses the engine, a context or the shapes; or Polygraphy the run.
            WorkerCrashed, WorkerTimeout: the process died, or gave no answer. The next run works again.
        """
        role = "runner" if fresh else "builder"
        return Ran(self._ask(role, "run", **self._asked(network, case), switch=switch), NOT_COUNTED)

    def _asked(self, network: AnyNetwork, case: Case) -> dict[str, Any]:
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
            for role in list(self._workers):
                self._ask(role, "forget", file=file)
            ok, message, log = self._ask("builder", method, file=file, **asked)
        except WorkerTimeout as error:
            return verdict("hung", f"{self.WHO}: no end within {error.seconds:g} s", (error.log_tail,))
        except WorkerCrashed as error:
            return verdict("crashed", f"{self.WHO}: {error.how}", (error.log_tail,))
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
            raise CheckFailed(f"{self.WHO}: {error.message}") from None

    def _worker(self, role: str) -> Worker:
        if role not in self._workers:
            env = {BINDINGS: self.MODULE, **self._environment()}
            init = {"library": str(self._library), **self._init()}
            self._workers[role] = Worker(self.CHILD, init, timeout=self._timeout, env=env, python=self._python())
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
