"""The items of `pluginkit test` one by one, for pytest: what there is, and what comes of one."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pluginkit.build import build
from pluginkit.errors import PluginkitError
from pluginkit.evaluators.protocol import ON_CPU, Answers, Build, Item, RunWork
from pluginkit.manifest import Manifest
from pluginkit.manifest.project import root
from pluginkit.network.plan import Plan
from pluginkit.process.worker_pool import Common, Sessions
from pluginkit.run import messages, on_gpu, several_plugins
from pluginkit.run.execution import LocalWorkplace, execute
from pluginkit.run.items import parts
from pluginkit.testing import planning
from pluginkit.testing.calibration import BY_DEFAULT
from pluginkit.testing.report import CaseResult, Outcome, Report, Verdict

ON_GPU = Build("gpu")
TIMEOUT = 60.0
"""The default of `pluginkit test`."""

T = TypeVar("T")


@dataclass(frozen=True)
class ItemResult:
    """An item's result: empty if it is all right."""

    failed: str = ""
    skipped: str = ""
    warnings: tuple[str, ...] = ()


class Suite:
    """A project's items. The library is built before the first one runs, and loaded once in each process."""

    def __init__(self, project: Path, shared: Path | None, name: str = "") -> None:
        """Plan the run.

        Args:
            project: the folder with `pluginkit.toml`.
            shared: a folder of all processes that run parts of this suite: the first plans and builds, the others
                find it done. None if there is one process only.
            name: what ids begin with, where the run has several plugins.

        Raises:
            PluginkitError: as of `planning.make`.
        """
        self._project = project
        self._shared = shared
        self._name = name
        manifest = Manifest.load(project)
        plan: Plan = self._once("plan", lambda: self._make_plan(manifest))
        obstacle = on_gpu.obstacle()
        builds = (ON_CPU,) if obstacle else (ON_CPU, ON_GPU)
        self._work = RunWork(manifest, project, plan, plan, builds=builds, timeout=TIMEOUT, strict=manifest.test.strict)
        self._place = LocalWorkplace(Sessions(Common()), self._library, lambda: self._library(ON_GPU))
        self._items: dict[str, Item | ItemResult] = {}
        for part in parts(self._work):
            self._items.update({item.id: item for item in part.items})
            if not part.items:
                self._items[part.evaluator.NAME] = ItemResult(skipped=part.absent)
        if obstacle:
            self._items[ON_GPU.target] = ItemResult(skipped=f"target gpu: {obstacle}")

    @property
    def ids(self) -> list[str]:
        """Every item, in the order of `pluginkit test`."""
        return [f"{self._name}/{name}" if self._name else name for name in self._items]

    def run(self, name: str) -> ItemResult:
        """Run an item. What is wrong with the plugin, its build included, is in the answer."""
        item = self._items[name.removeprefix(f"{self._name}/")]
        if isinstance(item, ItemResult):
            return item
        try:
            return self._item_result(item, execute(item, self._work, self._place))
        except PluginkitError as error:
            return ItemResult(failed=str(error))

    def close(self) -> None:
        """End the worker processes."""
        self._place.sessions.close()

    def _item_result(self, item: Item, found: Answers) -> ItemResult:
        if found.absent:
            return ItemResult(skipped=found.absent)
        results = [self._result(item, result) for result in found.results]
        return ItemResult(
            "\n\n".join(one.failed for one in results if one.failed),
            next((one.skipped for one in results if one.skipped), "") if len(results) == 1 else "",
            tuple(text for one in results for text in one.warnings),
        )

    def _result(self, item: Item, result: CaseResult | Verdict) -> ItemResult:
        sections: dict[str, Any] = {item.section: (result,)} if item.section in {"controls", "registries"} else {}
        report = Report(self._work.manifest.plugin.name, "", "", self._work.plan.seed, (), (), {}, **sections)
        if self._name:
            report = several_plugins.named(report, self._name)
            if isinstance(result, CaseResult):
                result = several_plugins.named_case(result, self._name)
            else:
                result = several_plugins.named_verdict(result, self._name)
        if result.outcome.bad:
            return ItemResult(messages.failure(result, report, self._command()).text)
        if result.outcome is Outcome.SKIPPED:
            return ItemResult(skipped=result.message)
        return ItemResult(warnings=tuple(one.text for one in result.warnings) if isinstance(result, CaseResult) else ())

    def _command(self) -> str:
        return messages.again(Path(os.path.relpath(root(self._project) if self._name else self._project)))

    def _library(self, wanted: Build) -> Path:
        if wanted == ON_GPU:
            return self._once("on-gpu", self._for_gpu)
        return self._once("library", lambda: build(self._project, "cpu")[0].library)

    def _for_gpu(self) -> Path:
        return on_gpu.FirstGpu().library(self._project)

    def _make_plan(self, manifest: Manifest) -> Plan:
        return planning.make(
            manifest,
            self._project,
            precisions=None,
            families=None,
            seed=0,
            data=None,
            calibration=BY_DEFAULT,
            timeout=TIMEOUT,
        )

    def _once(self, name: str, make: Callable[[], T]) -> T:
        """What `make` gives, made once for all processes; its error likewise."""
        if self._shared is None:
            return _remembered(self.__dict__, f"_once_{name}", make)
        key = hashlib.sha256(str(self._project).encode()).hexdigest()[:16]
        file = self._shared / f"{key}-{name}"
        with (self._shared / f"{key}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                file.write_bytes(pickle.dumps(_attempt(make), protocol=5))
            made, error = pickle.loads(file.read_bytes())
        if error is not None:
            raise error
        found: T = made
        return found


def _attempt(make: Callable[[], T]) -> tuple[T | None, PluginkitError | None]:
    try:
        return make(), None
    except PluginkitError as error:
        return None, error


def _remembered(memory: dict[str, Any], name: str, make: Callable[[], T]) -> T:
    if name not in memory:
        memory[name] = _attempt(make)
    made, error = memory[name]
    if error is not None:
        raise error
    found: T = made
    return found
