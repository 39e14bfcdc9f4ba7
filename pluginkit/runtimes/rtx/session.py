"""NVIDIA's TensorRT-RTX: its ONNX parser and its builder evaluator networks with the plugin, without a GPU.

Its parser takes V3 creators only, so of a V2 plugin it tests the V3 adapter around it. A probe library stands
between: it shows what the plugin was asked, and what it was doing when the process died. Engines are built here;
`rtx_engines` runs them, where there is a GPU that RTX runs on.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typing_extensions import Self

from pluginkit import installation
from pluginkit.errors import CheckFailed, ToolMissing
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork, ApiNetwork
from pluginkit.network.networks import Dims, Network
from pluginkit.paths import built_dir
from pluginkit.process import standby
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerError, WorkerTimeout
from pluginkit.runtimes.nvidia import unversioned_name
from pluginkit.runtimes.rtx import leniencies
from pluginkit.runtimes.rtx.refusals import Hidden
from pluginkit.runtimes.verdict import Availability, BuildVerdict, Configured, Status

NAME = "tensorrt-rtx"
CHILD = "pluginkit.runtimes.rtx.rtx_worker"
OLDEST = (1, 7)
"""1.6.1 and older refuse plugin nodes."""
CONFIGURE = "IPluginV3OneBuild::configurePlugin"


def probe() -> Availability:
    """Whether NVIDIA's wheels and pluginkit's probe library are there. Loads nothing."""
    libraries = importlib.util.find_spec("tensorrt_rtx_libs")
    if libraries is None or libraries.origin is None or importlib.util.find_spec("tensorrt_rtx") is None:
        return Availability(
            False, reason="the Python package tensorrt_rtx is not installed", remedy=installation.extra("rtx")
        )
    version = importlib.metadata.version("tensorrt_rtx")
    where = Path(libraries.origin).parent
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        reason = f"tensorrt_rtx {version} takes no plugins from ONNX models; 1.7.1 and later do"
        return Availability(False, version, str(where), reason, installation.extra("rtx"))
    if not list(where.glob(f"{unversioned_name.NAME}.*")):
        return Availability(
            False, version, str(where), f"{where} has no {unversioned_name.NAME}.*", installation.extra("rtx")
        )
    if probe_library() is None:
        reason = "pluginkit's probe library _probe.so is not built"
        return Availability(False, version, str(where), reason, "Reinstall pluginkit.")
    return Availability(True, version, str(where))


def open(library: Path, manifest: Manifest, *, timeout: float = 60.0, check: bool = True) -> RtxSession:  # noqa: A001
    """Has NVIDIA's registry load the library, in a process of its own, and checks that it lists the plugin.

    Args:
        library: the plugin library.
        manifest: the plugin's.
        timeout: seconds that any one call may take.
        check: whether that is to be checked; False for one more session of a library that was.

    Raises:
        ToolMissing: see `probe`.
        CheckFailed: the registry doesn't load the library, or lists no V3 creator of the manifest's plugin.
        WorkerCrashed, WorkerTimeout: loading took the process down, or never ended.
    """
    found = probe()
    if not found.found:
        raise ToolMissing(f"TensorRT-RTX: {found.reason}", hint=found.remedy)
    session = RtxSession(library.resolve(), manifest, timeout)
    try:
        if check:
            session.check()
    except BaseException:
        session.close()
        raise
    return session


class RtxProcess:
    """TensorRT-RTX in a worker, with plugin libraries behind a probe. A context manager."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._folder = Path(tempfile.mkdtemp(prefix="pluginkit-rtx-"))
        self._trace = self._folder / "trace"
        self._worker: Worker | None = None

    def _start(self, library: str = "") -> Worker:
        probe = {
            "PLUGINKIT_PROBE_LIBRARY": library,
            "PLUGINKIT_PROBE_TRACE": str(self._trace),
            **({"PLUGINKIT_PROBE_IDENTITY": "1"} if library else {}),
        }
        worker = standby.worker(CHILD, self._timeout)
        try:
            worker.call("set_probe", environment=probe)
        except BaseException:
            worker.close()
            raise
        return worker

    def _calls(self) -> list[dict[str, Any]]:
        """What the plugins were asked, as the probe has written it down."""
        calls = []
        # A plugin's texts need not be UTF-8. (splitlines would also split at separators that are not ends of lines.)
        for line in self._trace.read_text(encoding="utf-8", errors="replace").split("\n"):
            # The process may have died in the middle of the last line.
            with contextlib.suppress(json.JSONDecodeError):
                calls.append(json.loads(line))
        return calls

    def _configured(self) -> tuple[Configured, ...]:
        calls = (call for call in self._calls() if call.get("enter") == CONFIGURE)
        return tuple(Configured.of(call["node"], call) for call in calls)

    def _died(self, how: str, log_tail: str) -> str:
        """How it ended and in which of the plugin's methods."""
        inside: list[dict[str, Any]] = []
        last = ""
        for call in self._calls():
            if "enter" in call:
                inside.append(call)
            elif inside:
                last = inside.pop()["enter"]
        if inside:
            where = f" in {inside[-1]['enter']} of layer {inside[-1]['node']!r}"
        else:
            where = f" outside of the plugin, after {last}" if last else " before the plugin was called"
        return f"TensorRT-RTX: {how}{where}" + (f"\n{log_tail}" if log_tail else "")

    def _end_worker(self) -> None:
        if self._worker is not None:
            self._worker.close()
        self._worker = None

    def close(self) -> None:
        """Ends the process and removes the files."""
        self._end_worker()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class RtxSession(RtxProcess):
    """One plugin library in TensorRT-RTX. A context manager."""

    def __init__(self, library: Path, manifest: Manifest, timeout: float) -> None:
        super().__init__(timeout)
        self._library = library
        self._plugin = manifest.plugin
        self._hidden = ""

    def check(self) -> None:
        """Has the registry load the library itself, without the probe.

        Raises:
            CheckFailed: NVIDIA's message on why not.
            WorkerCrashed, WorkerTimeout: loading took the process down, or never ended.
        """
        with self._start(str(self._library)) as worker:
            worker.call("load", library=str(self._library))
            creators = worker.call("creators")
        wanted = (self._plugin.name, self._plugin.version, self._plugin.namespace)
        kinds = [kind for *identity, kind in creators if tuple(identity) == wanted]
        name = f"{self._plugin.name} {self._plugin.version} in namespace {self._plugin.namespace!r}"
        if not kinds:
            listed = ", ".join(f"{c[0]} {c[1]} in {c[2]!r}" for c in creators) or "none"
            raise CheckFailed(f"{self._library}: TensorRT-RTX's registry lists no creator {name}; new: {listed}")
        if kinds != ["IPluginCreatorV3One"]:
            raise CheckFailed(
                f"{self._library}: TensorRT-RTX's registry lists {name} as {', '.join(kinds)}",
                hint="Its parser takes IPluginCreatorV3One only: <pluginkit/entry.h> gives it one.",
            )

    def without(self, hidden: Sequence[Hidden], network: AnyNetwork) -> BuildVerdict:
        """As `build` or `build_api`, but as if no plugin wanted a workspace, or none had aliases: an experiment."""
        self._hide(",".join(hidden))
        try:
            return self.build_api(network) if isinstance(network, ApiNetwork) else self.build(network)
        finally:
            self._hide("")

    def build(self, network: Network, *, as_exported: bool = False) -> BuildVerdict:
        """Parses and builds a network with NVIDIA's parser and builder.

        Args:
            network: what to build, with all its profiles. If it is a format's variant, the builder is held to the
                format: the probe refuses all others that the plugin offers.
            as_exported: write the plugin's nodes as exporters do first (`walker.as_exported`).
        """
        asked = {
            "model": network.model,
            "profiles": network.profiles,
            "exported": self._plugin.name if as_exported else "",
            "formats": [form.code for form in network.held_formats],
        }
        return self._verdict("build", asked)

    def build_api(self, network: ApiNetwork) -> BuildVerdict:
        """Makes a network by NVIDIA's API and builds it. Its plugin layers come from NVIDIA's parser."""
        return self._verdict("build_api", {"network": network})

    def shapes(self) -> dict[str, Dims]:
        """The outputs' shapes in the network built last, -1 for what is dynamic."""
        found: dict[str, Dims] = self._worker.call("shapes") if self._worker else {}
        return found

    def _verdict(self, method: str, asked: dict[str, Any]) -> BuildVerdict:
        begun = time.monotonic()
        self._trace.write_bytes(b"")
        status, message, log = self._judge(method, asked)
        seconds = time.monotonic() - begun
        lenient = leniencies.seen(self._calls(), self._plugin.name, self._plugin.version)
        return BuildVerdict(status, message, log, self._configured(), seconds, tuple(lenient))

    def _hide(self, what: str) -> None:
        """From now on, also in a process that is started after a crash."""
        self._hidden = what
        if self._worker is not None:
            self._worker.call("hide", what=what)

    def _judge(self, method: str, asked: dict[str, Any]) -> tuple[Status, str, tuple[str, ...]]:
        """The status, the message and the log."""
        try:
            if self._worker is None:
                self._worker = self._start(str(self._library))
                self._worker.call("load", library=str(probe_library()))
                if self._hidden:
                    self._worker.call("hide", what=self._hidden)
            ok, message, log = self._worker.call(method, **asked)
        except WorkerTimeout as error:
            self._worker = None
            return "hung", self._died(f"no end within {error.seconds:g} s", ""), _errors_first(error.log_tail)
        except WorkerCrashed as error:
            self._worker = None
            return "crashed", self._died(error.how, ""), _errors_first(error.log_tail)
        except (CheckFailed, WorkerError) as error:
            self._end_worker()
            return "refused", str(error), ()
        return "built" if ok else "refused", message, log


def _errors_first(printed: str) -> tuple[str, ...]:
    """What a process printed before it died, the errors of its log first."""
    return tuple(sorted(printed.splitlines(), key=lambda line: not line.startswith(("error:", "internal_error:"))))


def probe_library() -> Path | None:
    """The library that stands between NVIDIA's and a plugin's; None if pluginkit is not built whole."""
    path = built_dir() / "_probe.so"
    return path if path.is_file() else None
