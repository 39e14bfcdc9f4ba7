"""TensorRT-RTX on a model with plugin libraries: which operators it knows, the model's inputs, and the build."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, get_args

from pluginkit import elf
from pluginkit.errors import CheckFailed
from pluginkit.importing.implementations import Implementation
from pluginkit.library.origin import registers_here
from pluginkit.network.networks import NetworkProfile
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerError, WorkerTimeout
from pluginkit.runtimes.rtx import refusals
from pluginkit.runtimes.rtx.session import RtxProcess, probe_library
from pluginkit.runtimes.verdict import BuildVerdict, ModelInput

T = TypeVar("T")
NAMED = 3
"""So many nodes are named."""

_TYPES = (
    "The plugin's supportsFormatCombination takes no format for the types that its inputs have here: compare them with "
    "what it is written for."
)
_CREATOR = (
    "The creator answered null: is a field missing, or of another type than it expects? pluginkit inspect --load lists "
    "its fields. The length of a text counts its closing zero."
)
_REFUSALS = (_TYPES, _CREATOR)
_ADVICE = {
    "IPluginCreatorV3One creator only": "TensorRT-RTX takes V3 plugins only: PLUGINKIT_PLUGINS of <pluginkit/entry.h> "
    "adapts a V2 one. The parsers of TensorRT 10 and 11 take V2 plugins; this verdict is not theirs.",
    "Could not create the plugin": _CREATOR,
    "more output tensors than TRT expected": "Give the node as many outputs as the plugin has.",
    "formatTacticCombinations.empty()": _TYPES,
    "datatype formats are not supported": _TYPES,
    "output shape computation failed": "The plugin refuses its inputs' shapes: its getOutputDimensions or "
    "getOutputShapes gives an error for their rank or sizes.",
    "reshape changes volume": "The shape that the Reshape is given has another number of elements than its input: fix "
    "it in the model, or give the inputs other shapes by --profile.",
    "Plugin not found": "See the problems above: no library has that name, version and namespace.",
}
"""Messages of NVIDIA's parser on plugins, and what to do."""


LOOPS = ("Loop", "Scan", "LSTM", "GRU", "RNN")


def refusal(verdict: BuildVerdict, implementations: Sequence[Implementation]) -> refusals.Refusal | None:
    """The row of `runtimes.rtx.refusals` that speaks of a model with these nodes."""
    return refusals.recognise(verdict, has=structures(implementations))


def structures(implementations: Sequence[Implementation]) -> set[refusals.Structure]:
    """What of `runtimes.rtx.refusals.Structure` a model has."""
    found: set[refusals.Structure] = set()
    for one in implementations:
        kind, flow = one.place.node.op_type, one.place.flow
        found |= {"if"} if kind == "If" or "If" in flow else set()
        found |= {"loop"} if kind in LOOPS or set(LOOPS) & set(flow) else set()
        found |= {"loop in if"} if kind in LOOPS and "If" in flow else set()
        found |= {"if in if"} if kind == "If" and "If" in flow else set()
        found |= {"cast"} if kind in {"Cast", "CastLike"} else set()
        found |= {"quantize"} if one.by == "plugin" or kind in {"Cast", "QuantizeLinear"} else set()
        if one.by == "plugin":
            found |= {"plugin", "plugin in flow"} if flow else {"plugin"}
        # What a function's nodes stand in isn't known from its own graph.
        if one.by == "function":
            found |= set(get_args(refusals.Structure))
    found |= {"flow"} if found & {"if", "loop"} else set()
    return found


def unexplained(verdict: BuildVerdict, implementations: Sequence[Implementation]) -> str:
    """What is said of a refusal that nothing here explains: the nodes that NVIDIA's words name."""
    words = "\n".join((verdict.message, *verdict.log))
    named = [
        one.place.label
        for one in implementations
        if (name := one.place.node.name) and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words)
    ]
    where = f"they name {', '.join(dict.fromkeys(named[:NAMED]))}" if named else "they name none of the model's nodes"
    return f"Nothing here explains NVIDIA's words; {where}. pluginkit doctor --cut builds a part of the model alone."


def advice(verdict: BuildVerdict, implementations: Sequence[Implementation] = (), proved: str = "") -> str:
    """What to do about a refusal of a model with these nodes; empty if its message is not one of the known ones.

    `proved` is what the host's run found that the plugin would take instead.
    """
    if verdict.ok:
        return ""
    if row := refusal(verdict, implementations):
        cause = f"NVIDIA's builder fails on {row.cause}, whatever the operator (refusal {row.id})."
        return f"{cause} What builds: {row.instead}."
    found = next((what for pattern, what in _ADVICE.items() if pattern in verdict.message), "")
    if proved and found in _REFUSALS:
        return proved
    return " ".join((found, *_quantized(implementations))) if found == _TYPES else found


def _quantized(implementations: Sequence[Implementation]) -> Iterator[str]:
    """Of the first plugin between DequantizeLinear and QuantizeLinear: what an INT8 plugin needs instead."""
    made = {name: one.place.node.op_type for one in implementations for name in one.place.node.output if name}
    read = {
        name
        for one in implementations
        if one.place.node.op_type == "QuantizeLinear"
        for name in one.place.node.input[:1]
    }
    for one in implementations:
        node = one.place.node
        given = [name for name in node.input if made.get(name) == "DequantizeLinear"]
        if one.by == "plugin" and given and read & set(node.output):
            text = f"{one.place.label} gets FP32, since {given[0]} comes from a DequantizeLinear. If the plugin takes "
            yield text + "INT8 alone, give it the QuantizeLinear's output, and put the DequantizeLinear behind it."
            return


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
                if registers_here(elf.read(library), rtx=True) is not None:
                    self._worker.call("load", library=str(library))
                    continue
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
