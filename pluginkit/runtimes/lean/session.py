"""NVIDIA's plugin registry of TensorRT 10 and 11, from the tensorrt-lean wheels: its verdict on V2 creators.

A lean library has no builder: `build` has the registry make each plugin of a network, serialize, deserialize and clone
it. The wheels of two major versions can't be installed side by side, so a folder made by `pip install --target` can be
named by PLUGINKIT_LEAN10 and PLUGINKIT_LEAN11.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import Self

from pluginkit import installation
from pluginkit.bases import BASES
from pluginkit.errors import CheckFailed, ToolMissing
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerError, WorkerTimeout
from pluginkit.runtimes.host import session as host
from pluginkit.runtimes.verdict import Availability, BuildVerdict

NAME = "tensorrt-lean"
CHILD = "pluginkit.runtimes.lean.lean_worker"
FOLDERS = ("PLUGINKIT_LEAN11", "PLUGINKIT_LEAN10")
STAYED = "not unloaded: two of its plugins have one name, which this registry does not survive"
DISTRIBUTIONS = ("tensorrt_lean_cu13", "tensorrt_lean_cu12")


@dataclass(frozen=True)
class Lean:
    """An installed tensorrt-lean: its version, and the folder that it is imported from; None where pip put it."""

    version: str
    folder: Path | None


def installed() -> list[Lean]:
    """Every tensorrt-lean that can be had: the two folders' and the environment's own."""
    named = [Path(os.environ[name]) for name in FOLDERS if os.environ.get(name)]
    found = [Lean(_version([str(folder)]), folder) for folder in named if (folder / "tensorrt_lean").is_dir()]
    if importlib.util.find_spec("tensorrt_lean") is not None:
        found.append(Lean(_version(sys.path), None))
    return found


def _version(path: list[str]) -> str:
    for distribution in importlib.metadata.distributions(path=path):
        if distribution.metadata["Name"].replace("-", "_") in DISTRIBUTIONS:
            return str(distribution.version)
    return ""


def probe() -> Availability:
    """Whether there is one. Loads nothing."""
    found = installed()
    if not found:
        reason = (
            f"the Python package tensorrt_lean is not installed, and neither {' nor '.join(FOLDERS)} names a folder"
        )
        return Availability(False, reason=reason, remedy=installation.extra("lean"))
    where = ", ".join(str(lean.folder or "the Python environment") for lean in found)
    return Availability(True, ", ".join(lean.version for lean in found), where)


def open(  # noqa: A001
    library: Path, manifest: Manifest, *, timeout: float = 60.0, lean: Lean | None = None
) -> LeanSession:
    """Has the registry load the library, and checks that it lists the plugin, by an interface of its base.

    Args:
        library: the plugin library.
        manifest: names the plugin.
        timeout: seconds for each call.
        lean: one of `installed`; None means the first.

    Raises:
        ToolMissing: there is no tensorrt-lean.
        CheckFailed: the registry doesn't load the library or doesn't list the plugin, with NVIDIA's message.
        WorkerCrashed, WorkerTimeout: loading took the process down, or never ended.
    """
    found = installed()
    if lean is None and not found:
        raise ToolMissing(f"tensorrt-lean: {probe().reason}", hint=installation.extra("lean"))
    return LeanSession(library.resolve(), manifest, timeout, lean or found[0])


class LeanSession:
    """A plugin library in NVIDIA's registry. A context manager."""

    def __init__(self, library: Path, manifest: Manifest, timeout: float, lean: Lean) -> None:
        self.lean = lean
        self._manifest = manifest
        plugin = manifest.plugin
        self._init: dict[str, Any] = {
            "library": str(library),
            "identity": (plugin.name, plugin.version, plugin.namespace),
            "v3": BASES[plugin.base].generation == "v3",
            "folder": str(lean.folder) if lean.folder else "",
        }
        self._timeout = timeout
        self._worker: Worker | None = self._start()

    def _start(self) -> Worker:
        return Worker(CHILD, self._init, timeout=self._timeout)

    def build(self, network: Network) -> BuildVerdict:
        """Makes, serializes, deserializes and clones each plugin of a network by the registry.

        Of an IPluginV3 NVIDIA's Python module reaches less: it is made for both phases, for kRUNTIME of the fields that
        the host has found to be kept, and its core capability is asked.
        """
        if self._init["v3"]:
            return self._judge(lambda worker: self._check_v3(worker, network))

        def ask(worker: Worker) -> str:
            for call in network.calls:
                worker.call("check", node=call.node, fields=call.fields)
            return "made, restored and cloned"

        return self._judge(ask)

    def _check_v3(self, worker: Worker, network: Network) -> str:
        with host.open(Path(self._init["library"]), self._manifest, timeout=self._timeout) as session:
            built = session.build(network)
            if not built.ok:
                raise CheckFailed(f"nothing to restore a plugin of: {built.message}")
            kept = session.kept(network)
        for call in network.calls:
            fields = [(field.name, field.type, field.data) for field in kept[call.node]]
            worker.call("check_v3", node=call.node, fields=call.fields, kept=fields)
        return "made, and made again of what is kept"

    def registry(self) -> BuildVerdict:
        """Asks for namespaces, duplicates, unloading and loading again."""
        with tempfile.TemporaryDirectory(prefix="pluginkit-lean-") as folder:
            copy = Path(folder) / f"copy-of-{Path(self._init['library']).name}"
            shutil.copyfile(self._init["library"], copy)

            def ask(worker: Worker) -> str:
                if worker.call("registry", copy=str(copy)):
                    return "found in its namespace alone, a duplicate refused, unloaded and loaded again"
                return f"found in its namespace alone, a duplicate refused; {STAYED}"

            return self._judge(ask)

    def creators(self) -> list[tuple[str, str, str]]:
        """The name, version and namespace of each creator that the registry has of the library."""
        found: list[tuple[str, str, str]] = self._running().call("creators")
        return found

    def _running(self) -> Worker:
        self._worker = self._worker or self._start()
        return self._worker

    def _judge(self, ask: Callable[[Worker], str]) -> BuildVerdict:
        begun = time.monotonic()
        try:
            done = ask(self._running())
            verdict = BuildVerdict("built", f"TensorRT {self.lean.version}'s registry: {done}")
        except WorkerTimeout as error:
            self._worker, verdict = None, BuildVerdict("hung", error.message)
        except WorkerCrashed as error:
            self._worker, verdict = None, BuildVerdict("crashed", error.message)
        except (CheckFailed, WorkerError) as error:
            verdict = BuildVerdict("refused", str(error))
        return BuildVerdict(verdict.status, verdict.message, seconds=time.monotonic() - begun)

    def close(self) -> None:
        """Ends the process."""
        if self._worker is not None:
            self._worker.close()
        self._worker = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
