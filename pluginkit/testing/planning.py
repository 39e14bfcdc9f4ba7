"""Planning in a worker: the user's `reference.py` may raise, hang or exit, and must not take the run with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, PluginCrashed
from pluginkit.manifest import Manifest
from pluginkit.network.large import LargeCase
from pluginkit.network.plan import Plan
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerTimeout
from pluginkit.testing.calibration import Calibration


def make(
    manifest: Manifest,
    project: Path,
    *,
    precisions: Sequence[DType] | None,
    families: Sequence[str] | None,
    seed: int,
    data: Path | None,
    calibration: Calibration,
    timeout: float,
) -> Plan:
    """The networks and cases of a run, made in a process of their own.

    Raises:
        UsageError, NothingSelected, CheckFailed: as `pluginkit.testing.plan.plan`.
        PluginCrashed: the reference took its process down, or did not come back within `timeout` seconds.
    """
    plan = _ask(
        "plan",
        timeout,
        manifest=manifest,
        project=project,
        precisions=precisions,
        families=families,
        seed=seed,
        data=data,
        calibration=calibration,
    )
    assert isinstance(plan, Plan)
    return plan


def make_large(
    manifest: Manifest, project: Path, *, precisions: Sequence[DType] | None, seed: int, timeout: float
) -> LargeCase | str:
    """The case of more than 2^31 elements, made in a process of its own; or why there is none, a sentence.

    Raises:
        CheckFailed, PluginCrashed: as `make`.
    """
    found = _ask("large", timeout, manifest=manifest, project=project, precisions=precisions, seed=seed)
    assert isinstance(found, (LargeCase, str))
    return found


def _ask(what: str, timeout: float, **asked: Any) -> object:
    """Has the worker plan."""
    try:
        with Worker("pluginkit.testing.planning_worker", {}, timeout=timeout) as worker:
            return worker.call(what, **asked)
    except WorkerTimeout:
        raise CheckFailed(
            f"reference.py did not come back within {timeout:g} s.", hint="Does it loop? --timeout gives it longer."
        ) from None
    except WorkerCrashed as crash:
        raise PluginCrashed(f"reference.py took its process down: {crash.how}.\n{crash.log_tail}".rstrip()) from None
