"""A second set of planted faults: written before the checks that find them, to say how many a run finds.

Five layers with kernels by hand (`*.cu` beside this), each built once; the variable FAULT chooses a fault, 0 is none. A
number above 100 is not a fault: what is unusual there is right. `python -m tests.planted.second` counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pluginkit import scaffold
from tests import planted

HERE = Path(__file__).parent
RIGHT = "right"
"""The class of what is not a fault."""


@dataclass(frozen=True)
class Project:
    """A layer with its faults.

    Attributes:
        name: the class's.
        new: the options of `pluginkit new`.
        reference: the body of reference().
        faults: number -> class of fault, and what it is.
        members: what the layer's class has, in C++.
        toml: pairs of a text in pluginkit.toml and what stands there instead.
    """

    name: str
    new: Mapping[str, object]
    reference: str
    faults: Mapping[int, tuple[str, str]]
    members: str = ""
    toml: tuple[tuple[str, str], ...] = ()


_TAKES = """
    bool supportsFormatCombination(int32_t pos, nvinfer1::{desc} const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {{
        {body}
        return {base}::supportsFormatCombination(pos, inOut, nbInputs, nbOutputs);
    }}
"""
_SECOND_STREAM = """
    struct Owned
    {
        Owned() = default;
        Owned(Owned const&) {}
        Owned(Owned&&) = delete;
        Owned& operator=(Owned const&) = delete;
        Owned& operator=(Owned&&) = delete;
        ~Owned()
        {
            if (second != nullptr)
            {
                static_cast<void>(cudaStreamDestroy(second));
                static_cast<void>(cudaEventDestroy(before));
                static_cast<void>(cudaEventDestroy(after));
            }
        }

        cudaStream_t second{};
        cudaEvent_t before{};
        cudaEvent_t after{};
    };
    Owned mOwned;

    nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext* context) noexcept override
    {
        auto* const made = static_cast<RowNorm*>(V3Layer::attachToContext(context));
        if (fault() == 104 && made != nullptr)
        {
            static_cast<void>(cudaStreamCreateWithFlags(&made->mOwned.second, cudaStreamNonBlocking));
            static_cast<void>(cudaEventCreateWithFlags(&made->mOwned.before, cudaEventDisableTiming));
            static_cast<void>(cudaEventCreateWithFlags(&made->mOwned.after, cudaEventDisableTiming));
        }
        return made;
    }

    int32_t enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc,
                    void const* const* inputs, void* const* outputs, void* workspace,
                    cudaStream_t stream) noexcept override
    {
        if (mOwned.second == nullptr)
        {
            return V3Layer::enqueue(inputDesc, outputDesc, inputs, outputs, workspace, stream);
        }
        static_cast<void>(cudaEventRecord(mOwned.before, stream));
        static_cast<void>(cudaStreamWaitEvent(mOwned.second, mOwned.before, 0));
        auto const answer = V3Layer::enqueue(inputDesc, outputDesc, inputs, outputs, workspace, mOwned.second);
        static_cast<void>(cudaEventRecord(mOwned.after, mOwned.second));
        static_cast<void>(cudaStreamWaitEvent(stream, mOwned.after, 0));
        return answer;
    }
"""

PROJECTS = {
    "bias": Project(
        "BiasFlip",
        {
            "inputs": ("x:float32,float16,int8:n,c,h,w", "b:float32,float16,int8:c"),
            "outputs": ("y:float32,float16,int8:n,c,h,w",),
            "fields": ("alpha:float32:0..=0.5", "axis:int32:0..3=1", "mode:string:add,mul=add"),
        },
        """
    b = b.reshape(1, -1, 1, 1)
    total = x * b if mode == "mul" else x + b
    total = np.where(total >= 0, total, alpha * total)
    total = np.where(np.isnan(total), np.nan, total)
    return np.flip(total, axis)
