from __future__ import annotations

from pathlib import Path

import pytest

from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest, slug
from pluginkit.manifest.mistakes import unfilled

GOOD = """
[plugin]
name = "MyPlugin"
version = "2"
namespace = "acme"
base = "dynamic"

[[inputs]]
name = "x"
types = ["float32", "float16", "int8"]
shape = ["n", "c", 3]
scale = "x_scale"

[[inputs]]
name = "index"
types = ["int32"]
shape = ["m"]

[[outputs]]
name = "y"
types = ["float32", "float16"]
shape = ["n + m", "max(c, 2)", 3]

[[fields]]
name = "x_scale"
type = "float32"
default = 0.0

[[profiles]]
symbols = { n = [1, 2, 4], c = [1, 3, 8], m = [0, 1, 2] }

[tolerances]
int8 = { steps = 2 }
"""


def test_a_plugin_has_not_int8_and_float8_at_once() -> None:
    y = 'name = "y"\ntypes = ["float32", "float16"]'
    both = GOOD.replace('"float32", "float16", "int8"]', '"float32", "int8", "float8"]', 1)
    with pytest.raises(UsageError) as caught:
        Manifest.parse(both.replace(y, 'name = "y"\ntypes = ["float8"]'))
    assert "y.types: where the precision is int8, this is float8 and x int8. NVIDIA's" in caught.value.message
    manifest = Manifest.parse(both.replace(y, 'name = "y"\ntypes = ["float32", "float8"]'))
    assert manifest.precisions() == (DType.FLOAT32, DType.INT8, DType.FLOAT8)


def test_a_signature_is_read() -> None:
    manifest = Manifest.parse(GOOD)
    assert manifest.slug == "my_plugin"
    assert manifest.symbols() == ("n", "c", "m")
    assert manifest.precisions() == (DType.FLOAT32, DType.FLOAT16, DType.INT8)
    x, index = manifest.inputs
    (y,) = manifest.outputs
    assert manifest.type_of(x, DType.INT8) is DType.INT8
    assert manifest.type_of(index, DType.FLOAT16) is DType.INT32
    assert manifest.type_of(y, DType.INT8) is DType.FLOAT32
    env = manifest.profiles[0].at("max")
    assert manifest.input_shapes(env) == {"x": (4, 8, 3), "index": (2,)}
    assert manifest.output_shapes(env) == {"y": (6, 8, 3)}
    assert manifest.scale_fields() == {"x_scale"}
    assert manifest.tolerances.int8 is not None
    assert manifest.tolerances.int8.steps == 2


