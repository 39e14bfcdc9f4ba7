"""What `pluginkit new` can make, and the rows of a covering array of it: each pair of choices stands in one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import covertable

Row = Mapping[str, Any]

TYPES = {
    "float32": "float32",
    "half": "float16",
    "usual": "float32,float16,int8",
    "all": "float32,float16,bfloat16,int8",
    "brain": "bfloat16,float32",
    "int8": "int8",
    "half-int8": "float16,int8",
}
FLOAT8_TYPES = {"float8": "float8", "all-float8": "float32,float16,bfloat16,float8", "first-float8": "float8,float32"}
NAMES: dict[str, dict[str, Any]] = {
    "usual": {},
    "acme": {"name": "RMSNorm2d", "namespace": "acme", "version": "2"},
    "odd": {"name": "A_b1", "namespace": 'a b/"c"\\e:1', "version": "0.1-b"},
    # What the generated code has as names of its own, and words of C, CUDA and NumPy.
    "taken": {
        "name": "Stream",
        "inputs": ["stream", "args", "inputs", "desc"],
        "outputs": ["output", "workspace", "scale"],
        "fields": ["parameters", "result", "count", "numbers", "items", "text", "length"],
        "symbols": ["shape", "size", "min", "i", "N", "total"],
    },
    "of headers": {
        "name": "Half",
        "namespace": "nvinfer1",
        "inputs": ["nvinfer1", "std", "cudaStream_t", "threadIdx"],
        "outputs": ["blockDim", "DataType", "T"],
        "fields": ["kFLOAT", "name", "version", "size", "data", "Length", "string"],
        "symbols": ["x", "batch", "int", "float", "d", "long"],
    },
}
FIELDS = {
    "none": [],
    "usual": None,
    "several": ["float32=-2.5", "int32=3", "float32=0.1"],
    "required": ["float32", "int32"],
    "sizes": ["int32=2", "int32=3", "int32=1"],
    "large": ["float32=1e-30", "int32=-2147483648", "float32=-1e30"],
    "lists": ["int64[]=0,1", "string=nearest", "float32[3]=0.1,-0.2,0.3", "float32=0.5", "int8[1..2]"],
    "widths": ["float16=0.1", "bfloat16=-0.3", "float64=0.1", "int8=-3", "int16=300", "int64=-5"],
    "wanted": ["string", "int16[2]", "float64[]", "int64", "float16[0..3]", "bfloat16[4]"],
}
FACTORS: dict[str, list[Any]] = {
    "base": ["dynamic", "v3", "ioext"],
    "inputs": ["one", "equal", "rows", "row", "index", "four"],
    "outputs": ["like", "two", "computed", "reduced", "scalar", "int32", "three", "by fields", "aliased"],
    "rank": [0, 1, 2, 3, 4, 5, 6],
    "types": list(TYPES),
    "fields": list(FIELDS),
    "names": list(NAMES),
    "dims": ["symbols", "numbers", "mixed", "repeated", "any rank"],
    "formats": ["linear", "declared"],
}
"""Each factor's values; the pairs that make no sense are left out by `CONSTRAINTS`."""


def _without(when: Callable[[Row], bool], *fields: str) -> dict[str, Any]:
    return {"operator": "fn", "requires": list(fields), "evaluate": lambda row: not when(row)}


