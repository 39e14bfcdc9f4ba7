"""What NVIDIA must refuse: every control is refused, for its reason; and one that isn't turns red."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pluginkit.dtypes import DType
from pluginkit.evaluators.rtx import negative_controls as controls
from pluginkit.evaluators.rtx import structure_controls as structures
from pluginkit.evaluators.rtx.build import evaluator_control
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.rtx.session import RtxSession
from pluginkit.runtimes.verdict import BuildVerdict
from pluginkit.testing.families import FAMILIES as every
from pluginkit.testing.families.api import forms as api_networks
from pluginkit.testing.families.base import Setting
from pluginkit.testing.report import Outcome, Report
from tests.testing.conftest import FAMILIES

from . import faulty

HERE = Path(__file__).parent
needs_rtx = pytest.mark.skipif(not tensorrt_rtx.probe().found, reason=tensorrt_rtx.probe().reason)
pytestmark = [pytest.mark.rtx, pytest.mark.compile, needs_rtx]


@pytest.fixture(scope="module")
def sessions(
    tmp_path_factory: pytest.TempPathFactory, compile_library: Callable[..., Path]
) -> Iterator[dict[str, RtxSession]]:
    folder = tmp_path_factory.mktemp("refused")
    opened = {}
    for name in ("refused", "refused_v3"):
        library = compile_library(HERE / f"{name}.cpp", folder / f"lib{name}.so")
        opened[name] = tensorrt_rtx.open(library, faulty.manifest(), timeout=60)
    yield opened
    for session in opened.values():
        session.close()


@pytest.mark.parametrize("fault", faulty.FAULTS, ids=lambda fault: fault.name)
def test_a_faulty_plugin_is_refused_in_every_family(sessions: dict[str, RtxSession], fault: Any) -> None:
    found = list(faulty.of(fault, tuple(FAMILIES)))
    concerned = [name for name in FAMILIES if not fault.only or name in fault.only]
    # INT8 has a network of `plain` for each channel count.
    assert list(dict.fromkeys(control.id.partition("/")[0] for control in found)) == concerned
    for control in found:
        verdict = evaluator_control(sessions[fault.library], control)
        assert verdict.outcome is Outcome.PASSED, (control.id, verdict.message)


@pytest.mark.parametrize("fault", faulty.FAULTS, ids=lambda fault: fault.name)
def test_without_the_fault_the_same_networks_turn_the_control_red(sessions: dict[str, RtxSession], fault: Any) -> None:
    (control, *_) = faulty.of(replace(fault, value=0))
    verdict = evaluator_control(sessions[fault.library], control)
    assert verdict.outcome is Outcome.FAILED
    assert "built, and must be refused" in verdict.message


def made_controls() -> list[controls.Control]:
    signature = faulty.manifest()
    networks = [n for n in faulty.networks(signature).values() if n.precision is DType.FLOAT32]
    return list(controls.network_controls(networks, faulty.setting(signature)))


def test_networks_with_one_thing_wrong_are_refused(sessions: dict[str, RtxSession]) -> None:
    found = made_controls()
    assert {control.id.rpartition("/")[2] for control in found} == {
        "min-above-opt",
        "recurrence-changes-shape",
        "no-trip-count",
        "types-differ",
        "ranks-differ",
        "type-not-offered",
        *structures.WRONG,
    }
    assert len({control.id for control in found}) == len(found)
    assert {control.id.partition("/")[0] for control in found} >= {"plain", "loop-count", "cond-both", "api-loop-while"}
    for control in found:
        verdict = evaluator_control(sessions["refused"], control)
        assert verdict.outcome is Outcome.PASSED, (control.id, verdict.message)


def test_the_structures_without_their_fault_are_built(sessions: dict[str, RtxSession]) -> None:
    plain = api_networks.make(faulty.setting(faulty.manifest()), "api-shape-out")
    assert plain is not None
    x, flag = plain.outputs[-1], structures.FLAG
    sound = (
        *(*structures.loop("one", x), *structures.last("one")),
        *(flag, *structures.branches("if", x, flag.out), *structures.either("if")),
    )
    verdict = sessions["refused"].build_api(replace(plain, steps=(*plain.steps, *sound)))
    assert verdict.ok, verdict.message


def test_a_refusal_for_another_reason_is_none(sessions: dict[str, RtxSession]) -> None:
    control = replace(made_controls()[0], reason="the moon is full")
    verdict = evaluator_control(sessions["refused"], control)
    assert verdict.outcome is Outcome.FAILED
    assert "refused, but not for its reason" in verdict.message
    assert "MIN<=OPT<=MAX" in verdict.message
    crashed = BuildVerdict("crashed", "SIGSEGV: MIN<=OPT<=MAX")
    assert controls.problem(replace(control, reason="MIN"), crashed).startswith("crashed, but not")


def test_a_type_that_is_taken_but_not_declared_turns_the_run_red(sessions: dict[str, RtxSession]) -> None:
    """The plugin takes FP16; its manifest says it takes FP32 only."""
    text = faulty.TOML.format(fault=0).replace('"float32", "float16", "int8"', '"float32"')
    signature = type(faulty.manifest()).parse(text)
    networks = list(faulty.networks(signature).values())
    found = list(controls.network_controls(networks, faulty.setting(signature)))
    verdicts = tuple(evaluator_control(sessions["refused"], one) for one in found)
    bad = [verdict for verdict in verdicts if verdict.outcome.bad]
    assert [verdict.network for verdict in bad] == [
        "api-shape-out/float32/type-not-offered",
        "api-loop-while/float32/type-not-offered",
        "api-cond-lazy/float32/type-not-offered",
    ]
    report = Report("Refused", "", "", 0, (), (), controls=verdicts)
    assert report.exit_code == 1
    assert report.bad == bad


def test_the_log_of_a_refusal_has_its_errors_first(sessions: dict[str, RtxSession]) -> None:
    (fault,) = [fault for fault in faulty.FAULTS if fault.name == "error-from-configure"]
    verdict = evaluator_control(sessions["refused_v3"], next(faulty.of(fault)))
    kinds = [line.partition(":")[0] for line in verdict.log]
    assert kinds[0] in {"error", "internal_error"}
    assert "configurePluginV3" in verdict.log[0]
    assert kinds == sorted(kinds, key=["internal_error", "error", "warning"].index)


def test_nothing_grows_where_a_dimension_is_empty_at_opt() -> None:
    """Twice nothing is nothing: NVIDIA's builder built such a loop, of a drawn signature."""
    text = (
        '[plugin]\nname = "One"\n[[inputs]]\nname = "x"\ntypes = ["float32"]\nshape = ["n"]\n'
        '[[outputs]]\nname = "y"\ntypes = ["float32"]\nshape = ["n"]\n[[profiles]]\nsymbols = { n = [0, OPT, 2] }'
    )
    for opt in (0, 1):
        setting = Setting(Manifest.parse(text.replace("OPT", str(opt))), DType.FLOAT32, {})
        network = every["loop-count"].build(setting)
        assert isinstance(network, Network)
        made = [control.id for control in controls.network_controls([network], setting)]
        assert any("recurrence-changes-shape" in one for one in made) is (opt > 0)
