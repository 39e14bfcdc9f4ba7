"""The case of more than 2^31 elements: what is made of a signature, and how the answers are judged."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.evaluators.host import large as judging
from pluginkit.manifest import Manifest
from pluginkit.network.large import TOOK_TOO_MUCH, LargeCase, LargeRun
from pluginkit.process.findings import Defect
from pluginkit.process.worker import WorkerCrashed, WorkerTimeout
from pluginkit.runtimes import Target
from pluginkit.runtimes.host.session import HostSession
from pluginkit.testing.edges import large
from pluginkit.testing.plan import field_values
from pluginkit.testing.reference import Reference
from pluginkit.testing.report import Outcome

from .conftest import BAR, EXAMPLES, LEAKY

FLOATS = (DType.FLOAT32, DType.FLOAT16)


def make(manifest: Manifest, function: object, kinds: tuple[DType, ...] = FLOATS) -> LargeCase | str:
    return large.make(manifest, Reference(manifest, function, "reference.py"), field_values(manifest), kinds, 0)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def case() -> LargeCase:
    found = large.make(LEAKY, EXAMPLES["leaky"].reference, field_values(LEAKY), FLOATS, 0)
    assert isinstance(found, LargeCase)
    return found


def test_a_batch_is_made_so_large_and_three_pieces_have_values(case: LargeCase) -> None:
    assert case.id == "plain/float32/large"
    (x,), (y,) = case.inputs, case.outputs
    assert x.shape == y.shape == (*(case.symbols[name] for name in "nchw"),)
    assert 2**31 < math.prod(x.shape) < 2**31 + 2 * math.prod(x.shape[1:]) * 2
    size = math.prod(x.shape)
    for (start, values), (at, want) in zip(x.pieces, y.pieces, strict=True):
        assert start == at
        assert np.array_equal(want, np.where(values >= 0, values, 0.5 * values))
    (first, _), (_, _), (last, values) = x.pieces
    assert first == 0
    assert last + values.size == size
    assert not np.array_equal(x.pieces[0][1], values), "a piece in the place of another is seen"
    (call,) = case.network.calls
    assert call.inputs[0][0][2] == x.shape, "the profile goes so far"


def test_why_there_is_none() -> None:
    assert "n has slices that depend on one another" in make(LEAKY, lambda x, *, alpha: x - x.mean())
    assert "m is not the first dimension of each output" in make(BAR, EXAMPLES["bar"].reference._function)
    sizes = LEAKY.inputs[0].model_copy(update={"name": "sizes", "values": ("n",), "shape": ("1",)})
    shaped = LEAKY.model_copy(update={"inputs": (*LEAKY.inputs, sizes)})
    assert "n is an element of an input" in make(shaped, lambda x, sizes, *, alpha: x)

    def whole_batches(x: np.ndarray, *, alpha: float) -> np.ndarray:
        if len(x) < 2:
            raise ValueError
        return x

    assert "n has sizes that the reference does not take" in make(LEAKY, whole_batches)


def leaky(x: np.ndarray, *others: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(x >= 0, x, alpha * x)


def test_int8_has_values_in_steps_of_the_scales_that_each_test_has() -> None:
    found = make(LEAKY, leaky, (DType.INT8,))
    assert isinstance(found, LargeCase)
    (call,) = found.network.calls
    (x,), (y,) = found.inputs, found.outputs
    assert (x.dtype, y.dtype) == (DType.INT8, DType.INT8)
    assert (found.tolerance.kind, found.tolerance.steps, found.tolerance.scales) == ("steps", 1, {"y": 1.0})
    (of_x,), (of_y,) = call.scales, call.output_scales
    assert of_x != of_y
    for (_, given), (_, want) in zip(x.pieces, y.pieces, strict=True):
        assert np.array_equal(given, np.rint(given))
        assert -128 <= given.min() < given.max() <= 127
        assert np.array_equal(want, np.clip(np.rint(leaky(given * of_x, alpha=0.5) / of_y), -128, 127))


def test_static_shapes_are_built_for_that_size() -> None:
    plugin = LEAKY.plugin.model_copy(update={"interfaces": ("ioext",)})
    found = make(LEAKY.model_copy(update={"plugin": plugin}), leaky)
    assert isinstance(found, LargeCase)
    (call,) = found.network.calls
    assert set(call.inputs[0][0]) == {found.inputs[0].shape}
    assert found.control is not None
    assert set(found.control.network.calls[0].inputs[0][0]) == {found.control.inputs[0].shape}


def test_an_output_may_have_an_inputs_memory() -> None:
    (y,) = LEAKY.outputs
    plugin = LEAKY.plugin.model_copy(update={"interfaces": ("v3",)})
    outputs = (y.model_copy(update={"alias": "x"}),)
    assert isinstance(make(LEAKY.model_copy(update={"plugin": plugin, "outputs": outputs}), leaky), LargeCase)


def test_shape_inputs_keep_their_values() -> None:
    sizes = LEAKY.inputs[0].model_copy(
        update={"name": "sizes", "values": ("h", "w"), "shape": ("2",), "types": (DType.INT64,), "scale": None}
    )
    plugin = LEAKY.plugin.model_copy(update={"interfaces": ("v3",)})
    manifest = LEAKY.model_copy(update={"plugin": plugin, "inputs": (*LEAKY.inputs, sizes)})
    found = make(manifest, leaky)
    assert isinstance(found, LargeCase)
    ((start, values),) = found.inputs[1].pieces
    assert (start, values.tolist()) == (0, [found.symbols["h"], found.symbols["w"]])
    assert found.network.calls[0].shape_inputs == (1,)


def test_a_batch_with_scales_of_its_own_is_not_made_so_large() -> None:
    (x,) = LEAKY.inputs
    manifest = LEAKY.model_copy(update={"inputs": (x.model_copy(update={"scale_axis": 0}),)})
    assert "n has a scale for each element" in make(manifest, leaky, (DType.INT8,))


def answered(case: LargeCase, change: float = 0.0, *, unwritten: int = 0, elsewhere: bool = False) -> LargeRun:
    """What is right, with a change in the last piece; so many pieces have unwritten elements, from the last one on."""
    pieces = []
    for number, (_, want) in enumerate(case.outputs[0].pieces):
        written = np.ones(want.shape, bool)
        if number >= 3 - unwritten:
            written[:] = False
        pieces.append(((want + change * (number == 2)).astype(np.float32), written))
    return LargeRun((tuple(pieces),), elsewhere)


@pytest.mark.parametrize(
    ("ends", "text"),
    [("[0, 0, 4]", ""), ("[0, 1, 4]", ""), ("[0, 0, 0]", "n is 0 at opt and max")],
)
def test_a_profile_without_elements_at_opt(ends: str, text: str) -> None:
    made = make(
        Manifest.parse(
            '[plugin]\nname = "Empty"\n'
            '[[inputs]]\nname = "x"\ntypes = ["float32"]\nshape = ["n", 2]\n'
            '[[outputs]]\nname = "y"\ntypes = ["float32"]\nshape = ["n", 2]\n'
            f'[[profiles]]\nname = "default"\nsymbols = {{ n = {ends} }}\n'
        ),
        lambda x: 2 * x,
    )
    assert isinstance(made, str) is bool(text)
    assert text in str(made)


@pytest.mark.parametrize(
    ("target", "change", "unwritten", "outcome", "text"),
    [
        ("cpu", 0.0, 0, Outcome.PASSED, ""),
        ("gpu", 0.0, 0, Outcome.PASSED, ""),
        ("gpu", 0.0, 1, Outcome.FAILED, "was left unwritten"),
        ("cpu", 0.0, 1, Outcome.SKIPPED, "no block that was run wrote any of the last elements"),
        ("cpu", 0.0, 3, Outcome.FAILED, "no block has written any of the first or the last elements"),
        ("cpu", 1.0, 0, Outcome.FAILED, "of the last slices, which begin at element "),
        ("gpu", 1.0, 0, Outcome.FAILED, "off by 1"),
    ],
)
def test_how_it_is_judged(
    case: LargeCase, target: Target, change: float, unwritten: int, outcome: Outcome, text: str
) -> None:
    found, message = judging.evaluate(case, answered(case, change, unwritten=unwritten), target)
    assert found is outcome
    assert text in message
    assert (judging.WIDER in message) is (outcome is Outcome.FAILED)


def test_what_is_written_elsewhere_is_not_missed(case: LargeCase) -> None:
    """Blocks may have other elements than those at the ends."""
    found, message = judging.evaluate(case, answered(case, unwritten=3, elsewhere=True), "cpu")
    assert (found, message.partition(":")[0]) == (Outcome.SKIPPED, "not tested")


class Session:
    """Answers, or fails, as told; of a control by few blocks it answers what is right, off by `control`, and finds
    `beside`; by all blocks it is off by `whole`."""

    def __init__(
        self,
        answer: LargeRun | Exception,
        *found: Defect,
        control: float = 0.0,
        beside: tuple[Defect, ...] = (),
        whole: float = 0.0,
    ) -> None:
        self.answer, self.found, self.limits = answer, found, {}
        self.control, self.beside, self.whole = control, beside, whole

    def large(self, case: LargeCase, **limits: float) -> LargeRun:
        self.limits = limits
        if case.control is None:
            self.found = () if case.whole else self.beside
            return answered(case, self.whole if case.whole else self.control)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def findings(self) -> tuple[Defect, ...]:
        return self.found

    took_too_much = staticmethod(HostSession.took_too_much)


def test_where_there_is_not_so_much_memory_nothing_is_judged(case: LargeCase) -> None:
    none = replace(LargeRun(), problem=f"{2**33} bytes for a tensor")
    reason = "not tested, there is not so much memory: 8589934592 bytes for a tensor"
    assert judging.run(Session(none), case, "gpu") == (Outcome.SKIPPED, reason)  # type: ignore[arg-type]
    assert judging.warnings(Session(none), replace(case, wider=())) == ((), reason)  # type: ignore[arg-type]


OUTSIDE = Defect("invalid-address", "the thread touches 0x10, which is not memory of the process.")
CONFIGURATION = Defect("launch-config", "a grid of (1, 4194306, 1) blocks; at most (2147483647, 65535, 65535)")


@pytest.mark.parametrize(
    ("answer", "found", "warned", "text"),
    [
        (None, (), False, ""),
        (CheckFailed("enqueue answered 1"), (), False, "not tested: enqueue answered 1"),
        (CheckFailed("enqueue answered 1"), (CONFIGURATION,), False, "not tested: a grid of (1, 4194306, 1) blocks"),
        (CheckFailed("enqueue answered 0, but"), (OUTSIDE,), True, "the thread touches 0x10"),
        (WorkerTimeout(20, "enqueue", inside=True, log_tail=""), (), False, "not tested: no answer within 20 s"),
        (WorkerCrashed("SIGABRT", "enqueue", inside=True, log_tail=""), (), False, "SIGABRT in enqueue"),
        (WorkerCrashed("SIGKILL", "enqueue", inside=True, log_tail=""), (), False, "SIGKILL in enqueue"),
        (WorkerCrashed("SIGSEGV", "enqueue", inside=True, log_tail=""), (), True, "SIGSEGV in enqueue"),
        (
            WorkerCrashed("exit code 75", "", inside=False, log_tail=""),
            (),
            False,
            "it takes more than 512 MiB or 5 s of CPU",
        ),
    ],
)
def test_what_each_test_makes_of_it(
    case: LargeCase, answer: Exception | None, found: tuple[Defect, ...], warned: bool, text: str
) -> None:
    """A plugin may refuse such sizes, and the machine may be too small: neither is a warning."""
    session = Session(answer or answered(case), *found)
    warnings, untried = judging.warnings(session, replace(case, wider=()))  # type: ignore[arg-type]
    assert session.limits == {"cpu_seconds": 5.0, "most_touched": 512 << 20}
    assert [one.rule for one in warnings] == ["E17"] * warned
    assert text in (warnings[0].text if warnings else untried)
    assert bool(untried) is (bool(text) and not warned)


@pytest.mark.parametrize(
    ("found", "control", "beside", "warned"),
    [
        ((), 0.0, (), True),
        ((), 1.0, (), False),
        ((), 0.0, (OUTSIDE,), False),
        ((OUTSIDE,), 1.0, (), True),
        ((OUTSIDE,), 0.0, (OUTSIDE,), False),
    ],
)
def test_what_fails_with_few_elements_too_is_not_the_sizes_doing(
    case: LargeCase, found: tuple[Defect, ...], control: float, beside: tuple[Defect, ...], warned: bool
) -> None:
    """A block may need what one has written that is not run."""
    session = Session(answered(case, 1.0), *found, control=control, beside=beside)
    warnings, untried = judging.warnings(session, replace(case, wider=()))  # type: ignore[arg-type]
    assert bool(warnings) is warned
    assert untried.startswith("not tested: run by few blocks, it fails with 167") is not warned


def test_what_fails_by_few_blocks_and_by_all_of_them_is_the_sizes_doing(case: LargeCase) -> None:
    session = Session(answered(case, 1.0), control=1.0, whole=1.0)
    (warning,), untried = judging.warnings(session, replace(case, wider=()))  # type: ignore[arg-type]
    assert (warning.rule, untried) == ("E17", "")


class Wider:
    """Answers each case that is run with all blocks: what is right, or off and unwritten as told."""

    def __init__(self, *, change: float = 0.0, unwritten: int = 0, seconds: float = 0.01) -> None:
        self.told = {"change": change, "unwritten": unwritten}
        self.seconds, self.asked = seconds, []  # type: ignore[var-annotated]

    def large(self, case: LargeCase, **limits: float) -> LargeRun:
        if not case.whole:
            return answered(case)
        self.asked.append(case.symbols["n"])
        return replace(answered(case, **self.told), seconds=self.seconds)  # type: ignore[arg-type]

    def findings(self) -> tuple[Defect, ...]:
        return ()

    took_too_much = staticmethod(HostSession.took_too_much)


def test_sizes_beyond_the_profile_are_where_indices_and_grids_end(case: LargeCase) -> None:
    assert [one.whole for one in case.wider] == [True] * len(case.wider)
    assert 2**16 < case.wider[0].symbols["n"] < 2**16 + 20
    assert all(one.elements < 2**26 for one in case.wider)


@pytest.mark.parametrize("told", [{"change": 1.0}, {"unwritten": 1}])
def test_what_is_wrong_or_unwritten_beyond_the_profile_is_warned(case: LargeCase, told: dict[str, float]) -> None:
    (warning,), untried = judging.warnings(Wider(**told), case)  # type: ignore[arg-type]
    assert (warning.rule, untried) == ("E17", "")
    assert "beyond the profile" in warning.text


def test_what_is_right_there_is_not_a_warning_and_what_takes_long_is_said(case: LargeCase) -> None:
    session = Wider()
    assert judging.warnings(session, case) == ((), "")  # type: ignore[arg-type]
    assert session.asked == [one.symbols["n"] for one in case.wider]
    two = replace(case, wider=(case.wider[0], case.wider[0]))
    warnings, untried = judging.warnings(Wider(seconds=10.0), two)  # type: ignore[arg-type]
    assert warnings == () and "it would take more than 1.5 s" in untried


def test_a_control_has_the_same_pieces_of_so_few_elements_that_32_bits_reach_them(case: LargeCase) -> None:
    control = case.control
    assert control is not None
    assert control.control is None
    assert 2**24 < control.elements < 2**25
    for mine, its in zip((*case.inputs, *case.outputs), (*control.inputs, *control.outputs), strict=True):
        assert mine.shape[1:] == its.shape[1:]
        assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(mine.pieces, its.pieces, strict=True))
        last, values = its.pieces[-1]
        assert last + values.size == math.prod(its.shape)
    assert control.network.calls[0].inputs[0][0][2] == control.inputs[0].shape, "the profile goes so far"


def test_target_cpu_ends_the_process_that_takes_too_long() -> None:
    busy = "with large._ends([2**31], 1 << 40, 0.05):\n    while True:\n        pass"
    code = f"from pluginkit.runtimes.host import large\n{busy}"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=100).returncode == TOOK_TOO_MUCH