CONSTRAINTS = [
    _without(lambda row: row["rank"] == 0 and row["inputs"] in ("rows", "row"), "rank", "inputs"),
    _without(lambda row: row["rank"] == 0 and row["outputs"] in ("computed", "reduced", "three"), "rank", "outputs"),
    _without(lambda row: row["rank"] < 2 and row["dims"] in ("mixed", "repeated"), "rank", "dims"),
    _without(lambda row: row["rank"] < 3 and row["formats"] == "declared", "rank", "formats"),
    _without(lambda row: row["base"] == "ioext" and row["formats"] == "declared", "base", "formats"),
    # "..." stands for some of a row's dimensions: here for all but the first and the last of three.
    _without(lambda row: row["dims"] == "any rank" and row["base"] == "ioext", "dims", "base"),
    _without(lambda row: row["dims"] == "any rank" and row["rank"] != 3, "dims", "rank"),
    _without(lambda row: row["dims"] == "any rank" and row["formats"] == "declared", "dims", "formats"),
    _without(lambda row: row["dims"] == "any rank" and row["outputs"] == "by fields", "dims", "outputs"),
    _without(lambda row: row["outputs"] == "by fields" and row["fields"] != "sizes", "outputs", "fields"),
    _without(lambda row: row["rank"] in (0, 6) and row["outputs"] == "by fields", "rank", "outputs"),
    _without(lambda row: row["formats"] == "declared" and row["outputs"] == "by fields", "formats", "outputs"),
    _without(lambda row: row["outputs"] == "aliased" and row["base"] != "v3", "outputs", "base"),
    # A vectorized format is for the types below; INT8 has one where its channels are a number.
    _without(lambda row: row["types"] == "float32" and row["formats"] == "declared", "types", "formats"),
    _without(lambda row: row["dims"] in ("symbols", "repeated") and row["formats"] == "declared", "dims", "formats"),
    _without(
        lambda row: (row["rank"], row["formats"]) == (3, "declared") and row["outputs"] in ("computed", "three"),
        *("rank", "formats", "outputs"),
    ),
    _without(
        lambda row: (row["dims"], row["rank"], row["formats"]) == ("mixed", 3, "declared"), "dims", "rank", "formats"
    ),
    # A sum of numbers is not a number of channels.
    _without(
        lambda row: (row["rank"], row["formats"]) == (3, "declared") and row["outputs"] in ("computed", "three"),
        *("rank", "formats", "outputs"),
    ),
]


SIZED: list[dict[str, Any]] = [
    dict(zip(FACTORS, ("v3", inputs, "sized", rank, types, fields, names, dims, "linear"), strict=True))
    for inputs, rank, types, fields, names, dims in (
        ("one", 2, "usual", "usual", "usual", "symbols"),
        ("rows", 4, "all", "sizes", "odd", "mixed"),
        ("row", 1, "int8", "usual", "taken", "numbers"),
        ("four", 2, "half-int8", "required", "of headers", "symbols"),
        ("one", 3, "brain", "lists", "acme", "any rank"),
        ("index", 0, "float32", "none", "usual", "numbers"),
    )
]
"""Rows with a size tensor. They are in none of the networks that NVIDIA's API makes, so they are apart."""

COUNTED: list[dict[str, Any]] = [
    dict(zip(FACTORS, (base, inputs, "counted", rank, types, fields, names, "symbols", "linear"), strict=True))
    for base, inputs, rank, types, fields, names in (
        ("v3", "one", 2, "usual", "lists", "usual"),
        ("dynamic", "rows", 3, "brain", "several", "odd"),
        ("ioext", "one", 1, "float32", "none", "acme"),
    )
]
"""Rows with an output of which another says how many rows mean something, at every rank but 0: so they are apart."""

WORKSPACE: list[dict[str, Any]] = [
    dict(zip((*FACTORS, "workspace"), row, strict=True))
    for row in (
        ("dynamic", "equal", "computed", 3, "usual", "usual", "usual", "symbols", "linear", "4 * n * c * d"),
        (
            "v3",
            "index",
            "three",
            2,
            "all",
            "lists",
            "odd",
            "mixed",
            "linear",
            "max(256, 2 * n) if len(alpha) > 1 else 0",
        ),
        ("ioext", "row", "by fields", 2, "half-int8", "sizes", "acme", "symbols", "linear", "alpha * n + shift"),
        ("v3", "one", "aliased", 1, "brain", "none", "usual", "numbers", "linear", "1000"),
    )
]
"""Rows with a workspace. NVIDIA's builder takes none in a loop or a conditional, so they are apart."""

