"""Whether the plugin computes tensors of more than 2^31 elements: at their ends in each test on target cpu, where that
costs little, and as far as can be with `pluginkit test --large`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pluginkit.demands import Doubt
from pluginkit.errors import CheckFailed
from pluginkit.network.large import LargeCase, LargeRun
from pluginkit.process.defects import describe
from pluginkit.process.findings import Defect
from pluginkit.process.worker import WorkerCrashed, WorkerTimeout
from pluginkit.runtimes import Target
from pluginkit.testing.comparison import compare
from pluginkit.testing.report import Outcome

if TYPE_CHECKING:
    from pluginkit.runtimes.host.session import HostSession

WIDER = "  fix: Count elements and compute indices in 64 bits (int64_t, size_t); cast blockIdx.x before multiplying."
_PLACES = ("the first", "those in the middle", "the last")
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
    return judge(case, ran, target)


def doubts(session: HostSession, case: LargeCase) -> tuple[tuple[Doubt, ...], str]:
    """What is wrong on target cpu (E17), in little time and memory; or why that isn't known.

    No document demands such sizes. A plugin may refuse them, or launch what no GPU takes: what counts is an access
    outside of a tensor, or an output that is wrong.
    """
    outcome, message = _tried(session, case)
    found = session.findings()
    outside = _outside(found)
    if found and not outside:
        return (), f"not tested: {found[0].text}"
    if outside:
        message = "\n".join((_with_elements(case), describe(outside[0]), WIDER))
    elif outcome is not Outcome.FAILED:
        return (), message
    if why := other_cause(session, case, found):
        return (), why
    return (Doubt("E17", "enqueue", message),), ""


def other_cause(session: HostSession, case: LargeCase, found: Sequence[Defect]) -> str:
    """Why a failure on target cpu, with what the library's checks `found`, is not the size's doing: its control fails
    too; empty if it doesn't.

    Few blocks of each launch are run. One that reads what others write, to the workspace or to an output, may find
    nothing there. An access outside of a tensor is the size's doing unless the control has one too.
    """
    if case.control is None:
        return ""
    outcome, _ = _tried(session, case.control)
    same = _outside(session.findings())
    if not same and (_outside(found) or outcome is not Outcome.FAILED):
        return ""
    return (
        f"not tested: run by few blocks, it fails with {case.control.elements} elements too, as where a kernel needs "
        "what other blocks have written. Try --large --target gpu."
    )


def _outside(found: Sequence[Defect]) -> list[Defect]:
    return [one for one in found if one.kind == _OUTSIDE]


def _tried(session: HostSession, case: LargeCase) -> tuple[Outcome, str]:
    try:
        ran = session.large(case, most_touched=_TOUCHED, cpu_seconds=_SECONDS)
    except WorkerCrashed as crash:
        if session.took_too_much(crash):
            limits = f"{_TOUCHED >> 20} MiB or {_SECONDS:g} s of CPU"
            return Outcome.SKIPPED, f"not tested: it takes more than {limits}; with --large it may"
        # Ended by itself, it has refused; killed, the machine had not so much memory.
        fault = crash.how in _FAULTS
        return (Outcome.FAILED if fault else Outcome.SKIPPED), f"{_with_elements(case)} {crash.message}"
    except (WorkerTimeout, CheckFailed) as refusal:
        return Outcome.SKIPPED, f"not tested: {refusal.message}"
    return judge(case, ran, "cpu")


def judge(case: LargeCase, ran: LargeRun, target: Target) -> tuple[Outcome, str]:
    """Holds the pieces against the reference. On target cpu what no block has written is not judged, but something must
    be written."""
    if ran.problem:
        return Outcome.SKIPPED, f"not tested, there is not so much memory: {ran.problem}"
    problems = []
    seen = set()
    for tensor, found in zip(case.outputs, ran.outputs, strict=True):
        for place, (start, want), (values, written) in zip(_PLACES, tensor.pieces, found, strict=True):
            if target == "gpu" and not written.all():
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
    return f"with {case.elements} elements, more than 2^31:"
