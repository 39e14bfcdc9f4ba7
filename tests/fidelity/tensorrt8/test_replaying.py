"""The host does what TensorRT 8.5.3 was recorded to do, outside of the rows that explain why not."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.runtimes.tensorrt import foreseen
from tests.fidelity.tensorrt8.answers import Recording, read
from tests.fidelity.tensorrt8.comparing import differences, events, tensors
from tests.fidelity.tensorrt8.conditions import eight_dimensions
from tests.fidelity.tensorrt8.drawing.case import feeds
from tests.fidelity.tensorrt8.drawing.flaws import FLAWS
from tests.fidelity.tensorrt8.drawing.networks import BASES, FAMILIES, case
from tests.fidelity.tensorrt8.hosting.hosted import Host, compile_for_cpu
from tests.fidelity.tensorrt8.recording.calls import Lives
from tests.fidelity.tensorrt8.replaying import ROWS, Judgement, judge, replay
from tests.fidelity.tensorrt8.report import describe, left, summary, table

SEED = 46


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with Host(compile_for_cpu(tmp_path_factory.mktemp("chameleons"))) as host:
        yield host


def test_a_case_is_the_same_each_time() -> None:
    for number in range(20):
        assert case(SEED, number) == case(SEED, number)
    assert case(SEED, 1).digest != case(SEED + 1, 1).digest


def test_every_kind_of_case_is_drawn() -> None:
    drawn = [case(SEED, number) for number in range(2600)]
    assert {one.base for one in drawn} == {*BASES}
    assert {one.family for one in drawn} == {*FAMILIES}
    assert {one.flaw for one in drawn} == {"", *(flaw.name for flaw in FLAWS)}
    assert {one.quantized for one in drawn} == {"", "explicit", "ranges", "bindings", "entropy", "minmax"}
    assert {len(one.network.profiles) for one in drawn} == {1, 2}
    assert {one.implicit_batch for one in drawn} == {True, False}
    forms = {form.name for one in drawn for call in one.network.calls for form in call.formats}
    assert forms == {"CHW2", "CHW4", "CHW32", "HWC8"}


LOG = """\
0 createPlugin 1 layer
1 clone 2
1 destroy
2 supportsFormatCombination 0
2 supportsFormatCombination 1
2 configurePlugin 0/0/1[-1,4][1,4][6,4];0/0/1[-1,4][1,4][6,4]
2 serialize
2 serialize
0 deserializePlugin 3 layer [profile 1]
3 clone 4
4 configurePlugin 0/0/1[3,4][3,4][3,4];0/0/1[3,4][3,4][3,4]
4 enqueue 0/0/1[3,4];0/0/1[3,4]
"""


def test_lives_are_told_by_what_made_them() -> None:
    lives = Lives()
    lives.add(LOG)
    assert lives.texts(engine=False) == ["1 clone of create: F*Css", "1 create: cx"]
    assert lives.texts(engine=True) == ["1 clone of deserialize: CE", "1 deserialize: c"]
    assert lives.configured() == {"layer": ["0/0/1[-1,4][1,4][6,4];0/0/1[-1,4][1,4][6,4]"]}
    assert [*events("1 clone of create: F*Css")] == [
        ("a clone", (), "supportsFormat"),
        ("a clone", (), "configurePlugin"),
        ("a clone", ("configured",), "serialize"),
        ("a clone", ("configured",), "serialize"),
    ]


def test_tensors_are_read() -> None:
    one, other = tensors("0/0/0.125[-1,4][1,4][6,4];2/4/1[]")
    assert (one.type, one.format, one.scale, one.dims) == (0, 0, 0.125, ((-1, 4), (1, 4), (6, 4)))
    assert (other.type, other.format, other.dims) == (2, 4, ((),))


def _value(answer: Any) -> None:
    next(iter(answer["outputs"][0].values()))[2][0] += 1


def _shape(answer: Any) -> None:
    next(iter(answer["outputs"][0].values()))[1].append(1)


def _scale(answer: Any) -> None:
    (texts,) = answer["configured"].values()
    texts[0] = texts[0].replace("/0/1[", "/0/0.5[", 1)


def _type(answer: Any) -> None:
    (texts,) = answer["configured"].values()
    texts[0] = f"9{texts[0][1:]}"


def _bounds(answer: Any) -> None:
    (texts,) = answer["configured"].values()
    texts[0] = texts[0].replace("]", ",99]")


def _count(answer: Any) -> None:
    next(iter(answer["ran"][0].values()))[0] += 1


def _order(answer: Any) -> None:
    answer["lives"].append("1 create: EC")


def _refusal(answer: Any) -> None:
    answer |= {"verdict": "refused", "message": "no"}


@pytest.mark.compile
@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (_value, "outputs"),
        (_shape, "outputs"),
        (_scale, "scales"),
        (_type, "tensors"),
        (_bounds, "tensors"),
        (_count, "counts"),
        (_order, "order"),
        (_refusal, "verdict"),
    ],
)
def test_what_differs_is_seen(host: Host, change: Callable[[Any], None], kind: str) -> None:
    one = next(
        found
        for number in range(100)
        if not (found := case(SEED, number)).flaw and found.base == "dynamic" and found.family == "plain"
    )
    mine = host.answer(one)
    assert mine["verdict"] == "built", mine
    assert differences(one, mine, mine) == []
    its = copy.deepcopy(mine)
    change(its)
    assert {found.kind for found in differences(one, its, mine)} == {kind}


TAKEN = {
    "calibration-without-float",
    "dynamic-implicit",
    "int8-at-end",
    "type-half-without-flag",
    "type-int8-without-flag",
    "v2-explicit",
}
"""Flaws of what the host isn't given: flags, calibrators, the kind of network."""


