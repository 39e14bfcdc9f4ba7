"""The worker's side of `checking`: a library in the host, and its checks, each asked in a fork of this process."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from mmap import mmap
from pathlib import Path
from time import monotonic

from pluginkit import host
from pluginkit.adoption.adoption_worker import AdoptedLibrary
from pluginkit.adoption.answers import ListedCreator
from pluginkit.host import DemandWarning, Finding, read_call_file
from pluginkit.process import backtrace, isolated
from pluginkit.process.backtrace import NativeFrame
from pluginkit.process.worker_main import CallFile
from pluginkit.validation import checks
from pluginkit.validation.catalog import CHECKS, NothingToCheck
from pluginkit.validation.fuzzing.covered_loop import CoveredLoop
from pluginkit.validation.fuzzing.inputs import FuzzInput, Target
from pluginkit.validation.fuzzing.libfuzzer import LibFuzzer
from pluginkit.validation.fuzzing.loop import FuzzFinding, FuzzLimits, FuzzLoop, FuzzPart, FuzzState
from pluginkit.validation.subject import MOST_OF_AN_ATTEMPT, Known, Subject

assert checks.__all__  # imported for what it enters into CHECKS


AFTER_A_HANG = 1.0
"""Seconds for a check of a plugin that has hung in another."""


GUESSED = ("nothing", "ones", "zeros", "draws")
"""`PluginAnswers.made` of a plugin whose fields were not given."""
SERIALIZING = ("serialize", "getSerializationSize")
"""Methods that TensorRT calls of a plugin that is configured."""
OF_SIZES = (
    "configurePlugin",
    "initialize",
    "onShapeChange",
    "getWorkspaceSize",
    "getOutputDimensions",
    "getOutputShapes",
)
"""Methods that are given sizes, and initialize, which works with what configurePlugin was given."""
REFUSALS = ("C13", "L6", "V8", "T9")
"""What they break where they refuse them."""


@dataclass(frozen=True)
class Answer:
    """What a check's function came to.

    Attributes:
        check: its id.
        finding: rule, method, message and hint; None where it raised none.
        warnings: those noted meanwhile, of whatever rule.
        skipped: why there was nothing to check.
        ending: how its process ended instead, as of `ForkOutcome`.
        method: the native call in which it did; empty where it was in none.
        frames: where it did, as far as that is known.
        attempt: what the plugin was given then, where the check has noted it.
        absent: the function that it called first of a library that isn't on this machine.
        beyond: the memory that the plugin was given whose end its access has left, as of `LastCall`.
    """

    check: str
    finding: tuple[str, str, str, str] | None = None
    warnings: tuple[DemandWarning, ...] = ()
    skipped: str = ""
    ending: str = ""
    method: str = ""
    frames: tuple[NativeFrame, ...] = ()
    attempt: str = ""
    absent: str = ""
    beyond: str = ""


@dataclass(frozen=True)
class ForkLimits:
    """What a check may take.

    Attributes:
        seconds: for one.
        memory: bytes.
    """

    seconds: float
    memory: int


def open(  # noqa: A001
    call_file: CallFile, library: Path, version: int, libfuzzer: Path | None = None
) -> CheckedLibrary:
    """Load the library in a host that says it is TensorRT `version`, behind `libfuzzer` where it counts its edges.

    Raises:
        UsageError, CheckFailed: it can't be loaded, or has no creators.
    """
    host.set_call_file(call_file.path)
    host.set_backtrace_file(backtrace.beside(call_file.path))
    fuzzer = LibFuzzer(libfuzzer) if libfuzzer else None
    return CheckedLibrary(host.Library(library, version), call_file.path, fuzzer)


class CheckedLibrary(AdoptedLibrary):
    """A plugin library in this process, which asks its checks in forks."""

    def __init__(self, library: host.Library, crumb: Path, libfuzzer: LibFuzzer | None = None) -> None:
        super().__init__(library, crumb)
        self._libfuzzer = libfuzzer
        self._warnings = host.take_warnings()

    def loaded(self) -> tuple[list[ListedCreator], tuple[DemandWarning, ...]]:
        """What getCreators answers, and what loading the library has shown."""
        return self.creators(), self._warnings

    def ask(
        self, index: int, names: Sequence[str], known: Known, limits: ForkLimits, within: bool = False
    ) -> list[Answer]:
        """Asks checks of a creator, each with a plugin of its own, in a fork of its own.

        Args:
            index: of the creator.
            names: ids of checks.
            known: of its plugin.
            limits: of one.
            within: ask in this process, for a debugger.
        """
        found = []
        listed = bool(self._library.creators[index].fields)
        each = limits.seconds
        for name in names:
            # Not one that another check has left its marks on.
            subject = self._subject(index, known)
            if within:
                # A plugin of an earlier check must not outlive the library.
                gc.collect()
                found.append(of_guess(_ask(name, subject), known, listed=listed))
                continue
            answer = self._asked(name, subject, each, limits.memory)
            if answer.ending and answer.method.rpartition("::")[2] in SERIALIZING and subject.creator.kind == "v2":
                answer = self._once_configured(answer, subject, each, limits.memory)
            if answer.ending == isolated.HUNG:
                # What hangs once will hang in other checks too.
                each = min(each, AFTER_A_HANG)
            found.append(of_guess(answer, known, listed=listed))
        return found

    def _asked(self, name: str, subject: Subject, each: float, memory: int) -> Answer:
        """The answer of a fork, or how it ended."""
        attempts, trace = mmap(-1, MOST_OF_AN_ATTEMPT), backtrace.beside(self._crumb)
        question = partial(_ask, name, replace(subject, attempts=attempts), trace)
        (outcome,) = isolated.ask([question], each=each, end=monotonic() + each, most_memory=memory)
        if outcome.ok:
            answer: Answer = outcome.answer
            return answer
        if outcome.refusal:
            raise RuntimeError(f"check {name} of {subject.creator}: {outcome.refusal}")
        last = read_call_file(self._crumb)
        attempt = attempts[:].rstrip(b"\0").decode(errors="replace")
        frames = backtrace.read(trace)
        if last is None:
            return Answer(name, ending=outcome.ending, frames=frames, attempt=attempt)
        method, beyond = (last.name, last.beyond) if last.inside else ("", "")
        return Answer(name, None, (), "", outcome.ending, method, frames, attempt, last.absent, beyond)

    def _once_configured(self, ended: Answer, subject: Subject, each: float, memory: int) -> Answer:
        """The same of plugins that are configured before: TensorRT serializes no other (docs/fidelity.md)."""
        if subject.has_inputs:
            return self._asked(ended.check, replace(subject, configured_first=True), each, memory)
        why = (
            f"{ended.method} ends the process ({ended.ending}) before configurePlugin, where TensorRT doesn't call it, "
        )
        return Answer(
            ended.check, skipped=f"{why}and it is not known which inputs the plugin takes: --model MODEL.onnx"
        )

    def fuzz_good(self, index: int, target: Target, known: Known, limits: FuzzLimits) -> FuzzInput | str:
        """An input of a target that a creator's plugin takes, or why there is none."""
        return self._loop(index, known, limits).good(target)

    def fuzz(
        self, index: int, known: Known, limits: FuzzLimits, state: FuzzState, seconds: float, most: int
    ) -> FuzzPart:
        """Gives inputs to a creator's plugin; the arguments are those of `FuzzLoop.run`."""
        return self._loop(index, known, limits).run(state, seconds, most)

    def fuzz_one(self, index: int, known: Known, limits: FuzzLimits, given: FuzzInput) -> FuzzFinding | None:
        """Gives it one input."""
        return self._loop(index, known, limits).repeat(given)

    def fuzz_smaller(
        self, index: int, known: Known, limits: FuzzLimits, finding: FuzzFinding, good: FuzzInput
    ) -> FuzzFinding:
        """A finding by an input that differs less from a good one."""
        return self._loop(index, known, limits).smaller(finding, good)

    def _loop(self, index: int, known: Known, limits: FuzzLimits) -> FuzzLoop:
        subject = self._subject(index, known)
        if self._libfuzzer is not None:
            return CoveredLoop(subject, self._crumb, limits, self._libfuzzer)
        return FuzzLoop(subject, self._crumb, limits)

    def _subject(self, index: int, known: Known) -> Subject:
        creator = self._library.creators[index]
        return Subject(creator, known.answers, known.sizes, known.types, known.network, self._library)


