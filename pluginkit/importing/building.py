"""TensorRT-RTX on a model with plugin libraries: which operators it knows, the model's inputs, and the build."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pluginkit.errors import CheckFailed
from pluginkit.network.model import NetworkProfile
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerError, WorkerTimeout
from pluginkit.runtimes.rtx import refusals
from pluginkit.runtimes.rtx.session import RtxProcess, probe_library
from pluginkit.runtimes.verdict import BuildVerdict, ModelInput

T = TypeVar("T")

_TYPES = (
    "The plugin's supportsFormatCombination takes no format for the types that its inputs have here: compare them with "
    "what it is written for."
)
_ADVICE = {
    "IPluginCreatorV3One creator only": "TensorRT-RTX takes V3 plugins only: PLUGINKIT_PLUGINS of <pluginkit/entry.h> "
    "adapts a V2 one. The parsers of TensorRT 10 and 11 take V2 plugins; this verdict is not theirs.",
    "Could not create the plugin": "The creator answered null: is a field missing, or of another type than it expects? "
    "pluginkit inspect --load lists its fields.",
    "more output tensors than TRT expected": "Give the node as many outputs as the plugin has.",
    "formatTacticCombinations.empty()": _TYPES,
    "datatype formats are not supported": _TYPES,
    "output shape computation failed": "The plugin refuses its inputs' shapes: its getOutputDimensions or "
    "getOutputShapes gives an error for their rank or sizes.",
    "reshape changes volume": "The shape that the Reshape is given has another number of elements than its input: mend "
    "it in the model, or give the inputs other shapes by --profile.",
    "Plugin not found": "See the problems above: no library has that name, version and namespace.",
}
"""Messages of NVIDIA's parser on plugins, and what to do."""


def advice(verdict: BuildVerdict) -> str:
    """What to do about a refusal; empty if its message is none of the known ones."""
    if verdict.ok:
        return ""
    if row := refusals.recognise(verdict):
        cause = f"NVIDIA's builder fails on {row.cause}, whatever the operator (refusal {row.id})."
        return f"{cause} What builds: {row.instead}."
    return next((what for pattern, what in _ADVICE.items() if pattern in verdict.message), "")


def log_lines(verdict: BuildVerdict) -> list[str]:
    """The log's lines that add to the message: without the parser's own place in its source, and that there is
    no GPU, which nothing here needs.
    """
    lines = (line for line in verdict.log if "ModelImporter.cpp" not in line and "(cudaError 35:" not in line)
    return [line for line in lines if line.partition(": ")[2] not in verdict.message]


class ModelSession(RtxProcess):
    """TensorRT-RTX with libraries loaded, for one model. A context manager."""

    def __init__(self, libraries: Sequence[Path], timeout: float) -> None:
        super().__init__(timeout)
        self._libraries = list(libraries)
        self._lacks_libraries = True
        self._marked: tuple[str, ...] = ()
        self._names: tuple[str, ...] = ()
        self._trace.write_bytes(b"")

    def native(self, operators: Sequence[str]) -> set[str]:
        """Those operators that NVIDIA's parser knows itself; asked before the libraries are loaded.

        Raises:
            WorkerCrashed, WorkerTimeout: its process died, which no plugin has had a part in.
        """
        assert self._worker is None
        self._worker = self._start()
        return set(self._worker.call("supported", operators=list(operators)))

    def inputs(
        self, model: Path, marked: Sequence[str] = (), names: Sequence[str] = ()
    ) -> tuple[list[ModelInput], BuildVerdict | None]:
        """The model's inputs, or the verdict that it isn't parsed.

        `marked` are outputs that are shape tensors; `names` the inputs', which the parser changes in places.
        """
        self._marked, self._names = tuple(marked), tuple(names)
        return self._guarded(lambda: self._parse(model), [])

    def build(self, model: Path, profile: NetworkProfile) -> BuildVerdict:
        """Parses and builds, with the outputs marked as for `inputs`, and keeps what the plugins' configure saw."""
        begun = time.monotonic()
        self._trace.write_bytes(b"")
        verdict, died = self._guarded(lambda: self._build(model, profile), BuildVerdict("refused", ""))
        verdict = died or verdict
        seconds = time.monotonic() - begun
        return replace(verdict, configured=self._configured(), seconds=seconds)

    def _parse(self, model: Path) -> tuple[list[ModelInput], BuildVerdict | None]:
        worker = self._loaded()
        inputs, reason, log = worker.call("parse_file", path=str(model), names=self._names, marked=self._marked)
        return inputs, BuildVerdict("refused", reason, log, printed=_printed(worker, log)) if reason else None

    def _build(self, model: Path, profile: NetworkProfile) -> tuple[BuildVerdict, None]:
        worker = self._loaded()
        ok, message, log = worker.call(
            "build_file", path=str(model), names=self._names, profiles=(profile,), marked=self._marked
        )
        return BuildVerdict("built" if ok else "refused", message, log, printed=_printed(worker, log)), None

    def _loaded(self) -> Worker:
        """The worker, with each library behind a copy of the probe: a copy has globals of its own."""
        if self._worker is None:
            self._worker = self._start()
            self._lacks_libraries = True
        if self._lacks_libraries:
            source = probe_library()
            assert source is not None
            for index, library in enumerate(self._libraries):
                probe = self._folder / f"probe{index}.so"
                shutil.copyfile(source, probe)
                self._worker.call("load_probed", probe=str(probe), library=str(library))
            self._lacks_libraries = False
        return self._worker

    def _ended(self, how: str, log_tail: str) -> str:
        """How the process ended, and where, if a plugin can have had a part in it."""
        if self._libraries:
            return self._died(how, log_tail)
        return f"TensorRT-RTX: {how} in NVIDIA's own code: no plugin is loaded" + (f"\n{log_tail}" if log_tail else "")

    def _guarded(
        self, action: Callable[[], tuple[T, BuildVerdict | None]], nothing: T
    ) -> tuple[T, BuildVerdict | None]:
        try:
            return action()
        except WorkerTimeout as error:
            self._worker = None
            return nothing, BuildVerdict("hung", self._ended(f"no end within {error.seconds:g} s", error.log_tail))
        except WorkerCrashed as error:
            self._worker = None
            return nothing, BuildVerdict("crashed", self._ended(error.how, error.log_tail))
        except (CheckFailed, WorkerError) as error:
            self._end_worker()
            return nothing, BuildVerdict("refused", str(error))


def _printed(worker: Worker, log: Sequence[str]) -> tuple[str, ...]:
    """What was printed besides the log, which goes to stderr too."""
    printed = worker.printed
    for line in log:
        printed = printed.replace(f"{line}\n", "", 1)
    return tuple(line for line in printed.splitlines() if line.strip())