BAD = {
    "unknown key": ('version = "2"', 'vershun = "2"', "unknown key 'vershun'; did you mean 'version'?"),
    "unknown table": ("[tolerances]", "[tolerance]", "unknown key 'tolerance'; did you mean 'tolerances'?"),
    "wrong type": ('name = "MyPlugin"', "name = 3", "plugin.name: must be a string (got 3)"),
    "unknown key of a table in a table": (
        "int8 = { steps = 2 }",
        "int8 = { step = 2 }",
        "here.toml:\n  tolerances.int8.step: unknown key 'step'; did you mean 'steps'?",
    ),
    "unknown key of nothing alike": ("steps = 2", "zzz = 2", "unknown key 'zzz'; known: steps"),
    "unknown key of a table by the user's key": (
        "[tolerances]",
        "[[bench.shapes]]\nname = 's'\nsymbols = { n = 1 }\nallowed = { float32 = { rtoll = 1 } }\n[tolerances]",
        "unknown key 'rtoll'; did you mean 'rtol'?",
    ),
    "no list": ('types = ["int32"]', 'types = "int32"', 'inputs.2.types: must be a list (got "int32")'),
    "no table": ("int8 = { steps = 2 }", "float32 = 1e-3", "tolerances.float32: must be a table (got 0.001)"),
    "no whole number": ("steps = 2", "steps = 1.5", "tolerances.int8.steps: must be a whole number (got 1.5)"),
    "no dimension": ('["m"]', "[1.5]", "inputs.2.shape.1: must be a symbol, an expression or a whole number (got 1.5)"),
    "two of three": ("n = [1, 2, 4]", "n = [1, 4]", "symbols.n: must be [min, opt, max], three whole numbers"),
    "a truth for a size": ("n = [1, 2, 4]", "n = [true, 2, 4]", "must be [min, opt, max], three whole numbers"),
    "a truth for a default": (
        "default = 0.0",
        "default = true",
        "fields.1.default: must be a number, a string or a list of numbers (got true)",
    ),
    "bool": ('types = ["int32"]', 'types = ["bool"]', "DataType:kBOOL and DataType::kUINT8 are not supported"),
    "uint8": ('types = ["int32"]', 'types = ["uint8"]', "DataType:kBOOL and DataType::kUINT8 are not supported"),
    "int4": ('types = ["int32"]', 'types = ["int4"]', "INT4 is weight-only quantization"),
    "unknown element type": ('"float16", "int8"]', '"float61", "int8"]', "did you mean 'float16'?"),
    "a float field in a shape": (
        '"n + m"',
        '"n + x_scale"',
        "y.shape: 'n + x_scale' depends on the field 'x_scale', which is float32: only integer fields make a size",
    ),
    "a condition on a symbol": (
        '"n + m"',
        '"n if m > 2 else 1"',
        "has a condition on the symbol 'm': only fields may choose: TensorRT's IExprBuilder has no conditions",
    ),
    "unknown symbol": ('"n + m"', '"n + mm"', "y.shape: unknown symbol 'mm'; did you mean 'm'?"),
    "input expression": ('["m"]', '["m + 1"]', "must be a symbol or a whole number"),
    "bad expression": ('"n + m"', '"n ** m"', "'n ** m' is not a dimension"),
    "negative dimension": ('"n + m"', '"m - n"', "a dimension cannot be negative"),
    "division by zero": ('"n + m"', '"n // m"', "divides by zero"),
    "min above opt": ("n = [1, 2, 4]", "n = [3, 2, 4]", "must rise"),
    "symbol without range": ("n = [1, 2, 4], ", "", "no [min, opt, max] for the symbol 'n'"),
    "range without symbol": ("n = [1, 2, 4]", "n = [1, 2, 4], k = [1, 1, 1]", "unknown symbol 'k'"),
    "two of a name": ('name = "index"', 'name = "x"', "two tensors or fields are called 'x'"),
    "keyword": ('name = "index"', 'name = "lambda"', "'lambda' is not usable as a name"),
    "no identifier": ('name = "MyPlugin"', 'name = "My Plugin"', "'My Plugin' is not a C++ identifier"),
    "scale without field": (
        'scale = "x_scale"',
        'scale = "x_scael"',
        "x.scale: unknown field 'x_scael'; did you mean 'x_scale'?",
    ),
    "scale of wrong type": ('type = "float32"', 'type = "int32"', "must be of type float32"),
    "base": ('base = "dynamic"', 'base = "static"', "plugin.base: unknown base 'static'"),
    "base of no kind": ('base = "dynamic"', "base = 3", "plugin.base: must be one base, or"),
    "bases that don't go together": (
        'base = "dynamic"',
        'base = ["ioext", "v3"]',
        'plugin.base: must be one base, or ["dynamic", "v3"] (got ["ioext", "v3"])',
    ),
    "base of a list": ('base = "dynamic"', 'base = ["dynamic", "v33"]', "unknown base 'v33'; did you mean 'v3'?"),
    "base written wrong": (
        'base = "dynamic"',
        'bases = "dynamic"',
        "plugin.bases: unknown key 'bases'; did you mean 'base'?",
    ),
    "type that nothing chooses": ('["float32", "float16", "int8"]', '["float32"]', "float16 is not an input's type"),
    "negative steps": ("steps = 2", "steps = -2", "tolerances.int8.steps"),
    "long name": (
        'name = "MyPlugin"',
        f'name = "{"N" * 1024}"',
        "plugin.name: longer than TensorRT's limit of 1023 bytes",
    ),
    "long namespace": ('"acme"', f'"{"a" * 1024}"', "plugin.namespace: longer than TensorRT's limit of 1023 bytes"),
    "long tensor name": (
        'name = "index"',
        f'name = "{"i" * 4096}"',
        f"{'i' * 40}...: a tensor's name is longer than TensorRT's limit of 4095",
    ),
    "special that there is not": (
        "[tolerances]",
        '[test]\nspecial = ["nan", "inf"]\n[tolerances]',
        "test.special.2: must be 'nan' or 'infinity' (got \"inf\")",
    ),
    "special twice": ("[tolerances]", '[test]\nspecial = ["nan", "nan"]\n[tolerances]', "nan stands there twice"),
    "special as a word": ("[tolerances]", '[test]\nspecial = "nan"\n[tolerances]', "test.special: must be a list"),
    "toml": ("[plugin]", "[plugin", "is not valid TOML"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_signature_is_explained(case: str) -> None:
    before, after, message = BAD[case]
    assert before in GOOD
    with pytest.raises(UsageError) as caught:
        Manifest.parse(GOOD.replace(before, after, 1), "here.toml")
    assert "here.toml" in caught.value.message
    assert message in caught.value.message


def test_names_may_be_as_long_as_tensorrt_takes_them() -> None:
    name, tensor = "N" * 1023, "i" * 4095
    manifest = Manifest.parse(GOOD.replace('"MyPlugin"', f'"{name}"').replace('name = "index"', f'name = "{tensor}"'))
    assert (manifest.plugin.name, manifest.inputs[1].name) == (name, tensor)


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Manifest.load(tmp_path)
    assert "pluginkit new" in caught.value.hint


def test_no_text_file_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "pluginkit.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot be read"):
        Manifest.load(tmp_path)


@pytest.mark.parametrize(
    "name, expected", [("MyPlugin", "my_plugin"), ("RMSNorm2d", "rms_norm2d"), ("bar", "bar"), ("A", "a")]
)
def test_slugs(name: str, expected: str) -> None:
    assert slug(name) == expected


STATIC = GOOD.replace('"dynamic"', '"ioext"').replace("[1, 2, 4]", "[2, 2, 2]").replace("[1, 3, 8]", "[3, 3, 3]")


def test_a_static_base_has_one_shape_a_profile() -> None:
    with pytest.raises(UsageError, match=r"m = \[0, 1, 2\] must be one number three times: an IPluginV2IOExt"):
        Manifest.parse(STATIC)
    text = STATIC.replace("[0, 1, 2]", "[1, 1, 1]")
    more = '\n[[profiles]]\nname = "other"\nsymbols = { n = [5, 5, 5], c = [1, 1, 1], m = [0, 0, 0] }\n'
    manifest = Manifest.parse(text.replace("\n[tolerances]", f"{more}\n[tolerances]"))
    first, second = manifest.static()
    assert [tensor.shape for tensor in (*first.inputs, *first.outputs)] == [("2", "3", "3"), ("1",), ("3", "3", "3")]
    assert [tensor.shape for tensor in (*second.inputs, *second.outputs)] == [("5", "1", "3"), ("0",), ("5", "2", "3")]
    assert [part.profiles for part in (first, second)] == [(profile,) for profile in manifest.profiles]
    dynamic = Manifest.parse(GOOD)
    assert dynamic.static() == (dynamic,)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ('["n", "c"]', '["n", "c + 1"]', "n"),
        ('["n", "c"]', '["n", "c + n"]', None),
        ('["n", "n"]', '["n", "n"]', None),
        ('["n", "c"]', '["c", "n"]', None),
        ('["4", "n"]', '["4", "n"]', None),
        ("[]", "[]", None),
    ],
)
def test_which_dimension_can_stand_beside_the_shapes(x: str, y: str, expected: str | None) -> None:
    symbols = ", ".join(f"{name} = [1, 2, 3]" for name in "nc" if f'"{name}"' in x)
    text = (
        f'[plugin]\nname = "P"\n[[inputs]]\nname = "x"\ntypes = ["float32"]\nshape = {x}\n[[outputs]]\nname = "y"\n'
        f'types = ["float32"]\nshape = {y}\n[[profiles]]\nsymbols = {{ {symbols} }}\n'
    )
    assert Manifest.parse(text).batch() == expected


