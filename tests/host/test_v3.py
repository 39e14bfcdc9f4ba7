"""An IPluginV3 in the host: its whole life, the optional parts, and for each thing that the host finds a plugin that
does just that."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from pluginkit import layouts
from pluginkit.dtypes import DType
from pluginkit.host import AnyDevice, Context, Finding, Library, TensorSpec, build, take_warnings
from pluginkit.host.bases.v3.lifecycle import with_tactic
from pluginkit.host.bases.v3.plugin import PluginV3
from pluginkit.host.descriptors import Desc
from pluginkit.host.memory import gpu_watch
from pluginkit.importing import hosted_worker
from pluginkit.importing.plugin_node import DOMAIN

SOURCE = Path(__file__).with_name("v3.cpp")
MODES = {"plain": 0, "tactics": 1, "alias": 2, "shape_input": 3, "size": 4}
FAULTS = re.findall(r"^    (\w+),$", SOURCE.read_text().partition("enum Fault")[2].partition("};")[0], re.MULTILINE)
X = TensorSpec(DType.FLOAT32, (-1, 5), (1, 5), (2, 5), (4, 5))
NARROW = TensorSpec(DType.FLOAT32, (-1, 5), (1, 5), (1, 5), (2, 5))
K = TensorSpec(DType.INT32, (-1,), (1,), (3,), (6,))
BUILD, RUNTIME, CORE = "IPluginV3OneBuild::", "IPluginV3OneRuntime::", "IPluginV3OneCore::"


def drive(
    path: Path,
    mode: str = "plain",
    fault: str = "none",
    rows: int = 4,
    tactic: int = 0,
    device: AnyDevice | None = None,
) -> list[np.ndarray]:
    """Load, build for two profiles, run on `rows` rows that count from -2 up, end."""
    fields = {
        "mode": (DType.INT32, MODES[mode]),
        "fault": (DType.INT32, FAULTS.index(fault)),
        "factor": (DType.FLOAT32, 2.0),
    }
    shaped = mode == "shape_input"
    more, shape_inputs = ([K], (1,)) if shaped else ([], ())
    with Library(path) as loaded:
        creator = loaded.creators[0]
        built = build(creator, "layer", fields, [[X, *more], [NARROW, *more]], shape_inputs=shape_inputs)
        built = pickle.loads(pickle.dumps(with_tactic(built, 0, tactic)))
        with Context(creator, built, [X, *more], device) as context:
            inputs = [numbers(rows), *([np.array([6], np.int32)] if shaped else [])]
            return context.run(inputs)


def numbers(rows: int) -> np.ndarray:
    return (np.arange(rows * 5).reshape(rows, 5) - 2).astype(np.float32)


def test_a_life_and_its_numbers(v3_library: Path) -> None:
    (y,) = drive(v3_library)
    np.testing.assert_array_equal(y, numbers(4) * 2)


@pytest.mark.parametrize("tactic", [0, 1])
def test_each_tactic_runs(v3_library: Path, tactic: int) -> None:
    (y,) = drive(v3_library, "tactics", tactic=tactic)
    np.testing.assert_array_equal(y, numbers(4) * 2)


def test_a_profile_has_its_own_tactic_in_the_same_context(v3_library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    set_tactic, on_shape_change = PluginV3.set_tactic, PluginV3.on_shape_change

    def selected(plugin: PluginV3, tactic: int) -> None:
        seen.append(tactic)
        set_tactic(plugin, tactic)

    monkeypatch.setattr(PluginV3, "set_tactic", selected)

    def noted(plugin: PluginV3, inputs: Sequence[Desc], outputs: Sequence[Desc]) -> None:
        seen.append(inputs[0].dims)
        on_shape_change(plugin, inputs, outputs)

    monkeypatch.setattr(PluginV3, "on_shape_change", noted)
    fields = {
        "mode": (DType.INT32, MODES["tactics"]),
        "fault": (DType.INT32, 0),
        "factor": (DType.FLOAT32, 2.0),
    }
    with Library(v3_library) as loaded:
        creator = loaded.creators[0]
        built = build(creator, "layer", fields, [[X], [NARROW]])
        with Context(creator, with_tactic(built, 0, 0), [X]) as context:
            for spec, tactic in ((X, 0), (NARROW, 1), (NARROW, 1), (X, 0)):
                context.switch_profile(with_tactic(built, 1 if spec is NARROW else 0, tactic), [spec])
                (y,) = context.run([numbers(2)])
                np.testing.assert_array_equal(y, numbers(2) * 2)
    assert seen == [3, (2, 5), 7, (2, 5), 3, (2, 5)]


def test_a_tactic_that_computes_something_else_is_seen_in_its_own_run(v3_library: Path) -> None:
    (right,) = drive(v3_library, "tactics", "tactic_wrong", tactic=0)
    (wrong,) = drive(v3_library, "tactics", "tactic_wrong", tactic=1)
    np.testing.assert_array_equal(right, numbers(4) * 2)
    np.testing.assert_array_equal(wrong, numbers(4) * 3)


def test_an_output_may_share_an_inputs_memory(v3_library: Path) -> None:
    (y,) = drive(v3_library, "alias")
    np.testing.assert_array_equal(y, numbers(4) * 2)


def test_a_shape_inputs_value_makes_the_shape(v3_library: Path) -> None:
    (y,) = drive(v3_library, "shape_input")
    np.testing.assert_array_equal(y, np.resize(numbers(4), (6, 5)) * 2)


@pytest.mark.parametrize("index", [1, -1])
def test_a_model_with_a_shape_input_is_run(
    v3_library: Path, index: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `pluginkit import` does it."""
    # HostedPlugins sets it for its own process.
    monkeypatch.setenv(gpu_watch.FINDINGS, "")
    with Library(v3_library) as loaded:
        key = (loaded.creators[0].name, loaded.creators[0].version, loaded.creators[0].namespace)
    attributes = {
        "mode": MODES["shape_input"],
        "fault": 0,
        "factor": 2.0,
        "tensorrt_plugin_shape_input_indices": [index],
    }
    node = helper.make_node(
        key[0], ["x", "k"], ["y"], "n", domain=DOMAIN, plugin_version=key[1], plugin_namespace=key[2], **attributes
    )
    ends = [helper.make_tensor_value_info(name, kind, None) for name, kind in (("x", 1), ("k", 6), ("y", 1))]
    model = helper.make_model(
        helper.make_graph([node], "g", ends[:2], ends[2:]),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)],
    )
    kinds = {"mode": "kINT32", "fault": "kINT32", "factor": "kFLOAT32"}
    hosted = hosted_worker.HostedPlugins({key: (v3_library, layouts.LAYOUTS[0].host_version, kinds)}, ["n"], tmp_path)
    feeds = {"x": numbers(4), "k": np.array([6], np.int32)}
    outputs = hosted.run(model.SerializeToString(), feeds, {})
    np.testing.assert_array_equal(outputs["y"], np.resize(numbers(4), (6, 5)) * 2)


