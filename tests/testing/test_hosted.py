"""How a case is judged, on a session whose plugin is a function: no library is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pluginkit.build import PLAIN
from pluginkit.dtypes import DType
from pluginkit.runtimes import BuildVerdict, Ran
from pluginkit.testing.hosted import Hosted, Hosting
from pluginkit.testing.model import Array, Case, Plan
from pluginkit.testing.plan import plan
from pluginkit.testing.report import CaseResult, Outcome
from pluginkit.testing.schedules import Schedule

from .conftest import EXAMPLES, LEAKY


class Session:
    """A `HostSession` whose plugin's outputs are what `answer` makes of the right ones."""

    printed = ""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def build(self, network: object) -> BuildVerdict:
        return BuildVerdict("built", "")

    def findings(self) -> tuple[()]:
        return ()

    def ways(self, case: Case) -> tuple[str, ...]:
        return ("",)

    def run(self, case: Case, **asked: object) -> Ran:
        outputs: dict[str, Array] = {
            name: np.asarray(self.answer(case, name, want)).astype(np.float32) for name, want in case.expected.items()
        }
        return Ran(outputs, case.enqueues or 0)


@pytest.fixture(scope="module")
def made() -> Plan:
    return plan(LEAKY, EXAMPLES["leaky"].reference, families=["plain"], precisions=[DType.INT8])


def hosting(answer: Any) -> Hosting:
    hosted = Hosted(Path("lib.so"), PLAIN, LEAKY, Path(), 60.0, (Schedule(),))
    return Hosting(hosted, Session(answer))  # type: ignore[arg-type]


def judged(made: Plan, answer: Any, name: str = "plain/int8/opt") -> CaseResult:
    (case,) = [case for case in made.cases if case.id == name]
    return hosting(answer).case(made.network(case), case)


def test_what_is_right_passes_without_a_word(made: Plan) -> None:
    found = judged(made, lambda case, name, want: want)
    assert (found.outcome, found.message) == (Outcome.PASSED, "")


def test_a_likely_cause_of_wrong_int8_is_said(made: Plan) -> None:
    (case,) = [case for case in made.cases if case.id == "plain/int8/opt"]
    (call,) = made.network(case).calls
    (x,), (y,) = call.scales, call.output_scales

    def scaled_by_x(case: Case, name: str, want: Array) -> Array:
        return np.clip(np.rint(want / x), -128, 127) * y

    found = judged(made, scaled_by_x)
    assert found.outcome is Outcome.FAILED
    assert f"likely cause: 'y' is quantized with the scale of 'x' ({x:g}), not its own ({y:g})" in found.message
    none = judged(made, lambda case, name, want: np.clip(-want, -128 * y, 127 * y))
    assert "no usual INT8 mistake gives these values" in none.message
