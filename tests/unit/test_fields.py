"""Fields: how `pluginkit.toml` and `--field` declare them, what is refused, and how a value comes to a plugin."""

from __future__ import annotations

import math
import struct
from typing import Any

import onnx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pluginkit import field_types
from pluginkit.build.signature import header
from pluginkit.build.signature.fields import number
from pluginkit.errors import UsageError
from pluginkit.field_types import FieldType, Value
from pluginkit.host.library import field_of
from pluginkit.manifest import Attribute, Manifest
from pluginkit.network.attributes import field_attribute
from pluginkit.scaffold.fields import options as field_options

TOML = """
[plugin]
name = "P"
[[inputs]]
name = "x"
types = ["float32"]
shape = ["n", "c"]
[[outputs]]
name = "y"
types = ["float32"]
shape = ["n", "c"]
[[profiles]]
symbols = {{ n = [1, 8, 16], c = {c} }}
[[fields]]
name = "f"
{field}
"""


def field(lines: str, c: str = "[4, 4, 4]") -> Attribute:
    (made,) = Manifest.parse(TOML.format(field=lines, c=c)).fields
    return made


def refused(lines: str, c: str = "[4, 4, 4]") -> str:
    with pytest.raises(UsageError) as caught:
        field(lines, c)
    assert caught.value.exit_code == 2
    (line,) = caught.value.message.splitlines()[1:]
    return line.strip()


GOOD: dict[str, tuple[str, Value]] = {
    'type = "int64"\nlength = [0, 8]\ndefault = [0, 1]': ("int64[0..8]", (0, 1)),
    'type = "int64"\nlength = [0, 8]\ndefault = []': ("int64[0..8]", ()),
    'type = "int64"\nlength = [2, 8]\nmin = 3\n': ("int64[2..8]", (3, 3)),
    'type = "float32"\nlength = 3\ndefault = [0.1, 2, 0.3]': ("float32[3]", (0.1, 2, 0.3)),
    'type = "float32"\nlength = "c"': ("float32[c]", (1, 1, 1, 1)),
    'type = "string"\ndefault = "nearest"\nchoices = ["nearest", "linear"]': ("string", "nearest"),
    'type = "string"\nchoices = ["nearest", "linear"]': ("string", "nearest"),
    'type = "string"\nlength = [6, 6]': ("string", "texttt"),
    'type = "float16"\ndefault = 65504': ("float16", 65504),
    'type = "int8"\nmin = 5\nmax = 9': ("int8", 5),
    'type = "int64"\ndefault = -9223372036854775808': ("int64", -(2**63)),
    'type = "float64"\ndefault = 1e300': ("float64", 1e300),
    'type = "int16"\nchoices = [300, -300]': ("int16", 300),
}


@pytest.mark.parametrize("lines", GOOD)
def test_a_declaration_is_read(lines: str) -> None:
    made = field(lines)
    assert (made.written(), made.example({"c": 4})) == GOOD[lines]