SHAPED = """
[plugin]
name = "P"
[[inputs]]
name = "x"
types = ["float32"]
shape = ["n", "c"]
[[outputs]]
name = "y"
types = ["float32"]
shape = {shape}
[[profiles]]
symbols = {{ n = [1, 2, 4], c = [1, 3, 8] }}
[[fields]]
name = "k"
type = "int32"
{field}
[[fields]]
name = "keepdims"
type = "int32"
default = 1
"""


def shaped(shape: list[str], field: str = "default = 2") -> Manifest:
    return Manifest.parse(SHAPED.format(shape=shape, field=field))


def test_fields_make_an_outputs_shape() -> None:
    manifest = shaped(["n", "min(c, k)", "1 if keepdims", "c if k > 2 else 1"])
    assert [field.name for field in manifest.shape_fields()] == ["k", "keepdims"]
    env = {"n": 4, "c": 8}
    assert manifest.with_fields({}).output_shapes(env) == {"y": (4, 2, 1, 1)}
    assert manifest.with_fields({"k": 5, "keepdims": 0, "other": 1.5}).output_shapes(env) == {"y": (4, 5, 8)}
    # What has no default counts as 1, as in tests.
    assert shaped(["k"], "").with_fields({}).outputs[0].shape == ("1",)
    plain = shaped(["n", "c"])
    assert plain.with_fields({"k": 5}) is plain


