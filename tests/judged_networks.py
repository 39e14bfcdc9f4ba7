"""Which networks of a run NVIDIA's builder is asked about."""

from __future__ import annotations

from collections.abc import Iterable

from pluginkit.testing.report import Report

OF_THE_HOST_ALONE = ("implicit", "-field-", "-no-fields")
"""Implicit quantization, which no builder here has; field values that nobody declared, which a plugin may refuse."""
ONE_OF_EACH_KIND = ("plain", "loop-count", "scan-forward", "cond-both", "if-in-loop")
"""Families for tests of a base or a sample; test_bar_plugin has all of them in every run."""


def judged_networks(report: Report, declared: Iterable[str] = ()) -> set[str]:
    """The networks of a report's cases, but for those that only the host has; `declared` are fields with values that
    pluginkit.toml declares."""
    return {
        case.network
        for case in report.cases
        if any(f"-field-{name}" in case.network for name in declared)
        or not any(part in case.network for part in OF_THE_HOST_ALONE)
    }
