"""Kernels with one defect each: it is found and named rightly; repaired, the same kernel is silent."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from .conftest import HERE, Broken

pytestmark = pytest.mark.compile


@dataclass(frozen=True)
class Case:
    """A defect.

    Attributes:
        source: the file that has it, without `.cu`.
        name: its function; the lines of the defect end with `// BUG NAME`.
        kind: of the finding.
        text: what the finding's text says, a regular expression.
        block, thread: who is named; None where that depends, or is nobody.
        how: see run.py.
    """

    source: str
    name: str
    kind: str
    text: str
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    how: str = "call"
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def places(self) -> set[str]:
        """The marked lines."""
        lines = (HERE / f"{self.source}.cu").read_text(encoding="utf-8").splitlines()
        marked = [number for number, line in enumerate(lines, 1) if line.endswith(f"// BUG {self.name}")]
        return {f"{self.source}.cu:{number}" for number in marked}


ORIGIN = (0, 0, 0)
CASES = [
    Case("plain", "barrierSkipped", "divergent-barrier", "wait at different __syncthreads", ORIGIN, (32, 0, 0)),
    Case("plain", "barriersDiffer", "divergent-barrier", "wait at different __syncthreads", ORIGIN, (1, 0, 0)),
    Case("plain", "loopsDiffer", "divergent-barrier", "wait at different __syncthreads", ORIGIN),
    Case("plain", "barrierAgainstShuffle", "deadlock", "16 wait in __shfl_xor.* 16 wait in __syncthreads", ORIGIN),
    Case("plain", "crossedMasks", "deadlock", "__shfl_xor_sync", ORIGIN),
    Case("plain", "overlappingMasks", "divergent-warp", "__shfl_(xor|down)_sync", ORIGIN),
    Case("plain", "staticSharedOverrun", "shared-overrun", "behind the 128 bytes of row, at byte 128", ORIGIN),
    Case("plain", "dynamicSharedOverrun", "shared-overrun", "behind the 96 bytes of rows, at byte 96", ORIGIN),
    Case("plain", "freedMemory", "invalid-address", "byte 0 of the 128 bytes .* are freed", ORIGIN, ORIGIN),
    Case("plain", "nullWrite", "invalid-address", "touches (0x0|\\(nil\\)),", ORIGIN, ORIGIN),
    Case("plain", "farOverrun", "invalid-address", "0 bytes behind the 8192 bytes .* of cudaMalloc", (1, 0, 0), ORIGIN),
    Case("plain", "stackOverflow", "stack-overflow", "stack is full", ORIGIN, ORIGIN),
    Case(
        "plain",
        "endless",
        "endless-kernel",
        "has ended for 1 s",
        ORIGIN,
        ORIGIN,
        environment={"PLUGINKIT_CPU_TIME_LIMIT": "1"},
    ),
    Case("plain", "noThreads", "launch-config", "configurationKernel.* with a block of \\(0, 1, 1\\) threads"),
    Case("plain", "emptyGrid", "launch-config", "configurationKernel.* with a grid of \\(0, 1, 1\\) blocks"),
    Case("plain", "tooManyThreads", "launch-config", "with a block of \\(2048, 1, 1\\) threads; at most"),
    Case("plain", "tooMuchShared", "launch-config", "50000 bytes of dynamic shared memory.*49152"),
    Case("plain", "assertFails", "assert", "assert\\(label < classes\\) failed", ORIGIN, (5, 0, 0)),
    Case("plain", "trapped", "trap", "__trap\\(\\) ended the kernel", ORIGIN, (3, 0, 0)),
    Case("plain", "copyTooLong", "bad-copy", "cudaMemcpy reads 64 bytes .* of the 32 bytes"),
    Case("plain", "freedTwice", "bad-free", "cudaFree of the 32 bytes .* freed already"),
    Case(
        "plain",
        "hostArgument",
        "host-pointer",
        r"argument 1 of hostArgumentKernel.* 0x\w+, which is neither memory of the device nor pinned memory of the",
        how="strict",
    ),
    Case(
        "plain",
        "hostMember",
        "host-pointer",
        "follows the pointer at byte 96 of argument 1 of .*a variable of the library",
        ORIGIN,
        ORIGIN,
        how="strict",
    ),
    Case("plain", "hostStack", "host-pointer", "argument 1 of .*.the stack of the thread", how="strict"),
    Case("enqueue", "wrongStream", "wrong-stream", "fill.* uses another stream", how="enqueue"),
    Case("enqueue", "defaultStream", "wrong-stream", "cudaMemsetAsync uses the default stream", how="enqueue"),
    Case("enqueue", "allocationInEnqueue", "allocation-in-enqueue", "cudaMallocAsync in enqueue", how="enqueue"),
    Case("enqueue", "waitInEnqueue", "synchronization-in-enqueue", "cudaStreamSynchronize waits", how="enqueue"),
    Case("enqueue", "hostDereference", "host-access", "uses device memory.*byte 0 of the 128 bytes", how="enqueue"),
    Case("enqueue", "readTooEarly", "host-access", "a copy on its way is about to write", how="deferred"),
    Case("address", "overrunWrite", "address", "a write of 4 bytes.* 0 bytes behind the 80 bytes", ORIGIN, (20, 0, 0)),
    Case("address", "overrunRead", "address", "a read of 4 bytes.* 0 bytes behind the 80 bytes", ORIGIN, (19, 0, 0)),
    Case("address", "overrunLocal", "address", "a write of 4 bytes.*best.* overflows", ORIGIN, ORIGIN),
    Case("address", "overrunShared", "address", "a write of 4 bytes.*shared memory, but in none", ORIGIN, (31, 0, 0)),
    Case("address", "overrunDynamic", "address", "a read of 4 bytes.*shared memory, but in none", ORIGIN, (15, 0, 0)),
    Case("address", "freed", "address", "of 4 bytes.* 0 of the 128 bytes .* which are freed", ORIGIN, ORIGIN),
    Case("undefined", "signedOverflow", "undefined", "60000 . 50000 does not fit into 'int'", ORIGIN, ORIGIN),
    Case("undefined", "wideShift", "undefined", "a shift by 32 of a 32-bit", ORIGIN, (32, 0, 0)),
    Case("undefined", "narrowCast", "undefined", "200 of .* does not fit into 'signed char'", ORIGIN, (2, 0, 0)),
    Case("undefined", "misalignedVector", "undefined", "misaligned .* not a multiple of 16", ORIGIN, ORIGIN),
    Case("undefined", "divisionByZero", "undefined", "a division by zero", ORIGIN, ORIGIN),
    Case("checked", "missingBarrier", "race", "shared array tile, at byte 0 .*no __syncthreads", ORIGIN, (1, 0, 0)),
    Case("checked", "tileReused", "race", "shared array tile, at byte 252 .* wrote them before, and no __sync"),
    Case("checked", "missingWarpSync", "race", "shared array sums.*__syncwarp"),
    Case("checked", "blocksCollide", "race", "element 20 .*of block .0, 0, 0. wrote them .*nothing orders", (1, 0, 0)),
    Case("checked", "plainIncrement", "race", "reads 4 bytes, at byte 0 .*cudaMalloc.* wrote them", ORIGIN, (1, 0, 0)),
    Case("checked", "sumReadTooEarly", "race", "only one of the two is atomic", ORIGIN),
    Case("checked", "sameFlag", "race", "^same value written", ORIGIN, (1, 0, 0)),
    Case("checked", "missingFence", "race", "wrote them before, and nothing orders the two blocks", (7, 0, 0), ORIGIN),
    Case("checked", "lockWithoutFence", "race", "__syncthreads|nothing orders"),
    Case("checked", "unwrittenShared", "uninitialized-read", "shared array tile, at byte 252", ORIGIN, ORIGIN),
    Case("checked", "unwrittenGlobal", "uninitialized-read", "128 bytes .* of cudaMalloc", ORIGIN, ORIGIN),
    Case("checked", "unwrittenResult", "uninitialized-copy", "cudaMemcpy copies 400 .* written 16 .*byte 384"),
    Case("checked", "inactiveLane", "shuffle-inactive-lane", "__shfl_down_sync reads lane 2[0-7], .*no part", ORIGIN),
    Case("checked", "overlappingBytes", "race", "1 byte, at byte [23]", ORIGIN),
    Case("checked", "hostPointer", "invalid-address", "memory of the host", ORIGIN, ORIGIN, how="strict"),
]
# Where the engine or the compiler can't know the line.
PLACELESS = {"noThreads", "emptyGrid", "tooManyThreads", "tooMuchShared", "stackOverflow"}

# What is found to be undefined is done all the same: the processor may refuse it.
CONSEQUENCES = {"misalignedVector": "invalid-address"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source}-{case.name}")
def test_defect_is_found(broken: Broken, case: Case) -> None:
    done, found = broken.call(case.source, case.name, repaired=False, how=case.how, **case.environment)
    assert found, (done.stdout, done.stderr)
    first = found[0]
    assert first.kind == case.kind, found
    assert {one.kind for one in found} <= {case.kind, CONSEQUENCES.get(case.name)}, found
    assert re.search(case.text, first.text), first
    if case.name not in PLACELESS:
        assert case.places, "no line is marked"
        assert first.place in case.places, first
        # Of two places both are named: as the race's other one, or in the words.
        for place in case.places:
            assert place in (first.place, first.other) or f"{Path(place).name}" in first.text, first
    if case.source != "enqueue" and first.kernel:
        assert first.kernel == f"{case.name}Kernel<false>"
    if case.block is not None:
        assert first.block == case.block
        assert first.kernel
    if case.thread is not None:
        assert first.thread == case.thread


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source}-{case.name}")
def test_repaired_is_silent(broken: Broken, case: Case) -> None:
    done, found = broken.call(case.source, case.name, repaired=True, how=case.how, **case.environment)
    assert found == (), done.stderr
    assert done.ok, (done.stdout, done.stderr)


SCHEDULES = ["forward", "reverse", "3", "4"]
SILENT = re.findall(r"EXPORT int (\w+)", (HERE / "silent.cu").read_text(encoding="utf-8"))
RACES = [case for case in CASES if case.kind == "race"]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", SILENT)
def test_right_kernels_are_silent(broken: Broken, name: str, schedule: str) -> None:
    done, found = broken.call("silent", name, repaired=True, PLUGINKIT_CPU_SCHEDULE=schedule)
    assert found == ()
    assert done.ok, (done.stdout, done.stderr)


@pytest.mark.parametrize("schedule", SCHEDULES[1:])
@pytest.mark.parametrize("case", RACES, ids=lambda case: case.name)
def test_races_are_found_in_any_order(broken: Broken, case: Case, schedule: str) -> None:
    _done, found = broken.call(case.source, case.name, repaired=False, PLUGINKIT_CPU_SCHEDULE=schedule)
    # In some orders the racing read also comes before the first write.
    assert {"race"} <= {one.kind for one in found} <= {"race", "uninitialized-read"}
    assert {place for one in found for place in (one.place, one.other) if place} <= case.places
    done, found = broken.call(case.source, case.name, repaired=True, PLUGINKIT_CPU_SCHEDULE=schedule)
    assert found == ()
    assert done.ok, (done.stdout, done.stderr)


@pytest.mark.parametrize(("check", "kinds"), [("thread", {"race"}), ("memory", set()), ("thread,memory", {"race"})])
def test_checks_are_chosen(broken: Broken, check: str, kinds: set[str]) -> None:
    _done, found = broken.call("checked", "missingBarrier", repaired=False, PLUGINKIT_CPU_CHECK=check)
    assert {one.kind for one in found} == kinds
    _done, found = broken.call("checked", "unwrittenGlobal", repaired=False, PLUGINKIT_CPU_CHECK=check)
    assert {one.kind for one in found} == ({"uninitialized-read"} if "memory" in check else set())


def test_there_are_enough() -> None:
    assert len(CASES) >= 40
    assert len({(case.source, case.name) for case in CASES}) == len(CASES)
