"""Whether the plugin computes tensors of more than 2^31 elements: at their ends in each test on target cpu, where that
costs little, and as far as can be with `pluginkit test --large`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pluginkit.demands import DemandWarning
from pluginkit.errors import CheckFailed
from pluginkit.network.large import LargeCase, LargeRun
from pluginkit.process.defects import demand_of_cost, describe
from pluginkit.process.findings import Defect
from pluginkit.process.worker import WorkerCrashed, WorkerTimeout
from pluginkit.runtimes import Target
from pluginkit.runtimes.host.time_limit import endless
from pluginkit.testing.comparison import compare
from pluginkit.testing.report import Outcome

if TYPE_CHECKING:
    from pluginkit.runtimes.host.session import HostSession

WIDER = (
    "  fix: Count elements and compute indices in 64 bits (int64_t, size_t); cast blockIdx.x before multiplying; loop "
    "over what a grid doesn't hold."
)
_PLACES = ("the first", "those in the middle", "the last")
_WHOLE_SECONDS = 1.5
"""Of the processor's time, in each test, where all blocks are run."""
_SECONDS = 5.0
"""Of the processor's time, in each test; most take a tenth of a second."""
_TOUCHED = 512 << 20
"""Bytes of memory, in each test."""
_OUTSIDE = "invalid-address"
_FAULTS = ("SIGSEGV", "SIGBUS", "SIGFPE")


def run(session: HostSession, case: LargeCase, target: Target) -> tuple[Outcome, str]:
    """How the case ended, and what is to say of it."""
    try:
        ran = session.large(case)
    except WorkerTimeout as hang:
        # On the CPU a right kernel may take so long, if few blocks do much.
        return (Outcome.HUNG, hang.message) if target == "gpu" else (Outcome.SKIPPED, f"not tested: {hang.message}")
    except WorkerCrashed as crash:
        if session.took_too_much(crash):
            return Outcome.SKIPPED, "not tested: it touches each element in few blocks. --target gpu can test it."
        return Outcome.CRASHED, crash.message
    except CheckFailed as failure:
        return Outcome.FAILED, failure.message
    return evaluate(case, ran, target)


def warnings(session: HostSession, case: LargeCase) -> tuple[tuple[DemandWarning, ...], str]:
    """What is wrong on target cpu (E17), in little time and memory; or why that isn't known.

    All blocks are run beyond the profile, then those at the ends of very large tensors.

    No document demands such sizes. A plugin may refuse them, or launch what no GPU takes: what counts is an access
    outside of a tensor, or an output that is wrong.
    """
    warning, untried = _wider(session, case)
    if warning is not None:
        return (warning,), ""
    warnings_there, untried_there = _at_ends(session, case)
    return warnings_there, "; ".join(filter(None, (untried, untried_there)))


def _wider(session: HostSession, case: LargeCase) -> tuple[DemandWarning | None, str]:
    """What is wrong beyond the profile, all blocks run; or why that isn't known. A plugin may refuse such sizes."""
    seconds, before = 0.0, 0
    for one in case.wider:
        if before and seconds * one.elements / before > _WHOLE_SECONDS:
            return None, f"{_sizes(one)}: not tested, it would take more than {_WHOLE_SECONDS:g} s"
        outcome, message, seconds = _timed(session, one)
        before = one.elements
        found = [each for each in _findings(session) if not endless(each)]
        if found:
            message = "\n".join((_with_elements(one), describe(found[0]), WIDER))
        if found or outcome is Outcome.FAILED:
            return DemandWarning("E17", "enqueue", message), ""
        if outcome is not Outcome.PASSED:
            return None, f"{_sizes(one)}: {message}"
    return None, ""


def _at_ends(session: HostSession, case: LargeCase) -> tuple[tuple[DemandWarning, ...], str]:
    outcome, message = _tried(session, case)
    found = _findings(session)
    outside = _outside(found)
    if found and not outside:
        return (), f"not tested: {found[0].text}"
    if outside:
        message = "\n".join((_with_elements(case), describe(outside[0]), WIDER))
    elif outcome is not Outcome.FAILED:
        return (), message
    if why := other_cause(session, case, found):
        return _whole_control(session, case, why)
    return (DemandWarning("E17", "enqueue", message),), ""


