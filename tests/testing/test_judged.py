"""What NVIDIA's builder is said to have done, by what it answered."""

from __future__ import annotations

import pytest

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.judges.rtx import build as judged
from pluginkit.network.model import Network
from pluginkit.runtimes import BuildVerdict
from pluginkit.testing.plan import plan
from pluginkit.testing.report import Outcome

from .conftest import EXAMPLES, LEAKY


@pytest.fixture(scope="module")
def network() -> Network:
    made = plan(LEAKY, EXAMPLES["leaky"].reference, families=["plain"], precisions=[DType.FLOAT32])
    return made.usual[0]


@pytest.mark.parametrize(
    ("built", "alive", "how", "taken"),
    [
        (BuildVerdict("built", ""), (), "built, live", True),
        (BuildVerdict("built", ""), None, "built, not live", True),
        (BuildVerdict("built", "", lenient=("leniency plugin-name",)), (), "built, leniently", True),
        (BuildVerdict("refused", "no"), None, "refused", False),
        (BuildVerdict("crashed", "no"), None, "crashed", False),
        (BuildVerdict("hung", "no"), None, "hung", False),
    ],
)
def test_each_end_has_its_words(
    network: Network, built: BuildVerdict, alive: tuple[str, ...] | None, how: str, taken: bool
) -> None:
    verdict = judged._verdict(network, built, alive=alive)
    assert (verdict.word, verdict.built) == (how, taken)
    assert verdict.outcome.bad is (how != "built, live")


def test_a_library_that_is_not_loaded_was_asked_nothing(network: Network) -> None:
    def ask() -> None:
        raise CheckFailed("the registry lists no creator")

    verdict = judged._guarded(network, ask)  # type: ignore[arg-type]
    assert (verdict.outcome, verdict.word, verdict.built) == (Outcome.FAILED, "not loaded", False)
