"""What `--only` chooses: by patterns of ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from pluginkit.dtypes import PRECISIONS, DType
from pluginkit.errors import NothingSelected
from pluginkit.network.plan import Plan
from pluginkit.testing.families import FAMILIES

_WILD = set("*?[")


def named_families(only: Sequence[str]) -> tuple[str, ...] | None:
    """The networks that patterns of ids name, so that no other is planned; None if one may mean any network."""
    first = [pattern.partition("/")[0] for pattern in only if "/" in pattern]
    if len(first) < len(only) or not only or any(set(name) & _WILD for name in first):
        return None
    # The registries are asked about the plugin alone.
    return tuple(name for name in FAMILIES if name in first) or ("plain",)


def named_precision(only: Sequence[str]) -> tuple[DType, ...] | None:
    """The precision that all patterns name; None if there isn't one.

    It makes the case of a network by NVIDIA's API again, which a whole run makes in one precision only.
    """
    second = {pattern.partition("/")[2].partition("/")[0].partition("-")[0] for pattern in only}
    return next(((kind,) for kind in PRECISIONS if second == {kind.value}), None)


def select(plan: Plan, only: Sequence[str], others: Sequence[str] = ()) -> Plan:
    """The part of a plan whose case ids match one of the patterns; all of it if there are none.

    Raises:
        NothingSelected: no case matches, and none of the items outside of the plan (`others`).
    """
    if not only:
        return plan
    cases = tuple(case for case in plan.cases if any(fnmatchcase(case.id, pattern) for pattern in only))
    names = [name for one in others for name in (one, f"{one}/")]
    if not cases and not any(fnmatchcase(name, pattern) for name in names for pattern in only):
        raise NothingSelected(
            f"No case matches {' or '.join(only)}.",
            hint=f"Case ids look like {plan.cases[0].id}; * stands for anything.",
        )
    used = {case.network_id for case in cases}
    return replace(plan, cases=cases, networks=tuple(n for n in plan.networks if n.id in used))
