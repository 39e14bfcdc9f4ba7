"""For each thing that the host finds, a plugin that does just that."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.field_types import NAMES
from pluginkit.host import Finding, HostBug, Library, build, library, read_call_file, take_warnings
from tests.compilers import default_cxx

from .conftest import VERSIONS, Compile
from .drive import FIELDS, SPECS, drive

FAULTS: dict[str, tuple[str, str]] = {
    "creators_none": ("getCreators", "answered no creator to a host of version 110100: .*so has none for it"),
    "creators_null": ("getCreators", "answered null as creator 0"),
    "kind_unknown": ("IPluginCreatorInterface::getInterfaceInfo", "unknown kind 'PLUGIN CREATOR_V9' 1"),
    "name_null": ("IPluginCreator::getPluginName", "answered null"),
    "fields_null": ("IPluginCreator::getFieldNames", "answered null"),
    "field_name_null": ("IPluginCreator::getFieldNames", "field 0 has a null name"),
    "create_null": ("IPluginCreator::createPlugin", r"answered null, expected a plugin for the fields \(factor=2.0\)"),
    "not_dynamic": ("IPluginCreator::createPlugin", "answered the base 9 .* expected 3"),
    "other_layout": ("IPluginCreator::createPlugin", "answered 101600, .* calls the vtable of layout 11"),
    "type_other": ("IPluginV2DynamicExt::getPluginType", "answered 'Other', but its creator is that of 'Probe'"),
    "namespace_lost": ("IPluginV2DynamicExt::getPluginNamespace", "answered 'fixed' after"),
    "outputs_zero": ("IPluginV2DynamicExt::getNbOutputs", "answered 0, expected 1 or more"),
    "outputs_change": ("IPluginV2DynamicExt::getNbOutputs", "answered 2 before configurePlugin and 1 after"),
    "type_bool": ("IPluginV2DynamicExt::getOutputDataType", "wrong type for output 0: kBOOL, which TensorRT doesn't"),
    "dims_nine": ("IPluginV2DynamicExt::getOutputDimensions", "output 0 has nbDims 9, expected 0 to 8"),
    "dims_null": ("IPluginV2DynamicExt::getOutputDimensions", r"output 0: d\[1\] is null"),
    "dims_foreign": ("IPluginV2DynamicExt::getOutputDimensions", r"d\[1\] is a pointer that is not an expression"),
    "dims_stale": ("IPluginV2DynamicExt::getOutputDimensions", r"d\[1\] is an expression of another call"),
    "expr_foreign": (
        "IPluginV2DynamicExt::getOutputDimensions",
        (
            r"operation\(kSUM\) was called with an expression of "
            "another call as its second operand"
        ),
    ),
    "expr_kept": ("IPluginV2DynamicExt::getOutputDimensions", "isConstant was called after getOutputDimensions"),
    "divide_zero": ("IPluginV2DynamicExt::getOutputDimensions", r"operation\(kFLOOR_DIV\) .* divide by the constant 0"),
    "size_tensor": ("IPluginV2DynamicExt::getOutputDimensions", "declareSizeTensor was called for output 0"),
    "dims_negative": ("IPluginV2DynamicExt::getOutputDimensions", r"d\[1\] = kSUB\(s0, 100\) is -98"),
    "dims_static": (
        "IPluginV2DynamicExt::getOutputDimensions",
        r"output 0 .*: \[\d+, 1\] where the network's dimensions are constant, \[\d+, 3\] where they are dynamic",
    ),
    "dims_zero_div": ("IPluginV2DynamicExt::getOutputDimensions", r"kFLOOR_DIV\(s0, kSUB\(s0, s0\)\) has no value"),
    "format_none": (
        "IPluginV2DynamicExt::supportsFormatCombination",
        (
            r"pos 0 \(input 0\): kFLOAT kLINEAR, dims "
            r"\(-1, 5\): yes\n  pos 1 \(output 0\): .*: NO"
        ),
    ),
    "format_later": ("IPluginV2DynamicExt::supportsFormatCombination", "pos 0 depends on tensors behind it"),
    "init_fails": ("IPluginV2DynamicExt::initialize", "answered 7, expected 0"),
    "workspace_shrinks": ("IPluginV2DynamicExt::getWorkspaceSize", "answered 60 bytes for the profile's max .* 62"),
    "workspace_run": ("IPluginV2DynamicExt::getWorkspaceSize", "answered 1000 bytes for shapes .* answered 10"),
    "workspace_late": ("IPluginV2DynamicExt::getWorkspaceSize", "answered 16 bytes for shapes .* answered 0"),
    "serialize_long": ("IPluginV2DynamicExt::serialize", "wrote at byte 4 of a buffer of 4 bytes"),
    "serialize_size": ("IPluginV2DynamicExt::getSerializationSize", "answered 18446744073709551615 bytes"),
    "clone_null": ("IPluginV2DynamicExt::clone", "answered null"),
    "clone_other": ("IPluginV2DynamicExt::clone", "the clone serializes to other bytes"),
    "clone_namespace": (
        "IPluginV2DynamicExt::clone",
        "getPluginNamespace answers 'lost', the original's 'pluginkit.host'",
    ),
    "deserialize_null": ("IPluginCreator::deserializePlugin", "answered null, expected a plugin from 4 bytes"),
    "deserialize_other": ("IPluginCreator::deserializePlugin", "made of 4 bytes serializes to 4 other bytes"),
    "enqueue_fails": ("IPluginV2DynamicExt::enqueue", "answered 1, expected 0"),
    "unwritten": (
        "IPluginV2DynamicExt::enqueue",
        (
            r"left unwritten: 1 of 20 elements of output 1, the first at index "
            r"\(0, 2\) \(byte 8\)"
        ),
    ),
    "beyond": ("IPluginV2DynamicExt::enqueue", r"written beyond output 0, which has 108 bytes: at byte 1\d\d"),
    "before": ("IPluginV2DynamicExt::enqueue", r"written beyond output 0, .*: at byte -\d \(\d bytes before it\)"),
    "modified": (
        "IPluginV2DynamicExt::enqueue",
        (
            r"input modified: 1 of 20 elements of input 0, the first at index "
            r"\(0, 1\) \(byte 4\)"
        ),
    ),
    "workspace_beyond": ("IPluginV2DynamicExt::enqueue", "written beyond the workspace, .* 16 bytes: at byte 16"),
}

WARNINGS: dict[str, tuple[str, str, str]] = {
    "creators_change": ("B5", "getCreators", "the second call answered another list"),
    "unresolved": ("B1", "dlopen", "undefined symbol: nobodyHasThis.*: the process ends where that is called"),
    "field_twice": ("F2", "IPluginCreator::getFieldNames", "two fields named 'factor'"),
    "field_type": ("F2", "IPluginCreator::getFieldNames", "field 'factor' has the type 99"),
    "creator_namespace": ("I6", "IPluginCreator::setPluginNamespace", "answers 'tests' after it, not 'pluginkit.host'"),
    "create_namespace": ("I6", "IPluginCreator::createPlugin", "made a plugin in namespace ''; its creator is in"),
    "restore_namespace": ("I6", "IPluginCreator::deserializePlugin", "made a plugin in namespace ''; its creator is"),
    "namespace_kept": ("I10", "IPluginV2DynamicExt::setPluginNamespace", "keeps the pointer that it is given"),
    "type_unstable": ("T18", "IPluginV2DynamicExt::getOutputDataType", "answered kFLOAT for output 0, and kINT32 when"),
    "not_constant": ("T11", "IPluginV2DynamicExt::getOutputDimensions", "output 0: .*getConstantValue .* not constant"),
    "format_sticks": ("C2", "IPluginV2DynamicExt::supportsFormatCombination", "refuses what it took before it was"),
    "format_unstable": ("C2", "IPluginV2DynamicExt::supportsFormatCombination", "answered true for pos 0, and false"),
    "serialize_short": ("S2", "IPluginV2DynamicExt::serialize", "byte 4 of 5 was not written"),
    "serialize_padding": (
        "S2",
        "IPluginV2DynamicExt::serialize",
        "wrote 4 bytes, .* byte 4, that no member of the clone",
    ),
    "serialize_grows": ("S2", "IPluginV2DynamicExt::serialize", "wrote 5 bytes, and 4 when asked again"),
}

DEADLY = {
    "crash_load": (-signal.SIGABRT, "setLoggerFinder"),
    "crash_configure": (-signal.SIGSEGV, "IPluginV2DynamicExt::configurePlugin"),
    "format_aborts": (-signal.SIGABRT, "IPluginV2DynamicExt::supportsFormatCombination"),
    "abort_clone": (-signal.SIGABRT, "IPluginV2DynamicExt::clone"),
    "throw_enqueue": (-signal.SIGABRT, "IPluginV2DynamicExt::enqueue"),
    "exit_initialize": (3, "IPluginV2DynamicExt::initialize"),
    "hang_serialize": (-signal.SIGKILL, "IPluginV2DynamicExt::serialize"),
}


@pytest.mark.compile
def test_fields_of_bytes_are_shown(compile_plugin: Compile) -> None:
    kinds = {name: number for number, name in enumerate(NAMES)}
    given = [("axes", kinds["kINT32"], np.arange(10, dtype=np.int32).tobytes(), 10), ("mode", kinds["kCHAR"], b"up", 2)]
    given += [("box", kinds["kDIMS"], bytes(72), 1), ("", kinds["kINT8"], b"", 0)]
    with Library(compile_plugin("create_null"), VERSIONS[11]) as library, pytest.raises(Finding) as caught:
        library.creators[0].create_of("x", given)
    fields = "axes=[0, 1, 2, 3, 4, 5, 6, 7, ... 2 more], mode='up', box=1 of kDIMS, =[]"
    assert caught.value.observed == f"answered null, expected a plugin for the fields ({fields})"


@pytest.mark.compile
def test_a_text_whose_closing_zero_is_in_the_way_is_named(compile_plugin: Compile) -> None:
    """As onnx/onnx-tensorrt#921: a plugin compares what NVIDIA's parser gives with a text of another length."""
    with Library(compile_plugin("text_exact"), VERSIONS[11]) as library:
        (creator,) = library.creators
        kind = NAMES.index("kCHAR")
        assert creator.create_of("x", [("factor", kind, b"two", 3)]).nb_outputs() == 2
        with pytest.raises(Finding, match="answered null") as caught:
            creator.create_of("x", [("factor", kind, b"two\0", 4)])
        assert "(4) counts its closing zero" in caught.value.hint
        with pytest.raises(Finding, match="answered null") as caught:
            creator.create_of("x", [("factor", kind, b"six\0", 4)])
        assert not caught.value.hint


