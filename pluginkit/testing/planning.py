"""Planning in a worker: a person's `reference.py` may raise, hang or exit, and must not take the run with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, PluginCrashed
from pluginkit.manifest import Manifest
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
    asked: dict[str, Any] = {
        "manifest": manifest,
        "project": project,
        "precisions": precisions,
        "families": families,
        "seed": seed,
        "data": data,
        "calibration": calibration,
    }
    try:
        with Worker("pluginkit.testing.planning_child", {}, timeout=timeout) as worker:
            plan = worker.call("plan", **asked)
    except WorkerTimeout:
        raise CheckFailed(
            f"reference.py did not come back within {timeout:g} s.", hint="Does it loop? --timeout gives it longer."
        ) from None
    except WorkerCrashed as crash:
        raise PluginCrashed(f"reference.py took its process down: {crash.how}.\n{crash.log_tail}".rstrip()) from None
    assert isinstance(plan, Plan)
    return plan
