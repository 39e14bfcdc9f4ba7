"""What enqueue may not do on a GPU, by the calls of CUDA's driver that it makes."""

from __future__ import annotations

import pytest

from pluginkit.gpu.enqueue_rules import Broken, Call, Enqueue

GIVEN, OTHER, EVENT, BACK = 0x10, 0x20, 0x30, 0x40


def launch(stream: int) -> Call:
    return Call("cuLaunchKernel", "cudaLaunchKernel", "k", stream)


def record(event: int, stream: int) -> Call:
    return Call("cuEventRecord", "cudaEventRecord", stream=stream, event=event)


def wait(stream: int, event: int) -> Call:
    return Call("cuStreamWaitEvent", "cudaStreamWaitEvent", stream=stream, event=event)


def broken(*calls: Call) -> list[Broken]:
    enqueue = Enqueue(GIVEN)
    return [*(one for call in calls for one in enqueue.see(call)), *enqueue.end()]


@pytest.mark.parametrize(
    "name",
    [
        "cuLaunchKernel",
        "cuLaunchKernelEx",
        "cuMemcpyDtoDAsync_v2",
        "cuMemsetD8Async",
        "cuGraphLaunch",
        "cuLaunchHostFunc",
    ],
)
def test_work_on_the_given_stream_is_right(name: str) -> None:
    assert broken(Call(name, stream=GIVEN)) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (launch(0), "cudaLaunchKernel uses the default stream, not the stream that enqueue() was given"),
        (launch(1), "cudaLaunchKernel uses the default stream, not the stream that enqueue() was given"),
        (launch(2), "cudaLaunchKernel uses the thread's default stream, not the stream that enqueue() was given"),
        (Call("cuLaunchKernel_ptsz"), "cuLaunchKernel uses the thread's default stream, not the stream that"),
        (launch(OTHER), "cudaLaunchKernel uses another stream than the one that enqueue() was given"),
        (Call("cuMemsetD8_v2", "cudaMemset"), "cudaMemset uses the default stream, not the stream that"),
        (Call("cuMemcpyDtoDAsync_v2", "cudaMemcpyAsync"), "cudaMemcpyAsync uses the default stream, not"),
    ],
)
def test_work_elsewhere(call: Call, message: str) -> None:
    (one,) = broken(call)
    assert (one.kind, one.call) == ("wrong-stream", call)
    assert one.text.startswith(message)


@pytest.mark.parametrize(
    "name",
    ["cuMemAlloc_v2", "cuMemFree_v2", "cuMemAllocAsync", "cuMemFreeAsync_ptsz", "cuMemHostAlloc", "cuMemAllocManaged"],
)
def test_memory(name: str) -> None:
    (one,) = broken(Call(name, stream=GIVEN))
    assert one.kind == "allocation-in-enqueue"
    assert one.text.endswith("for memory during enqueue() there is the workspace")


@pytest.mark.parametrize(
    "name",
    [
        "cuCtxSynchronize",
        "cuCtxSynchronize_v2",
        "cuStreamSynchronize",
        "cuEventSynchronize",
        "cuMemcpyHtoD_v2",
        "cuMemcpy",
    ],
)
def test_waiting(name: str) -> None:
    (one,) = broken(Call(name, "f", stream=GIVEN))
    assert (one.kind, one.text) == ("synchronization-in-enqueue", "f waits in enqueue(), which must not wait")


def test_a_stream_that_is_forked_and_joined_is_right() -> None:
    calls = [record(EVENT, GIVEN), wait(OTHER, EVENT), launch(OTHER), record(BACK, OTHER), wait(GIVEN, BACK)]
    assert broken(launch(GIVEN), *calls, launch(GIVEN)) == []


def test_a_stream_that_is_not_joined() -> None:
    calls = [record(EVENT, GIVEN), wait(OTHER, EVENT), launch(OTHER)]
    (one,) = broken(*calls)
    assert (one.kind, one.call) == ("wrong-stream", launch(OTHER))
    assert "ends with work on a second stream that the given stream does not wait for" in one.text
    (late,) = broken(*calls, record(BACK, OTHER), wait(GIVEN, BACK), launch(OTHER))
    assert late.text == one.text


def test_an_event_of_another_enqueue_says_nothing() -> None:
    (one,) = broken(wait(OTHER, EVENT), launch(OTHER))
    assert "another stream" in one.text


def test_a_stream_that_is_forked_from_a_forked_one() -> None:
    third, on = 0x50, 0x60
    calls = [record(EVENT, GIVEN), wait(OTHER, EVENT), record(on, OTHER), wait(third, on), launch(third)]
    assert len(broken(*calls)) == 1
    assert broken(*calls, record(BACK, third), wait(GIVEN, BACK)) == []


def test_what_asks_and_makes_is_no_work() -> None:
    assert broken(Call("cuStreamQuery"), Call("cuEventCreate"), Call("cuKernelGetName"), Call("cuCtxGetCurrent")) == []
