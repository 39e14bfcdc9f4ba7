"""One step outside of each profile: shapes that the host must refuse, as TensorRT does, before the plugin sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from pluginkit.errors import CheckFailed
from pluginkit.manifest import Manifest, Tensor
from pluginkit.network.networks import Array, Case
from pluginkit.network.plan import Plan
from pluginkit.runtimes.host import session as host
from pluginkit.runtimes.host.session import HostSession
from pluginkit.testing.report import NOT_REFUSED, Outcome, Verdict


def cases(manifest: Manifest, plan: Plan, only: Sequence[str] = ()) -> tuple[Case, ...]:
    """For each profile of the first network `plain` and each symbol: one below its min, one above its max.

    `only` has patterns of ids; none means all.
    """
    first = next((network for network in plan.usual if network.family == "plain"), None)
    usual = [case for case in plan.cases if first is not None and case.network_id == first.id]
    made = [case for profile in manifest.profiles for case in _cases_of_profile(manifest, profile.name, usual)]
    return tuple(case for case in made if not only or any(fnmatchcase(case.id, pattern) for pattern in only))


def _cases_of_profile(manifest: Manifest, name: str, usual: Sequence[Case]) -> Iterator[Case]:
    profile = next(profile for profile in manifest.profiles if profile.name == name)
    like = next((case for case in usual if case.profile == name), None)
    if like is None:
        return
    for symbol, (low, _, high) in profile.symbols.items():
        for what, size in (("below", low - 1), ("above", high + 1)):
            if size >= 0:
                symbols = {**profile.at("opt"), symbol: size}
                feeds = {t.name: _feed(t, symbols, like.feeds[t.name].dtype) for t in manifest.inputs}
                point = f"outside/{name}/{symbol}-{what}"
                yield replace(
                    like, id=f"{like.network_id}/{point}", point=point, feeds=feeds, symbols=symbols, expected={}
                )


def _feed(tensor: Tensor, symbols: dict[str, int], kind: np.dtype[Any]) -> Array:
    """Zeros, or a shape input's elements."""
    dims = tensor.dims(symbols)
    return np.array(tensor.elements(symbols), kind).reshape(dims) if tensor.is_shape_input else np.zeros(dims, kind)


def evaluate(session: HostSession, case: Case) -> Verdict:
    """Passed if the case is refused and the refusal names its profile."""
    try:
        session.run(case)
        message = f"was run, and must be refused: it is outside of profile {case.profile!r}"
        how = NOT_REFUSED
    except CheckFailed as refusal:
        how = "refused, but not for its reason"
        named = f"profile {case.profile!r}" in refusal.message
        message = "" if named else f"refused without naming profile {case.profile!r}: {refusal.message}"
    if not message:
        return Verdict(case.id, host.NAME, Outcome.PASSED)
    return Verdict(case.id, host.NAME, Outcome.FAILED, message, how=how)
