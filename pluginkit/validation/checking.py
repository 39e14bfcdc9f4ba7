"""Runs checks of a library, and makes a report of what they came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from pluginkit.adoption import node
from pluginkit.adoption.answers import ListedCreator, selected
from pluginkit.errors import CheckFailed, PluginCrashed, PluginkitError
from pluginkit.host import Finding
from pluginkit.library import inspect
from pluginkit.manifest.project import Member
from pluginkit.process import backtrace
from pluginkit.validation.asking import Ask, Asker, Begin, First, pool_asker
from pluginkit.validation.catalog import CHECKS, Check
from pluginkit.validation.judging import obstacle, result_of, results_of
from pluginkit.validation.results import CheckResult, Ending
from pluginkit.validation.subject import Known
from pluginkit.validation.subjects import manifests, model_reading
from pluginkit.validation.subjects.asking import MoreSubjects
from pluginkit.validation.subjects.evidence import RunEvidence
from pluginkit.validation.subjects.model_nodes import ModelSubject
from pluginkit.validation.validation_worker import Answer, ForkLimits

Step = Callable[[str, int, int | None], None]
UNLOADS = "B23"
"""The check behind which no other can be asked in the same process."""


@dataclass(frozen=True)
class CheckedPlugin:
    """A creator that was checked.

    Attributes:
        name, version, namespace: its identity.
        base: its plugin's class; empty where it is not known.
        made: how its plugin was made, as of `PluginAnswers`.
        layout: of TensorRT's classes (10, 11), that the plugin was called in.
    """

    name: str
    version: str
    namespace: str
    base: str
    made: str
    layout: int


@dataclass(frozen=True)
class CheckReport:
    """What came of a run.

    Attributes:
        library: the file.
        plugins: the creators, in the library's order.
        results: of each check that was chosen, for the file or for each creator.
        strict: whether a warning counts as a failure.
    """

    library: Path
    plugins: tuple[CheckedPlugin, ...]
    results: tuple[CheckResult, ...]
    strict: bool = False

    def count(self, ending: Ending) -> int:
        """How many checks ended so."""
        return sum(one.ending is ending for one in self.results)

    @property
    def counts(self) -> str:
        """How many checks there were, and how many ended in which way: `3 checks: 1 passed, 2 warnings`."""
        endings = Counter(self.ending_of(one) for one in self.results)
        parts = [
            f"{endings[one]} {one.value}{'s' * (one is Ending.WARNING and endings[one] > 1)}"
            for one in Ending
            if endings[one]
        ]
        return f"{len(self.results)} check{'s' * (len(self.results) != 1)}: {', '.join(parts) or 'none asked'}"

    def ending_of(self, one: CheckResult) -> Ending:
        """How a check counts: with `strict` a warning has failed."""
        return Ending.FAILED if self.strict and one.ending is Ending.WARNING else one.ending

    @property
    def bad(self) -> tuple[CheckResult, ...]:
        """The results that make the run fail."""
        return tuple(one for one in self.results if self.ending_of(one).bad)

    @property
    def exit_code(self) -> int:
        """6 where something crashed, 1 where something failed, else 0."""
        if any(one.ending is Ending.CRASHED for one in self.bad):
            return PluginCrashed.exit_code
        return CheckFailed.exit_code if self.bad else 0


@dataclass(frozen=True)
class CheckLimits:
    """What a run of checks may take.

    Attributes:
        seconds: for one check, and for loading the library.
        memory: bytes that the process of a check may have in use.
        jobs: workers at once; 0: as many as there are cores.
    """

    seconds: float = 10.0
    memory: int = 4 << 30
    jobs: int = 0


def check_library(
    library: Path,
    chosen: Sequence[Check],
    *,
    wanted: Sequence[str] = (),
    model: Path | None = None,
    members: Sequence[Member] = (),
    evidence: Mapping[str, RunEvidence] | None = None,
    limits: CheckLimits = CheckLimits(),
    strict: bool = False,
    in_process: bool = False,
    asker: AbstractContextManager[Asker] | None = None,
    step: Step = lambda *_: None,
) -> CheckReport:
    """Ask checks of a plugin library.

    Args:
        library: the `.so`.
        chosen: the checks, as `catalog.choose` gives them.
        wanted: creators, as `Name` or `Name:version`; none: all.
        model: an ONNX model: its first node of each plugin has the values of fields, and sizes.
        members: the plugins' manifests, where there are any: they have values of fields, types and sizes, and switch
            checks off.
        evidence: what test runs have shown of them, by the plugin's name.
        limits: of time, memory and workers. The report is the same however many workers there are.
        strict: warnings count as failures.
        in_process: ask without forks, for a debugger: a crash ends the run.
        asker: what asks the library's hosts; None: threads of this process, as many as `limits` says.
        step: called with what is being checked, how many groups of checks are done, and of how many.

    Raises:
        UsageError: no such library, one for another machine, no such creator, a model without a node of it, a manifest
            that switches off what is not a check.
    """
    manifests.check_switches(one.manifest for one in members)
    facts = inspect(library)
    results = [result_of(one, "", facts) for one in chosen if one.need == "file"]
    asked = [one for one in chosen if one.need != "file"]
    if not asked:
        return CheckReport(library, (), tuple(results), strict)
    step("loading the library", 0, None)
    with asker or pool_asker(library, limits.jobs, in_process=in_process) as pool:
        (first,) = pool.all([First(limits.seconds)])
        if isinstance(first, PluginkitError):
            results += _unloaded(asked, first, {one.check for one in results if one.is_finding})
            return CheckReport(library, (), tuple(results), strict)
        # dlopen(3) has found all that B12 asks for: it knows LD_PRELOAD and the program's own rpath, too.
        results = [
            CheckResult("B12", "", Ending.PASSED) if one.check == "B12" and one.is_finding else one for one in results
        ]
        creators, warnings = first
        subjects = model_reading.read(model, library, creators, members) if model is not None else {}
        nodes = node.read(model, creators) if model is not None and not any(map(_is_broken, subjects.values())) else {}
        extra = MoreSubjects(creators, members, subjects, evidence or {})
        results += extra.missing(asked, wanted)
        direct = [one for one in asked if one.need in ("loaded", "plugin")]
        made = any(one.need in ("plugin", "manifest") for one in asked)
        there = [one for creator in selected(creators, wanted) for one in extra.kinds(creator)]
        begin = [Begin(one, nodes.get(one.index), extra.manifest(one), limits.seconds, made=made) for one in there]

        def asking(done: int) -> None:
            step(f"asking {there[done].label} what it takes", done, len(begin))

        begun = list(zip(there, pool.all(begin, asking), strict=True))
        questions = [
            _question(one, layout, known, together, limits, in_process)
            for one, (layout, known) in begun
            for together in _together(_of_kind(direct, one), in_process=in_process)
        ]
        found: dict[int, list[Answer]] = {one.index: [] for one in there}

        def show(done: int) -> None:
            one = questions[done].creator
            step(one.label, done, len(questions))

        for question, answers in zip(questions, pool.all(questions, show), strict=True):
            found[question.creator.index] += answers
        plugins = []
        for place, (one, (layout, known)) in enumerate(begun):
            taken = known.answers
            plugins.append(CheckedPlugin(one.name, one.version, one.namespace, taken.base, taken.made, layout))
            loading = [] if place else [Answer("", warnings=warnings)]
            shown = results_of(_of_kind(direct, one), one, taken, [*loading, *found[one.index]])
            results += extra.results(_of_kind(asked, one), one, taken, shown)
    return CheckReport(library, tuple(plugins), extra.switched(results), strict)


def _of_kind(asked: Sequence[Check], creator: ListedCreator) -> Sequence[Check]:
    """The checks of a creator. Of one that a library has besides another kind: those that ask for its plugin; test runs
    are of both, and what is of the library is asked once."""
    return [one for one in asked if one.need in ("plugin", "manifest")] if creator.where else asked


def _together(direct: Sequence[Check], *, in_process: bool) -> list[list[Check]]:
    """The checks that one worker is asked after each other. In this process that is all of them, with one handle of the
    library, and unloading it comes last."""
    if in_process:
        return [sorted(direct, key=lambda one: one.id == UNLOADS)]
    groups = dict.fromkeys(one.group for one in direct)
    return [[one for one in direct if one.group == group] for group in groups]


def _question(
    creator: ListedCreator, layout: int, known: Known, group: Sequence[Check], limits: CheckLimits, in_process: bool
) -> Ask:
    names = [one.id for one in group if not obstacle(one, creator, known.answers)]
    return Ask(creator, layout, known, tuple(names), ForkLimits(limits.seconds, limits.memory), in_process=in_process)


def _unloaded(asked: Sequence[Check], error: PluginkitError, seen: Collection[str]) -> Iterator[CheckResult]:
    """The results of checks of a library that no host can load, or use; `seen` are those that its file has broken."""
    rule = error.rule if isinstance(error, Finding) and error.rule in CHECKS else "B22"
    crashed = isinstance(error, PluginCrashed)
    why = f"the library can't be loaded ({rule})" if rule in ("B22", "B3") else f"no host can use the library ({rule})"
    # Whether or not it was asked for: nothing else can be.
    for one in dict.fromkeys((CHECKS[rule], *asked)):
        if one.id == rule and rule in seen:
            continue
        if one.id == rule:
            ending = Ending.CRASHED if crashed else Ending.FAILED
            frames = backtrace.describe(getattr(error, "frames", ()))
            message = error.observed if isinstance(error, Finding) else error.message
            yield CheckResult(one.id, "", ending, getattr(error, "method", ""), message, frames)
        else:
            yield CheckResult(one.id, "", Ending.SKIPPED, message=why)


def _is_broken(subject: ModelSubject) -> bool:
    """Whether nodes are meant for the plugin and don't reach it."""
    return bool(subject.problems) and not subject.nodes