def _whole_control(session: HostSession, case: LargeCase, why: str) -> tuple[tuple[DemandWarning, ...], str]:
    """What is wrong with the control, run by all of its blocks, which has failed by few; `why`, if nothing is.

    A kernel that needs what other blocks have written is right then. What still fails, fails at that size.
    """
    if case.control is None:
        return (), why
    control = replace(case.control, whole=True)
    outcome, message = _tried(session, control)
    if outside := _outside(_findings(session)):
        message = "\n".join((_with_elements(control), describe(outside[0]), WIDER))
    elif outcome is not Outcome.FAILED:
        return (), why
    return (DemandWarning("E17", "enqueue", message),), ""


def other_cause(session: HostSession, case: LargeCase, found: Sequence[Defect]) -> str:
    """Why a failure on target cpu, with what the library's checks `found`, is not the size's doing: its control fails
    too; empty if it doesn't.

    Few blocks of each launch are run. One that reads what others write, to the workspace or to an output, may find
    nothing there. An access outside of a tensor is the size's doing unless the control has one too.
    """
    if case.control is None:
        return ""
    outcome, _ = _tried(session, case.control)
    same = _outside(_findings(session))
    if not same and (_outside(found) or outcome is not Outcome.FAILED):
        return ""
    return (
        f"not tested: run by few blocks, it fails with {case.control.elements} elements too, as where a kernel needs "
        "what other blocks have written. Try --large --target gpu."
    )


def _outside(found: Sequence[Defect]) -> list[Defect]:
    return [one for one in found if one.kind == _OUTSIDE]


def _findings(session: HostSession) -> list[Defect]:
    """Those of the last run that aren't costs of enqueue, which smaller cases have as well."""
    return [one for one in session.findings() if not demand_of_cost(one)]


def _tried(session: HostSession, case: LargeCase) -> tuple[Outcome, str]:
    outcome, message, _ = _timed(session, case)
    return outcome, message


def _timed(session: HostSession, case: LargeCase) -> tuple[Outcome, str, float]:
    try:
        ran = session.large(case, most_touched=_TOUCHED, cpu_seconds=_SECONDS)
    except WorkerCrashed as crash:
        if session.took_too_much(crash):
            limits = f"{_TOUCHED >> 20} MiB or {_SECONDS:g} s of CPU"
            return Outcome.SKIPPED, f"not tested: it takes more than {limits}; with --large it may", 0.0
        # Ended by itself, it has refused; killed, the machine had not so much memory.
        fault = crash.how in _FAULTS
        return (Outcome.FAILED if fault else Outcome.SKIPPED), f"{_with_elements(case)} {crash.message}", 0.0
    except (WorkerTimeout, CheckFailed) as refusal:
        return Outcome.SKIPPED, f"not tested: {refusal.message}", 0.0
    return (*evaluate(case, ran, "cpu"), ran.seconds)


def evaluate(case: LargeCase, ran: LargeRun, target: Target) -> tuple[Outcome, str]:
    """Holds the pieces against the reference. On target cpu what no block has written is not judged, but something must
    be written."""
    if ran.problem:
        return Outcome.SKIPPED, f"not tested, there is not so much memory: {ran.problem}"
    problems = []
    seen = set()
    for tensor, found in zip(case.outputs, ran.outputs, strict=True):
        for place, (start, want), (values, written) in zip(_PLACES, tensor.pieces, found, strict=True):
            if (target == "gpu" or case.whole) and not written.all():
                index = start + int(np.argmin(written.ravel()))
                problems.append(f"output '{tensor.name}': element {index} was left unwritten")
                continue
            if not written.any():
                continue
            seen.add(place)
            got = np.where(written, values, want).astype(values.dtype)
            result = compare({tensor.name: got}, {tensor.name: want}, case.tolerance)
            if not result.ok:
                problems.append(f"of {place} slices, which begin at element {start}: {result.message}")
    if not problems and not seen and not ran.elsewhere:
        problems.append("no block has written any of the first or the last elements")
    if problems:
        return Outcome.FAILED, "\n".join([_with_elements(case), *problems, WIDER])
    if _PLACES[2] not in seen:
        return (
            Outcome.SKIPPED,
            "not tested: no block that was run wrote any of the last elements; --target gpu runs them all",
        )
    return Outcome.PASSED, ""


def _with_elements(case: LargeCase) -> str:
    return f"with {_sizes(case)}:" if case.whole else f"with {case.elements} elements, more than 2^31:"


def _sizes(case: LargeCase) -> str:
    sizes = " ".join(f"{name}={size}" for name, size in case.symbols.items())
    return f"{sizes}, {case.elements} elements, beyond the profile"
