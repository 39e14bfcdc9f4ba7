"""Checks of what a plugin does when it runs: on target cpu, under the sanitizers, on a GPU."""

from __future__ import annotations

from pluginkit.bases import BASES
from pluginkit.formats import Format
from pluginkit.validation.checks.by_runs import of_runs
from pluginkit.validation.subjects.evidence import RunEvidence

_GROUP = "execution"
_CUDA = "CUDA C++ Programming Guide"
_PLUGIN = "NvInferRuntimePlugin.h, IPluginV2::enqueue"


def _unwatched(evidence: RunEvidence) -> str:
    return "" if evidence.watched else "the library is not one of target cpu, whose runtime sees launches and copies"


def _not_quantized(evidence: RunEvidence) -> str:
    found = any(kind.is_quantized for one in evidence.manifest.outputs for kind in one.types)
    return "" if found else "no output is of INT8 or FP8"


def _no_lanes(evidence: RunEvidence) -> str:
    manifest = evidence.manifest
    formats = {form for kind in manifest.precisions() for form in manifest.layouts(kind)}
    return "" if formats - {Format.LINEAR} else "pluginkit.toml declares linear formats alone"


def _no_special(evidence: RunEvidence) -> str:
    return "" if any(case.point == "special" for case in evidence.cases) else "no case has such values"


def _no_size_tensor(evidence: RunEvidence) -> str:
    return "" if evidence.manifest.size_tensors() else "no output is a size tensor"


def _no_initialize(evidence: RunEvidence) -> str:
    of_v3 = BASES[evidence.manifest.plugin.base].generation != "v2"
    return "an IPluginV3 has no initialize" if of_v3 else _unwatched(evidence)


def _no_schedules(evidence: RunEvidence) -> str:
    found = any(report.schedules for report in evidence.reports.values())
    return _unwatched(evidence) or ("" if found else "no other order was asked for")


