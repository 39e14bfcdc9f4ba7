"""The names of fields, held against a creator's before it makes a plugin."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace

import pytest

from pluginkit.errors import CheckFailed
from pluginkit.runtimes.nvidia import creator_fields


def creator(fields: Iterable[object] | None) -> SimpleNamespace:
    """As the bindings give it."""
    return SimpleNamespace(name="LReLU_TRT", plugin_version="1", plugin_namespace="", field_names=fields)


def named(*names: str) -> list[SimpleNamespace]:
    return [SimpleNamespace(name=name) for name in names]


class NotUtf8:
    """A field whose name the bindings can't decode."""

    @property
    def name(self) -> str:
        return b"slope\xff".decode()


@pytest.mark.parametrize("given", [[], ["slope"], ["offset", "slope"]])
def test_listed_names_pass(given: list[str]) -> None:
    creator_fields.check(creator(named("slope", "offset")), given)


def test_another_spelling_is_refused_and_the_listed_one_named() -> None:
    with pytest.raises(CheckFailed) as refused:
        creator_fields.check(creator(named("negSlope", "offset")), ["offset", "neg_slope"])
    assert "'neg_slope'" in refused.value.message
    assert "'offset'" not in refused.value.message
    assert "negSlope, offset" in refused.value.message
    assert "negSlope for neg_slope" in refused.value.hint


def test_all_that_are_unknown_are_named() -> None:
    with pytest.raises(CheckFailed) as refused:
        creator_fields.check(creator(named("alpha")), ["one", "alpha", "two"])
    assert "'one', 'two'" in refused.value.message
    assert " for " not in refused.value.hint


@pytest.mark.parametrize("fields", [None, []])
def test_a_creator_may_list_nothing(fields: list[object] | None) -> None:
    creator_fields.check(creator(fields), [])
    with pytest.raises(CheckFailed, match="it lists none"):
        creator_fields.check(creator(fields), ["slope"])


def test_a_name_that_is_no_utf8_is_shown() -> None:
    assert creator_fields.listed(creator([NotUtf8()])) == ["slope\\xff"]
