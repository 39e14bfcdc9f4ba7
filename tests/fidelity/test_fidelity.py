"""The host says what NVIDIA's builder says, outside of the table of leniencies: 150 cases, 5,000 in the slow run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import onnx
import pytest

from pluginkit.dtypes import DType
from pluginkit.formats import Format
from pluginkit.runtimes.rtx import leniencies
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.verdict import BuildVerdict, Configured, SeenTensor

from .flaws import FAMILIES, FLAWS, WILD
from .generator import case
from .graphs import without_probes
from .judging import Evaluators, Judgement, evaluators
from .report import describe, disagreements, reasons, summary, table
from .signature import CEIL_DIV, FLOOR_DIV, PROD, RULES, SUB, Broadcast, Expression, Signature, Size

needs_rtx = pytest.mark.skipif(not tensorrt_rtx.probe().found, reason=tensorrt_rtx.probe().reason)
SEED = 2026


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluators]:
    with evaluators(tmp_path_factory.mktemp("fidelity")) as both:
        yield both


def assert_alike(judgement: Sequence[Judgement], allowed: int) -> None:
    print(table(judgement), summary(judgement), sep="\n\n")
    different = [describe(one) for one in disagreements(judgement)]
    assert len(different) <= allowed, "\n\n".join(different)
    refused = [one for one in judgement if not one.rtx.ok]
    assert 3 * len(refused) >= len(judgement), "at least a third is refused by NVIDIA"
    assert len(reasons(judgement)) >= 12, "for a dozen reasons"
    other = [describe(one) for one in refused if one.case.flaw in FLAWS and not one.lenient and not one.for_its_reason]
    assert len(other) <= allowed, "\n\n".join(other)
    assert sum(one.compared for one in judgement) > len(judgement), "types and shapes were compared"
    # NVIDIA falls over only where the table says so.
    crashes = {row.id for row in leniencies.LENIENCIES if row.kind == "crashes"}
    fallen = [one.case.flaw for one in judgement if one.rtx.status in {"crashed", "hung"}]
    assert all(flaw and flaw.lenient in crashes for flaw in fallen)


@pytest.mark.rtx
@pytest.mark.compile
@needs_rtx
def test_150_cases(both: Evaluators) -> None:
    assert_alike([both.evaluate(case(SEED, number)) for number in range(150)], allowed=0)


@pytest.mark.slow
@pytest.mark.rtx
@pytest.mark.compile
@needs_rtx
def test_5000_cases(both: Evaluators) -> None:
    """The goal is 99.9 %; docs/fidelity.md has every disagreement."""
    assert_alike([both.evaluate(case(SEED, number)) for number in range(5000)], allowed=5)


@pytest.mark.rtx
@pytest.mark.compile
@needs_rtx
def test_a_host_that_takes_everything_would_turn_it_red(both: Evaluators) -> None:
    numbers = [number for number in range(200) if (flaw := case(SEED, number).flaw) and flaw.reason][:3]
    for judgement in [both.evaluate(case(SEED, number)) for number in numbers]:
        assert judgement.agree
        blind = Judgement(judgement.case, type(judgement.host)("built", ""), judgement.rtx, (), 0)
        assert disagreements([blind]) == [blind]
        with pytest.raises(AssertionError, match="RTX alone refuses"):
            assert_alike([blind], allowed=0)


def test_another_format_is_another_question_only_where_nvidia_chose_one() -> None:
    drawn = (case(SEED, number) for number in range(1000))
    never = next(one for one in drawn if one.flaw is not None and one.flaw.name == "never-linear")
    refused = BuildVerdict("refused", "no combination of the types and formats that the network has")
    for form, count in ((Format.CHW32, 0), (Format.LINEAR, 1)):
        tensor = SeenTensor((2,), 0, form.code, 1.0, (2,), (2,), (2,))
        built = BuildVerdict("built", "", configured=(Configured("plugin", (tensor,), (tensor,)),))
        one = Judgement(never, refused, built, (), 0)
        assert len(disagreements([one])) == count
        assert one.other_format != bool(count)


def test_a_case_is_the_same_each_time() -> None:
    for number in range(20):
        assert case(SEED, number) == case(SEED, number)
    assert case(SEED, 1).network.model != case(SEED + 1, 1).network.model


def test_every_flaw_and_family_is_drawn() -> None:
    drawn = [case(SEED, number) for number in range(1500)]
    assert {one.flaw.name for one in drawn if one.flaw} == {flaw.name for flaw in (*FLAWS, WILD)}
    assert {one.id.partition("/")[0] for one in drawn} == set(FAMILIES)
    assert {flaw.lenient for flaw in FLAWS if flaw.lenient} <= {row.id for row in leniencies.LENIENCIES}
    for one in drawn[:50]:
        onnx.checker.check_model(onnx.load_from_string(without_probes(one.network.model)))


def test_expressions() -> None:
    inputs = [(4, 7), (3,)]
    ceil = Expression((0, 1), SUB, (1, 0), CEIL_DIV, 3)
    assert ceil.value(inputs) == 2
    assert ceil.interval([(1, 2), (3,)], [(4, 9), (5,)]) == (-1, 2)
    assert Expression((0, 0), FLOOR_DIV, 0).value(inputs) is None
    assert Expression((0, 0), FLOOR_DIV, (1, 0)).interval([(1, 1), (0,)], [(2, 2), (3,)]) is None
    assert Expression((0, 0), PROD, -3).interval([(1, 1), (3,)], [(4, 7), (3,)]) == (-12, -3)
    assert -(1 << 31) <= Expression(191, 8, 191, 9, 191).code < 1 << 31


@pytest.mark.parametrize("inputs", [[(4, 1, 3), (5, 1)], [(), (2, 0)], [(1,), (7, 6), (6,)]])
def test_a_broadcast_is_numpys(inputs: list[tuple[int, ...]]) -> None:
    dims = RULES["broadcast"]([len(dims) for dims in inputs])
    assert tuple(dim.value(inputs) for dim in dims) == np.broadcast_shapes(*inputs)


def test_sizes_and_broadcasts_have_bounds() -> None:
    low, high = [(1,), (2,)], [(3,), (6,)]
    assert Broadcast(((0, 0), (1, 0))).interval(low, high) == (2, 6)
    size = Size(2, Expression((0, 0)), Expression((0, 0), PROD, (1, 0)))
    assert size.interval(low, high) == (0, 18)
    signature = Signature((0, 0, DType.INT32), ((Expression(2),), (size,), ()), lists=True)
    assert signature.sizes == {2: size}
    fields = {name: value for name, (_, value) in signature.fields().items()}
    assert fields["dims2"] == ()
    assert fields["upper2"] == size.upper.code
    assert signature.output_range(1, [((1,), (2,), (3,)), ((2,), (3,), (6,))]) == ((0,), (2,), (18,))


def test_what_a_signature_may_be_is_drawn() -> None:
    calls = [(one, call) for one in (case(SEED, number) for number in range(400)) for call in one.network.calls]
    assert {one.base for one, _ in calls} == {"v2", "v3"}
    assert {len(shapes[0]) for _, call in calls for shapes in call.inputs[0]} == set(range(9))
    drawn = [{*call.types, *call.output_types} for _, call in calls]
    assert set().union(*drawn) == set(DType)
    # What both builders refuse whatever the plugin (refusal int8-and-float8) says nothing about either.
    assert not any({DType.INT8, DType.FLOAT8} <= kinds for kinds in drawn)
    assert {call.types[-1] for _, call in calls if call.shape_inputs} == {DType.INT32, DType.INT64}
    values = {(name, value) for _, call in calls for name, (_, value) in call.fields.items()}
    names = {name for name, _ in values}
    assert {"upper2", "alias0", "aliases", "types", "masks", "dims0", "dim0_7"} <= names
    assert {("rule0", "broadcast"), ("rule0", "last"), ("workspace", 4097), ("dims0", ())} <= values