@pytest.mark.parametrize("rows", [1, 4])
def test_a_size_tensor_says_how_much_was_written(v3_library: Path, rows: int) -> None:
    y, count = drive(v3_library, "size", rows=rows)
    expected = numbers(rows)[numbers(rows) > 0] * 2
    assert count == expected.size
    np.testing.assert_array_equal(y, expected)


def test_the_size_tensors_bounds_are_the_profiles(v3_library: Path) -> None:
    fields = {"mode": (DType.INT32, 4), "fault": (DType.INT32, 0), "factor": (DType.FLOAT32, 2.0)}
    with Library(v3_library) as loaded:
        built = build(loaded.creators[0], "layer", fields, [[X]])
    y = built.configured[0]["outputs"][0]
    assert (y["dims"], y["min"], y["opt"], y["max"]) == ((-1,), (0,), (5,), (20,))


FINDINGS: dict[str, tuple[str, str, str]] = {
    "create_null": ("plain", "IPluginCreatorV3One::createPlugin", r"null, expected a plugin for the fields \(mode="),
    "no_build": ("plain", "IPluginV3::getCapabilityInterface", "answered null, expected the capability kBUILD"),
    "core_kind": ("plain", "IPluginCapability::getInterfaceInfo", "kCORE answered PLUGIN_V3ONE_RUNTIME 1, expected"),
    "name_other": ("plain", CORE + "getPluginName", "answered 'Other', but its creator is that of 'ProbeV3'"),
    "clone_null": ("plain", "IPluginV3::clone", "answered null"),
    "clone_other": ("plain", "IPluginV3::clone", "serializes otherwise than the original: field 'factor'"),
    "outputs_zero": ("plain", BUILD + "getNbOutputs", "answered 0, expected 1"),
    "types_fail": ("plain", BUILD + "getOutputDataTypes", "answered 5, expected 0"),
    "type_unwritten": ("plain", BUILD + "getOutputDataTypes", "wrote no type for output 0"),
    "type_bool": ("plain", BUILD + "getOutputDataTypes", "wrong type for output 0: kBOOL, which TensorRT doesn't"),
    "type_int4": ("plain", BUILD + "getOutputDataTypes", "output 0 is kINT4, and pluginkit's host has no tensors of"),
    "shapes_fail": ("plain", BUILD + "getOutputShapes", "answered 3, expected 0"),
    "shape_unwritten": ("plain", BUILD + "getOutputShapes", "output 0: wrote no shape"),
    "shape_foreign": ("plain", BUILD + "getOutputShapes", r"d\[0\] is a pointer that is not an expression"),
    "size_output": ("size", BUILD + "getOutputShapes", "declareSizeTensor was called for output 2 of a plugin with 2"),
    "size_opt": ("size", BUILD + "getOutputShapes", "with an opt that depends on a size tensor"),
    "size_dims": ("size", BUILD + "getOutputShapes", "output 1 is declared a size tensor and has 1 dimensions"),
    "format_none": ("plain", BUILD + "supportsFormatCombination", r"pos 1 \(output 0\): .*: NO"),
    "format_later": ("plain", BUILD + "supportsFormatCombination", "pos 0 depends on tensors behind it"),
    "configure_fails": ("plain", BUILD + "configurePlugin", "answered 9, expected 0"),
    "workspace_shrinks": ("plain", BUILD + "getWorkspaceSize", "answered 996 bytes for the profile and more, 998"),
    "tactics_many": ("plain", BUILD + "getNbTactics", "answered -1, expected 0 or more"),
    "tactic_zero": ("tactics", BUILD + "getValidTactics", r"\[0, 7\]: no tactic is 0"),
    "tactic_twice": ("tactics", BUILD + "getValidTactics", r"\[3, 3\]: there is one twice"),
    "tactics_fail": ("tactics", BUILD + "getValidTactics", "answered 2, expected 0"),
    "tactic_uncounted": ("plain", BUILD + "getValidTactics", "wrote more than the 0 tactics of getNbTactics"),
    "tactic_refused": ("tactics", RUNTIME + "setTactic", "answered 4 for the tactic 7, expected 0"),
    "metadata_changes": ("plain", BUILD + "getMetadataString", "answered 'probe.*', and 'probe.*' when asked again"),
    "alias_bad": ("plain", "IPluginV3OneBuildV2::getAliasedInput", "answered 1 for output 0, expected -1 to 0"),
    "kept_no_data": ("plain", RUNTIME + "getFieldsToSerialize", "field 'factor' has length 1 and no data"),
    "kept_loses": ("plain", "IPluginCreatorV3One::createPlugin", r"null, expected a plugin from the serialized fields"),
    "restore_null": ("plain", "IPluginCreatorV3One::createPlugin", r"serialized fields \(mode, fault, factor\)"),
    "attach_null": ("plain", RUNTIME + "attachToContext", "answered null, expected a plugin"),
    "attach_self": ("plain", RUNTIME + "attachToContext", "answered the plugin itself, expected a new one"),
    "attach_other": ("plain", RUNTIME + "attachToContext", "the attached plugin serializes otherwise"),
    "enqueue_fails": ("plain", RUNTIME + "enqueue", "answered 1, expected 0"),
    "modified": ("plain", RUNTIME + "enqueue", "input modified: 1 of 20 elements of input 0"),
    "size_large": ("size", RUNTIME + "enqueue", "wrote 1000 to output 1, a size tensor whose upper bound is 20"),
    "size_negative": ("size", RUNTIME + "enqueue", "wrote -1 to output 1"),
    "beyond": ("plain", RUNTIME + "enqueue", "written beyond output 0, which has 80 bytes: at byte 80"),
}


