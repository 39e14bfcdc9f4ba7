"""The worker's side of `planning`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pluginkit.dtypes import DType
from pluginkit.manifest import Manifest
from pluginkit.network.large import LargeCase
from pluginkit.network.plan import Plan
from pluginkit.testing import plan as plan_
from pluginkit.testing import saved_cases
from pluginkit.testing.calibration import Calibration
from pluginkit.testing.edges import large as large_
from pluginkit.testing.reference import FILE_NAME, Reference


def large(manifest: Manifest, project: Path, precisions: Sequence[DType] | None, seed: int) -> LargeCase | str:
    """Load the project's reference and plan the case of more than 2^31 elements; or why there is none."""
    reference = Reference.load(project / FILE_NAME, manifest)
    kinds = [kind for kind in manifest.precisions() if precisions is None or kind in precisions]
    return large_.make(manifest, reference, plan_.field_values(manifest), kinds, seed)


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
    planned = plan_.plan(
        manifest,
        reference,
        precisions=precisions,
        families=families,
        seed=seed,
        data=data,
        calibration=calibration,
        saved=saved_cases.read(manifest, project, usual),
    )
    return replace(planned, large=large_.make(manifest, reference, usual, manifest.precisions()[:1], seed))
