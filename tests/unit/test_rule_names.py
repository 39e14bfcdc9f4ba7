"""Checks, demands and rules have readable names, and both names and ids are accepted."""

from __future__ import annotations

import re

from pluginkit.demands import DEMANDS, NAMES, both, rule_id
from pluginkit.importing.rules.table import RULES
from pluginkit.validation import CHECKS, choose


def test_each_id_has_a_name_and_nothing_else_has() -> None:
    assert set(NAMES) == {*CHECKS, *DEMANDS, *RULES}


def test_a_name_is_of_one_id_and_fits_a_table() -> None:
    assert len(set(NAMES.values())) == len(NAMES)
    assert [
        name for name in NAMES.values() if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or len(name) > 32
    ] == []


def test_a_name_selects_the_check_of_its_id() -> None:
    assert choose(include=["damaged-bytes-refused"]) == choose(include=["S5"])
    assert {one.id for one in choose(level=10, exclude=["clone-*"])} == set(CHECKS) - {"L1", "L2", "L4"}


def test_an_id_stays_what_it_is() -> None:
    assert (rule_id("clone-equal"), rule_id("L1"), rule_id("missing")) == ("L1", "L1", "missing")
    assert (both("L1"), both("missing")) == ("L1 clone-equal", "missing")
