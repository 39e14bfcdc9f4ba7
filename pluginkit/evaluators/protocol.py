"""What an evaluator is, and the plain data that a test run passes between its steps: work, items, answers.

A run has four steps: plan (a `RunWork`), items (each evaluator's, from the work), execute (an item, where its library
is), and assemble a report. Work, items and answers can be pickled; sessions are opened where an item is executed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from pluginkit.build import PLAIN, Instrumentation
from pluginkit.library.origin import beyond_load_library
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.large import LargeCase
from pluginkit.network.plan import Plan
from pluginkit.process.worker_pool import Opener, Session_co
from pluginkit.runtimes.verdict import Availability, Configured, Target
from pluginkit.testing.report import CaseResult, Verdict

Section = Literal["cases", "verdicts", "controls", "registries"]
"""The part of a report that answers belong to."""
Expected: TypeAlias = "Callable[[], tuple[Configured, ...] | None]"
"""Gives what configure saw of a network in pluginkit's host, once that is known there; None: nobody found it out."""
Shared = TypeVar("Shared")


@dataclass(frozen=True)
class Build:
    """A build of the plugin's library that cases run on.

    Attributes:
        target: where its kernels run.
        instrumentation: the checks that are compiled in, or the tool of compute-sanitizer that looks on.
        where: for people: the GPU of target gpu.
    """

    target: Target = "cpu"
    instrumentation: Instrumentation = PLAIN
    where: str = ""


def beyond_registries(work: RunWork) -> str:
    """Why NVIDIA's registries on a machine without libnvinfer have nothing to load in the library that `[library]`
    names; empty where they have, or where it isn't there."""
    section = work.manifest.library
    file = None if section is None else work.project / section.path
    return beyond_load_library(file) if file is not None and file.is_file() else ""


ON_CPU = Build()
"""The plain build of target cpu."""


@dataclass(frozen=True)
class RunWork:
    """What a run is about.

    Attributes:
        manifest: the plugin's.
        project: the folder with `pluginkit.toml`.
        plan: the networks and cases that were chosen.
        whole: all networks and cases.
        only: patterns of ids; none means all.
        builds: the library's, in the order in which cases run on them.
        timeout: seconds that any one call into the plugin may take.
        sanitize, schedules, strict: as of `pluginkit.run.options.Options`.
        large: the case of more than 2^31 elements; or why there is none, empty if none was asked for.
    """

    manifest: Manifest
    project: Path
    plan: Plan
    whole: Plan
    only: tuple[str, ...] = ()
    builds: tuple[Build, ...] = (ON_CPU,)
    timeout: float = 60.0
    sanitize: tuple[str, ...] = ()
    schedules: int = 0
    strict: bool = False
    large: LargeCase | str = ""

    def network(self, name: str) -> AnyNetwork:
        """The network of an item.

        Raises:
            KeyError: there is not one of that id.
        """
        return {one.id: one for one in self.whole.networks}[name]

    def asks_for(self, name: str) -> bool:
        """Whether `--only` asks for an id that is not a case of the plan."""
        return not self.only or any(fnmatchcase(one, pattern) for one in (name, f"{name}/") for pattern in self.only)


@dataclass(frozen=True)
class Item:
    """One question to an evaluator.

    Attributes:
        id: as pytest shows it.
        evaluator: the evaluator's name.
        section: what its answers are.
        network: the id of the network that it is about, if it is about one.
        build: the library that it runs on.
        subject: what else the evaluator needs to know: a case, a control, a registry.
        needs: whether it wants to know what configure saw of the network in pluginkit's host.
        whole: whether its evaluator runs the plan's cases itself, and so needs all their arrays.
        on: where several places are asked the same: which; empty where one is.
    """

    id: str
    evaluator: str
    section: Section
    network: str = ""
    build: Build = ON_CPU
    subject: Any = field(default=None, compare=False)
    needs: bool = False
    whole: bool = False
    on: str = ""

    @property
    def group(self) -> Hashable:
        """Items of a group share what is built for them, so one worker executes them, in order."""
        return (self.evaluator, self.on, self.build, self.network or self.id)

    @property
    def label(self) -> str:
        """For a progress line: the evaluator and what it is asked, each once."""
        return (
            self.evaluator
            if self.id == self.evaluator
            else f"{self.evaluator}: {self.id.removesuffix(f'/{self.evaluator}')}"
        )


@dataclass(frozen=True)
class Answers:
    """What came of an item.

    Attributes:
        results: a case's result, or verdicts.
        configured: what configure saw when the item's network was built in pluginkit's host.
        static: at how many points the network was built as a static one too.
        absent: why the evaluator could not be asked after all.
        remark: what its summary must say of the machine; empty if nothing.
    """

    results: tuple[CaseResult | Verdict, ...] = ()
    configured: tuple[Configured, ...] = ()
    static: int = 0
    absent: str = ""
    remark: str = ""


class Workplace(Protocol):
    """Where items are executed: one thread's sessions, and the libraries that are there."""

    def get(self, source: Opener[Session_co]) -> Session_co:
        """The session of a source, opened when it is first asked for.

        Raises:
            PluginkitError: what `open` raised, the first time and ever after.
        """

    def shared(self, key: Hashable, make: Callable[[], Shared]) -> Shared:
        """What all threads of a run have in common, made once."""

    def begin(self, what: str) -> None:
        """Reports on the terminal what is being done."""

    def library(self, build: Build) -> Path:
        """The file of a build.

        Raises:
            PluginkitError: it can't be built.
        """

    def gpu_library(self) -> Path:
        """The library of target gpu, for what runs engines.

        Raises:
            PluginkitError: there is none, and none can be built.
        """


class Evaluator(Protocol):
    """Who evaluates a plugin. `pluginkit.evaluators.EVALUATORS` lists them all."""

    NAME: str
    """As reports, tables and `pluginkit info` call it."""

    STANDBY: tuple[str, ...]
    """Modules of workers that its first session will need, and that need no library to start: a run starts them while
    it compiles (`process.standby`). Each stands there as often as it is needed."""

    def probe(self) -> Availability:
        """Whether it is on this machine; or why not, and how to get it. Loads nothing."""

    def obstacle(self, work: RunWork) -> str:
        """Why it takes no part in a run though it is here; empty if it does."""

    def ids(self, work: RunWork) -> Sequence[str]:
        """What `--only` finds by it besides the plan's cases."""

    def items(self, work: RunWork) -> Sequence[Item]:
        """What it is asked, in the report's order: of the chosen plan, and of its own ids those that are asked for."""

    def execute(self, item: Item, work: RunWork, place: Workplace, configured: Expected | None) -> Answers:
        """Ask it. Whatever the plugin does wrong is in the answers.

        Args:
            item: one of `items`.
            work: what the items were made from.
            place: sessions and libraries.
            configured: gives what an item `needs`, and may wait for it; None: nobody finds it out.
        """

    def summary(self, work: RunWork, found: Sequence[Answers]) -> str:
        """What its part in the run was, in a line; `found` is what came of all its items."""


def unavailable(found: Availability) -> str:
    """Why an evaluator isn't here, in a line."""
    reason = found.reason or "it is not here"
    return f"{reason} ({found.remedy})" if found.remedy else reason
