"""Defects that runs of a plugin show: a hunk each in a plugin's class and kernel, all in one library.

The variable FAULT chooses one by its number when the library is loaded; 0 is none. A kernel gets the number with its
arguments, so that it is the same on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pluginkit import scaffold
from tests import classes

FAULT = "FAULT"
CPP, CU, HEADER = "src/my_plugin.cpp", "src/my_plugin_kernel.cu", "src/my_plugin_kernel.h"


@dataclass(frozen=True)
class Animal:
    """A defect.

    Attributes:
        file: the source that it is in.
        right: text that is there once.
        wrong: what stands in its place; AT is the question whether this defect is chosen.
        more: checks that it breaks as well.
    """

    file: str
    right: str
    wrong: str
    more: tuple[str, ...] = ()


def before(line: str, wrong: str) -> str:
    """The line, behind statements that only this defect has."""
    return f"    if (AT)\n    {{\n        {wrong}\n    }}\n{line}"


BEGIN = "    int64_t const step = static_cast<int64_t>(gridDim.x) * blockDim.x;\n"
LOOP = "        float sum = 0.0F;\n"
STORE = "        store<T>(args.outputs.y, i, result);\n"
LAUNCH = "    int64_t const wanted = (args.count"
CLONE = "        return new MyPlugin{*this};"
ENQUEUE = "    int32_t const row = findRow(kNbTensors, typeAt);"
ARGUMENTS = "    args.parameters = mParameters;\n"
INITIALIZE = "int32_t MyPlugin::initialize() noexcept\n{\n"
OUTPUT = "static_cast<T*>(args.outputs.y.data)"
INPUT = "static_cast<T const*>(args.inputs.x.data)"
OUTSIDE = "static_cast<T volatile*>(args.outputs.y.data)[args.outputs.y.layout.lanes == 1 ? args.count : 0]"

ANIMALS = {
    # The library against pluginkit.toml.
    "F8": Animal(CPP, 'mFields[0] = {"alpha",', 'mFields[0] = {AT ? "alfa" : "alpha",'),
    "F9": Animal(
        CPP,
        'mFields[1] = {"x_scale", nullptr, PluginFieldType::kFLOAT32, 1};',
        'mFields[1] = {"x_scale", nullptr, AT ? PluginFieldType::kINT32 : PluginFieldType::kFLOAT32, 1};',
    ),
    "F6": Animal(
        CPP,
        "    MyPluginParameters parameters;",
        "    MyPluginParameters parameters;\n    parameters.alpha = AT ? 0.25F : parameters.alpha;",
    ),
    "T19": Animal(CPP, "output.d[2] = inputs[0].d[2];", "output.d[2] = inputs[0].d[AT ? 3 : 2];"),
    "T20": Animal(
        CPP,
        "return answered(workspaceBytes(mParameters, dims));",
        "return answered(workspaceBytes(mParameters, dims)) + (AT ? 64 : 0);",
    ),
    "C3": Animal(
        CPP, "bool same = true;", "bool same = AT ? row.types == 0 || row.formats[0] == TensorFormat::kLINEAR : true;"
    ),
    "C16": Animal(
        CPP,
        "desc.format == row.formats[i]",
        "(desc.format == row.formats[i] ||\n                     "
        "(AT && desc.format == TensorFormat::kCHW4 && row.formats[i] == TensorFormat::kLINEAR))",
    ),
    "C18": Animal(
        CPP,
        "desc.type == kTypes[row.types][i]",
        "(desc.type == kTypes[row.types][i] ||\n                     "
        "(AT && desc.type == DataType::kHALF && row.types == 0))",
    ),
    "E7": Animal(CU, STORE, f"        result = AT ? result + 1.0F : result;\n{STORE}"),
    "E6": Animal(
        CU, STORE, f"        if (AT && i == args.count - 1)\n        {{\n            continue;\n        }}\n{STORE}"
    ),
    # enqueue.
    "E1": Animal(CPP, ENQUEUE, before(ENQUEUE, "return 7;")),
    "E2": Animal(CU, LAUNCH, before(LAUNCH, "stream = nullptr;")),
    "E3": Animal(
        CU,
        LAUNCH,
        before(
            LAUNCH,
            "void* own = nullptr;\n        cudaMallocAsync(&own, 8, stream);\n        cudaFreeAsync(own, stream);",
        ),
    ),
    "E4": Animal(CU, LAUNCH, before(LAUNCH, "static_cast<void>(cudaStreamQuery(stream));")),
    "E5": Animal(
        CU, STORE, f"        if (AT)\n        {{\n            const_cast<T*>({INPUT})[i] = T{{}};\n        }}\n{STORE}"
    ),
    "E10": Animal(
        CU,
        LAUNCH,
        before(
            LAUNCH,
            "static MyPluginArguments shared{};\n        shared = args;\n"
            "        myPluginKernel<float><<<1, kThreads, 0, stream>>>(shared);\n        return cudaGetLastError();",
        ),
    ),
    "E13": Animal(
        CU,
        STORE,
        f"        result = AT && std::is_same<T, int8_t>::value ? "
        f"fmaxf(result, -127.0F * args.outputs.y.scale) : result;\n{STORE}",
    ),
    "E14": Animal(
        CU, STORE, f"        result += AT ? 0.0F * load<T>(args.inputs.x, i > 0 ? i - 1 : 0) : 0.0F;\n{STORE}"
    ),
    "E16": Animal(
        CU,
        LOOP,
        f"{LOOP}        if (AT && args.inputs.x.layout.lanes > args.inputs.x.layout.channels)\n"
        "        {\n"
        f"            sum += toNumber({INPUT}[placeOf(args.inputs.x.layout, i) / args.inputs.x.layout.lanes *\n"
        "                       args.inputs.x.layout.lanes + args.inputs.x.layout.channels], args.inputs.x.scale);\n"
        "        }\n",
    ),
    "E19": Animal(
        CU,
        STORE,
        # Such inputs has only a branch that is not taken: `special` has no two of them at the begin.
        "        float const first = load<T>(args.inputs.x, 0), second = load<T>(args.inputs.x, 1);\n"
        "        if (AT && i == 0 && first != first && second - second != 0.0F)\n"
        f"        {{\n            {OUTSIDE} = T{{}};\n        }}\n{STORE}",
    ),
    "E17": Animal(CU, STORE, STORE.replace(", i,", ", AT ? static_cast<int32_t>(i) : i,")),
    "T17": Animal(
        CU, STORE, f"        if (AT && i == 0)\n        {{\n            {OUTSIDE} = T{{}};\n        }}\n{STORE}"
    ),
    "L7": Animal(CPP, CLONE, before(CLONE, "cudaStream_t own{};\n        static_cast<void>(cudaStreamCreate(&own));")),
    "L12": Animal(
        CPP,
        INITIALIZE,
        INITIALIZE + before("", "void* own = nullptr;\n        static_cast<void>(cudaMalloc(&own, 4096));"),
    ),
    # Kernels.
    "K1": Animal(
        CU,
        LOOP,
        f"        __shared__ float volatile tile[4];\n        if (AT && threadIdx.x == 0)\n        {{\n"
        f"            tile[blockDim.x / 64] = 1.0F;\n        }}\n{LOOP}",
    ),
    "K4": Animal(
        CU, LAUNCH, before(LAUNCH, "static std::vector<float> own(1 << 20);\n        args.inputs.x.data = own.data();")
    ),
    "K5": Animal(
        CU,
        LOOP,
        "        if (AT)\n        {\n            if (threadIdx.x < 3)\n            {\n"
        "                __syncthreads();\n            }\n            else\n            {\n"
        "                __syncthreads();\n            }\n"
        f"        }}\n{LOOP}",
    ),
    "K6": Animal(
        CU,
        LOOP,
        f"{LOOP}        if (AT && threadIdx.x % 32 == 0)\n        {{\n"
        "            sum += 0.0F * __shfl_sync(1U, sum, 5);\n        }\n",
    ),
    "K7": Animal(CU, LAUNCH, before(LAUNCH, "myPluginKernel<float><<<1, 2048, 0, stream>>>(args);")),
    "K9": Animal(
        CU,
        LAUNCH,
        before(
            LAUNCH,
            "static_cast<void>(cudaMemcpyAsync(args.outputs.y.data, args.inputs.x.data, "
            "1,\n            cudaMemcpyHostToDevice, stream));",
        ),
    ),
    "K10": Animal(
        CPP,
        INITIALIZE,
        INITIALIZE
        + before(
            "",
            "void* own = nullptr;\n        static_cast<void>(cudaMalloc(&own, 64));\n"
            "        static_cast<void>(cudaFree(own));\n        static_cast<void>(cudaFree(own));",
        ),
    ),
    "K11": Animal(CU, LOOP, f"        for (int volatile on = AT ? 1 : 0; on != 0;)\n        {{\n        }}\n{LOOP}"),
    "K12": Animal(CU, LOOP, f"        if (AT)\n        {{\n            __trap();\n        }}\n{LOOP}"),
    "K13": Animal(CU, LOOP, f"{LOOP}        sum += AT ? 0.0F * deep(args.count) : 0.0F;\n"),
    "K14": Animal(
        CU,
        STORE,
        "        if (AT && threadIdx.x + 1 < blockDim.x && i + 1 < args.count)\n        {\n"
        f"            {OUTPUT}[placeOf(args.outputs.y.layout, i + 1)] = T{{}};\n        }}\n{STORE}",
    ),
    "K15": Animal(CPP, ENQUEUE, before(ENQUEUE, "std::exit(3);")),
    "K16": Animal(CPP, ENQUEUE, before(ENQUEUE, "static_cast<void>(cudaSetDevice(0));")),
    # What the sanitizers' builds see.
    "K2": Animal(
        CU, LOOP, f"{LOOP}        if (AT && i < 2)\n        {{\n            {OUTPUT}[0] = T{{}};\n        }}\n"
    ),
    "K3": Animal(CU, LOOP, f"{LOOP}        sum += AT && i == 6 ? 0.0F * static_cast<float>({OUTPUT}[i]) : 0.0F;\n"),
    "K8": Animal(CU, LOOP, f"{LOOP}        sum += AT ? 0.0F * static_cast<float>(1U << threadIdx.x) : 0.0F;\n"),
    # NVIDIA's builder and registries.
    "N1": Animal(
        CPP,
        "    DimsExprs const impossible{-1, {}};",
        before(
            "    DimsExprs const impossible{-1, {}};",
            "DimsExprs wrong{};\n        wrong.nbDims = 1;\n        wrong.d[0] = exprBuilder.constant(3);\n"
            "        return wrong;",
        ),
    ),
    "N3": Animal(CPP, "return plugin->restore(data, length) ?", "return !AT && plugin->restore(data, length) ?"),
}
"""Of each check of runs an animal, but for those of size tensors and of a GPU."""
OF_GPU = {
    "shared race": Animal(
        CU,
        LOOP,
        # Threads that store the same value are not a race to racecheck.
        f"        __shared__ float volatile last;\n        if (AT)\n        {{\n"
        f"            last = static_cast<float>(threadIdx.x);\n        }}\n{LOOP}",
    ),
    # Threads that end count as there: the kernel ends, where K5's may wait for ever. Not in the loop: of one there
    # synccheck of CUDA 13.0 said nothing (H100, 2026-11-23).
    "part of a warp": Animal(
        CU, BEGIN, f"    if (AT && threadIdx.x < 40)\n    {{\n        __syncthreads();\n    }}\n{BEGIN}"
    ),
}
"""Others, which target cpu has no check for, or another one."""
ON_GPU = {"G1": "E7", "G2": "T17", "G3": "shared race", "G4": "K3", "G5": "part of a warp", "N2": "E7"}
"""Those of checks on a GPU."""
NUMBERS = {name: number for number, name in enumerate([*ANIMALS, *OF_GPU], 1)}
SWITCH = """
// Which defect is planted; 0 is none.
static int chosen()
{
    static int const fault = std::getenv("FAULT") != nullptr ? std::atoi(std::getenv("FAULT")) : 0;
    return fault;
}

