"""An IPluginV2IOExt in the host: its life in both layouts and both conventions of a batch, and what it can do wrong."""

from __future__ import annotations

import pickle
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import pluginkit
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.host import BuiltPlugin, Context, Finding, HostBug, Library, TensorSpec, build, take_warnings
from tests.compilers import default_cxx

from .conftest import VERSIONS

pytestmark = pytest.mark.compile

SOURCE = Path(__file__).with_name("ioext.cpp")
SHAPE = (2, 3, 5)
# fmt: off
FAULTS = [
    "NONE", "NEGATIVE_DIMENSION", "NINE_DIMENSIONS", "OTHER_DIMENSIONS_EACH_TIME", "LARGER_OUTPUT", "SMALLER_OUTPUT",
    "LOOKS_AHEAD", "BROADCAST", "WORKSPACE_SHRINKS", "NO_CONFIGURE_AT_ALL", "FORGETS_SHAPES", "FIRST_BATCH_ONLY",
    "ENQUEUE_FAILS", "OTHER_CLONE",
]
# fmt: on


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Library]:
    folder = tmp_path_factory.mktemp("ioext")
    made = {}
    for layout, version in VERSIONS.items():
        path = folder / f"{layout}.so"
        flags = ["-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
        where = [f"-DPLUGINKIT_TRT_LAYOUT={layout}", f"-I{pluginkit.include_dir()}"]
        subprocess.run([default_cxx(), *flags, *where, str(SOURCE), "-o", str(path)], check=True)
        made[layout] = Library(path, version)
    return made


def spec(shape: tuple[int, ...] = SHAPE, dtype: DType = DType.FLOAT32, scale: float = 1.0) -> TensorSpec:
    return TensorSpec(dtype, shape, shape, shape, shape, scale)


def made(library: Library, fault: str, one: TensorSpec, *, implicit_batch: bool = False) -> BuiltPlugin:
    fields = {"fault": (DType.INT32, FAULTS.index(fault))}
    built = build(
        library.creators[0], "layer", fields, [[one]], output_scales=[one.scale], implicit_batch=implicit_batch
    )
    return pickle.loads(pickle.dumps(built))  # type: ignore[no-any-return]


def life(library: Library, fault: str = "NONE", *, implicit_batch: bool = False) -> None:
    x = np.arange(30, dtype=np.float32).reshape(SHAPE)
    with Context(library.creators[0], made(library, fault, spec(), implicit_batch=implicit_batch), [spec()]) as context:
        for _ in range(2):
            (y,) = context.run([x])
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("implicit_batch", [False, True])
@pytest.mark.parametrize("layout", VERSIONS)
def test_a_good_plugin_passes(libraries: dict[int, Library], layout: int, implicit_batch: bool) -> None:
    life(libraries[layout], implicit_batch=implicit_batch)


def test_what_configure_saw(libraries: dict[int, Library]) -> None:
    int8 = spec(dtype=DType.INT8, scale=0.25)
    same = {"type": 2, "format": 0, "scale": 0.25}
    for implicit_batch, dims in ((False, SHAPE), (True, SHAPE[1:])):
        built = made(libraries[11], "NONE", int8, implicit_batch=implicit_batch)
        message = {"dims": dims, "min": dims, "opt": dims, "max": dims, **same}
        assert built.configured == ({"inputs": [message], "outputs": [message]},)
        assert (built.base, built.batch) == ("ioext", 2 if implicit_batch else 1)
        assert built.outputs[0][0].dims == SHAPE


WRONG = {
    "NEGATIVE_DIMENSION": ("getOutputDimensions", "output 0 has the shape [2, 3, -3] .*: a negative dimension"),
    "NINE_DIMENSIONS": ("getOutputDimensions", "output 0 has nbDims 9, expected 0 to 8"),
    "LARGER_OUTPUT": ("enqueue", "left unwritten: 6 of 36 elements of output 0"),
    "SMALLER_OUTPUT": ("enqueue", "written beyond output 0, which has 96 bytes"),
    "LOOKS_AHEAD": ("supportsFormatCombination", "the answer for pos 0 depends on tensors behind it"),
    "NO_CONFIGURE_AT_ALL": ("enqueue", "left unwritten: 30 of 30"),
    "FORGETS_SHAPES": ("enqueue", "left unwritten: 30 of 30"),
    "ENQUEUE_FAILS": ("enqueue", "answered 3, expected 0"),
    "OTHER_CLONE": ("clone", "the clone serializes to other bytes"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_what_the_host_finds_in_either_convention(libraries: dict[int, Library], fault: str) -> None:
    method, text = WRONG[fault]
    with pytest.raises(Finding) as caught:
        life(libraries[11], fault)
    assert caught.value.method == f"IPluginV2IOExt::{method}"
    assert re.search(text.replace("[", r"\[").replace("]", r"\]"), caught.value.message)


def test_a_second_batch_that_is_never_written(libraries: dict[int, Library]) -> None:
    """With the batch in the shape there is one batch, and nothing to see: so both conventions are run."""
    life(libraries[11], "FIRST_BATCH_ONLY")
    with pytest.raises(Finding, match="enqueue: left unwritten: 15 of 30 elements of output 0, the first at index"):
        life(libraries[11], "FIRST_BATCH_ONLY", implicit_batch=True)


def test_a_workspace_that_shrinks_with_the_batch(libraries: dict[int, Library]) -> None:
    with pytest.raises(Finding, match="getWorkspaceSize: answered 32 bytes for 2 batches and more, 64, for one"):
        life(libraries[11], "WORKSPACE_SHRINKS", implicit_batch=True)


def test_an_output_for_all_batches_is_asked_of_layout_10_only(libraries: dict[int, Library]) -> None:
    take_warnings()
    life(libraries[11], "BROADCAST")
    assert take_warnings() == ()
    life(libraries[10], "BROADCAST")
    (one,) = take_warnings()
    assert (one.rule, one.method) == ("C17", "IPluginV2IOExt::isOutputBroadcastAcrossBatch")


def test_other_dimensions_each_time_are_warned(libraries: dict[int, Library]) -> None:
    take_warnings()
    life(libraries[11], "OTHER_DIMENSIONS_EACH_TIME")
    (one,) = take_warnings()
    assert (one.rule, one.method) == ("T18", "IPluginV2IOExt::getOutputDimensions")
    assert re.search(r"answered \[2, 3, 5\] for output 0, and \[2, 3, 6\] when asked", one.message)


def test_open_dimensions_are_refused_with_words(libraries: dict[int, Library]) -> None:
    dynamic = TensorSpec(DType.FLOAT32, (-1, 5), (1, 5), (2, 5), (4, 5))
    with pytest.raises(CheckFailed, match=r"'layer': input 0 has the dimensions \[-1, 5\], and an IPluginV2IOExt") as e:
        made(libraries[11], "NONE", dynamic)
    assert "IPluginV3" in e.value.hint


def test_wrong_use_is_a_bug_of_pluginkit(libraries: dict[int, Library]) -> None:
    with pytest.raises(HostBug, match="no batch in common"):
        made(libraries[11], "NONE", spec(()), implicit_batch=True)


def test_a_layer_of_another_interface_is_not_run(libraries: dict[int, Library]) -> None:
    from dataclasses import replace

    built = replace(made(libraries[11], "NONE", spec()), base="dynamic")
    with pytest.raises(Finding, match="made an IPluginV2IOExt, but the layer was built as an IPluginV2DynamicExt"):
        Context(libraries[11].creators[0], built, [spec()])


def test_findings_name_the_methods_of_this_base(libraries: dict[int, Library]) -> None:
    creator, fields = libraries[11].creators[0], {"fault": (DType.INT32, 0)}
    assert build(creator, "layer", fields, [[spec()]]).shapes[0].method == "IPluginV2IOExt::getOutputDimensions"
    with pytest.raises(Finding, match="answered kFLOAT for output 0") as found:
        build(creator, "layer", fields, [[spec()]], output_types=[DType.INT8])
    assert found.value.method == "IPluginV2IOExt::getOutputDataType"