def test_large_fields_are_not_read_for_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights in a field are millions of numbers, and a call has a time limit."""
    read: list[int] = []
    whole = library.decode

    def counting(code: int, data: bytes) -> object:
        read.append(len(data))
        return whole(code, data)

    monkeypatch.setattr(library, "decode", counting)
    kinds = {name: number for number, name in enumerate(NAMES)}
    given = [("w", kinds["kFLOAT32"], bytes(4000), 1000), ("text", kinds["kCHAR"], b"a" * 1000, 1000)]
    assert library._values(given) == f"w=[{', '.join(['0'] * 8)}, ... 992 more], text='{'a' * 80}' and 920 bytes more"
    assert max(read) < 100


@pytest.mark.compile
@pytest.mark.parametrize("fault", FAULTS)
def test_the_fault_is_found(compile_plugin: Compile, fault: str) -> None:
    method, message = FAULTS[fault]
    with pytest.raises(Finding) as caught:
        drive(compile_plugin(fault))
    assert caught.value.method == method
    assert re.search(message, str(caught.value), re.DOTALL)


@pytest.mark.compile
@pytest.mark.parametrize("fault", WARNINGS)
def test_what_nobody_promises_is_a_warning_and_the_run_goes_on(compile_plugin: Compile, fault: str) -> None:
    rule, method, message = WARNINGS[fault]
    take_warnings()
    y0, y1 = drive(compile_plugin(fault))
    x = np.arange(15).reshape(3, 5).astype(np.float32)
    np.testing.assert_array_equal(y1, x)
    np.testing.assert_array_equal(y0, np.full((7, 3), x.sum() * 2, np.float32))
    found = take_warnings()
    assert {(one.rule, one.method) for one in found} == {(rule, method)}
    assert re.search(message, found[0].message, re.DOTALL), found[0].message


@pytest.mark.compile
@pytest.mark.parametrize("fault", ["asked_kept", "candidate_kept"])
def test_what_a_plugin_keeps_of_types_that_are_only_tried_gets_into_its_outputs(
    compile_plugin: Compile, fault: str
) -> None:
    """A builder asks for types that the network hasn't, and configures candidates that it does not choose."""
    y0, _ = drive(compile_plugin(fault))
    np.testing.assert_array_equal(y0, np.full((7, 3), np.arange(15).sum() * 3, np.float32))