BAD = {
    'type = "int64[]"': "fields.1.type: 'int64[]' is written in two keys: type = \"int64\" and length = [0, 8], the "
    "least and the most",
    'type = "float32[n]"': 'type = "float32" and length = "n"',
    'type = "int8[1..3]"': 'type = "int8" and length = [1, 3]',
    'type = "int46"': "fields.1.type: unknown type 'int46'; did you mean 'int64'?",
    'type = "dims"': "a field of type dims can't be given: no attribute of an ONNX node comes to a plugin as kDIMS",
    'type = "bool"': "TensorRT has no PluginFieldType for it; write int32 with choices = [0, 1]",
    'type = "float32"\nlength = [3]': "must be [least, most], so that the length has a bound (got [3])",
    'type = "float32"\nlength = []': "must be [least, most], so that the length has a bound (got [])",
    'type = "float32"\nlength = true': "fields.1.length: must be a number, a dimension's symbol, or [least, most]",
    'type = "float32"\nlength = [0, 1.5]': "fields.1.length: must be a number, a dimension's symbol, or [least, most]",
    'type = "float32"\nlength = 0': "has the length 0: from 1 to 2147483647 (TensorRT's PluginField::length is",
    'type = "float32"\nlength = 2147483648': "the field 'f' has the length 2147483648",
    'type = "float32"\nlength = [3, 2]': "has the length [3, 2]: must rise, 0 <= least <= most",
    'type = "float32"\nlength = [-1, 2]': "must rise, 0 <= least <= most",
    'type = "float32"\nlength = [0, 0]': "the most must be from 1 to 2147483647",
    'type = "float32"\nlength = "k"': "has a length that is not a dimension: unknown symbol 'k'; known: n, c",
    'type = "float32"\nlength = "n + 1"': "has the length 'n + 1': write a number, a dimension's symbol, or",
    'type = "float32"\nlength = "n"': "has n elements, and a field is fixed when the network is built: n must be one",
    'type = "float32"\nlength = "c"\ndefault = [1.0]': "has c elements, so a default has no length: leave it out",
    'type = "string"\nlength = 3': "is a string, and its length is 3: write [least, most] in bytes",
    'type = "string"\nlength = "c"': 'is a string, and its length is "c": write [least, most] in bytes',
    'type = "string"\ndefault = 1': "is a string, and the default is none (1)",
    'type = "string"\ndefault = "a\\u0000b"': "has a zero byte in the default, which ends a string",
    'type = "string"\nlength = [0, 3]\ndefault = "ääx"': "has a string of 5 bytes in the default: 0 to 3 fit",
    'type = "string"\nmin = 1': "is a string, which has no min or max: write choices",
    'type = "string"\nchoices = ["a", 1]': "is a string, and choices 2 is none (1)",
    'type = "string"\ndefault = "c"\nchoices = ["a", "b"]': "has a default that is not one of its choices (c)",
    'type = "float32"\ndefault = "a"': 'is float32, and the default is not a number ("a")',
    'type = "float32"\ndefault = [1.0]': "is float32, so the default must be a number (got [1])",
    'type = "float32"\nlength = 2\ndefault = 1.0': "is float32[2], so the default must be a list of numbers (got 1)",
    'type = "float32"\nlength = 2\ndefault = ["a"]': 'fields.1.default: must be a list of numbers (got ["a"])',
    'type = "float32"\nlength = 2\ndefault = [1.0]': "has a default of 1 elements; its length is 2",
    'type = "int32"\nlength = [2, 3]\ndefault = [1]': "has a default of 1 elements; its length is 2 to 3",
    'type = "int32"\nlength = 2\ndefault = [1, 1.5]': "is int32, and the default is not a whole number (1.5)",
    'type = "int8"\ndefault = 128': "is int8, and the default is out of its range (128)",
    'type = "int32"\ndefault = 2147483648': "is int32, and the default is out of its range (2147483648)",
    'type = "float16"\nlength = 1\ndefault = [65520]': "is float16, and the default is out of its range (65520)",
    'type = "float32"\nchoices = [1e39]': "is float32, and choices 1 is out of its range (1e+39)",
    'type = "float32"\nchoices = ["a"]': 'is float32, and choices 1 is not a number ("a")',
    'type = "int32"\nlength = 2\nmin = 0\ndefault = [1, -1]': "has a default outside of min and max (-1)",
    'type = "int32"\nmin = 0\nmax = 3\ndefault = 4': "has a default outside of min and max (4)",
    'type = "int32"\nlength = 2\nchoices = [1, 2]\ndefault = [1, 3]': "a default that is not one of its choices (3)",
    'type = "int32"\nmin = 3\nmax = 0': "has a min above its max (3 above 0)",
    'type = "int32"\nmin = 0.5': "is int32, and min is not a whole number (0.5)",
    'type = "int32"\nchoices = [1]\nmin = 0': "has choices, and min or max besides: say one of the two",
    'type = "float32"\ndefault = 2020-01-01': "fields.1.default: must be a number, a string or a list of numbers",
    'type = "float32"\nlenght = 2': "fields.1.lenght: unknown key 'lenght'; did you mean 'length'?",
}


@pytest.mark.parametrize("lines", BAD)
def test_a_bad_declaration_is_refused_with_its_place_and_reason(lines: str) -> None:
    assert BAD[lines] in refused(lines)


def test_a_length_that_is_a_dimension_needs_one_number_of_elements() -> None:
    lines = 'type = "float32"\nlength = "c"'
    assert "c must be one number three times, and the same in all profiles" in refused(lines, "[1, 4, 8]")
    assert "has c elements, and c is 0" in refused(lines, "[0, 0, 0]")


def test_a_length_that_is_a_dimension_needs_fixed_ranks() -> None:
    text = TOML.format(c="[4, 4, 4]", field='type = "float32"\nlength = "n"').replace('"n", "c"', '"n", "..."')
    text = text.replace("n = [1, 8, 16], c = [4, 4, 4] }", "n = [4, 4, 4] }\nrest = [[2, 2, 2]]")
    with pytest.raises(UsageError, match=r"has n elements, and x is of any rank: write \[least, most\]"):
        Manifest.parse(text)
    Manifest.parse(text.replace('length = "n"', "length = [1, 4]"))