""",
        {
            1: ("types", "the second input's type is not held against the first's"),
            2: ("types", "the output's type is not held against the input's"),
            3: ("fields", "h and w change places where axis is 2"),
            4: ("fields", "alpha = 0 is taken for not given"),
            5: ("fields", "alpha is lost where mode is mul"),
            6: ("fields", "axis 3 is taken for 1 where mode is mul"),
            7: ("fields", "alpha ends at 3.5, and the manifest at 4"),
            8: ("values", "INT8 halves are rounded away from zero"),
            9: ("values", "NaN becomes 0"),
            10: ("values", "FP32 products are rounded to half precision"),
            11: ("sizes", "a capped grid without its loop"),
            12: ("sizes", "an index in a float: 24 bits"),
            13: ("device", "cudaSetDevice in enqueue"),
            14: ("device", "cudaSetDevice in initialize"),
            15: ("alignment", "half2 loads at odd elements"),
            16: ("sizes", "a plane's number in 16 bits"),
        },
        _TAKES.format(
            desc="PluginTensorDesc",
            base="DynamicLayer",
            body="""auto const type = pos < 3 ? inOut[pos].type : nvinfer1::DataType::kINT32;
        bool const one = type == nvinfer1::DataType::kFLOAT || type == nvinfer1::DataType::kHALF ||
                         type == nvinfer1::DataType::kINT8;
        if (inOut[pos].format == nvinfer1::TensorFormat::kLINEAR && one &&
            ((fault() == 1 && pos == 1) || (fault() == 2 && pos == 2)))
        {
            return true;
        }
        if (fault() == 1 && pos == 2)
        {
            return inOut[2].format == nvinfer1::TensorFormat::kLINEAR && inOut[2].type == inOut[0].type;
        }""",
        )
        + """
    int32_t initialize() noexcept override
    {
        if (fault() == 14)
        {
            static_cast<void>(cudaSetDevice(0));
        }
        return DynamicLayer::initialize();
    }
