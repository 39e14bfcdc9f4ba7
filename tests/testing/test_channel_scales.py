"""INT8 whose channels are scaled apart, by a list as a field: the networks, the oracle and the comparison."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from pluginkit.bench import values
from pluginkit.bench.measurements import BenchCase
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network, Tolerance
from pluginkit.paths import include_dir
from pluginkit.scaffold import signature
from pluginkit.testing.comparison import compare
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference
from tests.compilers import default_cxx

TOML = """
[plugin]
name = "Channels"
base = "v3"
[[inputs]]
name = "x"
types = ["float32", "int8"]
shape = ["n", "c", "h"]
scale = "scales"
scale_axis = 1
[[outputs]]
name = "y"
types = ["float32", "int8"]
shape = ["n", "c", "h"]
scale = "more"
scale_axis = 1
[[fields]]
name = "scales"
type = "float32"
length = "c"
[[fields]]
name = "more"
type = "float32"
length = "c"
[[profiles]]
symbols = { n = [1, 2, 4], c = [3, 3, 3], h = [1, 2, 8] }
"""


@pytest.fixture
def reference(tmp_path: Path) -> Reference:
    file = tmp_path / "reference.py"
    file.write_text("import numpy as np\n\n\ndef reference(x):\n    return np.where(x >= 0, x, 0.25 * x)\n")
    return Reference.load(file, Manifest.parse(TOML))


def test_a_network_scales_each_channel_around_a_quantization_per_tensor(reference: Reference) -> None:
    made = plan(Manifest.parse(TOML), reference, families=["plain"], precisions=[DType.INT8], random=0)
    (network,) = [one for one in made.networks if isinstance(one, Network) and not one.variant]
    graph = onnx.load_from_string(network.model).graph
    constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    kinds = [node.op_type for node in graph.node]
    assert kinds == ["Div", "QuantizeLinear", "Channels", "DequantizeLinear", "Mul", "Identity"]
    assert all(constants[node.input[1]] == 1.0 for node in graph.node if "quantize" in node.op_type.lower())
    for at, field in ((0, "scales"), (4, "more")):
        factor, (_, given) = constants[graph.node[at].input[1]], network.calls[0].fields[field]
        assert factor.shape == (3, 1)
        assert np.array_equal(factor.ravel(), np.asarray(given, np.float32))
        assert len({*factor.ravel()}) == 3


def test_the_oracle_quantizes_each_channel_by_its_own_scale(reference: Reference) -> None:
    made = plan(Manifest.parse(TOML), reference, families=["plain"], precisions=[DType.INT8], random=0)
    case = next(one for one in made.cases if one.point == "max" and one.network_id == "plain/int8")
    network = next(one for one in made.networks if one.id == case.network_id)
    scales, more = (np.asarray(network.calls[0].fields[one][1]).reshape(3, 1) for one in ("scales", "more"))
    held = np.clip(np.rint(case.feeds["x"] / scales), -128, 127) * scales
    wanted = np.clip(np.rint(np.where(held >= 0, held, 0.25 * held) / more), -128, 127) * more
    assert np.abs(case.expected["y"] - wanted).max() < 1e-6
    assert np.allclose(case.tolerance.scales["y"], np.broadcast_to(more, wanted.shape))


def test_a_step_of_an_output_is_its_channels_wherever_a_loop_has_put_it(reference: Reference) -> None:
    made = plan(Manifest.parse(TOML), reference, families=["scan-axis-1"], precisions=[DType.INT8], random=0)
    case = next(one for one in made.cases if one.point == "max")
    ((name, step),) = case.tolerance.scales.items()
    assert isinstance(step, np.ndarray)
    assert step.shape == case.expected[name].shape == (4, 3, 3, 8)
    assert len(np.unique(step)) == 3
    assert (step == step[:1, :1, :, :1]).all()


def test_an_element_is_compared_in_the_steps_of_its_channel() -> None:
    want = np.zeros((1, 2, 2))
    tolerance = Tolerance("steps", steps=1, scales={"y": np.array([[0.5], [0.01]])})
    got = np.zeros((1, 2, 2), np.float32)
    got[0, 0, 1] = 0.5
    assert compare({"y": got}, {"y": want}, tolerance).ok
    got[0, 1, 0] = 0.02
    (one,) = compare({"y": got}, {"y": want}, tolerance).outputs
    assert (one.ok, one.index, one.unit) == (False, (0, 1, 0), "steps")
    assert one.error == pytest.approx(2)
    assert one.got == pytest.approx(0.02)
    assert "is 2 at [0, 1, 0], expected 0 (in steps of 0.01, its channel's): off by 2 steps, allowed 1" in one.message


def test_bench_has_values_of_each_channel(reference: Reference) -> None:
    case = BenchCase("int8", DType.INT8, {"n": 2, "c": 3, "h": 4}, {"more": (0.5, 0.25, 0.125)}, None, None, 0)
    made = values.make(Manifest.parse(TOML), reference, case, seed=0)
    assert np.array_equal(made.scales["y"], [[0.5], [0.25], [0.125]])
    held = made.inputs[0] * np.asarray(made.scales["x"])
    wanted = np.clip(np.rint(np.where(held >= 0, held, 0.25 * held) / made.scales["y"]), -128, 127)
    assert np.abs(made.outputs[0] - wanted).max() <= 1


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "scale_axis = 1\n[[out",
            "[[out",
            "x.scale_axis: the field 'scales' has c elements, one for each along an axis: ",
        ),
        ("scale_axis = 1\n[[out", "scale_axis = 2\n[[out", "write scale_axis = 1"),
        ("scale_axis = 1\n[[out", "scale_axis = -1\n[[out", "must be the number of a dimension, from 0 (got -1)"),
        ("scale_axis = 1\n[[out", 'scale_axis = "c"\n[[out', 'must be the number of a dimension, from 0 (got "c")'),
        ('scale = "scales"\n', "", "x.scale_axis: there is no scale"),
        (
            'name = "scales"\ntype = "float32"\nlength = "c"',
            'name = "scales"\ntype = "float32"',
            "leave scale_axis out",
        ),
        ('name = "scales"\ntype = "float32"', 'name = "scales"\ntype = "float64"', "must be of type float32"),
        ('"float32"\nlength = "c"\n[[fields]]', '"float32"\nlength = [1, 4]\n[[fields]]', "must be of type float32"),
        ('length = "c"\n[[fields]]', 'length = "h"\n[[fields]]', "write scale_axis = 2"),
        ('length = "c"\n[[fields]]', "length = 7\n[[fields]]", "no dimension of ['n', 'c', 'h'] is that"),
    ],
)
def test_what_a_list_of_scales_cannot_be(old: str, new: str, problem: str) -> None:
    assert old in TOML
    with pytest.raises(UsageError) as caught:
        Manifest.parse(TOML.replace(old, new, 1))
    assert problem in caught.value.message


@pytest.mark.parametrize(
    ("tensor", "field", "base", "problem"),
    [
        ("x:int8,float32:n,c:scale=s", "s:float32[c]", "ioext", "knows one scale a tensor"),
        ("x:float32:n,c:scale=s", "s:float32[c]", "v3", "neither int8 nor float8 is one of its types"),
        ("x:int8,float32:n,c:scale=t", "s:float32[c]", "v3", "no float32 field of that name"),
        ("x:int8,float32:n,c:scale=s", "s:int32[c]", "v3", "no float32 field of that name"),
        ("x:int8,float32:n,c:scale=s", "s:float32[h]", "v3", "no dimension has that size"),
        ("x:int8,float32:c,c:scale=s", "s:float32[c]", "v3", "several dimensions have that size"),
        ("x:int8,float32:n,...,c:scale=s", "s:float32[c]", "v3", "has c elements, and a shape is of any rank"),
        ("x:int8,float32:n,...,3:scale=s", "s:float32[3]", "v3", "dimension 2 is another one at each rank: write"),
    ],
)
def test_what_new_refuses(tensor: str, field: str, base: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        signature.manifest(
            "Channels", inputs=[tensor], outputs=[], fields=[field], namespace="", version="1", base=base
        )
    assert problem in caught.value.message
    assert caught.value.hint or "write" in problem


def test_a_list_of_scales_at_any_rank() -> None:
    """Of a dimension before `"..."`, which is the same one at each rank."""
    text = TOML.replace('"n", "c", "h"]', '"n", 3, "..."]').replace('length = "c"', "length = 3")
    text = text.replace("n = [1, 2, 4], c = [3, 3, 3], h = [1, 2, 8] }", "n = [1, 2, 4] }\nrest = []")
    text += '[[profiles]]\nname = "images"\nsymbols = { n = [1, 2, 4] }\nrest = [[1, 2, 4], [1, 2, 4]]\n'
    assert [len(one.inputs[0].shape) for one in Manifest.parse(text).ranked()] == [2, 4]
    behind = text.replace('3, "..."]\nscale = "more"\nscale_axis = 1', '"...", 3]\nscale = "more"\nscale_axis = 2')
    with pytest.raises(UsageError, match=r"y\.scale_axis: dimension 2 is another one at each rank"):
        Manifest.parse(behind)


def test_new_writes_the_axis() -> None:
    _, text = signature.manifest(
        "Channels",
        inputs=["x:float32,int8:n,c,h:scale=s"],
        outputs=["y:float32,int8:c,n:scale=s", "z:float32,int8:n"],
        fields=["s:float32[c]"],
        namespace="",
        version="1",
        base="dynamic",
    )
    assert 'scale = "s"\nscale_axis = 1' in text
    assert 'scale = "s"\nscale_axis = 0' in text
    assert 'scale = "z_scale"\n\n' in text


CUDA = """
#include <cstddef>
#include <cstdlib>
#include <cstring>
enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation };
enum cudaMemcpyKind { cudaMemcpyHostToDevice };
inline int mallocs = 0, copies = 0, frees = 0;
inline bool hasMemory = true, canCopy = true;
inline cudaError_t cudaMalloc(void** to, size_t bytes)
{
    ++mallocs;
    *to = hasMemory ? std::malloc(bytes) : nullptr;
    return hasMemory ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaMemcpy(void* to, void const* from, size_t bytes, cudaMemcpyKind)
{
    ++copies;
    if (canCopy) std::memcpy(to, from, bytes);
    return canCopy ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaFree(void* data)
{
    ++frees;
    std::free(data);
    return cudaSuccess;
}
"""
LISTS = """
#include <pluginkit/device_list.h>
#include <cstdio>
#include <vector>
#define ASK(what) if (!(what)) { std::puts(#what); return 1; }
int main()
{
    std::vector<float> const numbers{1.0F, 2.0F};
    {
        pluginkit::DeviceList list;
        hasMemory = false;
        ASK(!list.upload(numbers) && list.data() == nullptr && mallocs == 1 && copies == 0)
        hasMemory = true;
        canCopy = false;
        ASK(!list.upload(numbers) && list.data() == nullptr && mallocs == 2 && frees == 1)
        canCopy = true;
        ASK(list.upload(numbers) && list.data()[1] == 2.0F && mallocs == 3 && copies == 2)
        pluginkit::DeviceList clone = list;
        ASK(clone.upload(numbers) && clone.data() == list.data() && mallocs == 3)
        list.clear();
        ASK(list.data() == nullptr && clone.data()[0] == 1.0F && frees == 1)
    }
    ASK(frees == 2)
    return 0;
}
"""


def test_a_list_that_did_not_get_to_the_device_is_put_there_the_next_time(tmp_path: Path) -> None:
    (tmp_path / "cuda_runtime_api.h").write_text(CUDA)
    (tmp_path / "lists.cpp").write_text(LISTS)
    made = [default_cxx(), "-std=c++17", f"-I{tmp_path}", f"-I{include_dir()}", "lists.cpp", "-o", "lists"]
    subprocess.run(made, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "lists"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)