def test_a_list_of_scales_is_of_a_dimension() -> None:
    text = TOML.format(c="[4, 4, 4]", field='type = "float32"\nlength = 2').replace(
        'types = ["float32"]\nshape = ["n", "c"]\n[[outputs]]',
        'types = ["float32", "int8"]\nshape = ["n", "c"]\nscale = "f"\n[[outputs]]',
    )
    with pytest.raises(
        UsageError, match=r"x\.scale_axis: the field 'f' has 2 elements, .*no dimension of \['n', 'c'\]"
    ):
        Manifest.parse(text)


OPTIONS = {
    "alpha:float32=0.5": 'type = "float32"\ndefault = 0.5',
    "axes:int64[]=0,1": 'type = "int64"\nlength = [0, 64]\ndefault = [0, 1]',
    "axes : int64 [ 1 .. 3 ] = 0, 1 ": 'type = "int64"\nlength = [1, 3]\ndefault = [0, 1]',
    "axes:int64[]=": 'type = "int64"\nlength = [0, 64]\ndefault = []',
    "axes:int64[]": 'type = "int64"\nlength = [0, 64]',
    "mode:string=nearest": 'type = "string"\ndefault = "nearest"',
    "mode:string=": 'type = "string"\ndefault = ""',
    'mode:string= a=b:"[c]" ': 'type = "string"\ndefault = " a=b:\\"[c]\\" "',
    "weights:float32[c]": 'type = "float32"\nlength = "c"',
    "k:int32:1..8=3": 'type = "int32"\ndefault = 3\nmin = 1\nmax = 8',
    "k : int32 : -4 .. ": 'type = "int32"\nmin = -4',
    "s:float32:..1.5=0.5": 'type = "float32"\ndefault = 0.5\nmax = 1.5',
    "s:float32:0.25..0.5=0.5": 'type = "float32"\ndefault = 0.5\nmin = 0.25\nmax = 0.5',
    "k:int8:1, 3,5=3": 'type = "int8"\ndefault = 3\nchoices = [1, 3, 5]',
    "axes:int64[1..3]:-4..3=0,1": 'type = "int64"\nlength = [1, 3]\ndefault = [0, 1]\nmin = -4\nmax = 3',
    "w:float32[c]:0..1": 'type = "float32"\nlength = "c"\nmin = 0.0\nmax = 1.0',
    "mode:string:nearest,linear=nearest": ('type = "string"\ndefault = "nearest"\nchoices = ["nearest", "linear"]'),
    "mode:string[1..16]:a,b:c": 'type = "string"\nlength = [1, 16]\nchoices = ["a", "b:c"]',
    "mode:string[0..4]=ab": 'type = "string"\nlength = [0, 4]\ndefault = "ab"',
    "w:float64[2]=1e-300,2": 'type = "float64"\nlength = 2\ndefault = [1e-300, 2.0]',
}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_is_written_as_lines(option: str) -> None:
    lines = field_options.parse(option).toml()
    assert "\n".join(lines[2:]) == OPTIONS[option]
    field("\n".join(lines[2:]))


