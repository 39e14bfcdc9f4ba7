"""What enqueue may not do, by the calls of CUDA's driver that it makes, one after the other.

The same three rules as the CUDA-on-CPU runtime's (pluginkit/cuda_cpu/runtime/streams_rules.cpp): all work is on the
stream that enqueue is given, or on one that is forked from it by an event and joined to it again; memory is neither
allocated nor freed; the host does not wait.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pluginkit.gpu import calls

LEGACY, PER_THREAD = 1, 2
"""`CU_STREAM_LEGACY`, `CU_STREAM_PER_THREAD`"""


@dataclass(frozen=True)
class Call:
    """A call of CUDA's driver.

    Attributes:
        name: the function's, as `cuMemAlloc_v2`.
        caller: the CUDA runtime's function that makes it, as `cudaMalloc`; empty if the plugin itself does.
        kernel: the kernel that it launches.
        stream: the handle of the stream that it concerns; 0 where it has none.
        event: the handle of the event that it concerns.
        object: the address or handle that it gives back, or, once it has returned, that it has given (`calls.TAKES`).
        size: of the memory that it gives, in bytes.
    """

    name: str
    caller: str = ""
    kernel: str = ""
    stream: int = 0
    event: int = 0
    object: int = 0
    size: int = 0

    @property
    def description(self) -> str:
        """For people: `cudaMalloc`."""
        return self.caller or calls.unversioned(self.name)


@dataclass(frozen=True)
class Broken:
    """A rule that a call has broken: the finding's kind, and a sentence."""

    kind: str
    text: str
    call: Call


@dataclass
class _Work:
    """What a stream has done, and how much of the others' work it has waited for, as a vector clock."""

    amount: int = 0
    knows: dict[int, int] = field(default_factory=dict)


class Enqueue:
    """One enqueue: `see` evaluates each call as it is made, `end` what is left then."""

    def __init__(self, stream: int) -> None:
        self._given = stream
        self._streams = {stream: _Work(knows={stream: 0})}
        self._events: dict[int, dict[int, int]] = {}
        self._last: dict[int, Call] = {}

    def see(self, call: Call) -> list[Broken]:
        """The rules that this call breaks."""
        name, per_thread = calls.plain(call.name)
        bare = calls.unversioned(name)
        if bare in calls.ALLOCATES:
            message = (
                "in enqueue(): memory is allocated and freed outside of it; for memory during enqueue() there is the"
            )
            return [Broken("allocation-in-enqueue", f"{call.description} {message} workspace", call)]
        if bare in calls.SYNCHRONIZES or calls.copies_at_once(name):
            return [
                Broken(
                    "synchronization-in-enqueue", f"{call.description} waits in enqueue(), which must not wait", call
                )
            ]
        if calls.sets_at_once(name):
            return self._work(call, LEGACY)
        stream = (PER_THREAD if per_thread else LEGACY) if call.stream == 0 else call.stream
        if name in calls.RECORDS:
            self._events[call.event] = dict(self._work_on(stream).knows)
            return []
        if name in calls.WAITS_FOR_EVENT:
            knows = self._work_on(stream).knows
            for other, amount in self._events.get(call.event, {}).items():
                knows[other] = max(amount, knows.get(other, 0))
            return []
        return self._work(call, stream) if name in calls.STREAM_AT or name == calls.LAUNCH_EX else []

    def _work_on(self, stream: int) -> _Work:
        return self._streams.setdefault(stream, _Work())

    def _work(self, call: Call, stream: int) -> list[Broken]:
        work = self._work_on(stream)
        if self._given not in work.knows:
            which = {LEGACY: "the default stream", PER_THREAD: "the thread's default stream"}.get(stream)
            given = "the stream that enqueue() was given" if which else "the one that enqueue() was given"
            message = f"{call.description} uses {which or 'another stream than'}{', not' if which else ''} {given}"
            return [Broken("wrong-stream", message, call)]
        work.amount += 1
        work.knows[stream] = work.amount
        self._last[stream] = call
        return []

    def end(self) -> list[Broken]:
        """Work on forked streams that the given one does not wait for."""
        joined = self._streams[self._given].knows
        left = [call for stream, call in self._last.items() if self._streams[stream].amount > joined.get(stream, 0)]
        message = "enqueue() ends with work on a second stream that the given stream does not wait for"
        return [Broken("wrong-stream", f"{message}: {call.description}", call) for call in left]
