"""Which kernel a new project begins with, and that it keeps it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from pluginkit import scaffold
from pluginkit.errors import UsageError
from pluginkit.scaffold import signature
from pluginkit.scaffold.kernels import patterns, transposition

GATHER: dict[str, Any] = {"inputs": ["t:float32,int8:v,d", "i:int64:b,s"], "outputs": ["y:float32,int8:b,s,d"]}
TRANSPOSE: dict[str, Any] = {"inputs": ["x:float32,int8:n,c,h,w"], "outputs": ["y:float32,int8:n,h,w,c"]}
RIM = [f"{side}:int32:0..=1" for side in ("top", "bottom", "left", "right")]
ROWS: dict[str, Any] = {
    "fields": ["scale:float32=1"], "inputs": ["row:float32,int8:n,c", "rowTensor:float32,int8:n,c", "power:float32:c"],
    "outputs": ["most:float32,int8:n", "y:float32,int8:n,c", "powers:float32,int8:n,c"],
}  # fmt: skip
THREE = [f"{name}:int32:0..=1" for name in "abc"]
PAD: dict[str, Any] = {
    "fields": [*RIM, "mode:int32:0..2=2", "value:float32=0"], "inputs": ["x:float32,int8:n,h,w"],
    "outputs": ["y:float32,int8:n,h + top + bottom,w + left + right"],
}  # fmt: skip
POOL: dict[str, Any] = {
    "fields": ["kernel:int32:1..=2", "stride:int32:1..=2", "pad:int32:0..=0"], "inputs": ["x:float32,int8:n,h,w"],
    "outputs": ["y:float32,int8:n,(h + 2 * pad - kernel) // stride + 1,(w + 2 * pad - kernel) // stride + 1"],
}  # fmt: skip
NONZERO: dict[str, Any] = {
    "fields": [], "inputs": ["x:float32,int8:r,c"], "base": "v3", "workspace": "ceil_div(r * c, 8192) * 1184",
    "outputs": ["places:int64:2,count", "count:int32::upper=r * c:opt=r * c // 2"],
}  # fmt: skip
TOPK: dict[str, Any] = {"fields": ["k:int32:1..=2"], "inputs": ["x:float32,int8:n,c"]}
PLAIN: dict[str, Any] = {"inputs": ["x:float32,int8:n,c"], "outputs": [], "base": "v3"}


def chosen(name: str, **options: Any) -> str:
    given = {**PLAIN, **options}
    manifest, _ = signature.manifest("Some", **{"fields": None, "namespace": "", "version": "1", **given})
    return patterns.chosen(manifest, name)


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({}, "elementwise"),
        ({"inputs": ["x:float32:n,c", "b:float32:c", "k:int32:"]}, "elementwise"),
        ({"outputs": ["y:float32:n,c", "k:int32:n,c"]}, "elementwise"),
        ({"outputs": ["y:float32:n,c", "k:int32:n"]}, "loop"),
        ({"workspace": "4 * n"}, "loop"),
        ({"inputs": ["x:float32,float16:n,8,h,w"], "formats": ["chw32"]}, "loop"),
        ({"inputs": ["x:float32:n,c", "b:float32:n"], "outputs": ["y:float32:n:alias=b"]}, "elementwise"),
        ({"outputs": ["k:int32::upper=n:opt=1", "y:float32:k,c"]}, "loop"),
        # What looks like a window, a row, a gather, a transposition or a rim begins as one, where it fits.
        (POOL, "pool"),
        ({**POOL, "fields": ["kernel:int32=2", *POOL["fields"][1:]]}, "elementwise"),
        ({"outputs": ["most:float32,int8:n"]}, "rows"),
        ({"outputs": ["y:float32,int8:n,c", "most:float32:n,1"]}, "rows"),
        (GATHER, "gather"),
        ({**GATHER, "inputs": ["t:float32,int8:v,d", "i:int64,int32:b,s"]}, "elementwise"),
        (TRANSPOSE, "transpose"),
        (PAD, "pad"),
    ],
)
def test_the_usual_pattern(options: dict[str, Any], pattern: str) -> None:
    assert chosen("", **options) == pattern


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("rowz", {}, "did you mean 'rows'"),
        ("elementwise", {"workspace": "8"}, "it has a workspace"),
        ("rows", {"inputs": ["x:float32:n,c", "b:float32:n"]}, "nor that of its last dimension, [c]"),
        ("rows", {"outputs": ["y:float32,int8:c"]}, "nor that without its last dimension"),
        ("rows", {"outputs": ["y:float32:n,c", "most:float32:1,n"]}, "'most' has neither the shape of 'x'"),
        ("rows", {"outputs": [f"{name}:float32:n" for name in "abcd"]}, "more than 3 outputs"),
        ("rows", {"inputs": ["x:float32:n,c", "k:int32:n,c"]}, "no scale to round by"),
        (
            "rows",
            {"inputs": ["x:float32:n,c", "k:int64:1:values=a"], "outputs": ["y:float32:a,c"]},
            "'k' is a shape input",
        ),
        ("rows", {"outputs": ["y:float32,int8:n,c:alias=x", "z:float32:n"]}, "'y' is in the memory of 'x'"),
        ("rows", {"inputs": ["x:float32:n,...", "b:float32:..."]}, "may be none"),
        ("rows", {"inputs": ["x:float32:n,8", "b:float32:8"], "outputs": ["y:float32:8:alias=b"]}, "neither the shape"),
        ("scan", {"inputs": ["x:float32:n", "b:float32:n"]}, "one input and one output"),
        ("rows", {"inputs": ["x:float32:"]}, "no row in a scalar"),
        ("scan", {"outputs": ["y:float32,int8:n"]}, "another shape"),
        ("scan", {"inputs": ["x:float32:n,..."]}, "may be none"),
        ("rows", {"base": "ioext"}, "fixed shapes"),
        ("transpose", {}, "two neighbouring groups"),
        ("transpose", {"inputs": ["x:float32:a,b,c"], "outputs": ["y:float32:c,b,a"]}, "two neighbouring groups"),
        ("transpose", {"inputs": ["x:float32:a,b"], "outputs": ["y:float32:a,b,1"]}, "two neighbouring groups"),
        ("transpose", {"inputs": ["x:float32:a,..."], "outputs": ["y:float32:...,a"]}, "two neighbouring groups"),
        ("transpose", {"inputs": ["x:float32,float16:a,b"], "outputs": ["y:float32:b,a"]}, "other types"),
        ("transpose", {"inputs": ["x:float32,int64:a,b"], "outputs": ["y:float32,int64:b,a"]}, "larger than 4 bytes"),
        ("transpose", {"inputs": ["x:float32:a,a"], "outputs": ["y:float32:a,a:alias=x"]}, "its input's memory"),
        ("gather", {}, "a table and numbers of rows"),
        ("gather", {**GATHER, "inputs": ["t:float32,int8:v,d", "i:float32:b,s"]}, "isn't int32 or int64"),
        ("gather", {"inputs": ["t:float32:", "i:int32:b"], "outputs": ["y:float32:b"]}, "has no rows"),
        (
            "gather",
            {"inputs": ["t:float32:...,d", "i:int32:n"], "outputs": ["y:float32:n,d"]},
            "may be none, or several",
        ),
        ("gather", {**GATHER, "outputs": ["y:float32:b,s,d"]}, "other types"),
        ("gather", {**GATHER, "outputs": ["y:float32,int8:b,d,s"]}, "other dimensions than [b, s, d]"),
        ("pad", {}, "aren't a shape and the same with a rim"),
        ("pad", {**PAD, "outputs": ["y:float32,int8:n,h + top,w"]}, "two integer fields added, as h + top + bottom"),
        ("pad", {**PAD, "outputs": ["y:float32,int8:n + top + bottom,h + top + bottom"]}, "with a rim"),
        ("pad", {**PAD, "outputs": ["y:float32:n,h + top + bottom,w"]}, "other types"),
        ("pad", {"inputs": ["x:float32:...,h"]}, "any number of dimensions"),
        ("pad", {**PAD, "fields": [*RIM, "mode:int32=2"]}, "write mode:int32:0..2=0"),
        ("pad", {**PAD, "fields": [*RIM, "mode:string=edge"]}, "write mode:int32:0..2=0"),
        ("pad", {**PAD, "fields": [*RIM, "value:int32=0"]}, "'value' isn't float32"),
        ("pool", {}, "aren't an image and its windows"),
        ("pool", {**POOL, "fields": ["kernel:int32=2", *POOL["fields"][1:]]}, "write kernel:int32:1..=2"),
        ("pool", {**POOL, "fields": [*POOL["fields"][:2], "pad:int32=0"]}, "may be less than 0"),
        (
            "pool",
            {**POOL, "inputs": ["image:float32,int8:n"], "outputs": ["y:float32,int8:n"]},
            "'image' may have less",
        ),
        (
            "pool",
            {**POOL, "fields": [POOL["fields"][0], "stride:int64:1..=2", "pad:int32:0..=0"]},
            "'stride' isn't int32",
        ),
        (
            "pool",
            {**POOL, "outputs": ["y:float32,int8:n,h // stride,w // stride"]},
            "(h + 2 * pad - kernel) // stride + 1",
        ),
        ("pool", {**POOL, "outputs": [POOL["outputs"][0].replace("w + 2", "w + 1")]}, "both alike"),
        ("nonzero", {}, "two outputs: places, and how many"),
        ("nonzero", {**NONZERO, "workspace": ""}, "its workspace isn't 'ceil_div(r * c, 8192) * 1184'"),
        ("nonzero", {**NONZERO, "workspace": "r * c"}, "its workspace isn't"),
        ("nonzero", {**NONZERO, "outputs": ["places:float32:2,count", NONZERO["outputs"][1]]}, "isn't int32 or int64"),
        ("nonzero", {**NONZERO, "outputs": ["places:int64:count,2", NONZERO["outputs"][1]]}, "shape than [2, count]"),
        ("nonzero", {**NONZERO, "outputs": ["places:int64:2,r", "count:int32:r"]}, "isn't a size tensor"),
        ("nonzero", {**NONZERO, "outputs": [NONZERO["outputs"][0], "count:int32::upper=r"]}, "'count' isn't 'r * c'"),
        (
            "nonzero",
            {**NONZERO, "outputs": [NONZERO["outputs"][0], "count:int32::upper=2*r*c"]},
            "'count' isn't 'r * c'",
        ),
        ("topk", {}, "no integer field 'k'"),
        ("topk", {**TOPK, "fields": ["k:float32=1"]}, "no integer field 'k'"),
        ("topk", {**TOPK, "fields": ["k:int32=1"]}, "write k:int32:1..=2"),
        ("topk", {**TOPK, "fields": ["k:int32:-1..=1"]}, "may be less than 0"),
        ("topk", {**TOPK, "outputs": ["y:float32,int8:n"]}, "another shape"),
        ("topk", {**TOPK, "outputs": ["y:float32,int8:n,c:alias=x"]}, "its input's memory"),
        ("topk", {**TOPK, "inputs": ["x:float32,int32:n,c"]}, "no scale to round by"),
        ("topk", {**TOPK, "inputs": ["x:float32:"]}, "no row in a scalar"),
    ],
)
def test_a_pattern_that_does_not_fit(name: str, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        chosen(name, **options)
    assert problem in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize("options", [
    {"outputs": ["most:float32,int8:n"]},
    {"outputs": ["y:float32,int8:n,c", "most:float32:n,1", "added:float32:n,c"]},
    {"inputs": ["x:float32,int8:...,c", "bias:float32:c"], "outputs": ["y:float32,int8:...,c"]},
    {"inputs": ["w:float32:c", "b:float32:c"], "outputs": ["y:float32:c", "most:float32:"]},
    {"inputs": ["x:float32:n,c", "b:float32:n,c"], "outputs": ["y:float32:n,c:alias=b"]},
])  # fmt: skip
def test_rows_of_several_tensors(options: dict[str, Any]) -> None:
    assert chosen("rows", **options) == "rows"


@pytest.mark.parametrize(
    ("shapes", "exchanged"),
    [
        ("a,b b,a", (1, 1)),
        ("n,c,h,w n,h,w,c", (1, 2)),
        ("n,h,w,c n,c,h,w", (2, 1)),
        ("a,b,c,d c,d,a,b", (2, 2)),
        ("...,h,w ...,w,h", (1, 1)),
        ("n,8,8 n,8,8", (1, 1)),
    ],
)
def test_which_dimensions_are_exchanged(shapes: str, exchanged: tuple[int, int]) -> None:
    given, made = shapes.split()
    manifest, _ = signature.manifest("Some", inputs=[f"x:float32:{given}"], outputs=[f"y:float32:{made}"], fields=[],
                                     namespace="", version="1", base="v3")  # fmt: skip
    assert transposition.groups(manifest) == exchanged
    assert patterns.chosen(manifest, "transpose") == "transpose"


@pytest.mark.parametrize(
    ("fields", "size", "window"),
    [
        ("kernel stride pad", "({} + 2 * pad - kernel) // stride + 1", ("kernel", "stride", "pad")),
        ("k s", "({} - k) // s + 1", ("k", "s", "0")),
        ("k p", "{} + 2 * p - k + 1", ("k", "1", "p")),
        ("size", "{} - size + 1", ("size", "1", "0")),
        ("size", "({} - size) // size + 1", ("size", "size", "0")),
        ("s", "({} - 3) // s + 1", ("3", "s", "0")),
        ("", "({} + 2 * 1 - 3) // 2 + 1", ("3", "2", "1")),
    ],
)
def test_a_window_by_fields_of_any_name_and_by_numbers(
    fields: str, size: str, window: tuple[str, str, str], tmp_path: Path
) -> None:
    """Its reference is right, which its own test says, and its kernel has these."""
    options: dict[str, Any] = {
        "fields": [f"{name}:int32:{int(name[0] != 'p')}..=2" for name in fields.split()],
        "inputs": ["x:float32:n,h,w"], "outputs": [f"y:float32:n,{size.format('h')},{size.format('w')}"],
    }  # fmt: skip
    assert chosen("", **options) == "pool"
    project = scaffold.new("Some", directory=tmp_path, **options)
    written = ", ".join(
        f"static_cast<int32_t>({f'run.fields.{one}' if one in fields.split() else one})" for one in window
    )
    assert f"window{{{written}}}" in " ".join((project / "src" / "some.cu").read_text().split())
    (test,) = (project / "tests").glob("test_*.py")
    runpy.run_path(str(test))["test_the_reference_on_numbers_worked_out_by_hand"]()


def test_what_a_signature_lacks_for_the_pattern_that_it_looks_like_is_said() -> None:
    def said(**options: Any) -> str:
        given = {**PLAIN, "fields": None, "namespace": "", "version": "1", **options}
        manifest, _ = signature.manifest("Some", **given)
        return " / ".join(patterns.advice(manifest, patterns.chosen(manifest, "")))

    assert "looks like a pool, but --kernel pool is not for it: the field 'kernel' may be less than 1" in said(
        **{**POOL, "fields": ["kernel:int32=2", *POOL["fields"][1:]]}
    )
    assert "looks like a gather" in said(**{**GATHER, "outputs": ["y:float32:b,s,d"]})
    assert "norm of rows" in said(fields=["epsilon:float32=1e-5"])
    assert said() == "--kernel rows|scan|loop for another one"


@pytest.mark.parametrize("name", list(patterns.PATTERNS))
def test_a_project_begins_with_the_pattern_that_is_asked_for(name: str, tmp_path: Path) -> None:
    of_their_own = {
        "gather": GATHER,
        "transpose": TRANSPOSE,
        "pad": PAD,
        "pool": POOL,
        "nonzero": NONZERO,
        "topk": TOPK,
    }
    options = of_their_own.get(name, {"inputs": ["x:float32,int8:n,c"]})
    project = scaffold.new("Some", directory=tmp_path, kernel=name, **options)
    text = (project / "src" / "some.cu").read_text()
    called = {
        "elementwise": "Elementwise",
        "nonzero": "Select",
        "pool": "Windows",
        "topk": "TopK",
        "gather": "GatherRows",
    }
    assert ("kernels::launch" in text) == (name != "loop")
    assert name == "loop" or f"kernels::launch{called.get(name, name.capitalize())}(" in text


def test_the_layer_of_a_pattern_is_in_the_reference_too(tmp_path: Path) -> None:
    project = scaffold.new("Some", directory=tmp_path, kernel="scan", inputs=["x:float32:n,c"])
    assert "return np.cumsum(x, axis=-1)" in (project / "reference.py").read_text()
    assert "The running sum of each row" in (project / "README.md").read_text()


@pytest.mark.parametrize(("name", "options"), [
    ("gather", GATHER), ("transpose", TRANSPOSE), ("rows", {"inputs": ["x:float32:n,c"]}),
    ("pad", PAD), ("pad", {**PAD, "fields": RIM}), *(("pad", {**PAD, "fields": [*THREE, *PAD["fields"][4:]],
      "outputs": [f"y:float32,int8:n,h + a + b,w + {rim}"]}) for rim in ("b + a", "b + c", "a + c", "c + c")),
    ("pool", POOL), ("nonzero", NONZERO), ("topk", TOPK),
    ("gather", {"inputs": ["rows:float32:v,d", "places:int32:n"], "outputs": ["y:float32:n,d"]}),
    ("rows", ROWS), ("rows", {"inputs": ["x:float32:n,c"], "outputs": ["y:float32:n"]}),
])  # fmt: skip
def test_the_reference_s_own_test(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    """As written it passes; of another layer it doesn't. The layer has no field that it doesn't use."""
    project = scaffold.new("Some", directory=tmp_path, kernel=name, **options)
    assert "alpha" not in (project / "pluginkit.toml").read_text()
    (test,) = (project / "tests").glob("test_*.py")

    def passes() -> bool:
        found = runpy.run_path(str(test))["test_the_reference_on_numbers_worked_out_by_hand"]
        try:
            found()
        except AssertionError:
            return False
        return True

    assert passes()
    file = project / "reference.py"
    file.write_text(re.sub(r"    return (.+)", r"    return 1 + \1", file.read_text()))
    assert not passes()


def test_inputs_with_names_of_the_layers_function_are_other_arguments(tmp_path: Path) -> None:
    names = ("result", "resultInput", "result_", "kernels", "fields", "x")
    project = scaffold.new("Some", directory=tmp_path, inputs=[f"{name}:float32:n" for name in names])
    text = (project / "src" / "some.cu").read_text()
    arguments = re.findall(r"float (\w+)", re.sub(r"\s+", " ", text.split("operator()(")[1].split(")")[0]))
    assert len(set(arguments)) == len(names)
    assert not {"sum", "result", "kernels", "fields"} & set(arguments)


def test_tensors_with_the_names_of_a_layer_s_types_and_members(tmp_path: Path) -> None:
    project = scaffold.new(
        "Some", directory=tmp_path, kernel="rows", inputs=["Out:float32:n,c", "fields:float32:c"],
        outputs=["Out1:float32:n,c", "out:float32:n"],
    )  # fmt: skip
    text = re.sub(r"\s+", " ", (project / "src" / "some.cu").read_text())
    assert "[](float OutTensor, float fieldsTensor)" in text
    assert "Out1 const& Out1Tensor, Out2 const& outTensor)" in text
    assert "if (columns == 0 && run.out.out.count > 0) { return cudaErrorInvalidValue;" in text


def test_a_matrix_behind_its_weights_is_told_to_come_first() -> None:
    with pytest.raises(UsageError, match="name 'x', whose rows 'weight' goes with, before it"):
        chosen("rows", inputs=["weight:float32:c", "x:float32:n,c"], outputs=["y:float32:n,c"])


def test_the_function_of_a_row_gets_a_number_of_each_input_and_each_output(tmp_path: Path) -> None:
    """Tensors with names of the function's own are other arguments."""
    project = scaffold.new("Some", directory=tmp_path, kernel="rows", **ROWS)
    text = re.sub(r"\s+", " ", (project / "src" / "some.cu").read_text())
    assert "operator()(Row const& row, Out1 const& mostTensor, Out2 const& y, Out3 const& powersTensor)" in text
    assert "[](float rowTensorTensor, float rowTensor, float powerTensor)" in text
    assert "kernels::row<float>(run.in.power, columns)" in text
    assert "kernels::rowOutput<T>(run.out.most)" in text
    assert "Layer{run.fields}" in text
