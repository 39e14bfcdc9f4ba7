"""An enqueue captured into a CUDA graph, which is replayed on data that came later.

Only what enqueue puts on the stream it is given goes into the graph, so what it does otherwise is refused by CUDA or
missing in the replay. TensorRT's users capture whole networks so (its developer guide, "CUDA Graphs"); that each plugin
can be captured is promised nowhere.
"""

from __future__ import annotations

from pluginkit import gpu
from pluginkit.gpu.enqueue_rules import Call
from pluginkit.host.errors import Finding
from pluginkit.host.memory.device import Job
from pluginkit.host.memory.gpu_watch import Watch

HINT = (
    "A graph holds kernels, copies and memsets on the stream that enqueue is given; waiting, allocating, blocking "
    "copies and the default stream have no place in it."
)


class Uncapturable(Exception):
    """Why enqueue has no place in a CUDA graph."""


def captured(context: gpu.GpuContext, watch: Watch, method: str, job: Job) -> None:
    """Runs enqueue once on other data, captures it, replays the graph on that data, and then on the job's; brings the
    memory back.

    Raises:
        Uncapturable: enqueue can't be captured, or allocates in the graph; the GPU has the job's data again.
        CudaError: the GPU's work has failed.
    """
    # A stream that waits for the default one: while it is captured, CUDA refuses work on that.
    stream = gpu.Stream(context.driver, blocking=True)
    kept = [region.buffer.contents.copy() for region in job.regions]
    for region in job.regions:
        if region.other is not None:
            region.buffer.contents[:] = region.other()
            region.buffer.push()
    # As TensorRT asks its users to do before a capture: the first call loads kernels.
    job.launch(stream.handle)
    stream.synchronize()

    def restore() -> None:
        for region, contents in zip(job.regions, kept, strict=True):
            region.buffer.contents[:] = contents
            region.buffer.push()

    try:
        graph = _capture(stream, watch, method, job)
    except Uncapturable:
        restore()
        raise
    replay = graph.instantiate()
    replay.launch(stream)
    stream.synchronize()
    restore()
    replay.launch(stream)
    stream.synchronize()
    for region in job.regions:
        region.buffer.pull()
    context.synchronize()
    for made in (replay, graph, stream):
        made.close()


def _capture(stream: gpu.Stream, watch: Watch, method: str, job: Job) -> gpu.Graph:
    answer: Finding | None = None
    stream.begin_capture("global")
    with watch.refused() as errors:
        try:
            job.launch(stream.handle)
        except Finding as finding:
            answer = finding
    try:
        graph = stream.end_capture()
    except gpu.CudaError as error:
        raise Uncapturable(f"can't be captured into a CUDA graph: {_who(errors, error)}\n{HINT}") from None
    if answer is not None:
        text = answer.message.removeprefix(f"{method}: ")
        because = f" ({errors[0][0].description} gave error {errors[0][1]})" if errors else ""
        raise Uncapturable(f"{text} while it is captured into a CUDA graph{because}\n{HINT}")
    nodes = graph.nodes()
    if {"allocation", "free"} & set(nodes):
        raise Uncapturable(f"captured into a CUDA graph it allocates: the graph's nodes are {', '.join(nodes)}")
    return graph


def _who(errors: list[tuple[Call, int]], error: gpu.CudaError) -> str:
    """The first call that was refused, if CUPTI has seen it."""
    if not errors:
        return error.message
    call, code = errors[0]
    own = gpu.load().error(code, call.description)
    return own.message
