"""What TensorRT-RTX's ONNX parser makes of a node's attributes: the table in docs/fields.md, kind by kind."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, TensorProto, helper

from pluginkit.dtypes import DType
from pluginkit.field_types import FieldType
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network, NetworkProfile
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.rtx.session import RtxSession

from . import faulty

HERE = Path(__file__).parent
pytestmark = [pytest.mark.rtx, pytest.mark.compile]
FLOAT32, FLOAT16, BFLOAT16, INT8, INT32, TEXT = (
    kind.code
    for kind in (
        FieldType.FLOAT32,
        FieldType.FLOAT16,
        FieldType.BFLOAT16,
        FieldType.INT8,
        FieldType.INT32,
        FieldType.STRING,
    )
)


def tensor(kind: int, raw: bytes, count: int = 1) -> TensorProto:
    return helper.make_tensor("t", kind, [count], raw, raw=True)


def graph() -> Any:
    return helper.make_graph([], "g", [], [])


GIVEN: dict[str, tuple[Any, tuple[int, int, bytes | None]]] = {
    "int": (5, (INT32, 1, struct.pack("<i", 5))),
    "int of 33 bits": (2**32 + 5, (INT32, 1, struct.pack("<i", 5))),
    "ints": ([5, -6], (INT32, 2, struct.pack("<2i", 5, -6))),
    "float": (0.5, (FLOAT32, 1, struct.pack("<f", 0.5))),
    "floats": ([0.5, 2.5], (FLOAT32, 2, struct.pack("<2f", 0.5, 2.5))),
    "string": ("ab", (TEXT, 3, b"ab\0")),
    "strings": (["ab", "c"], (TEXT, 5, b"ab\0c\0")),
    "tensor float32": (tensor(TensorProto.FLOAT, struct.pack("<f", 0.5)), (FLOAT32, 1, struct.pack("<f", 0.5))),
    "tensor float16": (tensor(TensorProto.FLOAT16, b"\1\2"), (FLOAT16, 1, b"\1\2")),
    "tensor bfloat16": (tensor(TensorProto.BFLOAT16, b"\1\2"), (BFLOAT16, 1, b"\1\2")),
    "tensor int8": (tensor(TensorProto.INT8, b"\7"), (INT8, 1, b"\7")),
    "tensor int32": (tensor(TensorProto.INT32, struct.pack("<i", 7)), (INT32, 1, struct.pack("<i", 7))),
    "tensor float64": (tensor(TensorProto.DOUBLE, struct.pack("<d", 0.1)), (FLOAT32, 1, struct.pack("<f", 0.1))),
    "tensor int64": (tensor(TensorProto.INT64, struct.pack("<q", 7)), (FLOAT16, 1, b"\7\0")),
    "tensor uint8": (tensor(TensorProto.UINT8, b"\7\10", 2), (FLOAT16, 2, b"\7\10")),
    "tensor bool": (tensor(TensorProto.BOOL, b"\1\0", 2), (FLOAT16, 2, b"\1\0")),
    "tensor float8 (E4M3)": (tensor(TensorProto.FLOAT8E4M3FN, b"\7\10", 2), (FLOAT16, 2, b"\7\10")),
    "tensor of nothing": (tensor(TensorProto.FLOAT, b"", 0), (FLOAT32, 0, None)),
    "graph": (graph(), (FLOAT16, 0, None)),
}
"""The attribute `f`, and the field: type, length, the bytes that are the attribute's."""

REFUSED = {
    name: tensor(kind, bytes(np.dtype(numpy).itemsize))
    for name, kind, numpy in (
        ("tensor int16", TensorProto.INT16, "int16"),
        ("tensor uint16", TensorProto.UINT16, "uint16"),
        ("tensor uint32", TensorProto.UINT32, "uint32"),
        ("tensor uint64", TensorProto.UINT64, "uint64"),
        ("tensor float8 (E5M2)", TensorProto.FLOAT8E5M2, "uint8"),
        ("tensor complex64", TensorProto.COMPLEX64, "complex64"),
    )
}


@pytest.fixture(scope="module")
def asked(
    tmp_path_factory: pytest.TempPathFactory, compile_library: Callable[..., Path]
) -> Iterator[Callable[[Any], str | None]]:
    """What createPlugin was given for an attribute `f`: the line that it wrote; None where it wasn't called."""
    folder = tmp_path_factory.mktemp("attributes")
    record = folder / "record.txt"
    library = compile_library(HERE / "attributes.cpp", folder / "libattributes.so", f'-DRECORD="{record}"')
    manifest = Manifest.parse(faulty.TOML.format(fault=0).replace('"Refused"', '"Attributes"'))

    def ask(session: RtxSession, value: Any) -> str | None:
        record.unlink(missing_ok=True)
        node = helper.make_node("Attributes", ["x"], ["y"], domain="", plugin_version="1")
        if value is not None:
            node.attribute.append(value if isinstance(value, AttributeProto) else helper.make_attribute("f", value))
        tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
        model = helper.make_model(
            helper.make_graph([node], "g", tensors[:1], tensors[1:]), opset_imports=[helper.make_opsetid("", 17)]
        )
        profile = NetworkProfile("default", {"x": ((2, 3),) * 3}, {})
        network = Network("plain/float32", "plain", DType.FLOAT32, model.SerializeToString(), (), (profile,), ("y",))
        assert session.build(network).status == "refused"
        return record.read_text().splitlines()[-1] if record.exists() else None

    with tensorrt_rtx.open(library, manifest, timeout=60) as session:
        yield lambda value: ask(session, value)


def _parts(line: str | None) -> list[str]:
    assert line is not None
    return line.rstrip(";").split(" ")


@pytest.mark.parametrize("kind", GIVEN)
def test_an_attribute_comes_as_this_field(kind: str, asked: Callable[[Any], str | None]) -> None:
    value, (code, length, data) = GIVEN[kind]
    name, found_code, found_length, text = _parts(asked(value))
    assert (name, int(found_code), int(found_length)) == ("f", code, length)
    found = None if text == "null" else bytes.fromhex(text)
    # Where the type is not the tensor's, length counts its elements; the bytes behind its own are anything.
    assert found is data if data is None else found is not None and found.startswith(data)


def test_an_empty_list_has_no_data(asked: Callable[[Any], str | None]) -> None:
    for kind in (AttributeProto.INTS, AttributeProto.FLOATS):
        _, _, length, text = _parts(asked(AttributeProto(name="f", type=kind)))
        assert (length, text) == ("0", "null")


def test_what_is_absent_is_no_field(asked: Callable[[Any], str | None]) -> None:
    assert asked(None) == ""


@pytest.mark.parametrize("kind", REFUSED)
def test_the_parser_refuses_the_rest(kind: str, asked: Callable[[Any], str | None]) -> None:
    assert asked(REFUSED[kind]) is None
