"""An IPluginV2Ext and an IPluginV2 in the host: their life in both layouts, and what they can do wrong."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.formats import Format
from pluginkit.host import BuiltPlugin, Context, Finding, Library, TensorSpec, build, take_warnings

from .conftest import VERSIONS

pytestmark = pytest.mark.compile

SOURCE = Path(__file__).with_name("batched.cpp")
FAULTS = re.findall(
    r"^    k(\w+),$", SOURCE.read_text().partition("enum class Fault")[2].partition("};")[0], re.MULTILINE
)
INTERFACES = {"v2ext": "IPluginV2Ext", "v2": "IPluginV2"}
SHAPE = (2, 3, 5)

Batched = Callable[[str, int], Path]
Opened = Callable[..., Library]


@pytest.fixture(scope="module")
def opened(batched: Batched) -> Opened:
    made: dict[tuple[str, int], Library] = {}

    def library(base: str, layout: int = 11) -> Library:
        if (base, layout) not in made:
            made[base, layout] = Library(batched(base, layout), VERSIONS[layout])
        return made[base, layout]

    return library


def spec(shape: tuple[int, ...] = SHAPE, dtype: DType = DType.FLOAT32, form: Format = Format.LINEAR) -> TensorSpec:
    return TensorSpec(dtype, shape, shape, shape, shape, 1.0, form.code)


def made(library: Library, fault: str = "NONE", one: TensorSpec | None = None) -> BuiltPlugin:
    fields = {"fault": (DType.INT32, FAULTS.index(fault))}
    built = build(library.creators[0], "layer", fields, [[one or spec()]])
    return pickle.loads(pickle.dumps(built))  # type: ignore[no-any-return]


def life(library: Library, fault: str = "NONE", dtype: DType = DType.FLOAT32) -> None:
    x, one = np.arange(30).reshape(SHAPE).astype(dtype.numpy), spec(dtype=dtype)
    with Context(library.creators[0], made(library, fault, one), [one]) as context:
        for _ in range(2):
            (y,) = context.run([x])
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16])
@pytest.mark.parametrize("layout", VERSIONS)
@pytest.mark.parametrize("base", INTERFACES)
def test_a_good_plugin_passes(opened: Opened, base: str, layout: int, dtype: DType) -> None:
    life(opened(base, layout), dtype=dtype)
    assert take_warnings() == ()


@pytest.mark.parametrize("base", INTERFACES)
def test_it_never_sees_the_batch(opened: Opened, base: str) -> None:
    built = made(opened(base))
    assert (built.base, built.batch) == (base, 2)
    assert [one["dims"] for one in built.configured[0]["inputs"]] == [SHAPE[1:]]
    assert built.outputs[0][0].dims == SHAPE
    assert built.shapes[0].method == f"{INTERFACES[base]}::getOutputDimensions"


WRONG = {
    "COUNTS_THE_BATCH": ("enqueue", "left unwritten: 30 of 60 elements of output 0"),
    "NEGATIVE_DIMENSION": ("getOutputDimensions", "output 0 has the shape [-3, 5] .*: a negative dimension"),
    "REFUSES_FORMAT": ("supportsFormatCombination", "pos 0 (input 0): kFLOAT kLINEAR, dims (3, 5): NO"),
    "WORKSPACE_SHRINKS": ("getWorkspaceSize", "answered 32 bytes for 2 batches and more, 64, for one"),
    "FORGETS_SHAPES": ("enqueue", "left unwritten: 30 of 30"),
    "FIRST_BATCH_ONLY": ("enqueue", "left unwritten: 15 of 30"),
    "ENQUEUE_FAILS": ("enqueue", "answered 3, expected 0"),
    "OTHER_CLONE": ("clone", "the clone serializes to other bytes"),
}


@pytest.mark.parametrize("base", INTERFACES)
@pytest.mark.parametrize("fault", WRONG)
def test_what_the_host_finds(opened: Opened, fault: str, base: str) -> None:
    method, text = WRONG[fault]
    with pytest.raises(Finding) as caught:
        life(opened(base), fault)
    method = "supportsFormat" if fault == "REFUSES_FORMAT" else method
    assert caught.value.method == f"{INTERFACES[base]}::{method}"
    assert re.search(re.sub(r"[\[()]", r"\\\g<0>", text), caught.value.message)


def test_what_an_ipluginv2ext_alone_is_asked(opened: Opened) -> None:
    with pytest.raises(Finding, match="answered kINT32 for output 0, where the inputs are kFLOAT"):
        fields = {"fault": (DType.INT32, FAULTS.index("OTHER_TYPE"))}
        build(opened("v2ext").creators[0], "layer", fields, [[spec()]], output_types=[DType.FLOAT32])
    take_warnings()
    life(opened("v2ext", 11), "BROADCAST")
    assert take_warnings() == ()
    life(opened("v2ext", 10), "BROADCAST")
    (one,) = take_warnings()
    assert (one.rule, one.method) == ("C17", "IPluginV2Ext::isOutputBroadcastAcrossBatch")


@pytest.mark.parametrize("base", INTERFACES)
def test_formats_that_tensorrt_never_passes_are_not_asked_for(opened: Opened, base: str) -> None:
    with pytest.raises(Finding, match="NO"):
        made(opened(base), one=spec((2, 32, 3, 5), form=Format.CHW32))


@pytest.mark.parametrize("base", INTERFACES)
def test_inputs_without_a_batch_in_common(opened: Opened, base: str) -> None:
    with pytest.raises(CheckFailed, match="without their first dimension, the batch") as caught:
        build(opened(base).creators[0], "layer", {}, [[spec(), spec((4, 5))]])
    assert "IPluginV3" in caught.value.hint
    with pytest.raises(CheckFailed, match=rf"\[-1, 5\], and an {INTERFACES[base]} takes no open ones"):
        open_ = TensorSpec(DType.FLOAT32, (-1, 5), (1, 5), (2, 5), (4, 5))
        build(opened(base).creators[0], "layer", {}, [[open_]])


def test_a_library_of_the_other_layout(opened: Opened, batched: Batched) -> None:
    with pytest.raises(Finding, match="calls the vtable of layout 11"):
        made(Library(batched("v2ext", 10), VERSIONS[11]))