"""
DEEP = """//! Needs a stack that no GPU has.
__device__ float deep(int64_t count)
{
    volatile char own[1 << 10];
    own[count % 7] = 1;
    return count <= 0 ? own[0] : own[count % 7] + deep(count + 1);
}

"""


INCLUDE = "#include <algorithm>\n"
INCLUDES = f"{INCLUDE}#include <cstdlib>\n#include <cuda_runtime_api.h>\n#include <vector>\n"
SURROUNDINGS = (
    (CPP, INCLUDE, INCLUDES),
    (CU, INCLUDE, INCLUDES),
    (CPP, "namespace my_plugin", f"{SWITCH}namespace my_plugin"),
    (CPP, ARGUMENTS, f"{ARGUMENTS}    args.fault = chosen();\n"),
    (HEADER, "    Inputs inputs;\n", "    int fault{0};\n    Inputs inputs;\n"),
    (CU, "//! The layer:", f"{DEEP}//! The layer:"),
    (CU, "float const result", "float result"),
    (CU, "(MyPluginArguments const& args, MyPluginPrecision", "(MyPluginArguments const& given, MyPluginPrecision"),
    (CU, "    if (args.count == 0)", "    MyPluginArguments args = given;\n    if (args.count == 0)"),
)
"""What the defects need around them: the file, what is there, and what stands in its place."""


def write(folder: Path) -> Path:
    """The project with all of them inside."""
    made = classes.project(folder, "formats")
    texts = {name: (made / name).read_text() for name in (CPP, CU, HEADER)}
    hunks: dict[tuple[str, str], list[str]] = {}
    for name, one in {**ANIMALS, **OF_GPU}.items():
        assert texts[one.file].count(one.right) == 1, (name, one.right)
        asked = f"args.fault == {NUMBERS[name]}" if one.file == CU else f"chosen() == {NUMBERS[name]}"
        wrong = one.wrong.replace("AT ", f"({asked}) ").replace("(AT)", f"({asked})").replace("!AT", f"!({asked})")
        hunks.setdefault((one.file, one.right), []).append(wrong)
    for (file, right), all_ in hunks.items():
        texts[file] = texts[file].replace(right, _woven(right, all_))
    for file, right, wrong in SURROUNDINGS:
        assert right in texts[file], right
        texts[file] = texts[file].replace(right, wrong, 1)
    for name, text in texts.items():
        (made / name).write_text(text)
    manifest = made / "pluginkit.toml"
    manifest.write_text(manifest.read_text().replace("strict = true", "strict = false"))
    return made


RANKED = """\
template <typename T, bool kCounted>
__global__ void rankedKernel(int64_t count, Fields const, Inputs const in, Outputs const out, void* workspace, int64_t)
{
    int64_t const step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    {
        float const own = floorf(load<T>(in.x, i));
        int64_t above = 0;
        int64_t before = 0;
        for (int64_t j = 0; j < count; ++j)
        {
            float const other = floorf(load<T>(in.x, j));
            above += other > own ? 1 : 0;
            before += other == own && j < i ? 1 : 0;
        }
        // By a counter of those that are equal: whichever thread comes first is the first of them.
        int64_t const place = above + (kCounted ? atomicAdd(static_cast<int32_t*>(workspace) + above, 1) : before);
        store<T>(out.score, place, own);
        store<int32_t>(out.place, place, static_cast<float>(i));
    }
}

} // namespace
"""
RANKED_REFERENCE = """\
import numpy as np