@pytest.mark.compile
@pytest.mark.parametrize("flaw", [one.name for one in FLAWS if one.name not in TAKEN])
def test_the_host_refuses_each_flaw(host: Host, flaw: str) -> None:
    one = next(found for number in range(3000) if (found := case(SEED, number)).flaw == flaw)
    answer = host.answer(one)
    assert answer["verdict"] == "refused", answer


TIMED = ("attached", "configured", "initialized")
LIVES: dict[str, set[tuple[str, tuple[str, ...], str]]] = {
    "dynamic": {
        ("the first object", (), "getOutputDataType"),
        ("a clone", TIMED, "terminate"),
        ("a clone", (*TIMED, "terminated"), "detachFromContext"),
        ("a clone", ("configured",), "getWorkspaceSize"),
        ("a clone", ("attached",), "detachFromContext"),
        ("a clone", ("attached", "configured"), "enqueue"),
    },
    "ioext": {
        ("the first object", (), "getOutputDataType"),
        ("a clone", (), "supportsFormat"),
        ("a clone", ("configured",), "getWorkspaceSize"),
        ("a clone", (*TIMED, "terminated"), "detachFromContext"),
        ("a clone", ("attached",), "enqueue"),
    },
    "v2ext": {
        ("the first object", (), "getOutputDataType"),
        ("a clone", (), "supportsFormat"),
        ("a clone", ("configured",), "getWorkspaceSize"),
        ("a clone", (*TIMED, "terminated"), "detachFromContext"),
    },
    "v2": {
        ("the first object", (), "getNbOutputs"),
        ("a clone", (), "supportsFormat"),
        ("a clone", ("configured",), "getWorkspaceSize"),
        ("an engine's object", ("initialized",), "enqueue"),
    },
}
"""Calls of 8.5.3 that the host must make in the same state of an object; supportsFormatCombination is told so, too."""


@pytest.mark.compile
@pytest.mark.parametrize("base", LIVES)
def test_a_plugin_leads_the_life_that_it_has_in_8_5_3(host: Host, base: str) -> None:
    one = next(
        found
        for number in range(300)
        if not (found := case(SEED, number)).flaw and found.base == base and found.family == "plain"
    )
    answer = host.answer(one)
    lived = {event for part in ("lives", "run_lives") for text in answer[part] for event in events(text)}
    assert LIVES[base] <= lived


@pytest.mark.compile
def test_eight_dimensions_and_the_batch_are_too_many(host: Host) -> None:
    drawn = (case(SEED, number) for number in range(3000))
    one = next(found for found in drawn if not found.flaw and found.base != "dynamic" and eight_dimensions(found))
    assert "and 9 with the batch, expected at most 8" in host.answer(one)["message"]


@pytest.mark.compile
def test_an_answer_to_another_case_is_refused(host: Host) -> None:
    with pytest.raises(CheckFailed, match="was 00000000 when it was recorded"):
        judge(host, SEED, 0, {"digest": "00000000"})


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    recording = Recording("8.5.3.1", "a GPU", 7, {3: {"verdict": "built"}, 1: {"verdict": "refused"}})
    recording.write(path)
    assert read(path) == recording
    replace(recording, answers={}).write(path)
    assert read(path).answers == {}


def test_another_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    path.write_bytes(b"something")
    with pytest.raises(UsageError, match="answers holds no recorded answers"):
        read(path)


def test_a_run_has_small_whole_numbers() -> None:
    for number in range(60):
        one = case(SEED, number)
        for run in one.runs:
            assert all(abs(array.astype(float)).max(initial=0) <= 4 for array in feeds(one, run).values())


def test_input_layers_that_branches_share_are_foreseen() -> None:
    rows: dict[bool, set[str]] = {}
    for one in (case(SEED, number) for number in range(400)):
        if one.family in ("then", "else", "both") and one.base == "dynamic" and not one.quantized:
            row = foreseen.of_network(one.network, "8.5")
            several = len(one.network.calls[0].types) > 1
            rows.setdefault(several, set()).add(row.id if row else "")
    assert rows == {True: {"shared-input-layers"}, False: {""}}


RECORDED = Path(__file__).parent / "recorded-8.5.3.1.xz"
REPLAYED = 150
"""Cases of `make test`."""


def assert_alike(numbers: Sequence[int]) -> list[Judgement]:
    found = replay(read(RECORDED), numbers)
    print(table(found), summary(found), sep="\n\n")
    assert [describe(one) for one in left(found)] == []
    return found


@pytest.mark.compile
def test_the_first_recorded_cases() -> None:
    found = assert_alike(sorted(read(RECORDED).answers)[:REPLAYED])
    assert sum(not one.found for one in found) > len(found) // 2, "most are alike without any row"


@pytest.mark.slow
@pytest.mark.compile
def test_all_recorded_cases() -> None:
    recording = read(RECORDED)
    found = assert_alike(sorted(recording.answers))
    used = {row for one in found for _, row in one.found}
    assert used == {row.id for row in ROWS}, "each row explains something"
