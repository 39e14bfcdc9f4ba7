"""Runs checks of a library, and makes a report of what they came to."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pluginkit.adoption import node
from pluginkit.adoption.answers import ListedCreator, PluginAnswers, selected
from pluginkit.adoption.node import ModelNode
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, PluginCrashed, PluginkitError
from pluginkit.host import Finding
from pluginkit.library import inspect
from pluginkit.manifest import Manifest
from pluginkit.manifest.project import Member
from pluginkit.process import backtrace, isolated
from pluginkit.process.child import Breadcrumb
from pluginkit.process.crew import Crew, Sessions
from pluginkit.process.worker import TO_TELL
from pluginkit.validation import child
from pluginkit.validation.catalog import CHECKS, Check
from pluginkit.validation.child import AFTER_A_HANG, Answer, ForkLimits
from pluginkit.validation.judging import obstacle, result_of, results_of
from pluginkit.validation.library_hosts import LibraryHosts, LibrarySource
from pluginkit.validation.results import CheckResult, Ending
from pluginkit.validation.subject import Known
from pluginkit.validation.subjects import manifests, model_reading
from pluginkit.validation.subjects.asking import MoreSubjects
from pluginkit.validation.subjects.evidence import RunEvidence
from pluginkit.validation.subjects.model import ModelSubject

QUESTIONS = 60.0
"""Seconds in addition for finding out what a plugin takes."""

Step = Callable[[str, int, int | None], None]


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
    def bad(self) -> tuple[CheckResult, ...]:
        """The results that make the run fail."""
        return tuple(one for one in self.results if one.ending.bad or (self.strict and one.ending is Ending.WARNING))

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
        step: called with what is being checked, how many groups of checks are done, and of how many.

    Raises:
        UsageError: no such library, one for another machine, no such creator, a model without a node of it, a manifest
            that switches off what is no check.
    """
    manifests.check_switches(one.manifest for one in members)
    facts = inspect(library)
    results = [result_of(one, "", facts) for one in chosen if one.need == "file"]
    asked = [one for one in chosen if one.need != "file"]
    if not asked:
        return CheckReport(library, (), tuple(results), strict)
    step("loading the library", 0, None)
    source = LibrarySource(library, limits.seconds)
    with Crew(1 if in_process else limits.jobs or len(os.sched_getaffinity(0))) as crew:
        first = crew.submit(lambda own: own.get(source).first()).result()
        if isinstance(first, PluginkitError):
            results += _unloaded(asked, first, {one.check for one in results if one.is_finding})
            return CheckReport(library, (), tuple(results), strict)
        # dlopen(3) has found all that B12 asks for: it knows LD_PRELOAD and the program's own rpath, too.
        results = [CheckResult("B12", "", Ending.PASSED) if one.check == "B12" else one for one in results]
        creators, doubts = first
        subjects = model_reading.read(model, library, creators, members) if model is not None else {}
        nodes = node.read(model, creators) if model is not None and not any(map(_is_broken, subjects.values())) else {}
        extra = MoreSubjects(creators, members, subjects, evidence or {})
        results += extra.missing(asked, wanted)
        run = _Run(crew, source, asked, limits, in_process=in_process)
        begun = [(one, run.begin(one, nodes.get(one.index), extra.manifest(one))) for one in selected(creators, wanted)]
        groups = [(one, known.result(), group) for one, known in begun for group in run.groups]
        parts = [(one, run.ask(one, *known, group)) for one, known, group in groups]
        found: dict[int, list[Answer]] = {one.index: [] for one, _ in begun}
        for done, (one, part) in enumerate(parts):
            step(f"{one.name} {one.version}", done, len(parts))
            found[one.index] += part.result()
        plugins = []
        for place, (one, known) in enumerate(begun):
            layout, answers = known.result()[0], known.result()[1].answers
            plugins.append(CheckedPlugin(one.name, one.version, one.namespace, answers.base, answers.made, layout))
            loading = [] if place else [Answer("", doubts=doubts)]
            direct = results_of(run.asked, one, answers, [*loading, *found[one.index]])
            results += extra.results(asked, one, answers, direct)
    return CheckReport(library, tuple(plugins), extra.switched(results), strict)