def test_a_condition_of_numbers_alone_chooses() -> None:
    manifest = shaped(["n if 5 == 1 else c", "1 if 2 > 3"])
    assert manifest.with_fields({}).outputs[0].shape == ("c",)


def test_a_static_shape_has_no_symbol_left_in_a_choice() -> None:
    manifest = shaped(["c if k else n // (c - 8)"])
    fixed = manifest.with_constants({"n": 4, "c": 8}, ())
    assert fixed.outputs[0].shape == ("8 if k else 4 // (8 - 8)",)
    assert fixed.with_fields({}).outputs[0].shape == ("8",)


def test_a_name_that_is_a_symbol_and_a_field_is_the_symbol() -> None:
    manifest = shaped(["c"])
    manifest = Manifest.parse(SHAPED.format(shape=["c"], field="default = 2").replace('"k"', '"c"'))
    assert manifest.shape_fields() == ()
    assert manifest.with_fields({"c": 5}).output_shapes({"n": 1, "c": 8}) == {"y": (8,)}


@pytest.mark.parametrize(
    ("dim", "field", "output"),
    [
        ("ceil_div(n, k)", "default = 0", "min: 'ceil_div(n, k)' divides by zero at n = 1, k = 0"),
        ("c // k", "default = 1\nmin = -2\nmax = 2", "min with k = -2 is [-1]: a dimension cannot be negative"),
        (
            "c // (k * k)",
            "default = 1\nmin = -2\nmax = 2",
            "min with k = 0: 'c // (k * k)' divides by zero at c = 1, k = 0",
        ),
        ("c // (k * k)", "default = 1\nmax = 200000", "min with k = 0: 'c // (k * k)' divides by zero at c = 1, k = 0"),
        ("c - k", "default = 1\nchoices = [1, 3]", "min with k = 3 is [-2]: a dimension cannot be negative"),
        ("k * k * k", "default = 1\nmax = 2147483647", "'(k * k) * k' overflows 64 bits"),
        ("broadcast(c, k)", "default = 2", "opt: 'broadcast(c, k)' is of 3 and 2, which can't be broadcast"),
        ("l + 1", "default = 2", "y.shape: unknown symbol 'l'"),
        ("1 if", "default = 2", "'1 if' is not a dimension"),
    ],
)
def test_shapes_that_fields_make_impossible(dim: str, field: str, output: str) -> None:
    with pytest.raises(UsageError) as caught:
        shaped([dim], field)
    assert output in caught.value.message


def test_elements_of_a_list_field_make_an_outputs_shape() -> None:
    manifest = shaped(["n + k[0] + k[1]", "1 if k[1] > 2"], "length = [2, 4]\ndefault = [1, 3]\nmin = 0\nmax = 5")
    assert [field.name for field in manifest.shape_fields()] == ["k"]
    env = {"n": 4, "c": 8}
    assert manifest.with_fields({}).output_shapes(env) == {"y": (8, 1)}
    assert manifest.with_fields({"k": (5, 0, 7)}).outputs[0].shape == ("(n + 5) + 0",)
    with pytest.raises(UsageError, match=r"There is no 'k\[1\]': 'k' has 1 elements"):
        manifest.with_fields({"k": (5,)})
    # What has no default has ones.
    assert shaped(["k[0] + k[1]"], "length = 2").with_fields({}).outputs[0].shape == ("2",)