@pytest.mark.compile
@pytest.mark.parametrize("fault", ["none", "ends_for_good"])
def test_a_good_plugin_brings_no_warning(compile_plugin: Compile, fault: str) -> None:
    take_warnings()
    y0, _ = drive(compile_plugin(fault))
    np.testing.assert_array_equal(y0, np.full((7, 3), np.arange(15).sum() * 2, np.float32))
    assert take_warnings() == ()


@pytest.mark.compile
def test_names_that_are_no_text_are_shown(compile_plugin: Compile) -> None:
    with Library(compile_plugin("name_latin")) as library:
        assert repr(library.creators[0]) == r"<v2 creator acm\xe9::Probe 1>"
        with pytest.raises(UsageError, match=r"has no creator tests::Probe version 1; it has .*acm\\xe9::Probe 1"):
            library.creator("Probe", "1", "tests")
    with Library(compile_plugin("name_accented")) as library:
        with pytest.raises(Finding, match="getPluginNamespace: answered 'acmé', expected ASCII") as caught:
            library.creator("Probe", "1", "acmé")
        assert caught.value.rule == "I4"
    with Library(compile_plugin("name_long")) as library:
        with pytest.raises(
            Finding, match=r"getPluginNamespace: answered 1024 characters \(n+\.\.\.\), expected 1023"
        ) as caught:
            library.creator("Probe", "1", "n" * 1024)
        assert caught.value.rule == "I4"


