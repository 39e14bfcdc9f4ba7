"""The cases of `pluginkit test` one by one, for pytest: what there is, and what comes of one."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pluginkit.build import PLAIN, build
from pluginkit.errors import PluginkitError, ToolMissing
from pluginkit.judges.host import outside_profile as outside
from pluginkit.judges.host.cases import Hosted
from pluginkit.judges.host.schedules import schedules, ways_on_gpu
from pluginkit.judges.lean import registries as registered
from pluginkit.judges.rtx.build import Judge, beside
from pluginkit.judges.rtx.negative_controls import Control
from pluginkit.judges.tensorrt import cases as in_tensorrt
from pluginkit.manifest import Manifest
from pluginkit.manifest.project import root
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.model import Case
from pluginkit.network.plan import Plan
from pluginkit.process.crew import Bench
from pluginkit.run import messages as words
from pluginkit.run import on_gpu
from pluginkit.run import several_plugins as several
from pluginkit.runtimes import Target
from pluginkit.runtimes.lean import session as lean
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.tensorrt import session as tensorrt
from pluginkit.testing import planning
from pluginkit.testing.calibration import BY_DEFAULT
from pluginkit.testing.report import CaseResult, Outcome, Report, Verdict

GPU = "gpu"
"""What the id of a case on the GPU ends with."""
TIMEOUT = 60.0
"""As `pluginkit test` has it unless told otherwise."""

T = TypeVar("T")


@dataclass(frozen=True)
class Told:
    """What came of an item: nothing said if it is all right."""

    failed: str = ""
    skipped: str = ""
    warnings: tuple[str, ...] = ()


class Suite:
    """A project's cases. The library is built before the first one runs, and loaded once in each process."""

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
        self._manifest = Manifest.load(project)
        self._plan: Plan = self._once("plan", self._make_plan)
        self._beside = beside(self._manifest, self._plan)
        self._bench = Bench(threading.Event())
        self._hosted: dict[Target, Hosted] = {}
        self._asked: Judge | None = None
        self._items = self._all()

    @property
    def ids(self) -> list[str]:
        """Every item, in the order of `pluginkit test`."""
        return [f"{self._name}/{name}" if self._name else name for name in self._items]

    def run(self, name: str) -> Told:
        """Run an item. What is wrong with the plugin, its build included, is in the answer."""
        try:
            return self._items[name.removeprefix(f"{self._name}/")]()
        except PluginkitError as error:
            return Told(failed=str(error))

    def close(self) -> None:
        """End the worker processes."""
        self._bench.close()

    def _all(self) -> dict[str, Callable[[], Told]]:
        items: dict[str, Callable[[], Told]] = {}
        for case in self._plan.cases:
            items[case.id] = partial(self._case, self._plan.network(case), case, "cpu")
        for case in outside.cases(self._manifest, self._plan):
            items[case.id] = partial(self._refused, self._plan.network(case), case)
        rtx = tensorrt_rtx.NAME
        if (found := tensorrt_rtx.probe()).found:
            for network in self._plan.judged:
                items[f"{network.id}/{rtx}"] = partial(self._judged, partial(self._network, network))
            for control in self._beside.controls:
                items[control.id] = partial(self._control, control)
        else:
            items[rtx] = partial(Told, skipped=f"{found.reason} ({found.remedy})")
        if (found := lean.probe()).found:
            for registry in registered.installed().leans:
                one = registered.Registered((registry,))
                items[one.ids[0]] = partial(self._registered, one)
        else:
            items[lean.NAME] = partial(Told, skipped=f"{found.reason} ({found.remedy})")
        found = tensorrt.probe()
        reason = f"{found.reason} ({found.remedy})"
        items[tensorrt.NAME] = self._tensorrt if found.found else partial(Told, skipped=reason)
        if why := on_gpu.obstacle():
            items[GPU] = partial(Told, skipped=f"target gpu: {why}")
        else:
            for case in self._plan.cases:
                items[f"{case.id}/{GPU}"] = partial(self._case, self._plan.network(case), case, "gpu")
        return items

    def _case(self, network: AnyNetwork, case: Case, target: Target) -> Told:
        return self._told(self._bench.get(self._host(target)).case(network, case))

    def _refused(self, network: AnyNetwork, case: Case) -> Told:
        verdict = self._bench.get(self._host()).refused(network, case)
        # Where the network can't be built, its cases say why.
        return self._told(verdict, controls=(verdict,)) if verdict else Told()

    def _network(self, network: AnyNetwork, judge: Judge) -> Verdict:
        expected = self._bench.get(self._host()).configured(network)
        return judge.network(network, expected, self._bench)[0]

    def _judged(self, ask: Callable[[Judge], Verdict]) -> Told:
        return self._told(ask(self._judge()))

    def _control(self, control: Control) -> Told:
        verdict = self._judge().control(control, self._bench)
        # It is no verdict where NVIDIA doesn't load the library: each network says that.
        return self._told(verdict, controls=(verdict,)) if verdict else Told()

    def _judge(self) -> Judge:
        if self._asked is None:
            self._asked = Judge(self._library(), self._manifest, TIMEOUT, self._plan)
        return self._asked

    def _registered(self, registry: registered.Registered) -> Told:
        (verdict,) = registry.judge(self._library(), self._manifest, self._plan, TIMEOUT)
        return self._told(verdict, registries=(verdict,))

    def _tensorrt(self) -> Told:
        try:
            library = build(self._project, "gpu")[0].library
        except ToolMissing as error:
            return Told(skipped=str(error))
        verdicts = in_tensorrt.judge(library, self._manifest, TIMEOUT, self._plan, lambda *_: None)
        return Told("\n\n".join(told.failed for told in map(self._told, verdicts) if told.failed))

    def _told(
        self, item: CaseResult | Verdict, *, controls: tuple[Verdict, ...] = (), registries: tuple[Verdict, ...] = ()
    ) -> Told:
        name, seed = self._manifest.plugin.name, self._plan.seed
        report = Report(name, "", "", seed, (), (), {}, controls=controls, registries=registries)
        if self._name:
            report = several.named(report, self._name)
            if isinstance(item, CaseResult):
                item = several.named_case(item, self._name)
            else:
                item = several.named_verdict(item, self._name)
        if item.outcome.bad:
            return Told(words.failure(item, report, self._command()).text)
        if item.outcome is Outcome.SKIPPED:
            return Told(skipped=item.message)
        return Told(warnings=tuple(one.text for one in item.warnings) if isinstance(item, CaseResult) else ())

    def _command(self) -> str:
        return words.again(Path(os.path.relpath(root(self._project) if self._name else self._project)))

    def _host(self, target: Target = "cpu") -> Hosted:
        if target not in self._hosted:
            usual = schedules(0, self._plan.seed, deferred=False)
            orders = usual if target == "cpu" else ways_on_gpu(checked=False)
            library = self._library() if target == "cpu" else self._once("on-gpu", self._for_gpu)
            self._hosted[target] = Hosted(
                library,
                PLAIN,
                self._manifest,
                self._project,
                TIMEOUT,
                orders,
                target=target,
                strict=self._manifest.test.strict,
            )
        return self._hosted[target]

    def _for_gpu(self) -> Path:
        return on_gpu.library(self._project, on_gpu.find())

    def _library(self) -> Path:
        return self._once("library", lambda: build(self._project, "cpu")[0].library)

    def _make_plan(self) -> Plan:
        return planning.make(
            self._manifest,
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