@pytest.mark.parametrize("fault", FINDINGS)
def test_the_host_finds(v3_library: Path, fault: str) -> None:
    mode, method, message = FINDINGS[fault]
    with pytest.raises(Finding) as caught:
        drive(v3_library, mode, fault, tactic=1)
    assert re.fullmatch(method, caught.value.method)
    assert re.search(message, str(caught.value)), str(caught.value)


WARNINGS: dict[str, tuple[str, str, str, str]] = {
    "types_change": ("plain", "T18", BUILD + "getOutputDataTypes", r"answered kFLOAT, and kHALF when asked again"),
    "shapes_change": ("plain", "T18", BUILD + "getOutputShapes", "answered other expressions when asked again"),
    "asks_constant": (
        "plain",
        "T11",
        BUILD + "getOutputShapes",
        "getConstantValue was called on an expression that is",
    ),
    "formats_change": ("plain", "C2", BUILD + "supportsFormatCombination", "answered true for pos 0, and false when"),
    "tactic_negative": ("tactics", "V7", BUILD + "getValidTactics", r"\[3, -7\]: a tactic that is negative"),
    "tactics_change": ("tactics", "V7", BUILD + "getValidTactics", r"\[3, 7\], and \[7, 3\] when asked again"),
    "limit_zero": ("plain", "V5", BUILD + "getFormatCombinationLimit", "answered 0"),
    "kept_name_null": ("plain", "F2", RUNTIME + "getFieldsToSerialize", "field 3 has a null name"),
    "kept_type": ("plain", "F2", RUNTIME + "getFieldsToSerialize", "field 'extra' has the type 99"),
    "kept_changes": (
        "plain",
        "S11",
        RUNTIME + "getFieldsToSerialize",
        "field 'extra' is 0, and was 1 when asked again",
    ),
    "restored_otherwise": ("plain", "S4", "IPluginCreatorV3One::createPlugin", "gives others: field 'extra'"),
    "shape_change_fails": ("plain", "V6", RUNTIME + "onShapeChange", "answered 6"),
}


