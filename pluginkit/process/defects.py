"""Findings of the CUDA-on-CPU runtime, described for a plugin's author: what it is, where, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pluginkit.process.backtrace import bare
from pluginkit.process.findings import Defect, Index

SHOWN = 4
"""How many defects of a case are shown; a wrong kernel often has one defect in many forms."""

_SHARE = "Order the two by __syncthreads() or __syncwarp(), make both atomic, or give each thread a place of its own."
_OUTSIDE = "Compare the index with the size before the access; the last block often has more threads than elements."
_WORKSPACE = "Get it in initialize() or attachToContext(), or ask for it by getWorkspaceSize()."
_NO_WORKSPACE = (
    "getWorkspaceSize() answered 0, so the workspace that enqueue() is given is null: ask for its bytes there. If the "
    "kernel uses none, look at which other of its pointers is null."
)
_TOUCHED = re.compile(r"touches (\(nil\)|0x[0-9a-f]+),")
_LOWEST = 65536
"""Linux maps nothing below (vm.mmap_min_addr)."""
_STREAM = "Give each launch and each copy the stream that enqueue() is given."
_WRITE = "Write it first, or compare the index with the size; memory is not zero when it is allocated."

KINDS = {
    "address": ("memory out of bounds", _OUTSIDE),
    "allocation-in-enqueue": ("an allocation in enqueue", _WORKSPACE),
    "assert": ("a failed assertion", "Look at the assertion's condition, for this thread and these shapes."),
    "bad-copy": ("a copy that cannot be", "Look at the copy's size, its two addresses and its direction."),
    "bad-free": ("memory freed wrongly", "Free it once, by the function that belongs to the one that made it."),
    "deadlock": ("a deadlock", "Have all threads that a barrier or a warp's mask names come to it."),
    "divergent-barrier": (
        "a barrier that not all threads of the block come to",
        "Put the barrier outside of the condition, and no return in front of it.",
    ),
    "divergent-warp": (
        "lanes of a warp that do not meet",
        "Have all lanes that the mask names, the calling one too, come to one operation.",
    ),
    "endless-kernel": ("a kernel that does not end", "Look at the loop's condition: who changes what it waits for?"),
    "host-access": ("host code that uses device memory", "Copy it by cudaMemcpyAsync, or use it in a kernel."),
    "host-pointer": (
        "a kernel is given a pointer to host memory",
        "Copy the values to device memory outside of enqueue(), or pass them by value. What both use is pinned memory.",
    ),
    "invalid-address": ("memory that is not there", _OUTSIDE),
    "launch-config": ("a launch that no GPU takes", "Look at how the configuration follows from the shapes."),
    "not-supported": (
        "a function of cuBLAS or cuDNN that target cpu does not have",
        "docs/cpu-target.md lists what it has. Put C++ in its place by #ifdef PLUGINKIT_TARGET_CPU, or test on a GPU.",
    ),
    "other-device": (
        "another device is left current",
        "Leave the device as it is: it is the engine's. Set back what cudaGetDevice gave before you set another.",
    ),
    "query-in-enqueue": (
        "a question whether work is done, in enqueue",
        "Leave it out: what is asked of is still to run while enqueue() is captured.",
    ),
    "race": ("a data race", _SHARE),
    "shared-overrun": ("a write beside an array in shared memory", _OUTSIDE),
    "shuffle-inactive-lane": (
        "a shuffle from a lane that takes no part",
        "Have all lanes of the mask call the shuffle, and read only from those.",
    ),
    "stack-overflow": ("a full stack", "Make local arrays smaller, or end the recursion."),
    "synchronization-in-enqueue": ("waiting in enqueue", "Leave it out: later work on the stream waits by itself."),
    "trap": ("a trap", "The kernel ended itself; look at what made it do so."),
    "undefined": ("undefined behaviour", "The result is anything, and may be another one on a GPU."),
    "uninitialized-copy": ("a copy of uninitialized memory", _WRITE),
    "uninitialized-read": ("a read of uninitialized memory", _WRITE),
    "unsynchronized-copy": (
        "memory used before its copy is done",
        "Wait for the stream or for an event before the memory is used or freed.",
    ),
    "wrong-stream": ("work on another stream", _STREAM),
}
"""A description of each kind, and what to do."""

COSTS = {"allocation-in-enqueue", "query-in-enqueue", "synchronization-in-enqueue"}
"""Kinds of calls in enqueue that no document of TensorRT forbids."""
_CAPTURABLE = re.compile(r"cuda(Malloc|Free)\w*Async")
"""Of these kinds, the calls that a stream takes while it is captured."""
CAPTURED = (
    "a capture into a CUDA graph (cudaStreamCaptureModeGlobal) refuses it, and TensorRT's builder may capture enqueue\n"
    "  as it times it: then no engine with the layer is built"
)


def demand_of_cost(defect: Defect) -> str:
    """The demand of the kind `robustness` that a call of CUDA's in enqueue breaks: E4 where a capture refuses it, else
    E3; empty of all other findings."""
    if defect.kind not in COSTS:
        return ""
    return "E3" if _CAPTURABLE.match(defect.text) else "E4"


def describe(defect: Defect, workspace: int | None = None) -> str:
    """A defect in a few lines; `workspace` is what enqueue was given of it, in bytes, where that is known."""
    message, remedy = explain(defect, workspace)
    return f"{message}\n  fix: {remedy}" if remedy else message


def explain(defect: Defect, workspace: int | None = None) -> tuple[str, str]:
    """What a defect is and where, in a few lines, and what to do about it; arguments as of `describe`."""
    message, remedy = KINDS.get(defect.kind, (defect.kind.replace("-", " "), ""))
    if _of_null(defect):
        message = "a null pointer is used"
        remedy = _NO_WORKSPACE if workspace == 0 else "Look at which of the pointers that the kernel is given is null."
    lines = [f"{message}: {defect.text}"]
    if demand_of_cost(defect) == "E4":
        lines.append(f"  {CAPTURED}")
    if defect.kernel:
        indices = (("block", defect.block), ("thread", defect.thread))
        lines.append(f"  in kernel {', '.join([defect.kernel, *(f'{name} {_shown(i)}' for name, i in indices if i)])}")
    if defect.place:
        lines.append(f"  at {defect.place}" + (f", in {bare(defect.function)}" if defect.function else ""))
    if defect.other and defect.other != defect.place:
        lines.append(f"  and at {defect.other}")
    if defect.count > 1:
        lines.append(f"  found {defect.count} times; this is the first")
    return "\n".join(lines), remedy


def _of_null(defect: Defect) -> bool:
    """Whether it touches an address that an index into nothing makes: no process has memory so low."""
    touched = _TOUCHED.search(defect.text) if defect.kind == "invalid-address" else None
    return touched is not None and (touched[1] == "(nil)" or int(touched[1], 16) < _LOWEST)


def describe_all(defects: Sequence[Defect], workspace: int | None = None) -> str:
    """The first defects as text, and how many more there are; `workspace` as of `describe`."""
    described = [describe(defect, workspace) for defect in defects[:SHOWN]]
    if len(defects) > SHOWN:
        described.append(f"... and {len(defects) - SHOWN} more findings; --json FILE has them all.")
    return "\n".join(described)


def _shown(index: Index) -> str:
    return f"({', '.join(map(str, index))})"
