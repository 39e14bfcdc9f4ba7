"""What a library's Python module knows of its plugins for PyTorch, and what it makes of that, without PyTorch."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from pluginkit.build.python_signature import signature
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.torch import operators
from pluginkit.torch.target import TorchTarget, parse

MANY = """
[plugin]
name = "Many"
version = "2"
namespace = "acme.vision"
base = "v3"
[[inputs]]
name = "x"
types = ["float32", "float16"]
shape = ["n", "...", "c"]
[[inputs]]
name = "index"
types = ["int32"]
shape = ["c"]
[[outputs]]
name = "y"
types = ["float16", "float32"]
shape = ["n", "...", "c * 2 + len(pads)"]
[[outputs]]
name = "z"
types = ["int64"]
shape = ["1 if keep", "ceil_div(n, 2) if pads[0] > 1 else n"]
[[fields]]
name = "pads"
type = "int32"
length = [1, 4]
default = [1, 2]
[[fields]]
name = "keep"
type = "int64"
default = 1
[[fields]]
name = "slope"
type = "float16"
[[fields]]
name = "scales"
type = "float64"
length = 2
default = [1.0, 1e-5]
[[fields]]
name = "how"
type = "string"
default = 'a "quoted" \\ text'
[[profiles]]
name = "default"
symbols = { n = [1, 2, 4], c = [1, 8, 16] }
rest = [[1, 8, 16], [1, 8, 16]]
"""


@pytest.fixture(scope="module")
def many() -> dict[str, Any]:
    return json.loads(json.dumps(signature(Manifest.parse(MANY))))  # as the module reads it


def test_the_schema(many: dict[str, Any]) -> None:
    assert operators.schema(many) == (
        "(Tensor x, Tensor index, *, int[] pads=[1, 2], int keep=1, float slope, float[] scales=[1.0, 1e-05], "
        'str how="a \\"quoted\\" \\\\ text") -> (Tensor y, Tensor z)'
    )


def test_one_output_without_fields() -> None:
    text = '[plugin]\nname = "One"\nversion = "1"\nnamespace = ""\n' + "".join(
        f'[[{kind}]]\nname = "{name}"\ntypes = ["float32"]\nshape = ["n"]\n'
        for kind, name in (("inputs", "x"), ("outputs", "y"))
    )
    found = signature(Manifest.parse(text + '[[profiles]]\nname = "default"\nsymbols = { n = [1, 2, 4] }\n'))
    assert operators.schema(found) == "(Tensor x) -> Tensor"
    assert found["domain"] == "pluginkit"


def test_names_types_and_dimensions(many: dict[str, Any]) -> None:
    assert (many["domain"], many["namespace"], many["version"]) == ("acme_vision", "acme.vision", "2")
    assert many["combinations"] == [
        {"inputs": ["float32", "int32"], "outputs": ["float32", "int64"]},
        {"inputs": ["float16", "int32"], "outputs": ["float16", "int64"]},
    ]
    y, z = (one["dims"] for one in many["outputs"])
    env = {"n": 5, "c": 3, "pads": [2, 0], "keep": 1, "ceil_div": lambda a, b: -(-a // b), "len": len}
    assert y[:2] == ["n", "..."]
    assert eval(y[2], {}, env) == 8
    assert [eval(one, {}, env) for one in z] == [1, 3]
    assert [eval(one, {}, {**env, "keep": 0, "pads": [1]}) for one in z] == [None, 5]


def test_what_the_exporter_reads_of_a_translation(many: dict[str, Any]) -> None:
    made = operators._signed(lambda *inputs, **fields: None, many)
    shown = inspect.signature(made).parameters
    assert list(shown) == ["x", "index", "pads", "keep", "slope", "scales", "how"]
    assert made.__annotations__ == {
        "pads": Sequence[int], "keep": int, "slope": float, "scales": Sequence[float], "how": str,
    }  # fmt: skip
    assert shown["slope"].default is inspect.Parameter.empty
    assert shown["x"].annotation is inspect.Parameter.empty


def test_sizes_and_layers_that_enqueue_or_values_decide() -> None:
    sized = MANY.replace(
        'types = ["int64"]\nshape = ["1 if keep", "ceil_div(n, 2) if pads[0] > 1 else n"]', ""
    ).replace('name = "z"', 'name = "count"\ntypes = ["int32"]\nshape = []\nupper = "n"')
    found = signature(Manifest.parse(sized.replace('"c * 2 + len(pads)"', '"count"')))
    assert found["unknown"] == ["count"]


def test_layers_are_kept_by_their_fields(many: dict[str, Any]) -> None:
    made: list[dict[str, Any]] = []
    module = SimpleNamespace(target="cpu", Many=lambda **fields: made.append(fields) or len(made))
    operator = operators.PluginOperator(module, many)
    first = operator._layer({"slope": 0.0})
    assert operator._layer({"slope": -0.0}) != first
    assert operator._layer({"slope": 0.0, "keep": 1}) == first
    assert made[0] == {"pads": [1, 2], "keep": 1, "slope": 0.0, "scales": [1.0, 1e-5], "how": 'a "quoted" \\ text'}
    for number in range(operators.KEPT + 1):
        operator._layer({"slope": float(number)})
    assert len(operator._layers) == operators.KEPT


def test_without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"many\.register_torch\(\) needs PyTorch: pip install torch"):
        operators.register(SimpleNamespace(__name__="many"), "[]")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("layers:Swish", TorchTarget("layers", "Swish")),
        ("a.b:C.D(2, dim=[1, 2.5], how='x')", TorchTarget("a.b", "C.D", (2,), (("dim", [1, 2.5]), ("how", "x")))),
        ("ops:acme::swish(beta=-1.0)", TorchTarget("ops", "acme::swish", (), (("beta", -1.0),))),
    ],
)
def test_targets(text: str, found: TorchTarget) -> None:
    assert parse(text) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("layers", "names no class in a module"),
        ("layers:", "names no class"),
        (":Swish", "names no class"),
        ("dir/layers.py:Swish", "dir/layers.py is a file.*dir.layers:Swish"),
        ("layers:Sw ish", "names no class"),
        ("layers:a::b::c", "names no class"),
        ("layers:Swish(", "are not Python"),
        ("layers:Swish(1)(2)", "are not Python"),
        ("layers:Swish(torch.ones(3))", "not all numbers"),
        ("layers:Swish(**{'a': 1})", "not all numbers"),
    ],
)
def test_targets_that_are_none(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"(?s){message}") as caught:
        parse(text)
    assert caught.value.hint