@pytest.mark.parametrize(
    ("dim", "field", "output"),
    [
        ("n + k", "length = 2\ndefault = [1, 2]", "'n + k' has the list 'k' as a number: write one of its elements"),
        ("k[0] + k", "length = 2\ndefault = [1, 2]", "'k[0] + k' has the list 'k' as a number"),
        ("n + k[2]", "length = 2", "'n + k[2]' has k[2], and 'k' may have 2 elements: write a length of at least 3"),
        ("n + k[0]", "length = [0, 8]", "'n + k[0]' has k[0], and 'k' may have 0 elements"),
        ("n + k[0]", 'length = "c"', "'n + k[0]' has an element of 'k', whose length is a dimension"),
        ("n + k[0]", "default = 2", "an element of the field 'k', which is int32: only lists of integers have"),
        ("n[0]", "default = 2", "an element of the dimension 'n': only lists have elements"),
        ("n + kk[0]", "length = 2", "unknown field 'kk'; did you mean 'k'?"),
        ("n - k[1]", "length = 2\ndefault = [0, 1]\nmin = 0\nmax = 2", "min with k = [0, 2] is [-1]"),
        (
            "n // (4 - k[0] - k[1])",
            "length = 2\ndefault = [1, 1]\nmax = 2",
            "k = [2, 2]: 'n // ((4 - k[0]) - k[1])' div",
        ),
    ],
)
def test_lists_that_make_no_shape(dim: str, field: str, output: str) -> None:
    with pytest.raises(UsageError) as caught:
        shaped([dim], field)
    assert output in caught.value.message


def test_the_length_of_a_list_field_makes_an_outputs_shape() -> None:
    field = "length = [1, 4]\ndefault = [1, 3]"
    manifest = shaped(["n * len(k)", "ceil_div(c, len(k))", "1 if len(k) > 2"], field)
    assert [one.name for one in manifest.shape_fields()] == ["k"]
    env = {"n": 4, "c": 8}
    assert manifest.with_fields({}).output_shapes(env) == {"y": (8, 4)}
    assert manifest.with_fields({"k": (1, 1, 1)}).output_shapes(env) == {"y": (12, 3, 1)}
    assert with_workspace('"4 * len(k)"', field).workspace_bytes({"k": (0, 0, 0)}, env) == 12


@pytest.mark.parametrize(
    ("dim", "field", "output"),
    [
        (
            "n // len(k)",
            "length = [0, 8]\ndefault = [1]",
            "min with k = []: 'n // len(k)' divides by zero at n = 1, k = []",
        ),
        ("c - len(k)", "length = [0, 8]\ndefault = [1]", "min with k = [1, 1] is [-1]"),
        ("c - len(k)", "length = [0, 99999]\ndefault = [1]", "is [-4095]: a dimension cannot be negative"),
        ("len(k) + k", "length = 2", "'len(k) + k' has the list 'k' as a number"),
        ("len(k)", "default = 2", "'len(k)' has the length of the field 'k', which is int32: only lists have one"),
        ("len(k)", 'length = "c"', "'len(k)' has len(k), which is c: write c"),
        ("len(n)", "default = 2", "'len(n)' has the length of the dimension 'n'"),
        ("len(kk)", "length = 2", "unknown field 'kk'; did you mean 'k'?"),
        ("len(k[0])", "length = 2", "'len(k[0])' is not a dimension"),
        ("len()", "length = 2", "'len()' is not a dimension"),
        ("len(k, k)", "length = 2", "'len(k, k)' is not a dimension"),
    ],
)
def test_lengths_that_make_no_shape(dim: str, field: str, output: str) -> None:
    with pytest.raises(UsageError) as caught:
        shaped([dim], field)
    assert output in caught.value.message


def with_workspace(workspace: str, field: str = "default = 2") -> Manifest:
    text = SHAPED.format(shape=["n"], field=field)
    return Manifest.parse(text.replace("[plugin]", f"[plugin]\nworkspace = {workspace}"))


def test_a_workspace_is_an_expression_of_symbols_and_fields() -> None:
    manifest = with_workspace('"4 * n * (c if keepdims else k)"')
    assert [field.name for field in manifest.workspace_fields()] == ["k", "keepdims"]
    assert manifest.shape_fields() == ()
    env = {"n": 4, "c": 8}
    assert manifest.workspace_bytes({}, env) == 128
    assert manifest.workspace_bytes({"keepdims": 0, "k": 3}, env) == 48
    assert with_workspace("256").workspace_bytes({}, env) == 256
    assert shaped(["n"]).workspace_bytes({}, env) == 0
    # As a static base is tested: numbers in the place of symbols.
    fixed = manifest.with_constants(env, ())
    assert fixed.plugin.workspace is not None
    assert "n" not in fixed.plugin.workspace
    assert fixed.workspace_bytes({"keepdims": 0, "k": 3}, {}) == 48


