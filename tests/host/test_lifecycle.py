"""A good plugin goes through everything, in both layouts, and the plugin sees what TensorRT would show it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from pluginkit.dtypes import DType
from pluginkit.host import Context, HostBug, Library, TensorSpec, build, read_call_file, take_log
from pluginkit.host.bases.dynamic.plugin import DynamicPlugin
from pluginkit.host.bases.lifecycles import LIFECYCLES
from pluginkit.host.descriptors import DynamicDesc

from .conftest import VERSIONS, Compile
from .drive import FIELDS, SPECS, build_layer, drive

pytestmark = pytest.mark.compile


@pytest.mark.parametrize("layout", VERSIONS)
@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.INT8])
def test_a_good_plugin_passes(compile_plugin: Compile, layout: int, dtype: DType) -> None:
    y0, y1 = drive(compile_plugin("none", layout), VERSIONS[layout], dtype)
    x = np.arange(15).reshape(3, 5).astype(dtype.numpy)
    np.testing.assert_array_equal(y1, x)
    np.testing.assert_array_equal(y0, np.full((7, 3), np.float32(x.sum(dtype=dtype.numpy)) * 2).astype(dtype.numpy))
    assert (3, "createPlugin \\xd4") in take_log()


def test_what_configure_saw(compile_plugin: Compile) -> None:
    with Library(compile_plugin()) as library:
        built = build_layer(library, DType.INT8)
    (x,), (y0, y1) = built.configured[0]["inputs"], built.configured[0]["outputs"]
    assert x == {"dims": (-1, 5), "type": 2, "format": 0, "scale": 0.5, "min": (1, 5), "opt": (2, 5), "max": (4, 5)}
    assert (y0["dims"], y0["min"], y0["opt"], y0["max"]) == ((-1, 3), (3, 3), (5, 3), (9, 3))
    assert (y1["dims"], y1["max"]) == ((-1, 5), (4, 5))
    assert built.configured[1]["outputs"][0]["max"] == (5, 3)
    assert built.workspace == 16
    assert built.namespace == "tests"


def test_a_fresh_process_runs_what_another_built(compile_plugin: Compile, tmp_path: Path) -> None:
    code = (
        "import pickle, sys; from pathlib import Path; from pluginkit.host import Library, build;"
        "from pluginkit.host import TensorSpec; from pluginkit.dtypes import DType;"
        "spec = TensorSpec(DType.FLOAT32, (-1, 5), (1, 5), (2, 5), (4, 5));"
        "built = build(Library(sys.argv[1]).creators[0], 'l', {'factor': (DType.FLOAT32, 3.0)}, [[spec]]);"
        "Path(sys.argv[2]).write_bytes(pickle.dumps(built))"
    )
    subprocess.run([sys.executable, "-c", code, compile_plugin(), tmp_path / "built"], check=True)
    built = pickle.loads((tmp_path / "built").read_bytes())
    with Library(compile_plugin()) as library, Context(library.creators[0], built, [SPECS[DType.FLOAT32]]) as context:
        y0, _ = context.run([np.ones((2, 5), np.float32)])
    np.testing.assert_array_equal(y0, np.full((5, 3), 30, np.float32))


@pytest.mark.parametrize(("version", "kind"), [(110100, "v2"), (10701, "v3")])
def test_a_library_of_pluginkits_entry_code_knows_its_host(compile_plugin: Compile, version: int, kind: str) -> None:
    with Library(compile_plugin("none", 11, "WITH_ENTRY"), version) as library:
        (creator,) = library.creators
        assert (creator.kind, creator.name, creator.namespace) == (kind, "Probe", "tests")
        assert [field.name for field in creator.fields] == ["factor"]
        if kind == "v3":
            with pytest.raises(HostBug, match="not an IPluginCreator: its interface kind is PLUGIN CREATOR_V3ONE"):
                creator.create("layer", FIELDS)


def test_zero_size(compile_plugin: Compile) -> None:
    spec = TensorSpec(DType.FLOAT32, (-1, 0), (1, 0), (1, 0), (2, 0))
    with Library(compile_plugin()) as library:
        built = build(library.creators[0], "layer", FIELDS, [[spec]])
        with Context(library.creators[0], built, [spec]) as context:
            y0, y1 = context.run([np.zeros((2, 0), np.float32)])
    assert (y0.shape, y1.shape) == ((5, 0), (2, 0))


def test_wrong_use_is_a_bug_of_pluginkit(compile_plugin: Compile) -> None:
    with Library(compile_plugin()) as library:
        creator = library.creators[0]
        plugin = creator.create("layer", FIELDS)
        plugin.destroy()
        with pytest.raises(HostBug, match="after its destroy"):
            plugin.nb_outputs()
        with pytest.raises(HostBug, match="min <= opt <= max"):
            build(creator, "layer", FIELDS, [[TensorSpec(DType.FLOAT32, (-1,), (2,), (1,), (3,))]])
        with pytest.raises(HostBug, match="without a profile"):
            build(creator, "layer", FIELDS, [])
        with Context(creator, build_layer(library), [SPECS[DType.FLOAT32]]) as context:
            for wrong in (np.ones((5, 5), np.float32), np.ones((2, 5), np.int8), np.ones(5, np.float32)):
                with pytest.raises(HostBug, match="an input of type"):
                    context.run([wrong])


def test_the_call_file_names_the_last_call(compile_plugin: Compile, tmp_path: Path) -> None:
    crumb = tmp_path / "crumb"
    assert read_call_file(crumb) is None
    command = [sys.executable, Path(__file__).with_name("drive.py"), compile_plugin(), crumb]
    assert subprocess.run(command, check=False).returncode == 0
    assert read_call_file(crumb) == ("dlclose", False, "", "")


@pytest.mark.parametrize("layout", VERSIONS)
def test_a_second_context_of_an_engine_is_another_clone(
    compile_plugin: Compile, layout: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    output: list[str] = []
    for name in ("clone", "attach_to_context", "detach_from_context", "initialize", "terminate", "destroy"):

        def recorded(plugin: DynamicPlugin, name: str = name, call: object = getattr(DynamicPlugin, name)) -> object:
            output.append(name)
            return call(plugin)  # type: ignore[operator]

        monkeypatch.setattr(DynamicPlugin, name, recorded)
    with Library(compile_plugin("none", layout), VERSIONS[layout]) as library:
        built = build_layer(library)
        first = LIFECYCLES[built.base].restore(library.creators[0], built)
        output.clear()
        second = first.second_context()
        second.close()
        assert output == ["clone", "attach_to_context", "detach_from_context", "destroy"]
        first.close()
    assert output[4:] == ["detach_from_context", "destroy", "terminate", "destroy"]


def test_another_profile_in_the_same_context(compile_plugin: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[object, ...]] = []
    configure = DynamicPlugin.configure_plugin

    def noted(plugin: DynamicPlugin, inputs: Sequence[DynamicDesc], outputs: Sequence[DynamicDesc]) -> None:
        seen.append((inputs[0].desc.dims, inputs[0].opt))
        configure(plugin, inputs, outputs)

    wide, narrow = SPECS[DType.FLOAT32], TensorSpec(DType.FLOAT32, (-1, 5), (1, 5), (1, 5), (2, 5))
    with Library(compile_plugin()) as library:
        built = build_layer(library)
        monkeypatch.setattr(DynamicPlugin, "configure_plugin", noted)
        with Context(library.creators[0], built, [wide]) as context:
            for spec, rows in ((wide, 2), (wide, 2), (wide, 4), (narrow, 2), (narrow, 2), (wide, 2)):
                context.switch_profile(built, [spec])
                _, y1 = context.run([np.full((rows, 5), rows, np.float32)])
                assert y1.tolist() == [[rows] * 5] * rows
    # Only where the shapes or the profile are others than in the run before (IPluginV2DynamicExt::configurePlugin).
    assert seen == [((2, 5), (2, 5)), ((4, 5), (2, 5)), ((2, 5), (1, 5)), ((2, 5), (2, 5))]