@pytest.mark.compile
def test_a_symbol_that_is_not_there_ends_the_process_where_it_is_called(
    compile_plugin: Compile, tmp_path: Path
) -> None:
    library = compile_plugin("unresolved_called")
    command = [sys.executable, Path(__file__).with_name("drive.py"), library, tmp_path / "crumb"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 127
    assert "symbol lookup error" in done.stderr


@pytest.mark.compile
@pytest.mark.parametrize("layout", [10])
@pytest.mark.parametrize("fault", ["beyond", "expr_kept", "format_later", "other_layout"])
def test_the_other_layout_finds_it_too(compile_plugin: Compile, fault: str, layout: int) -> None:
    with pytest.raises(Finding) as caught:
        drive(compile_plugin(fault, layout), VERSIONS[layout])
    assert caught.value.method == FAULTS[fault][0]


@pytest.mark.compile
def test_an_unwritten_int8_element_is_found(compile_plugin: Compile) -> None:
    with pytest.raises(Finding, match=r"left unwritten: 1 of 20 elements of output 1, .* index \(0, 2\) \(byte 2\)"):
        drive(compile_plugin("unwritten_int8"), dtype=DType.INT8)


@pytest.mark.compile
@pytest.mark.parametrize("fault", DEADLY)
def test_the_call_file_survives(compile_plugin: Compile, fault: str, tmp_path: Path) -> None:
    code, method = DEADLY[fault]
    crumb = tmp_path / "crumb"
    command = [sys.executable, Path(__file__).with_name("drive.py"), compile_plugin(fault), crumb]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        # Who hangs is killed once it says where; who ends, ends.
        deadline = time.monotonic() + 60
        while child.poll() is None and time.monotonic() < deadline:
            if fault == "hang_serialize" and crumb.exists() and read_call_file(crumb) == (method, True, "", ""):
                break
            time.sleep(0.05)
        child.kill()
    assert child.returncode == code
    assert read_call_file(crumb) == (method, True, "", "")


BEYOND = {
    "reads_name": ("IPluginCreator::createPlugin", "reads byte 7 of the name of field 'factor', which has 7"),
    "reads_data": ("IPluginCreator::createPlugin", "reads byte 4 of the data of field 'factor', which has 4"),
    "writes_data": ("IPluginCreator::createPlugin", "writes byte 4 of the data of field 'factor', which has 4"),
    "reads_fields": ("IPluginCreator::createPlugin", "reads fc->fields[1], which has 1"),
    "reads_types": ("IPluginV2DynamicExt::getOutputDataType", "reads inputTypes[1], which has 1"),
    "reads_exprs": ("IPluginV2DynamicExt::getOutputDimensions", "reads inputs[1], which has 1"),
    "reads_in_out": ("IPluginV2DynamicExt::supportsFormatCombination", "reads inOut[3], which has 3"),
    "reads_desc": ("IPluginV2DynamicExt::enqueue", "reads inputDesc[1], which has 1"),
    "reads_pointers": ("IPluginV2DynamicExt::enqueue", "reads outputs[2], which has 2"),
}
"""Which method leaves what it was given, and what is said of it."""


@pytest.mark.compile
@pytest.mark.parametrize(("fault", "layout"), [*((one, 11) for one in BEYOND), ("reads_in_out", 8), ("reads_desc", 8)])
def test_an_access_beyond_what_was_given_is_named(
    compile_plugin: Compile, tmp_path: Path, fault: str, layout: int
) -> None:
    crumb = tmp_path / "crumb"
    arguments = [compile_plugin(fault, layout), crumb, str(VERSIONS[layout])]
    done = subprocess.run([sys.executable, Path(__file__).with_name("drive.py"), *arguments], check=False)
    method, what = BEYOND[fault]
    assert done.returncode == -signal.SIGSEGV
    assert read_call_file(crumb) == (method, True, "", what)


def test_files_that_are_no_library(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no plugin library"):
        Library(tmp_path / "none.so")
    text = tmp_path / "text.so"
    text.write_text("#!/bin/sh")
    with pytest.raises(UsageError, match="not an ELF"):
        Library(text)
    text.write_bytes(b"\x7fELF but no more")
    with pytest.raises(CheckFailed, match="can't be loaded"):
        Library(text)


@pytest.mark.compile
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "does not export getCreators and setLoggerFinder"),
        ('extern "C" void setLoggerFinder(void*) {}', "does not export getCreators$"),
        ('extern "C" void* getCreators(int*) { return nullptr; }', "does not export setLoggerFinder"),
        ('extern "C" int gone; extern "C" int getCreators(int*) { return gone; }', "undefined symbol: gone"),
    ],
)
def test_libraries_that_are_no_plugin(tmp_path: Path, source: str, message: str) -> None:
    (tmp_path / "a.cpp").write_text(source)
    subprocess.run([default_cxx(), "-shared", "-fPIC", "-o", tmp_path / "a.so", tmp_path / "a.cpp"], check=True)
    with pytest.raises(CheckFailed) as caught:
        Library(tmp_path / "a.so")
    assert re.search(message, caught.value.message)
    assert caught.value.hint