CHANNELED: list[dict[str, Any]] = [
    dict(zip((*FACTORS, "channels"), row, strict=True))
    for row in (
        ("v3", "equal", "computed", 3, "all", "usual", "usual", "symbols", "linear", 1),
        ("dynamic", "row", "two", 4, "usual", "lists", "usual", "symbols", "linear", 3),
        ("v3", "one", "like", 4, "usual", "none", "usual", "mixed", "declared", 1),
        ("dynamic", "one", "reduced", 2, "int8", "widths", "acme", "symbols", "linear", 0),
    )
]
"""Rows whose inputs have an INT8 scale for each element of an axis, as a list, and the outputs of their shape too."""


FLOAT8: list[dict[str, Any]] = [
    dict(zip(FACTORS, row, strict=True))
    for row in (
        ("v3", "four", "two", 3, "all-float8", "several", "usual", "symbols", "linear"),
        ("v3", "rows", "three", 2, "float8", "lists", "taken", "mixed", "linear"),
        ("dynamic", "equal", "by fields", 4, "first-float8", "sizes", "acme", "symbols", "linear"),
        ("ioext", "row", "reduced", 2, "all-float8", "widths", "odd", "symbols", "linear"),
        ("v3", "one", "like", 0, "all-float8", "none", "of headers", "symbols", "linear"),
        ("v3", "equal", "aliased", 3, "first-float8", "usual", "usual", "any rank", "linear"),
        ("v3", "index", "like", 4, "all-float8", "usual", "odd", "mixed", "declared"),
    )
]
"""Rows with FP8, which no plugin has together with INT8, so that they are apart."""


SHAPED: list[tuple[list[str], list[str]]] = [
    (["size:int64:2:values=oh,ow", "x:float32,float16:n,c", "k:int32:2:values=k,3"],
     ["y:float32,float16:n,oh,ow", "z:float32:min(n, k) + 1,ow"]),
]  # fmt: skip
"""Inputs and outputs of plugins with shape inputs, which are in none of those networks either. (Their whole matrix:
tests/integration/test_shape_inputs.py.)"""


def rows() -> list[dict[str, Any]]:
    """The covering array: every pair of values of two factors that the constraints allow stands in a row."""
    made: list[dict[str, Any]] = covertable.make(FACTORS, constraints=CONSTRAINTS)
    return [{factor: row[factor] for factor in FACTORS} for row in made]


def row_id(row: Row) -> str:
    """A row in a word, as tests are called."""
    return "-".join(str(value).replace(" ", "_") for value in row.values())


@dataclass(frozen=True)
class Options:
    """What a row means for `pluginkit.scaffold.new`."""

    name: str
    options: dict[str, Any]

    @classmethod
    def of(cls, row: Row) -> Options:
        """The arguments that a row stands for."""
        called = NAMES[row["names"]]
        fields = called.get("fields", ["alpha", "shift", "beta", "axes", "mode", "w", "k"])
        ins = called.get("inputs", ["x", "b", "c", "index"])
        outs = called.get("outputs", ["y", "z", "k"])
        types, shape = _types(row), _shape(row, called.get("symbols", ["n", "c", "d", "h", "w", "t"]))
        inputs, outputs = _inputs(row, ins, types, shape), _outputs(row, ins, outs, types, shape, fields)
        scales = [f"each:float32[{shape[row['channels']]}]"] if "channels" in row else []
        if scales:
            inputs, outputs = ([_channeled(text, types, shape) for text in texts] for texts in (inputs, outputs))
        given = _fields(row, fields)
        return cls(
            called.get("name", "MyPlugin"),
            {
                "base": row["base"],
                "inputs": inputs,
                "outputs": outputs,
                "fields": [*(["alpha:float32=0.5"] if given is None else given), *scales] if scales else given,
                "formats": _formats(row),
                "namespace": called.get("namespace", ""),
                "version": called.get("version", "1"),
                "workspace": row.get("workspace", ""),
            },
        )


def _types(row: Row) -> str:
    return {**TYPES, **FLOAT8_TYPES}[row["types"]]