of_runs("E1", group=_GROUP, level=6, fix="Return cudaGetLastError() of the launches as 0 or not 0; assert nothing.")
of_runs(
    "E2",
    group=_GROUP,
    level=6,
    fix="Give each launch and each copy the stream that enqueue is given.",
    nothing=_unwatched,
)
of_runs(
    "E3",
    group=_GROUP,
    level=6,
    fix="Take memory from the workspace; leave synchronization to TensorRT.",
    nothing=_unwatched,
)
of_runs(
    "E4",
    group=_GROUP,
    level=6,
    fix="Let enqueue do nothing but launch on its stream: no allocation, no waiting, no query.",
    nothing=_unwatched,
)
of_runs("E5", group=_GROUP, level=6, fix="Write to outputs and workspace alone, or declare an alias (IPluginV3).")
of_runs(
    "E10",
    group=_GROUP,
    level=6,
    fix="Keep what a context writes in its own clone, or in the workspace.",
    nothing=_unwatched,
)
of_runs(
    "E13",
    group=_GROUP,
    level=6,
    fix="Clamp to -128 and 127 (FP8: -448 and 448) before the conversion.",
    nothing=_not_quantized,
)
of_runs("E14", group=_GROUP, level=6, fix="Multiply nothing by 0 to leave it out; choose.", nothing=_no_special)
of_runs("E16", group=_GROUP, level=6, fix="Read only lanes that are a channel.", nothing=_no_lanes)
of_runs("E17", group=_GROUP, level=6, fix="Count and index in 64 bits.", nothing=_unwatched)
of_runs("T17", group=_GROUP, level=6, fix="Compare the index with the size before the access.")
of_runs("T8", group=_GROUP, level=6, fix="Answer kINT32 and no dimensions for it.", nothing=_no_size_tensor)
of_runs("T14", group=_GROUP, level=6, fix="Declare it once; write 0 to upper.", nothing=_no_size_tensor)
of_runs("L7", group=_GROUP, level=6, fix="Free in destroy or detachFromContext what was taken.", nothing=_unwatched)
of_runs("L12", group=_GROUP, level=6, fix="Give it back in terminate.", nothing=_no_initialize)
of_runs(
    "K4",
    "Kernels use device memory, and host code uses none.",
    group=_GROUP,
    level=6,
    kind="contract",
    source=f"{_CUDA}, Heterogeneous Programming: host and device have memory spaces of their own",
    fix="Pass values to a kernel by value, or copy them outside of enqueue.",
    nothing=_unwatched,
)
of_runs(
    "K5",
    "All threads of a block, or of a mask, come to each barrier.",
    group=_GROUP,
    level=6,
    kind="contract",
    source=f"{_CUDA}, Synchronization Functions: __syncthreads() in a condition must evaluate alike in the block",
    fix="Put the barrier outside of the condition, and no return in front of it.",
    nothing=_unwatched,
)
of_runs(
    "K7",
    "Each launch has a configuration that a GPU takes.",
    group=_GROUP,
    level=6,
    kind="contract",
    source=f"{_CUDA}, Compute Capabilities: the largest grid, block and shared memory",
    fix="Look at how the configuration follows from the shapes; launch nothing for no elements.",
    nothing=_unwatched,
)
of_runs(
    "K9",
    "Copies have sizes, addresses and a direction that fit, and are done before their memory is used.",
    group=_GROUP,
    level=6,
    kind="contract",
    source="CUDA Runtime API, cudaMemcpyAsync: asynchronous with respect to the host",
    fix="Copy within both buffers, in order on one stream.",
    nothing=_unwatched,
)
of_runs(
    "K10",
    "Memory is freed once, by the function that belongs to the one that made it.",
    group=_GROUP,
    level=6,
    kind="contract",
    source="CUDA Runtime API, cudaFree: a pointer that cudaMalloc gave",
    fix="Free it once; a clone must not own its original's pointer.",
    nothing=_unwatched,
)
of_runs(
    "K11",
    "Each kernel ends.",
    group=_GROUP,
    level=6,
    kind="contract",
    source=f"{_PLUGIN}: enqueues work; TensorRT waits for its end",
    fix="Look at the loop's condition, and at who changes what it waits for.",
    nothing=_unwatched,
)
of_runs(
    "K12",
    "No kernel traps or fails an assertion.",
    group=_GROUP,
    level=6,
    kind="contract",
    source=f"{_CUDA}, Assertion and Trap function: the kernel's execution is aborted",
    fix="Look at the condition, for the shapes that are shown.",
    nothing=_unwatched,
)
of_runs(
    "K13",
    "No thread needs more stack than there is.",
    group=_GROUP,
    level=6,
    kind="robustness",
    source=f"no document; {_CUDA}, Device Memory Accesses, has local memory of 512 KB a thread",
    fix="Make local arrays smaller, or end the recursion.",
    nothing=_unwatched,
)
of_runs(
    "K14",
    "The outputs are those of reference.py in whichever order blocks, threads and streams come.",
    group=_GROUP,
    level=7,
    kind="declared",
    source=f"the plugin's reference.py; {_CUDA}, Thread Hierarchy: blocks must be able to execute in any order",
    fix="Order what depends on each other by a barrier, by atomics, or by a second kernel. "
    "Where the layer may give several values, mask that element in reference.py.",
    nothing=_no_schedules,
)
of_runs(
    "E19",
    group=_GROUP,
    level=7,
    fix="Compare each index and each size with its bounds before it is used.",
    nothing=_unwatched,
)
of_runs("E18", group=_GROUP, level=7, fix="Where two are equal, compare their indices.", nothing=_no_schedules)
of_runs(
    "K15",
    "No run ends the process, and none hangs.",
    group=_GROUP,
    level=6,
    kind="contract",
    source=f"{_PLUGIN}: 0 for success, else non-zero",
    fix="Return an error code; a process that ends takes its application with it.",
)
of_runs(
    "K16",
    "The current device of the calling thread is the same after each call.",
    group=_GROUP,
    level=6,
    kind="contract",
    source="CUDA Runtime API, cudaSetDevice: later calls of the host thread, TensorRT's too, are for that device",
    fix="Leave out cudaSetDevice, or set back what cudaGetDevice answered before it.",
    nothing=_unwatched,
)
of_runs(
    "K1",
    "A kernel stays within its arrays in shared memory.",
    group=_GROUP,
    level=8,
    kind="contract",
    source=f"{_CUDA}, Variable Memory Space Specifiers: an array has the size that it is declared with",
    fix="Compare the index with the array's size.",
    nothing=_unwatched,
)
of_runs(
    "K2",
    "No two threads race for a place in memory.",
    group=_GROUP,
    level=8,
    need="sanitizers",
    kind="contract",
    source=f"{_CUDA}, Memory Fence Functions: without order the value read is undefined",
    fix="Order the two by __syncthreads() or __syncwarp(), or make both atomic.",
)
of_runs(
    "K3",
    "No kernel reads or copies uninitialized memory.",
    group=_GROUP,
    level=8,
    need="sanitizers",
    kind="contract",
    source="CUDA Runtime API, cudaMalloc: the memory is not cleared",
    fix="Write it first: workspace, shared memory and outputs hold anything.",
)
of_runs(
    "K6",
    "A shuffle reads from lanes that take part in it.",
    group=_GROUP,
    level=8,
    need="sanitizers",
    kind="contract",
    source=f"{_CUDA}, Warp Shuffle Functions: of an inactive lane the value is undefined",
    fix="Have all lanes of the mask call the shuffle, and read from those alone.",
)
of_runs(
    "K8",
    "Neither host nor device code does what C++ leaves undefined.",
    group=_GROUP,
    level=8,
    need="sanitizers",
    kind="contract",
    source=f"{_CUDA}, C++ Language Support: device code is C++ by ISO/IEC 14882",
    fix="Compute sizes in 64 bits, shift by less than the width, divide by no 0.",
)