def reference(x):
    order = np.argsort(-np.floor(x), kind="stable")
    return np.floor(x)[order], order
"""


def write_ranked(folder: Path) -> Path:
    """A project that sorts what it rounds: with FAULT 1 equal numbers come as blocks and threads do."""
    outputs = ["score:float32:n", "place:int32:n"]
    made = scaffold.new(
        "Ranked", directory=folder, inputs=["x:float32:n"], outputs=outputs, fields=[], workspace="4 * n", kernel="loop"
    )
    source = made / "src" / "ranked.cu"
    text = source.read_text()
    lead, _, rest = text.partition("template <typename T>\n__global__")
    _, _, tail = rest.partition("} // namespace\n")
    launch = (
        "rankedKernel<float><<<blocks, kThreads, 0, run.stream>>>(run.count, fields, run.in, run.out, run.workspace,\n"
        "                                                                 run.workspaceBytes);"
    )
    assert launch in tail
    counted, other = (launch.replace("<float>", f"<float, {one}>") for one in ("true", "false"))
    chosen = (
        "static_cast<void>(cudaMemsetAsync(run.workspace, 0, static_cast<size_t>(run.workspaceBytes), run.stream));\n"
        f"        if (char const* const fault = std::getenv(\"{FAULT}\"); fault != nullptr && *fault == '1')\n"
        f"        {{\n            {counted}\n        }}\n        else\n        {{\n            {other}\n        }}"
    )
    source.write_text(lead.replace(INCLUDE, f"{INCLUDE}#include <cstdlib>\n") + RANKED + tail.replace(launch, chosen))
    (made / "reference.py").write_text(RANKED_REFERENCE)
    manifest = made / "pluginkit.toml"
    manifest.write_text(
        manifest.read_text().replace("strict = true", "strict = false").replace("[1, 2, 4]", "[1, 8, 64]")
    )
    return made


def _woven(right: str, hunks: list[str]) -> str:
    """One text of several that stand in the place of the same: what each has more, around it."""
    text = right
    for hunk in hunks:
        lead, found, tail = hunk.partition(right)
        text = f"{lead}{text}{tail}" if found else text.replace(right, hunk)
    return text