BAD_OPTIONS = {
    "alpha": "'alpha' does not describe a field",
    "axes:int64[]x=1": "does not describe a field",
    "axes:int64[=1": "does not describe a field",
    "axes:int64[1.5]": "'1.5' is not a length",
    "axes:int64[-1]": "'-1' is not a length",
    "axes:int64[]=1,,2": "The default '' in 'axes:int64[]=1,,2' is not a number of type int64",
    "axes:int64=0,1": "The default '0,1' in 'axes:int64=0,1' is not a number of type int64",
    "axes:int64[3]=0,1": "'axes' has a default of 2 elements; its length is 3",
    "k:int8=128": "out of int8's range",
    "k:float16=1e5": "out of float16's range",
    "k:float64=nan": "out of float64's range",
    "k:bool=1": "a field of type bool can't be given",
    "k:kCHAR": "Unknown type 'kCHAR' in 'k:kCHAR'; did you mean 'string'?",
    "k:fp16": "did you mean 'float16'?",
    "k:kDIMS": "a field of type kDIMS can't be given",
    "k:fp8=1": "a field of type fp8 can't be given",
    "k:kFLOAT32=1": "Unknown type 'kFLOAT32' in 'k:kFLOAT32=1'; did you mean 'float32'?",
    "k:complex=1": "Unknown type 'complex' in 'k:complex=1'.",
    "k:strnig=a": "Unknown type 'strnig' in 'k:strnig=a'; did you mean 'string'?",
    "modes:string[]=a,b": "a string has the least and the most bytes in brackets, [0..16], or none",
    "mode:string[3]": "a string has the least and the most bytes in brackets",
    "mode:string[0..2]=abc": "the field 'mode' has a string of 3 bytes in the default: 0 to 2 fit",
    "mode:string:a,b=c": "the field 'mode' has a default that is not one of its choices (c)",
    "mode:string:a\nb,c": "a choice has a character that can't be printed",
    "k:int32:1..8=9": "the field 'k' has a default outside of min and max (9)",
    "k:int32:8..1": "the field 'k' has a min above its max (8 above 1)",
    "k:int32:..": "'..' has no end",
    "k:int32:1.5..2": "The bound '1.5' in 'k:int32:1.5..2' is not a number of type int32",
    "k:int8:1,300": "The choice '300' in 'k:int8:1,300' is out of int8's range",
    "k:int32:": "The choice '' in 'k:int32:' is not a number of type int32",
    "k:int32[0..70000000000]": "must be from 1 to 2147483647",
    "axes:int64[1..3]:0..3=5": "the field 'axes' has a default outside of min and max (5)",
    "mode:string=a\nb": "a character that can't be printed",
    f"mode:string={'a' * 256}": "has a string of 256 bytes in the default: 0 to 255 fit",
}


@pytest.mark.parametrize("option", BAD_OPTIONS)
def test_a_bad_option_is_refused(option: str) -> None:
    with pytest.raises(UsageError) as caught:
        field_options.parse(option)
    assert BAD_OPTIONS[option] in caught.value.message


def test_the_reason_of_a_refused_type_keeps_its_names() -> None:
    with pytest.raises(UsageError) as caught:
        field_options.parse("k:bool=1")
    assert caught.value.hint == "TensorRT has no PluginFieldType for it; write int32 with choices = [0, 1]."


@st.composite
def declarations(draw: st.DrawFn) -> tuple[str, str | None, Value | None]:
    kind = draw(st.sampled_from(list(FieldType)))
    if kind.is_text:
        letters = st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"])
        text = st.text(letters, max_size=60).filter(lambda text: text.isprintable())
        return kind.value, None, draw(st.none() | text)
    low, high = kind.ends
    whole = kind.is_integer
    one: Any = st.integers(int(low), int(high)) if whole else st.floats(low, high, allow_nan=False)
    if draw(st.booleans()):
        return kind.value, None, draw(st.none() | one)
    least = draw(st.integers(0, 4))
    most = draw(st.integers(max(1, least), 9))
    length = draw(st.sampled_from([f"{least}..{most}", str(most), "c"]))
    size = (most, most) if length == str(most) else (least, most)
    values = st.lists(one, min_size=size[0], max_size=size[1]).map(tuple)
    return kind.value, length, None if length == "c" else draw(st.none() | values)


@settings(max_examples=150, deadline=None)
@given(declared=declarations())
def test_any_declaration_lands_in_the_manifest_as_it_was_written(
    declared: tuple[str, str | None, Value | None],
) -> None:
    kind, length, default = declared
    values = "" if default is None else f"={','.join(map(repr, default)) if isinstance(default, tuple) else default}"
    brackets = "" if length is None else f"[{length}]"
    made = field("\n".join(field_options.parse(f"f:{kind}{brackets}{values}").toml()[2:]))
    assert (made.type.value, made.written(), made.default) == (kind, f"{kind}{brackets}", default)
    assert made.default is None or made.example({}) == default
    # The value goes into bytes and comes out of them again.
    value = field_types.each(made.example({"c": 4}), made.type.exact)
    _, code, data, count = field_of("f", made.type, value)
    assert count == len(data or b"") // made.type.numpy.itemsize
    assert field_types.same(field_types.decode(code, data or b""), value)


@settings(max_examples=300, deadline=None)
@given(option=st.text('afint3264sringlo8[].,:=-1e "\\\n', max_size=30) | st.text(max_size=12))
def test_whatever_is_typed_is_a_field_or_refused_in_words(option: str) -> None:
    try:
        lines = field_options.parse(option).toml()
    except UsageError as error:
        assert error.message
        return
    Manifest.parse(TOML.format(field="\n".join(lines[2:]), c="[4, 4, 4]").replace('name = "f"', lines[1]))


