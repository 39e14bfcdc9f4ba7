"""Run in a process of its own by test_operators.py: the operators of the library in the folder that is given.

python operators_in_torch.py FOLDER MODEL.onnx cpu|cuda REFERENCE.py
"""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import torch

sys.path.insert(0, sys.argv[1])
import many

OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
DEVICE = sys.argv[3]
ALIGNMENT = {"cpu": 16, "cuda": 256}[DEVICE]
REFERENCE = runpy.run_path(sys.argv[4])["reference"]
OPERATORS = many.register_torch()
MANY, GROW = torch.ops.pluginkit.Many, torch.ops.acme_vision.Grow


def refused(error: type[Exception], text: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except error as found:
        assert text in str(found), found
    else:
        raise AssertionError(f"taken: {text}")


def same(made: Any, expected: Any) -> None:
    for one, other in zip(made, expected, strict=True):
        assert one.device.type == DEVICE
        wide = other.float().cpu().numpy() if isinstance(other, torch.Tensor) else np.asarray(other, np.float32)
        np.testing.assert_array_equal(one.float().cpu().numpy(), wide)


def array(tensor: torch.Tensor) -> Any:
    """What the module itself takes: NumPy's arrays on the CPU, tensors on a GPU."""
    return tensor.numpy() if DEVICE == "cpu" else tensor


def checked(operator: Any, arguments: tuple[Any, ...], **fields: Any) -> None:
    assert set(torch.library.opcheck(operator.default, arguments, fields).values()) == {"SUCCESS"}


def eager(x: torch.Tensor, w: torch.Tensor) -> None:
    """As reference.py and the module itself compute it, whatever the tensors' layout in memory."""
    layer = many.Many(pads=[1, 2], keep=1, slope=0.25)
    expected = layer(array(x), array(w))
    made = MANY(x, w, slope=0.25)
    same(made, expected)
    fields = {"pads": [1, 2], "keep": 1, "slope": 0.25, "scales": [1.0, 2.0], "how": 'a "quoted" \\ text'}
    meant = REFERENCE(x.double().cpu().numpy(), w.double().cpu().numpy(), **fields)
    for one, other in zip(made, meant, strict=True):
        np.testing.assert_allclose(one.cpu().numpy(), other, rtol=1e-5, atol=1e-5)
    same(MANY(x.transpose(0, 1).contiguous().transpose(0, 1), w, slope=0.25), expected)
    odd = torch.empty(x.numel() + 1, device=DEVICE)[1:].view(x.shape).copy_(x)
    assert odd.data_ptr() % ALIGNMENT
    same(MANY(odd, w, slope=0.25), expected)
    same(MANY(x.half(), w.half(), slope=0.25), layer(array(x.half()), array(w.half())))
    same(MANY(x[:0], w, slope=0.25), layer(array(x[:0]), array(w)))
    other = many.Many(pads=[5], keep=0, slope=-1.0, how="x")
    same(MANY(x, w, pads=[5], keep=0, slope=-1.0, how="x"), other(array(x), array(w)))


def an_alias(x: torch.Tensor) -> None:
    """The plugin writes into its input; the operator doesn't."""
    before = x.clone()
    made = GROW(x, weight=0.5)
    assert torch.equal(x, before)
    same([made], [many.Grow(weight=0.5)(array(before.clone()))])
    assert not torch.equal(made, before)


def mistakes(x: torch.Tensor, w: torch.Tensor) -> None:
    refused(TypeError, "Many takes no float64 as input 0 (x); it takes float32, float16.", lambda: MANY(x.double(), w))
    refused(TypeError, "no inputs of the types float32, float16 together", lambda: MANY(x, w.half()))
    refused(ValueError, "c", lambda: MANY(x, w[:-1]))
    refused(RuntimeError, "Unknown keyword argument 'alpha'", lambda: MANY(x, w, alpha=1.0))
    refused(RuntimeError, "missing value for argument 'weight'", lambda: GROW(x))
    refused(RuntimeError, "only enqueue knows", lambda: torch.ops.acme.Pick(x))
    refused(RuntimeError, "shape input", lambda: torch.ops.acme.Fill(x[0], torch.tensor([2, 3], device=DEVICE)))
    with torch.device("meta"):
        refused(ValueError, "another size than c", lambda: MANY(torch.ones(2, 3), torch.ones(4)))
        refused(ValueError, "has 1 dimensions; its shape is [n, ..., c]", lambda: MANY(torch.ones(2), torch.ones(4)))


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y, z = MANY(x + 1, w, pads=[3], slope=0.25, scales=[], how="text")
        picked, count = torch.ops.acme.Pick(GROW(x[:, 0], weight=2.0))
        filled = torch.ops.acme.Fill(w, torch.tensor([2, 3], device=w.device))
        return y, z, picked * 2, count, filled


def exported() -> onnx.ModelProto:
    n, c = torch.export.Dim("n", min=2, max=64), torch.export.Dim("c", min=2, max=64)
    program = torch.onnx.export(
        Model().eval(), (torch.ones(4, 5, 6, device=DEVICE), torch.ones(6, device=DEVICE)), dynamo=True, verbose=False,
        dynamic_shapes={"x": {0: n, 2: c}, "w": {0: c}}, custom_translation_table=many.custom_translation_table(),
    )  # fmt: skip
    return program.model_proto


def nodes(model: onnx.ModelProto) -> None:
    assert {one.domain: one.version for one in model.opset_import} | {"": 0} == {
        "": 0, "pluginkit": 1, "acme": 1, "acme_vision": 1,
    }  # fmt: skip
    found = {one.op_type: one for one in model.graph.node if one.domain}
    attributes = {
        kind: {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute} for kind, node in found.items()
    }
    assert attributes == {
        "Many": {
            "pads": [3], "keep": 1, "slope": 0.25, "scales": [], "how": b"text", "plugin_version": b"1",
            "plugin_namespace": b"",
        },
        "Grow": {"weight": 2.0, "scales": [1.0, 2.0], "plugin_version": b"1", "plugin_namespace": b"acme.vision"},
        "Pick": {"plugin_version": b"1", "plugin_namespace": b"acme"},
        "Fill": {
            "plugin_version": b"1", "plugin_namespace": b"acme", "tensorrt_plugin_shape_input_indices": [1],
        },
    }  # fmt: skip
    lists = [one.type for node in found.values() for one in node.attribute if one.name == "scales"]
    assert lists == [onnx.AttributeProto.FLOATS] * 2
    assert [len(found[kind].output) for kind in ("Many", "Pick")] == [2, 2]
    y, z, picked, count, filled = (
        [one.dim_param or one.dim_value for one in value.type.tensor_type.shape.dim] for value in model.graph.output
    )
    assert y[:2] == ["n", 5]
    assert y[2] == "2*c + 1", y
    assert z[0] == 1 and "n" in z[1], z
    assert picked[1] == "c" and isinstance(picked[0], str) and not count
    assert filled[2] == "c"


def registered() -> None:
    assert sorted(str(one) for one in OPERATORS) == [
        "acme.Fill.default", "acme.Pick.default", "acme_vision.Grow.default", "pluginkit.Many.default",
    ], OPERATORS  # fmt: skip
    assert many.register_torch() == OPERATORS


def opchecks(x: torch.Tensor, w: torch.Tensor) -> None:
    checked(MANY, (x, w), slope=0.25)
    checked(MANY, (x.transpose(0, 1), w), pads=[], keep=0, how="")
    checked(MANY, (x[:, 0].half(), w.half()))
    checked(GROW, (x[0],), weight=0.5)


def compiled(x: torch.Tensor, w: torch.Tensor, backend: str) -> None:
    made = torch.compile(lambda x, w: MANY(x, w, slope=2.0)[0] + 1, dynamic=True, backend=backend)
    for size in (2, 3):
        torch.testing.assert_close(made(x[:size], w), MANY(x[:size], w, slope=2.0)[0] + 1)


def export() -> None:
    model = exported()
    nodes(model)
    onnx.save(model, sys.argv[2])


def other_devices(x: torch.Tensor, w: torch.Tensor) -> None:
    """A module has one target; of a tensor that lies elsewhere it says which."""
    refused(TypeError, "lies on the host, and this library", lambda: MANY(x.cpu(), w.cpu()))
    refused(TypeError, "lies on the host", lambda: MANY(x, w.cpu()))


def streams(x: torch.Tensor, w: torch.Tensor) -> None:
    """The kernel runs on PyTorch's current stream, behind what is queued there."""
    wanted = MANY(torch.full_like(x, 3.0), w)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        late = torch.zeros_like(x)
        torch.cuda._sleep(200_000_000)  # the stream is busy: only what comes behind on it sees the 3
        late.fill_(3.0)
        made = MANY(late, w)
        assert not stream.query(), "the operator waited for the stream"
    stream.synchronize()
    same(made, wanted)


def graphs(x: torch.Tensor, w: torch.Tensor) -> None:
    still = x.clone()
    MANY(still, w)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = MANY(still, w)
    still.copy_(-2.0 * x)
    graph.replay()
    torch.cuda.synchronize()
    same(made, MANY(-2.0 * x, w))


def main() -> None:
    torch.manual_seed(0)
    x, w = torch.randn(4, 5, 6, device=DEVICE), torch.randn(6, device=DEVICE)
    parts: list[Callable[[], None]] = [
        registered, lambda: eager(x, w), lambda: an_alias(x[0]), lambda: mistakes(x[:, 0], w), lambda: opchecks(x, w),
        lambda: compiled(x, w, "aot_eager"), export,
    ]  # fmt: skip
    if DEVICE == "cuda":
        wide, bias = torch.randn(64, 33, 128, device=DEVICE), torch.randn(128, device=DEVICE)
        parts += [
            lambda: eager(wide, bias), lambda: other_devices(x, w), lambda: streams(wide, bias), lambda: graphs(x, w),
            lambda: compiled(x, w, "inductor"),
        ]  # fmt: skip
    failed = 0
    for part in parts:
        try:
            part()
        except Exception:  # noqa: BLE001, PERF203 - all parts, whatever the first says: GPUs aren't to be had each day
            traceback.print_exc()
            failed += 1
    print(f"{len(parts) - failed} of {len(parts)} parts passed on {DEVICE}, PyTorch {torch.__version__}")
    sys.exit(bool(failed))


main()