@pytest.mark.parametrize("fault", WARNINGS)
def test_what_nobody_promises_is_a_warning_and_the_run_goes_on(v3_library: Path, fault: str) -> None:
    mode, rule, method, message = WARNINGS[fault]
    take_warnings()
    (y, *_) = drive(v3_library, mode, fault)
    np.testing.assert_array_equal(y, numbers(4) * 2)
    (one,) = {(one.rule, one.method): one for one in reversed(take_warnings())}.values()
    assert (one.rule, one.method) == (rule, method)
    assert re.search(message, one.message), one.message


def test_null_is_taken_for_no_fields_to_serialize(v3_library: Path) -> None:
    """As TensorRT-RTX does. This plugin can't be made of none."""
    take_warnings()
    with pytest.raises(Finding, match=r"null, expected a plugin from the serialized fields \(\)"):
        drive(v3_library, fault="kept_null")
    assert {one.rule for one in take_warnings()} == {"S8"}


def test_fields_that_are_gone_after_the_call_are_seen(v3_library: Path) -> None:
    """By their values, or by what is computed of them: what stands where they were is the heap's to say."""
    take_warnings()
    try:
        (y,) = drive(v3_library, fault="kept_dangles")
    except Finding:
        return
    assert take_warnings() or not np.array_equal(y, numbers(4) * 2)


def test_a_good_plugin_brings_no_warning(v3_library: Path) -> None:
    take_warnings()
    for mode in MODES:
        drive(v3_library, mode)
    assert take_warnings() == ()


def test_every_fault_is_tried() -> None:
    others = {"none", "tactic_wrong", "crash_shape_change", "kept_null", "kept_dangles"}
    assert set(FAULTS) == set(FINDINGS) | set(WARNINGS) | others


def test_findings_name_the_methods_of_this_base(v3_library: Path) -> None:
    fields = {"mode": (DType.INT32, MODES["plain"]), "fault": (DType.INT32, 0), "factor": (DType.FLOAT32, 2.0)}
    with Library(v3_library) as loaded:
        creator = loaded.creators[0]
        assert build(creator, "layer", fields, [[X]]).shapes[0].method == BUILD + "getOutputShapes"
        with pytest.raises(Finding, match="answered kFLOAT for output 0") as found:
            build(creator, "layer", fields, [[X]], output_types=[DType.FLOAT16])
    assert found.value.method == BUILD + "getOutputDataTypes"
