"""Loads a library in each host that is installed, each in its own worker process, and describes its creators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pluginkit import elf, layouts
from pluginkit.creators.facts import CreatorFacts
from pluginkit.errors import PluginkitError
from pluginkit.installation import tensorrt8
from pluginkit.library.loadable import loadable
from pluginkit.library.origin import INIT_FUNCTION
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerTimeout
from pluginkit.runtimes.host import session as host
from pluginkit.runtimes.lean import session as lean
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.tensorrt import session as tensorrt

CHILD = "pluginkit.creators.loading_worker"
CHILD8 = "pluginkit.creators.registry8_worker"
EIGHT = layouts.BEFORE_V3.creators_by
LATER = {one.creators_by for one in layouts.LAYOUTS} - {EIGHT}
"""What libraries export for the registry of TensorRT 8, and for the later ones'."""


@dataclass(frozen=True)
class Loaded:
    """A host's answer to a library.

    Attributes:
        runtime: `host`, `tensorrt-lean`, `tensorrt-rtx` or `tensorrt`.
        version: the host's; for pluginkit's host the TensorRT that it plays.
        status: `loaded`, `refused`, `crashed`, `hung`, or `missing`: the host isn't on this machine.
        message: why it isn't loaded.
        creators: those that came with the library.
    """

    runtime: str
    version: str
    status: Literal["loaded", "refused", "crashed", "hung", "missing"]
    message: str = ""
    creators: tuple[CreatorFacts, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return asdict(self)


def load(library: Path, *, timeout: float = 60.0) -> list[Loaded]:
    """Have every host that is here load a library and list its creators."""
    return [
        *(in_host(library, one.host_version, timeout=timeout) for one in loadable(library)),
        *_in_lean(library, timeout),
        in_rtx(library, timeout=timeout),
        *_in_tensorrt8(library, timeout),
    ]


def in_host(library: Path, version: int, *, timeout: float = 60.0) -> Loaded:
    """Load it in pluginkit's host, as TensorRT `version`: a layout's `host_version`, or RTX_HOST."""
    name = next((f"TensorRT {one.number}" for one in layouts.LAYOUTS if one.host_version == version), "TensorRT-RTX")
    return _loaded(host.NAME, f"as {name}", {"kind": "host", "library": library, "version": version}, timeout)


def in_rtx(library: Path, *, timeout: float = 60.0) -> Loaded:
    """Load it in TensorRT-RTX's registry."""
    found = tensorrt_rtx.probe()
    if not found.found:
        return Loaded(tensorrt_rtx.NAME, found.version, "missing", f"{found.reason}; {found.remedy}")
    return _loaded(tensorrt_rtx.NAME, found.version, {"kind": "rtx", "library": library}, timeout)


def _in_lean(library: Path, timeout: float) -> Iterator[Loaded]:
    found = lean.installed()
    if not found:
        absence = lean.probe()
        yield Loaded(lean.NAME, "", "missing", f"{absence.reason}; {absence.remedy}")
    for one in found:
        init = {"kind": "lean", "library": library, "folder": str(one.folder or "")}
        yield _loaded(lean.NAME, one.version, init, timeout)


def _in_tensorrt8(library: Path, timeout: float) -> Iterator[Loaded]:
    """Where there is one: its registry needs no GPU. Not of a library that is for later layouts alone."""
    eight = tensorrt8.find()
    if eight is None or eight.problem:
        return
    exported = {one.name for one in elf.exports(library)}
    if exported & LATER and EIGHT not in exported:
        return
    functions = sorted(name for name in exported if INIT_FUNCTION.fullmatch(name))
    init = {"library": library, "functions": functions, "namespace": ""}
    yield _loaded(tensorrt.NAME, eight.version, init, timeout, {"module": CHILD8, **tensorrt.worker_of(eight)})


def _loaded(
    runtime: str, version: str, init: dict[str, Any], timeout: float, other: Mapping[str, Any] | None = None
) -> Loaded:
    """Its answer; `other` is what a worker gets of an interpreter with another child."""
    given = {"module": CHILD, **(other or {})}
    try:
        with Worker(init={**init, "library": str(Path(init["library"]).resolve())}, timeout=timeout, **given) as worker:
            creators = tuple(worker.call("creators"))
    except WorkerTimeout as error:
        return Loaded(runtime, version, "hung", error.message)
    except WorkerCrashed as error:
        return Loaded(runtime, version, "crashed", error.message)
    except PluginkitError as error:
        return Loaded(runtime, version, "refused", error.message)
    if not creators:
        return Loaded(runtime, version, "refused", "its registry lists no creator that came with the library")
    return Loaded(runtime, version, "loaded", creators=creators)
