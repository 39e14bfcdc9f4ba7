"""What `tools/emptied_checks.py` relies on: in a worker of its run a check has no body, and only that one."""

from __future__ import annotations

import pytest

from pluginkit.validation import CHECKS, Ending, check_library, library_hosts
from tests.host.conftest import Compile
from tests.validation import emptied_child

pytestmark = pytest.mark.compile


@pytest.mark.parametrize(("emptied", "ending"), [("I4", Ending.PASSED), ("L1", Ending.FAILED)])
def test_a_worker_without_a_check(
    compile_plugin: Compile, monkeypatch: pytest.MonkeyPatch, emptied: str, ending: Ending
) -> None:
    monkeypatch.setenv(emptied_child.CHECK, emptied)
    monkeypatch.setattr(library_hosts, "CHILD", emptied_child.__name__)
    (one,) = check_library(compile_plugin("name_latin"), [CHECKS["I4"]]).results
    assert one.ending is ending, one