def _channeled(text: str, types: str, shape: list[str]) -> str:
    """A tensor of the row's shape with the list as its scale; another as it is."""
    return f"{text}:scale=each" if "int8" in types and text.endswith(f":{','.join(shape)}") else text


def _shape(row: Row, symbols: list[str]) -> list[str]:
    rank = row["rank"]
    numbers = ["2", "5", "3", "1", "4", "2"][:rank]
    return {
        "symbols": symbols[:rank],
        "numbers": numbers,
        # The channels of every format are a number.
        "mixed": [symbols[0], *numbers[1:]],
        "repeated": [symbols[0], symbols[0], *symbols[1:]][:rank],
        "any rank": [symbols[0], "...", symbols[1]],
    }[row["dims"]]


def _tensor(name: str, types: str, shape: list[str]) -> str:
    return f"{name}:{types}:{','.join(shape)}"


def _inputs(row: Row, names: list[str], types: str, shape: list[str]) -> list[str]:
    first = types.split(",", maxsplit=1)[0]
    one = _tensor(names[0], types, shape)
    found = {
        "one": [one],
        "equal": [one, _tensor(names[1], types, shape)],
        "rows": [one, _tensor(names[1], types, ["m" if not shape[:1] or not shape[0].isdigit() else "4", *shape[1:]])],
        "row": [one, _tensor(names[1], first, shape[-1:])],
        "index": [one, _tensor(names[3], "int64", shape[:1])],
        "four": [
            _tensor(names[3], "int32", shape),
            one,
            _tensor(names[1], types, shape),
            _tensor(names[2], types, shape),
        ],
    }
    return found[row["inputs"]]


def _outputs(row: Row, ins: list[str], names: list[str], types: str, shape: list[str], fields: list[str]) -> list[str]:
    one = _tensor(names[0], types, shape)
    computed = [f"{shape[0]} + 1", *shape[1:]] if shape else []
    count, size, keep, *_ = fields
    by_fields = [*(f"broadcast({dim}, 1)" for dim in shape[:1]), f"1 if {keep}"]
    by_fields += [f"min({dim}, {size})" for dim in shape[1:2]] + [f"ceil_div({dim}, {count})" for dim in shape[2:]]
    found = {
        "like": [],
        "by fields": [
            _tensor(names[0], types, by_fields),
            _tensor(
                names[1], types, [f"{shape[0]} + {size} - 1 if {keep} == 0 else {count} * {size}"] if shape else []
            ),
        ],
        "aliased": [_tensor(names[1], types, shape[-1:]), f"{one}:alias={ins[0]}"],
        "sized": [
            _tensor(names[0], types, [names[1], "2"]),
            f"{names[1]}:int32::upper={' * '.join(dim for dim in shape if dim != '...') or '3'}",
        ],
        "counted": [f"{one}:valid={names[1]}", f"{names[1]}:int32:"],
        "two": [one, _tensor(names[1], types, shape)],
        "computed": [_tensor(names[0], types, [*computed[:1], *shape[1:-1], f"ceil_div({shape[-1]} * 3, 2)"])]
        if len(shape) > 1
        else [_tensor(names[0], types, computed)],
        "reduced": [_tensor(names[0], types, shape[:-1])],
        "scalar": [_tensor(names[0], types, [])],
        "int32": [one, _tensor(names[1], "int32", shape[:1])],
        "three": [_tensor(names[2], "int64", shape), one, _tensor(names[1], types, computed)],
    }
    return found[row["outputs"]]


def _fields(row: Row, names: list[str]) -> list[str] | None:
    given = FIELDS[row["fields"]]
    if given is None:
        return None
    return [f"{name}:{field}" for name, field in zip(names, given, strict=False)]


def _formats(row: Row) -> list[str]:
    if row["formats"] == "linear":
        return []
    kinds = _types(row).split(",")
    if "float8" in kinds:
        return ["hwc16"]
    return [*(["chw32"] if "int8" in kinds else []), *(["hwc8"] if set(kinds) & {"float16", "bfloat16"} else [])]