@pytest.mark.parametrize(
    ("workspace", "field", "output"),
    [
        ('"n **"', "default = 2", "plugin.workspace: 'n **' is not a dimension"),
        ("1.5", "default = 2", "plugin.workspace: must be an expression or a whole number, in bytes (got 1.5)"),
        ("true", "default = 2", "plugin.workspace: must be an expression or a whole number, in bytes (got true)"),
        ('"4 * m"', "default = 2", "plugin.workspace: unknown symbol 'm'"),
        (
            '"4 * n if c > 2 else 0"',
            "default = 2",
            "plugin.workspace: '4 * n if c > 2 else 0' has a condition on the sy",
        ),
        (
            '"n if k"',
            "default = 2",
            "plugin.workspace: 'n if k' is not a number where the condition fails: write 'n if k e",
        ),
        ('"n // k"', "default = 0", "plugin.workspace in profile 'default': 'n // k' divides by zero at n = 4, k = 0"),
        ('"n // k"', "default = 1\nmin = 0\nmax = 2", "in profile 'default' with k = 0: 'n // k' divides by zero"),
        (
            '"n * 4611686018427387904"',
            "default = 2",
            "plugin.workspace in profile 'default': 'n * 4611686018427387904' overflows 64 bits",
        ),
        ('"n * k * k * k"', "default = 2\nmax = 2147483647", "with k = 2147483647: '(n * k) * k' overflows"),
        ('"n - 2"', "default = 2", "plugin.workspace is -1 bytes at n = 1 (profile 'default'): it cannot be negative"),
        ('"0 - 4"', "default = 2", "plugin.workspace is -4 bytes at any shape (profile 'default'): it cannot be negat"),
        (
            '"100 - c"',
            "default = 2",
            "bytes at c = 7 (profile 'default'), and less, 92, at the profile's max, for which TensorRT asks (rule C14",
        ),
        # Between the ends: 5 bytes at c = 5, 4 at 8.
        ('"min(c, max(10 - c, 4))"', "default = 2", "plugin.workspace is 5 bytes at c = 5 (profile 'default'), and l"),
    ],
)
def test_a_workspace_that_cannot_be(workspace: str, field: str, output: str) -> None:
    with pytest.raises(UsageError) as caught:
        with_workspace(workspace, field)
    assert output in caught.value.message


def test_a_tensor_that_a_field_takes_a_dimension_from_is_linear() -> None:
    text = SHAPED.format(shape=["n", "c", 2, "1 if k"], field="default = 2").replace(
        "[[profiles]]", "formats = ['linear', 'chw2']\n[[profiles]]"
    )
    with pytest.raises(UsageError, match=r"y\.formats: a tensor is linear if a field can take a dimension away"):
        Manifest.parse(text)


ANY_RANK = """
[plugin]
name = "P"
{base}
[[inputs]]
name = "x"
types = ["float32"]
shape = {x}
{formats}
[[inputs]]
name = "d1"
types = ["float32"]
shape = ["c"]
[[outputs]]
name = "y"
types = ["float32"]
shape = {y}
[[profiles]]
name = "images"
symbols = {{ n = [1, 2, 4], c = [3, 3, 3] }}
{rest}
[[profiles]]
name = "rows"
symbols = {{ n = [1, 2, 4], c = [3, 3, 3] }}
rest = []
[[profiles]]
name = "small"
symbols = {{ n = [1, 1, 1], c = [3, 3, 3] }}
rest = [[1, 2, 3], [4, 5, 6]]
"""
REST = "rest = [[1, 8, 16], [1, 4, 8]]"


def any_rank(**changed: str) -> Manifest:
    usual = {"x": '["n", "...", "c"]', "y": '["c", "..."]', "base": "", "formats": "", "rest": REST}
    return Manifest.parse(ANY_RANK.format(**{**usual, **changed}))


def test_a_signature_of_any_rank_is_one_for_each_rank_of_its_profiles() -> None:
    first, rows = any_rank().ranked()
    # d1 is taken by a tensor.
    assert [tensor.shape for tensor in (*first.inputs, *first.outputs)] == [
        ("n", "_d1", "_d2", "c"),
        ("c",),
        ("c", "_d1", "_d2"),
    ]
    assert [profile.name for profile in first.profiles] == ["images", "small"]
    assert first.profiles[0].at("opt") == {"n": 2, "c": 3, "_d1": 8, "_d2": 4}
    assert first.profiles[1].at("max") == {"n": 1, "c": 3, "_d1": 3, "_d2": 6}
    assert [tensor.shape for tensor in (*rows.inputs, *rows.outputs)] == [("n", "c"), ("c",), ("c",)]
    assert [profile.name for profile in rows.profiles] == ["rows"]
    for one in (first, rows):
        assert one.is_open
        assert [one.written(tensor) for tensor in one.outputs] == [("c", "...")]


