"""A mutant's trial: built as `pluginkit build` does it, tested as `pluginkit test` does it, to the first finding."""

from __future__ import annotations

import fcntl
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from mutation.mutants import NAMESPACE, Mutant
from pluginkit.build import build
from pluginkit.errors import BuildFailed, PluginkitError
from pluginkit.evaluators.protocol import ON_CPU, RunWork
from pluginkit.manifest import Manifest
from pluginkit.process.worker_pool import Common, Sessions
from pluginkit.run.execution import LocalWorkplace, execute
from pluginkit.run.items import EvaluatorPart, parts
from pluginkit.run.selection import select
from pluginkit.testing import planning
from pluginkit.testing.calibration import BY_DEFAULT

CLASSES = Path(__file__).resolve().parents[2] / "tests" / "classes"
CALL_LIMIT = 10.0
"""Seconds that a call into the plugin may take; `pluginkit test` has 60. Those of the generated plugin take less than
a tenth."""

FOUND, SURVIVED, NOT_COMPILED, UNFINISHED = "found", "survived", "not compiled", "unfinished"


@dataclass(frozen=True)
class Outcome:
    """What came of a mutant.

    Attributes:
        result: of the four words above; unfinished: nothing was found within the time for one mutant.
        by: the item of the run that found it.
        message: what the item said, or the compiler.
        seconds: how long building and testing took.
    """

    result: str
    by: str = ""
    message: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Plugin:
    """A generated project with what its test run asks.

    Attributes:
        project: its folder.
        work: the plan.
        evaluators: who takes part, each with its items.
    """

    project: Path
    work: RunWork
    evaluators: tuple[EvaluatorPart, ...]

    @property
    def absent(self) -> dict[str, str]:
        """The evaluators that take no part, and why."""
        return {one.evaluator.NAME: one.absent for one in self.evaluators if one.absent}

    @property
    def present(self) -> list[str]:
        """The evaluators that take part."""
        return [one.evaluator.NAME for one in self.evaluators if not one.absent]

    def attempt(self, seconds: float) -> Outcome:
        """Build the project as it is now and run its items until one fails; none is started after so many seconds."""
        started = time.monotonic()

        def outcome(result: str, by: str = "", message: str = "") -> Outcome:
            return Outcome(result, by, message, round(time.monotonic() - started, 2))

        try:
            library = build(self.project, "cpu")[0].library
        except BuildFailed as error:
            return outcome(NOT_COMPILED, "pluginkit build", error.message)
        sessions = Sessions(Common())
        place = LocalWorkplace(sessions, lambda _: library, lambda: library)
        try:
            for item in (item for part in self.evaluators for item in part.items):
                if time.monotonic() - started > seconds:
                    return outcome(UNFINISHED, item.id)
                bad = [one for one in execute(item, self.work, place).results if one.outcome.bad]
                if bad:
                    return outcome(FOUND, item.id, bad[0].message)
        except PluginkitError as error:
            return outcome(FOUND, item.id, str(error))
        finally:
            sessions.close()
        return outcome(SURVIVED)

    def trial(self, mutant: Mutant, seconds: float) -> Outcome:
        """Try a mutant; the source is then as it was."""
        file = self.project / mutant.file
        right = file.read_text(encoding="utf-8")
        file.write_text(mutant.apply(right), encoding="utf-8")
        try:
            return self.attempt(seconds)
        finally:
            file.write_text(right, encoding="utf-8")


class Bench:
    """A folder of one process, with a plugin of each base."""

    def __init__(self, work: Path) -> None:
        self._folder, self._lock = _own(work)
        self._plugins: dict[str, Plugin] = {}

    def plugin(self, base: str) -> Plugin:
        """The plugin of a base, written, built and planned once.

        Raises:
            RuntimeError: it is red without any mutation.
        """
        if base not in self._plugins:
            plugin = planned(generated(self._folder / base, base))
            first = plugin.attempt(seconds=600)
            if first.result != SURVIVED:
                raise RuntimeError(f"The plugin of base {base} is red as it is written: {first.by}: {first.message}")
            self._plugins[base] = plugin
        return self._plugins[base]


def generated(folder: Path, base: str) -> Path:
    """The class of tests/classes with a namespace, in a folder; one that is there is put right, its build stays."""
    project = folder / "my_plugin"
    for path in (path for path in (CLASSES / base).rglob("*") if path.is_file()):
        place = project / path.relative_to(CLASSES / base)
        text = re.sub(
            r'(?m)^(namespace|constexpr char const\* kNamespace) = ""', rf'\1 = "{NAMESPACE}"', path.read_text()
        )
        if not place.exists() or place.read_text() != text:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    return project


def planned(project: Path, only: tuple[str, ...] = ()) -> Plugin:
    """What `pluginkit test --target cpu` asks of a project; `only` as of its option."""
    manifest = Manifest.load(project)
    plan = planning.make(
        manifest,
        project,
        precisions=None,
        families=None,
        seed=0,
        data=None,
        calibration=BY_DEFAULT,
        timeout=CALL_LIMIT,
    )
    work = RunWork(
        manifest,
        project,
        select(plan, only, ()),
        plan,
        only,
        builds=(ON_CPU,),
        timeout=CALL_LIMIT,
        strict=manifest.test.strict,
    )
    return Plugin(project, work, tuple(parts(work)))


def _own(work: Path) -> tuple[Path, TextIO]:
    """The first folder that no other process has, and the lock on it."""
    number = 0
    while True:
        folder = work / f"job-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            number += 1
        else:
            return folder, lock