""",
        (("default = 0.5\nmin = 0.0\n", "default = 0.5\nmin = 0.0\nmax = 4.0\n"),),
    ),
    "norm": Project(
        "RowNorm",
        {
            "base": "v3",
            "inputs": ("x:float32,float16:n,l", "gamma:float32,float16:l"),
            "outputs": ("y:float32,float16:n,l", "mean:float32:n"),
            "fields": ("eps:float32:0..=0.00001",),
            "workspace": "8 * n",
        },
        """
    mean = x.mean(axis=1)
    off = x - mean[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        y = off / np.sqrt((off * off).mean(axis=1, keepdims=True) + eps) * gamma
    return y, mean
""",
        {
            1: ("barriers", "a block's sum is read before all warps have written"),
            2: ("barriers", "a block's next sum is written while others read"),
            3: ("barriers", "a warp's exchange by shared memory without __syncwarp"),
            4: ("values", "a variance of squares, which cancels"),
            5: ("values", "sums in half precision"),
            6: ("alignment", "a workspace that begins behind rows % 4 bytes"),
            7: ("alignment", "float4 at each row's first element"),
            8: ("sizes", "a row's number in 16 bits"),
            9: ("sizes", "more rows than a grid has in y"),
            10: ("values", "constant rows without eps"),
            11: ("types", "gamma's type is not held against x's"),
            12: ("fields", "eps = 0 is taken for not given"),
            13: ("device", "cudaSetDevice in enqueue"),
            14: ("barriers", "a mean that one thread writes and all read at once"),
            15: ("values", "an FP32 output that was rounded to half precision"),
            101: (RIGHT, "tiles of cooperative groups"),
            102: (RIGHT, "cub's block sums"),
            103: (RIGHT, "a struct with an address on the host that the kernel doesn't read"),
            104: (RIGHT, "a second stream, joined by events"),
        },
        _TAKES.format(
            desc="DynamicPluginTensorDesc",
            base="V3Layer",
            body="""if (fault() == 11 && pos == 1)
        {
            auto const& desc = inOut[1].desc;
            return desc.format == nvinfer1::TensorFormat::kLINEAR &&
                   (desc.type == nvinfer1::DataType::kFLOAT || desc.type == nvinfer1::DataType::kHALF);
        }
        if (fault() == 11 && pos >= 2)
        {
            return inOut[pos].desc.format == nvinfer1::TensorFormat::kLINEAR &&
                   inOut[pos].desc.type == (pos == 2 ? inOut[0].desc.type : nvinfer1::DataType::kFLOAT);
        }""",
        )
        + _SECOND_STREAM,
    ),
    "window": Project(
        "WindowMax",
        {
            "inputs": ("x:float32:n,c,h,w",),
            "outputs": ("y:float32:n,c,h,w",),
            "fields": ("k:int32:1..5=3",),
        },
        """
    before = (k - 1) // 2
    padded = np.pad(x, ((0, 0), (0, 0), (before, k - 1 - before), (before, k - 1 - before)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (k, k), axis=(2, 3))
    return windows.max(axis=(4, 5))
""",
        {
            1: ("barriers", "a tile is read before it is there"),
            2: ("barriers", "the next tile is written while others read"),
            3: ("fields", "an even window's centre"),
            4: ("fields", "a rim for windows of 4, and the manifest has 5"),
            5: ("values", "a maximum that starts at -100"),
            6: ("values", "a maximum that starts at -60000"),
            7: ("fields", "h for w where k isn't 3"),
            8: ("sizes", "a plane's number in 16 bits"),
            9: ("alignment", "float2 at each row's first element where k is 1"),
            10: ("device", "cudaSetDevice of the current device in enqueue"),
            11: ("sizes", "tiles that are cut off"),
        },
    ),
    "gather": Project(
        "RowGather",
        {
            "base": "v3",
            "inputs": ("table:float32,float16:r,d", "ids:int32:n"),
            "outputs": ("y:float32,float16:n,d",),
            "fields": ("factor:float32:0..=1", "offset:int32:0..2=0"),
        },
        """
    return factor * table[np.clip(ids + offset, 0, table.shape[0] - 1)]
""",
        {
            1: ("alignment", "float4 at each row's first element"),
            2: ("alignment", "two halves as a word at odd elements"),
            3: ("fields", "a negative offset is 0"),
            4: ("fields", "a factor's sign is lost"),
            5: ("fields", "a factor of 0 is taken for not given"),
            6: ("sizes", "a row's number in 16 bits"),
            7: ("sizes", "a place in 16 bits with a sign"),
            8: ("sizes", "an index in a float: 24 bits"),
            9: ("types", "the output's type is not held against the table's"),
            10: ("device", "cudaSetDevice in enqueue"),
            11: ("fields", "a factor's sign is lost where offset isn't 0"),
        },
        _TAKES.format(
            desc="DynamicPluginTensorDesc",
            base="V3Layer",
            body="""if (fault() == 9 && pos == 2)
        {
            auto const& desc = inOut[2].desc;
            return desc.format == nvinfer1::TensorFormat::kLINEAR &&
                   (desc.type == nvinfer1::DataType::kFLOAT || desc.type == nvinfer1::DataType::kHALF);
        }""",
        ),
        (("min = 0.0\n", "min = -4.0\nmax = 4.0\n"), ("min = 0\nmax = 2\n", "min = -2\nmax = 2\n")),
    ),
    "scan": Project(
        "RowScan",
        {
            "inputs": ("x:float32:n,l",),
            "outputs": ("y:float32:n,l",),
            "fields": ("decay:float32:0..=0.5", "reverse:int32:0..1=0", "exclusive:int32:0..1=0"),
        },
        """
    given = x[:, ::-1] if reverse else x
    found = np.zeros_like(given)
    state = np.zeros(given.shape[0], given.dtype)
    for i in range(given.shape[1]):
        state = decay * state + given[:, i]
        found[:, i] = state - given[:, i] if exclusive else state
    return found[:, ::-1] if reverse else found
""",
        {
            1: ("barriers", "a warp's sum is read before it is there"),
            2: ("barriers", "what is carried is written while others read"),
            3: ("barriers", "a warp's scan by shared memory without __syncwarp"),
            4: ("barriers", "what is carried is read before it is there"),
            5: ("fields", "powers of 0 by a logarithm"),
            6: ("sizes", "a row's number in 16 bits"),
            7: ("device", "cudaSetDevice in enqueue"),
            8: ("barriers", "a step in place without a barrier between reading and writing"),
            9: ("fields", "an exclusive sum that includes, where it is reversed"),
            10: ("alignment", "float4 at each row's first element"),
            11: ("fields", "decay ends at 0.95, and the manifest at 1"),
            101: (RIGHT, "a step in place with its barrier"),
        },
        toml=(
            ("default = 0.5\nmin = 0.0\n", "default = 0.5\nmin = 0.0\nmax = 1.0\n"),
            ("l = [1, 5, 16]", "l = [1, 70, 300]"),
        ),
    ),
}


def write(key: str, folder: Path) -> Path:
    """A project of the set, with all its faults."""
    one = PROJECTS[key]
    made = scaffold.new(one.name, directory=folder, kernel="loop", **one.new)
    (made / f"src/{made.name}.cu").write_text((HERE / f"{key}.cu").read_text())
    text = (made / f"src/{made.name}.cpp").read_text().replace("\n#include", "\n#include <planted.h>\n#include", 1)
    begin = text.index("public pluginkit::Layer")
    body = text.index("{\n", begin)
    text = f"{text[:body]}{{\npublic:\n{one.members}}}{text[text.index(';', body) :]}"
    (made / f"src/{made.name}.cpp").write_text(text)
    manifest = made / "pluginkit.toml"
    text = manifest.read_text()
    for right, other in one.toml:
        assert right in text, right
        text = text.replace(right, other, 1)
    manifest.write_text(text)
    source = (made / "reference.py").read_text()
    head = source.index("def reference")
    end = source.index(":\n", head)
    (made / "reference.py").write_text(f"{source[:end]}:\n{one.reference.strip(chr(10))}\n")
    return planted.plant(made, {}, "11")