def test_a_signature_like_inputs_of_some_rank() -> None:
    first, rows = any_rank().ranked()
    assert first.like([4, 1]) is first
    assert first.like([2, 1]) is rows
    assert first.like([None, 1]) is first
    five = first.like([5, 1])
    assert five.inputs[0].shape == ("n", "_d1", "_d2", "_d3", "c")
    assert five.outputs[0].shape == ("c", "_d1", "_d2", "_d3")
    assert five.profiles == ()
    assert first.like([1, 1]) is first
    fixed = shaped(["n"])
    assert fixed.ranked() == (fixed,)
    assert fixed.like([5]) is fixed
    assert not fixed.is_open


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"x": '["...", "n", "...", "c"]'}, 'x.shape: "..." can stand in a shape once'),
        ({"x": '["n", "c"]'}, 'y.shape: "..." is what it is in an input, and no input has it'),
        ({"x": '["n", "c"]', "y": '["n"]'}, "profile 'images': rest says what \"...\" stands for, and no shape has it"),
        (
            {"rest": ""},
            "profile 'images'.rest is missing: the dimensions that \"...\" stands for, as in rest =",
        ),
        ({"rest": "rest = 3"}, "profile 'images'.rest is missing"),
        (
            {"rest": "rest = [[1, 8]]"},
            "profile 'images'.rest 1: must be [min, opt, max], three whole numbers (got [1, 8])",
        ),
        ({"rest": "rest = [[4, 2, 8]]"}, "profile 'images': _d1 = [4, 2, 8] must rise"),
        ({"rest": f"rest = [{', '.join(['[1, 1, 1]'] * 7)}]"}, "inputs.1.shape: must be a list of 8 at most"),
        ({"base": 'base = "ioext"'}, 'x.shape: base ioext has no "..."'),
        ({"formats": 'formats = ["linear", "hwc8"]'}, 'x.formats: a tensor with "..." in its shape is linear'),
        ({"y": '["..." , "m"]'}, "y.shape: unknown symbol 'm'"),
    ],
)
def test_ranks_that_make_no_sense(changed: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        any_rank(**changed)
    assert said in caught.value.message


@pytest.mark.parametrize("content", ["inputs = 3", "[[inputs]]\nshape = 3", "[[profiles]]\nrest = 3", 'plugin = "..."'])
def test_damaged_content_is_the_models_to_refuse(content: str) -> None:
    with pytest.raises(UsageError):
        Manifest.parse(content)


def test_lines_to_fill_in_are_listed_and_no_mark_within_a_string_is_one() -> None:
    text = """a = "# FILL IN: not this"
b = 1  # FILL IN: which one?
c = '# FILL IN:' # FILL IN: and this
# FILL IN: that
"""
    assert unfilled(text) == [(2, "which one?"), (3, "and this"), (4, "that")]
    with pytest.raises(UsageError, match=r"has 3 lines to fill in:\n  line 2: which one\?"):
        Manifest.parse(text)


def test_an_output_has_one_type_for_the_same_types_of_inputs() -> None:
    """getOutputDataType(s) knows nothing else."""
    text = (
        '[plugin]\nname = "P"\nbase = "v3"\n'
        '[[inputs]]\nname = "x"\ntypes = ["float32"]\nshape = ["n"]\n'
        '[[inputs]]\nname = "b"\ntypes = ["bfloat16"]\nshape = ["n"]\n'
        '[[outputs]]\nname = "y"\ntypes = [TYPES]\nshape = ["n"]\n'
        '[[profiles]]\nname = "default"\nsymbols = { n = [1, 2, 3] }\n'
    )
    for types in ('"float32"', '"bfloat16"'):
        Manifest.parse(text.replace("TYPES", types))
    with pytest.raises(UsageError, match=r"y\.types: in float32 and in bfloat16 the inputs are the same"):
        Manifest.parse(text.replace("TYPES", '"float32", "bfloat16"'))
