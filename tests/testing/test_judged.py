"""What NVIDIA's builder is said to have done, by what it answered."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import numpy as np
import pytest

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.evaluators.rtx import build as judged
from pluginkit.formats import Format
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network
from pluginkit.runtimes import BuildVerdict
from pluginkit.runtimes.verdict import Configured, SeenTensor
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference
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


SHAPED = Manifest.parse(
    '[plugin]\nname = "Shaped"\nbase = "v3"\n'
    '[[inputs]]\nname = "size"\ntypes = ["int64"]\nshape = [1]\nvalues = ["k"]\n'
    '[[inputs]]\nname = "x"\ntypes = ["float32"]\nshape = ["n"]\n'
    '[[outputs]]\nname = "y"\ntypes = ["float32"]\nshape = ["k"]\n'
    '[[profiles]]\nname = "small"\nsymbols = { n = [1, 2, 3], k = [1, 2, 3] }\n'
    '[[profiles]]\nname = "large"\nsymbols = { n = [4, 5, 6], k = [4, 5, 6] }\n'
)


def test_with_values_as_constants_the_first_profile_is_all_that_is_built() -> None:
    """The builder crashes on values of run time; what it is given then is what its plugin is judged by."""
    reference = Reference(SHAPED, lambda size, x: np.zeros(int(size[0])) + x.sum())
    made = plan(SHAPED, reference, families=["loop-count"])
    (looping,) = made.usual
    asked: list[Network] = []

    class Crashing:
        """Stands for NVIDIA's builder."""

        def build(self, network: Network, **_: object) -> BuildVerdict:
            asked.append(network)
            if "size" in network.profiles[0].values:
                return BuildVerdict("crashed", "TensorRT-RTX: SIGSEGV outside of the plugin, after IPluginV3::clone")
            (call,) = network.calls
            low, best, high = call.inputs[0][1]
            tensor = SeenTensor(best, DType.FLOAT32.code, Format.LINEAR.code, 1.0, low, best, high)
            return BuildVerdict("built", "", configured=(Configured(call.node, (tensor,), ()),))

    builder = judged.Builder(Path(), SHAPED, 60, made)
    verdict = builder._network(Crashing(), looping, tuple, [])  # type: ignore[arg-type]
    assert [len(one.profiles) for one in asked] == [2, 1]
    assert verdict.outcome is Outcome.SKIPPED, verdict.message
    assert "With these values as constants it builds the network" in verdict.message


def test_what_the_host_could_not_tell_is_no_verdict_of_the_builder() -> None:
    made = plan(SHAPED, Reference(SHAPED, lambda size, x: np.zeros(int(size[0])) + x.sum()), families=["loop-count"])

    class Building:
        """Stands for NVIDIA's builder."""

        def build(self, *_: object, **__: object) -> BuildVerdict:
            return BuildVerdict("built", "")

    def expected() -> NoReturn:
        raise CheckFailed("pluginkit's host")

    place = SimpleNamespace(get=lambda _: Building())
    builder = judged.Builder(Path(), SHAPED, 60, made)
    with pytest.raises(CheckFailed, match="pluginkit's host"):
        builder.network(made.usual[0], expected, place)  # type: ignore[arg-type]