values = st.one_of(
    st.sampled_from(["1", "-1", "0.5", "inf", "nan", '"a"', '""', "true", "[]", "[1]", "[1, 2]", "[0.5]", '["a"]']),
    st.sampled_from(["[[1]]", "{}", "9223372036854775807", "1e400", '"n"', '"c"', "[0, 3]", "[3, 0]", "0"]),
)
keys = st.sampled_from(["length", "default", "min", "max", "choices", "description"])


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from([*(f'"{kind.value}"' for kind in FieldType), '"int64[]"', "3", '"dims"']),
    said=st.dictionaries(keys, values),
)
@example(kind='"float32"', said={"default": "inf"})
def test_whatever_is_declared_is_a_field_or_refused_in_words(kind: str, said: dict[str, str]) -> None:
    lines = "\n".join([f"type = {kind}", *(f"{key} = {value}" for key, value in said.items())])
    try:
        made = field(lines)
    except UsageError as error:
        assert error.message.startswith("pluginkit.toml")
        return
    # What is taken has values, and C++ of its own.
    value = made.example({"c": 4})
    assert made.is_list == isinstance(value, tuple)
    manifest = Manifest.parse(TOML.format(field=lines, c="[4, 4, 4]"))
    numbers = made.default if isinstance(made.default, tuple) else (made.default,)
    if any(isinstance(one, float) and not math.isfinite(one) for one in numbers):
        with pytest.raises(UsageError, match="generated code reads finite numbers alone"):
            header(manifest)
        return
    assert "&Fields::f" in header(manifest)


def test_an_attribute_brings_what_nvidias_parser_hands_over() -> None:
    """As observed with TensorRT-RTX 1.7.1: kINT32, kFLOAT32, and kCHAR with the zero counted."""
    expected = {
        (FieldType.INT64, (1, -2)): ("kINT32", struct.pack("<ii", 1, -2), 2, onnx.AttributeProto.INTS),
        (FieldType.INT64, 7): ("kINT32", struct.pack("<i", 7), 1, onnx.AttributeProto.INT),
        (FieldType.INT8, ()): ("kINT32", None, 0, onnx.AttributeProto.INTS),
        (FieldType.FLOAT64, 0.5): ("kFLOAT32", struct.pack("<f", 0.5), 1, onnx.AttributeProto.FLOAT),
        (FieldType.FLOAT16, (2.0,)): ("kFLOAT32", struct.pack("<f", 2.0), 1, onnx.AttributeProto.FLOATS),
        (FieldType.BFLOAT16, ()): ("kFLOAT32", None, 0, onnx.AttributeProto.FLOATS),
        (FieldType.STRING, "add"): ("kCHAR", b"add\0", 4, onnx.AttributeProto.STRING),
    }
    for (kind, value), (name, data, length, attribute) in expected.items():
        given = field_types.as_parsed(kind, value)
        assert field_of("f", *given) == ("f", field_types.NAMES.index(name), data, length)
        assert field_attribute("f", kind, value).type == attribute
        # From what is handed over the same attribute is made.
        assert field_attribute("f", *given) == field_attribute("f", kind, value)
    assert not field_types.is_carried(FieldType.INT64, (0, 2**31))
    assert not field_types.is_carried(FieldType.FLOAT64, 1e300)
    assert field_types.is_carried(FieldType.STRING, "add")
    assert field_types.is_carried(FieldType.INT64, -(2**31))


def test_generated_code_compares_with_what_a_plugin_can_get() -> None:
    """A double's limits are compared with what an ONNX attribute makes of them, a float32."""
    manifest = Manifest.parse(TOML.format(c="[4, 4, 4]", field='type = "float64"\nmax = 0.1\nmin = -0.1'))
    assert "if (!std::isfinite(f.f) || f.f < -0.10000000149011612 || f.f > 0.10000000149011612)" in header(manifest)
    manifest = Manifest.parse(TOML.format(c="[4, 4, 4]", field='type = "float16"\nlength = 2\nchoices = [0.1, 2]'))
    chosen = header(manifest)
    assert "for (auto const one : f.f)" in chosen
    assert "if (!std::isfinite(one) || (one != 0.0999755859375F && one != 2.0F))" in chosen
    for value in ("inf", "[1.0, nan]\nlength = 2"):
        text = TOML.format(field=f'type = "float32"\ndefault = {value}', c="[4, 4, 4]")
        with pytest.raises(UsageError, match="generated code reads finite numbers alone"):
            header(Manifest.parse(text))
    assert number(FieldType.INT64, -(2**63)) == "std::numeric_limits<int64_t>::min()"
