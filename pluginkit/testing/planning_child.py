"""The worker's side of `planning`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pluginkit.dtypes import DType
from pluginkit.manifest import Manifest
from pluginkit.network.plan import Plan
from pluginkit.testing import plan as plan_
from pluginkit.testing import saved_cases
from pluginkit.testing.calibration import Calibration
from pluginkit.testing.reference import FILE_NAME, Reference


def plan(
    manifest: Manifest,
    project: Path,
    precisions: Sequence[DType] | None,
    families: Sequence[str] | None,
    seed: int,
    data: Path | None,
    calibration: Calibration,
) -> Plan:
    """Load the project's reference and plan the run."""
    reference = Reference.load(project / FILE_NAME, manifest)
    usual = plan_.field_values(manifest)
    saved_cases.check(manifest, project, usual, reference)
    return plan_.plan(
        manifest,
        reference,
        precisions=precisions,
        families=families,
        seed=seed,
        data=data,
        calibration=calibration,
        saved=saved_cases.read(manifest, project, usual),
    )