def _ask(name: str, subject: Subject, trace: Path | None = None) -> Answer:
    if trace is not None:
        host.set_backtrace_file(trace)
    host.take_warnings()
    host.stand_ins.forget_absent_call()
    finding, skipped = None, ""
    try:
        CHECKS[name].ask(subject)
    except Finding as error:
        finding = (error.rule, error.method, error.observed, error.hint)
    except NothingToCheck as reason:
        skipped = str(reason)
    return Answer(name, finding, host.take_warnings(), skipped, absent=host.stand_ins.absent_call())


def of_guess(answer: Answer, known: Known, *, listed: bool) -> Answer:
    """The answer, or that there is none: where what the plugin calls isn't on this machine; and where it has refused
    what was not given, for it may assert its own sizes, and that it has its fields, of which the creator has `listed`
    some."""
    if answer.absent and (answer.ending or answer.finding or answer.warnings):
        method = answer.finding[1] if answer.finding else answer.method
        what = (
            answer.finding[2] if answer.finding else f"the process ended with {answer.ending}" if answer.ending else ""
        )
        where = ": ".join(filter(None, (method, what)))
        why = f"it called {answer.absent}, which is not on this machine" + (f" ({where})" if where else "")
        return Answer(answer.check, skipped=why)
    guessed = known.answers.made in GUESSED and not CHECKS[answer.check].provokes
    if guessed and listed and answer.ending and answer.method.endswith("::createPlugin"):
        why = f"the process ended with {answer.ending} in {answer.method}, of fields that were guessed"
        return replace(answer, skipped=f"{why}: --model MODEL.onnx gives values", ending="", method="", frames=())
    if known.sizes:
        return answer
    method = answer.finding[1] if answer.finding else answer.method
    if method.rpartition("::")[2] not in OF_SIZES or (answer.finding and answer.finding[0] not in REFUSALS):
        return answer
    what = answer.finding[2] if answer.finding else f"the process ended with {answer.ending}"
    skipped = f"{method} refuses the sizes that were guessed ({what}): --model MODEL.onnx gives real ones"
    return replace(answer, finding=None, skipped=skipped, ending="", method="", frames=())