class _Run:
    """What is asked of a library's creators, by a crew."""

    def __init__(
        self, crew: Crew, source: LibrarySource, asked: Sequence[Check], limits: CheckLimits, *, in_process: bool
    ) -> None:
        self._crew = crew
        self._source = source
        self.asked = [one for one in asked if one.need in ("loaded", "plugin")]
        self._made = any(one.need in ("plugin", "manifest") for one in asked)
        self._limits = limits
        self._in_process = in_process
        self._hung: set[int] = set()
        self.groups = list(dict.fromkeys(one.group for one in self.asked))

    def begin(
        self, creator: ListedCreator, given: ModelNode | None, manifest: Manifest | None
    ) -> Future[tuple[int, Known]]:
        """The layout in which the host can call a creator's plugin, how it is made, and what it takes."""
        if not self._made:
            return self._crew.submit(lambda own: (own.get(self._source).layout, Known(PluginAnswers())))
        return self._crew.submit(
            lambda own: known_of(own.get(self._source), creator, given, manifest, self._limits.seconds)
        )

    def ask(self, creator: ListedCreator, layout: int, known: Known, group: str) -> Future[list[Answer]]:
        """The answers of a group of checks about a creator."""
        asked = [one for one in self.asked if one.group == group]
        names = [one.id for one in asked if not obstacle(one, creator, known.answers)]

        def answers(own: Sessions) -> list[Answer]:
            # What hangs once will hang in other checks too.
            hung = creator.index in self._hung
            seconds = min(AFTER_A_HANG, self._limits.seconds) if hung else self._limits.seconds
            found = self._answers(own, creator, layout, known, names, ForkLimits(seconds, self._limits.memory))
            if any(one.ending == isolated.HUNG for one in found):
                self._hung.add(creator.index)
            return found

        return self._crew.submit(answers)

    def _answers(
        self,
        own: Sessions,
        creator: ListedCreator,
        layout: int,
        known: Known,
        names: Sequence[str],
        limits: ForkLimits,
    ) -> list[Answer]:
        if not names:
            return []
        hosts = own.get(self._source)
        worker, index = next((worker, index) for at, worker, index in hosts.with_creator(creator) if at == layout)
        arguments: dict[str, Any] = {"index": index, "names": names, "known": known, "limits": limits}
        if self._in_process:
            here = child.open(Breadcrumb(worker.breadcrumb), **hosts.init(layout))
            return here.ask(**arguments, within=True)
        found: list[Answer] = worker.call("ask", timeout=(limits.seconds + TO_TELL) * (len(names) + 1), **arguments)
        return found


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


def known_of(
    hosts: LibraryHosts, creator: ListedCreator, given: ModelNode | None, manifest: Manifest | None, timeout: float
) -> tuple[int, Known]:
    """How the plugin of a creator is made, what it takes, and the layout in which the host can call it."""
    if manifest is not None and given is None:
        return _declared(hosts, creator, manifests.known(manifest))
    kinds = {kind.code: kind for kind in DType}
    types = tuple(kinds[code] for code in given.types if code in kinds) if given else ()
    whole = given is not None and given.ranks is not None and len(types) == len(given.types)
    tried: list[tuple[int, PluginAnswers]] = []
    for layout, worker, index in hosts.with_creator(creator):
        if given is not None and whole:
            base = worker.call("base", index=index, given=given.given)
            answers = PluginAnswers(base=base, given=given.given, made="model" if base else "")
        else:
            values, ranks = (given.given, given.ranks) if given else (None, None)
            arguments = {"index": index, "given": values, "ranks": ranks}
            answers = worker.call("answers", timeout=QUESTIONS + timeout, **arguments)
        tried.append((layout, answers))
        if answers.made:
            break
    layout, answers = next((one for one in tried if one[1].made), tried[0])
    if given is None:
        return layout, Known(answers)
    if not answers.made:
        # With a model's values each check finds out why not.
        answers = replace(answers, made="model", given=given.given)
    return layout, Known(answers, given.opt_sizes(), types if whole else (), given.network())


def _declared(hosts: LibraryHosts, creator: ListedCreator, declared: Known) -> tuple[int, Known]:
    """The same by a manifest; where no plugin can be made of its values, each check finds out why not."""
    for layout, worker, index in hosts.with_creator(creator):
        if base := worker.call("base", index=index, given=declared.answers.given):
            return layout, replace(declared, answers=replace(declared.answers, base=base))
    return hosts.layout, declared


def _is_broken(subject: ModelSubject) -> bool:
    """Whether nodes are meant for the plugin and don't reach it."""
    return bool(subject.problems) and not subject.nodes