@pytest.mark.compile
def test_field_data_is_wiped_after_create(compile_plugin: Compile) -> None:
    for fault, expected in (("none", b"\x00\x00\x00\x40"), ("keeps_field", b"\xee" * 4)):
        with Library(compile_plugin(fault)) as library:
            assert library.creators[0].create("layer", FIELDS).serialize().data == expected


@pytest.mark.compile
def test_the_creator_asked_for(compile_plugin: Compile) -> None:
    with Library(compile_plugin()) as library:
        assert library.creator("Probe", "1", "tests").fields[0].name == "factor"
        with pytest.raises(UsageError, match=r"has no creator ::Probe version 1; it has .*tests::Probe 1"):
            library.creator("Probe")
        kept = library.creators[0]
    with pytest.raises(HostBug, match="after its library was closed"):
        kept.create("layer", FIELDS)


@pytest.mark.compile
def test_a_type_that_the_manifest_has_not_is_its_own_methods_fault(compile_plugin: Compile) -> None:
    with Library(compile_plugin("none"), VERSIONS[11]) as library:
        creator, profiles = library.creators[0], [[SPECS[DType.FLOAT32]]]
        output = [spec.dtype for spec in build(creator, "layer", FIELDS, profiles).outputs[0]]
        build(creator, "layer", FIELDS, profiles, output_types=output)
        with pytest.raises(
            Finding, match=r"answered kFLOAT for output 1, where the inputs are kFLOAT; .* kHALF"
        ) as found:
            build(creator, "layer", FIELDS, profiles, output_types=[*output[:1], DType.FLOAT16])
    assert found.value.method == "IPluginV2DynamicExt::getOutputDataType"