_GPU = "gpu"
of_runs(
    "G1",
    "On a GPU the outputs are those of reference.py.",
    group=_GPU,
    level=9,
    need="gpu",
    kind="declared",
    source="the plugin's reference.py",
    fix="pluginkit test --target gpu shows the element, and the command that repeats the case.",
)
for _check, _tool, _what in (
    ("G2", "memcheck", "accesses nothing out of bounds"),
    ("G3", "racecheck", "has no race in shared memory"),
    ("G4", "initcheck", "reads no uninitialized global memory"),
    ("G5", "synccheck", "uses barriers as it must"),
):
    of_runs(
        _check,
        f"On a GPU each kernel {_what}.",
        group=_GPU,
        level=10,
        need="gpu-sanitizers",
        kind="contract",
        source=f"Compute Sanitizer's documentation, {_tool}; {_CUDA}",
        fix=f"pluginkit test --target gpu --sanitize {_tool} has the place.",
    )

_NVIDIA = "nvidia"
of_runs(
    "N1",
    "NVIDIA's builder takes networks with the plugin, and configures it as it must.",
    group=_NVIDIA,
    level=9,
    need="builder",
    kind="contract",
    source="NVIDIA's builder (TensorRT-RTX): it refuses the network, or leaves the plugin out",
    fix="pluginkit test shows the builder's message, and the smallest network that it refuses.",
)
of_runs(
    "N2",
    "NVIDIA's engines run the plugin: the outputs are those of reference.py.",
    group=_NVIDIA,
    level=10,
    need="engines",
    kind="contract",
    source="NVIDIA's runtime (TensorRT-RTX) on a GPU",
    fix="Compare with the host's outputs on the GPU: what differs is what NVIDIA's runtime does otherwise.",
)
of_runs(
    "N3",
    "NVIDIA's registries make, clone, serialize and restore the plugin.",
    group=_NVIDIA,
    level=9,
    need="registries",
    kind="contract",
    source="NVIDIA's registry (tensorrt-lean 10 and 11)",
    fix="pluginkit test --only 'registry/*' has the message.",
)
