"""A library's Python module on NumPy's arrays: every base, what it refuses, threads, and registration with NVIDIA's."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

from pluginkit import include_dir
from pluginkit.build import build, builder, python_module
from pluginkit.cli.project.build import command
from pluginkit.dtypes import DType
from pluginkit.errors import BuildFailed
from pluginkit.manifest import Manifest
from pluginkit.run import several_plugins
from pluginkit.run.options import Options
from tests.compilers import default_cxx, no_unique
from tests.host.test_v3 import FAULTS

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("python-module")]

PROBE = Path(__file__).resolve().parent / "python_probe.cpp"
PLAIN, TACTICS, ALIAS, _, SIZE = range(5)
"""The modes of tests/host/v3.cpp."""
SHAPES_FAIL, ATTACH_SELF, ENQUEUE_FAILS = map(FAULTS.index, ("shapes_fail", "attach_self", "enqueue_fails"))
"""Some of its faults."""


@pytest.fixture(scope="module")
def folder(three_plugins: Path) -> Path:
    """Where the module of Scale, Shift and Still is."""
    output: list[str] = []
    made = build(three_plugins, "cpu", python=True, werror=True, progress=output.append)[0]
    assert made.module, output
    return made.module.parent


@pytest.fixture(scope="module")
def module(folder: Path) -> Any:
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("scale")
    finally:
        sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def probe(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same module's folder beside a library made by hand, with a plugin that pluginkit.toml doesn't know.

    For processes of their own: pybind11 makes one module of a name in a process.
    """
    place = tmp_path_factory.mktemp("probe")
    library = place / "libscale.so"
    subprocess.run(
        [default_cxx(), "-std=c++17", "-shared", "-fPIC", "-O1", *no_unique(), f"-I{include_dir()}", str(PROBE), "-o",
         str(library)], check=True,
    )  # fmt: skip
    shutil.copy(next(folder.glob("scale.*.so")), place)
    return place


def values(kind: Any, shape: Sequence[int] = (3, 4), seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-8, 8, shape).astype(kind)


def flattened(total: Any, slope: float) -> Any:
    return np.where(total >= 0, total, slope * total)


def run_python(code: str, *folders: Path) -> str:
    """What a Python of its own prints; it has the folders on its path."""
    path = os.pathsep.join(str(folder) for folder in folders)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, "PYTHONPATH": path}, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_python(project: Path) -> str:
    """What pytest says of a project's test of its module."""
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "in_python", "tests"]
    return subprocess.run(pytest_, cwd=project, capture_output=True, text=True, timeout=120, check=False).stdout


@pytest.mark.parametrize("kind", [np.float32, np.float16, ml_dtypes.bfloat16, np.int8])
def test_an_ipluginv2dynamicext(module: Any, kind: Any) -> None:
    layer = module.Scale(factor=2.0, mode=0)
    assert repr(layer) == "Scale(factor=2.0, mode=0)"
    for shape in [(3, 4), (1, 1), (0, 4), (7, 300)]:
        x = values(kind, shape)
        y = layer(x)
        assert (type(y), y.dtype, y.shape) == (np.ndarray, x.dtype, x.shape)
        np.testing.assert_array_equal(y.astype(np.float32), flattened(x.astype(np.float32), 2.0))


def test_float8_with_its_scales(module: Any) -> None:
    kind = ml_dtypes.float8_e4m3fn
    layer = module.Scale(factor=2.0, mode=0, x_scale=0.5, y_scale=0.25)
    # The last becomes the largest number.
    x = np.array([[1.0, -3.5, 448.0, np.nan, 0.0, 2.0**-9, 13.0, 300.0]]).astype(kind)
    y = layer(x)
    assert (y.dtype, y.shape) == (kind, x.shape)
    wanted = np.clip(flattened(x.astype(np.float32) * 0.5, 2.0) / 0.25, -448, 448).astype(kind)
    np.testing.assert_array_equal(y.astype(np.float32), wanted.astype(np.float32))
    assert float(y[0, -1]) == 448
    with pytest.raises(RuntimeError, match="enqueue"):
        module.Scale(factor=2.0, mode=0)(x)


def test_float8_in_networks(three_plugins: Path, folder: Path) -> None:
    """The same library in the host: between QuantizeLinear and DequantizeLinear, with its scales as fields."""
    ran = several_plugins.run(
        Options(
            project=three_plugins,
            library=folder / "libscale.so",
            precisions=(DType.FLOAT8,),
            families=("plain", "loop-count", "cond-both"),
            only=("Scale/*/*",),
            evaluators=("host",),
            jobs=1,
        )
    )
    assert ran.errors == ()
    assert [f"{item}" for item in ran.joined.bad] == []
    assert {case.precision for case in ran.joined.cases} == {DType.FLOAT8}
    assert {case.family for case in ran.joined.cases} == {"Scale/plain", "Scale/loop-count", "Scale/cond-both"}


def test_an_ipluginv3_with_a_workspace(module: Any) -> None:
    layer = module.Shift(slope=0.5)
    for kind in (np.float32, np.float16):
        a, b = values(kind, seed=1), values(kind, seed=2)
        y, z = layer(a, b)
        np.testing.assert_array_equal(y, flattened(a + b, 0.5))
        np.testing.assert_array_equal(z, 2 * flattened(a + b, 0.5))


def test_an_ipluginv2ioext_of_several_static_shapes(module: Any) -> None:
    layer = module.Still(alpha=0.5)
    for batch in (1, 2, 5):
        x = values(np.float32, (batch, 3, 4), seed=batch)
        np.testing.assert_array_equal(layer(x), flattened(x, 0.5))
    scaled = module.Still(alpha=0.5, x_scale=2.0, y_scale=0.5)
    x = values(np.int8, (2, 3, 4))
    np.testing.assert_array_equal(scaled(x), np.clip(flattened(2.0 * x, 0.5) / 0.5, -128, 127).astype(np.int8))


def test_what_the_module_says_of_itself(module: Any, folder: Path) -> None:
    assert (module.plugins, module.target) == (("Scale", "Shift", "Still"), "cpu")
    assert module.library == str(folder / "libscale.so")
    output = module.Shift.__doc__
    assert "y, z = Shift(<fields>)(a, b)" in output
    assert "slope: float32, no default" in output
    assert "a: float32, float16, [n, c]" in output


def test_outputs_of_the_caller_are_written_and_given_back(module: Any) -> None:
    a, b = values(np.float32, seed=1), values(np.float32, seed=2)
    out = (np.empty_like(a), np.empty_like(a))
    assert module.Shift(slope=0.5)(a, b, out=out) is out
    np.testing.assert_array_equal(out[0], flattened(a + b, 0.5))
    whole = np.zeros((6, 4), np.float32)
    module.Scale(factor=2.0, mode=0)(a, out=whole[2:5])
    np.testing.assert_array_equal(whole, np.concatenate([np.zeros((2, 4)), flattened(a, 2.0), np.zeros((1, 4))]))


def test_an_array_that_has_dlpack_alone(module: Any) -> None:
    class Only:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

        def __dlpack__(self) -> Any:
            return self.array.__dlpack__()

    x, y = values(np.float16), np.zeros((3, 4), np.float16)
    held = sys.getrefcount(x)
    module.Scale(factor=2.0, mode=0)(Only(x), out=Only(y))
    np.testing.assert_array_equal(y, flattened(x, 2.0))
    np.testing.assert_array_equal(module.Scale(factor=2.0, mode=0)(Only(x)), y)
    assert sys.getrefcount(x) == held, "what __dlpack__ gave is freed"


class OnGpu:
    __cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (256, False), "version": 3}  # noqa: RUF012


def read_only() -> Any:
    array = np.zeros((3, 4), np.float32)
    array.flags.writeable = False
    return array


X = np.ones((3, 4), np.float32)
REFUSED: dict[str, tuple[str, tuple[Any, ...], dict[str, Any], type[Exception], str]] = {
    "float64": ("Scale", (X.astype(np.float64),), {}, TypeError,
                "Scale takes no float64 as input 0 (x); it takes float32, float16, bfloat16, int8, float8_e4m3fn."),
    "byte order": ("Scale", (X.astype(">f4"),), {}, TypeError, "takes no >f4"),
    "types together": ("Shift", (X, X.astype(np.float16)), {}, TypeError,
                       "takes no float16 as input 1 (b) after the tensors before it; it takes float32."),
    "another type": ("Shift", (X.astype(np.int8), X), {}, TypeError,
                     "takes no int8 as input 0 (a); it takes float32, float16."),
    "rank": ("Scale", (X[0],), {}, ValueError, "input 0 (x) has the shape (4,); it takes 2 dimensions, [n, c]."),
    "symbols": ("Shift", (X, X[:2]), {}, ValueError,
                "input 1 (b) has the shape (2, 4), so n is 2, but 3 in input 0 (a); inputs have the shapes a [n, c]"),
    "constant": ("Still", (np.ones((2, 3, 5), np.float32),), {}, ValueError, "its dimension 2 must be 4."),
    "strides": ("Scale", (X.T,), {}, ValueError, "input 0 (x) is not contiguous in C order, and nothing is copied"),
    "alignment": ("Scale", (np.zeros(13, np.float32)[1:].reshape(3, 4),), {}, ValueError, "not a multiple of 16"),
    "count": ("Shift", (X,), {}, TypeError, "Shift takes 2 inputs (a, b), not 1."),
    "list": ("Scale", ([1.0],), {}, TypeError, "input 0 (x), a list, is not an array"),
    "scalar": ("Scale", (np.float32(1),), {}, TypeError, "input 0 (x), a numpy.float32, is not an array"),
    "gpu": ("Scale", (OnGpu(),), {}, TypeError, "lies on a GPU, and this library is of target cpu"),
    "stream": ("Scale", (X,), {"stream": 0}, ValueError, "which has no streams: leave out stream="),
    "out count": ("Shift", (X, X), {"out": X.copy()}, TypeError, "Shift has 2 outputs, and out= has 1."),
    "out shape": ("Scale", (X,), {"out": np.zeros((4, 3), np.float32)}, ValueError,
                  "output 0 (y) has the shape (4, 3); it must have (3, 4)."),
    "out type": ("Scale", (X,), {"out": np.zeros((3, 4), np.float16)}, TypeError,
                 "output 0 (y) is of type float16; it must be float32."),
    "out read-only": ("Scale", (X,), {"out": read_only()}, ValueError, "output 0 (y) can't be written to."),
    "in place": ("Scale", (X,), {"out": X}, ValueError, "output 0 (y) shares memory with input 0 (x)."),
    "nine dimensions": ("Scale", (np.zeros((1,) * 9, np.float32),), {}, ValueError, "has 9 dimensions"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_arrays_that_are_refused(module: Any, case: str) -> None:
    name, inputs, options, kind, output = REFUSED[case]
    layer = getattr(module, name)(**({"slope": 0.5} if name == "Shift" else {}))
    with pytest.raises(kind) as caught:
        layer(*inputs, **options)
    assert output in str(caught.value)


@pytest.mark.parametrize(
    ("name", "fields", "kind", "output"),
    [
        (
            "Scale",
            {"facter": 1.0},
            TypeError,
            "no field 'facter'; did you mean 'factor'? It has: factor, mode",
        ),
        ("Shift", {}, TypeError, "Shift needs its field slope (float32), which has no default."),
        ("Scale", {"mode": 0.5}, TypeError, "Scale's field mode is a whole number; it was given a float."),
        ("Scale", {"mode": 2**31}, ValueError, "out of range"),
        ("Scale", {"factor": "two"}, TypeError, "Scale's field factor is a number; it was given a str."),
        ("Scale", {"factor": 1e39}, ValueError, "too large"),
        ("Scale", {"factor": [1.0, 2.0]}, ValueError, "Scale(factor=[1.0, 2.0]): the creator makes no plugin"),
        ("Scale", {"factor": float("nan")}, ValueError, "the creator makes no plugin of these fields"),
    ],
)
def test_fields_that_are_refused(
    module: Any, name: str, fields: dict[str, Any], kind: type[Exception], output: str
) -> None:
    with pytest.raises(kind) as caught:
        getattr(module, name)(**fields)
    assert output in str(caught.value)


def test_fields_of_numpy(module: Any) -> None:
    x = values(np.float32)
    layer = module.Scale(factor=np.float32(2), mode=np.int64(0))
    np.testing.assert_array_equal(layer(x), flattened(x, 2.0))


def test_kernels_that_fail_are_an_error_and_the_next_call_works(module: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match=r"answered 1, not 0. cudaError \d+; what was found in its kernels is on"):
        module.Scale(factor=13.0)(X)
    assert "trap" in capfd.readouterr().err
    assert module.Scale(factor=2.0, mode=0)(X).tolist() == X.tolist()


def test_threads_share_a_layer(module: Any) -> None:
    layer, wrong = module.Shift(slope=0.5), []

    def work(seed: int) -> None:
        for turn in range(50):
            a, b = (values(np.float32, (1 + turn % 3, 64), seed + k) for k in (0, 1))
            if not np.array_equal(layer(a, b)[0], flattened(a + b, 0.5)):
                wrong.append((seed, turn))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_plugin_is_prepared_once_for_each_set_of_shapes(probe: Path) -> None:
    output = run_python(
        """
        import ctypes
        import numpy as np, scale
        made = ctypes.CDLL(scale.library).made
        layer = scale.ProbeV3(factor=2.0)

        def call(rows):
            x = np.full((rows, 4), 3.0, np.float32)
            assert (layer(x) == 6.0).all()
            return made(1)

        print([call(rows) for rows in (1, 2, 3, 1, 2, 3)][-1])
        print([call(rows) for rows in range(1, 101)][-1])
        print(call(100), "the one used last is kept")
        print(call(1), "the one used longest ago is not")
        """,
        probe,
    )
    assert [line.split()[0] for line in output.splitlines()] == ["3", "100", "100", "101"], output


def test_tactics_and_outputs_in_an_inputs_memory(probe: Path) -> None:
    output = run_python(
        f"""
        import numpy as np, scale
        x = np.arange(-6, 6, dtype=np.float32).reshape(3, 4)
        assert (scale.ProbeV3(mode={TACTICS}, factor=2.0)(x) == 2 * x).all()
        given = x.copy()
        assert scale.ProbeV3(mode={ALIAS}, factor=2.0)(given) is given
        assert (given == 2 * x).all()
        print(scale.ProbeV3.__doc__)
        """,
        probe,
    )
    assert "A plugin ProbeV3" in output


def test_what_a_plugin_answers_wrongly(probe: Path) -> None:
    expected = {
        (SIZE, 0): "RuntimeError ProbeV3 has outputs whose sizes only enqueue knows",
        (PLAIN, SHAPES_FAIL): "ValueError ProbeV3 has no output shapes for inputs of the shapes (3, 4)",
        (PLAIN, ATTACH_SELF): "RuntimeError ProbeV3's attachToContext gave no plugin.",
        (PLAIN, ENQUEUE_FAILS): f"RuntimeError ProbeV3(fault={ENQUEUE_FAILS}, mode=0)'s enqueue answered 1, not 0.",
    }
    output = run_python(
        f"""
        import numpy as np, scale
        for mode, fault in {list(expected)}:
            try:
                scale.ProbeV3(fault=fault, mode=mode)(np.ones((3, 4), np.float32))
            except Exception as error:
                print(type(error).__name__, error)
        """,
        probe,
    )
    assert len(output.splitlines()) == len(expected)
    for line, start in zip(output.splitlines(), expected.values(), strict=True):
        assert line.startswith(start)


def test_the_generated_test_of_the_module(three_plugins: Path, folder: Path) -> None:
    output = in_python(three_plugins)
    assert "1 passed" in output, output


@pytest.mark.rtx
def test_it_registers_with_tensorrt_rtx(folder: Path) -> None:
    pytest.importorskip("tensorrt_rtx")
    output = run_python(
        """
        import numpy as np, scale
        try:
            scale.register("mine")
        except RuntimeError as error:
            print(error)
        import tensorrt_rtx as trt
        try:
            scale.register()
        except ValueError as error:
            print(error)
        scale.register("mine")
        scale.register(namespace="mine")
        registry = trt.get_plugin_registry()
        for name in scale.plugins:
            creator = registry.get_creator(name, "1", "mine")
            print(type(creator).__name__, creator.name, creator.plugin_namespace)
        print(scale.Scale(factor=2.0, mode=0)(-np.ones((1, 2), np.float32)).tolist())
        """,
        folder,
    )
    lines = output.splitlines()
    assert lines[0].startswith("There is no TensorRT in this process to register with: import tensorrt")
    assert lines[1].startswith("The library's plugins have the namespaces '' and 'acme': say which")
    assert lines[2:] == [f"IPluginCreatorV3One {name} mine" for name in ("Scale", "Shift", "Still")] + [
        "[[-2.0, -2.0]]"
    ]


@pytest.mark.lean
@pytest.mark.parametrize("major", ["10", "11"])
def test_it_registers_with_tensorrt_lean(folder: Path, major: str) -> None:
    lean = Path(os.environ[f"PLUGINKIT_LEAN{major}"])
    if not lean.is_dir():
        pytest.skip(f"there is no tensorrt-lean {major} in {lean}")
    output = run_python(
        """
        import numpy as np, scale, tensorrt_lean as trt
        registry = trt.get_plugin_registry()
        registry.load_library(scale.library)
        scale.register("mine")
        creator = registry.get_creator("Scale", "1", "mine")
        value = np.array([2.0], np.float32)
        field = trt.PluginField("factor", value, trt.PluginFieldType.FLOAT32)
        fields = trt.PluginFieldCollection_(trt.PluginFieldCollection([field]))
        plugin = creator.create_plugin("layer", fields)
        print(type(creator).__name__, plugin.plugin_type, plugin.plugin_namespace)
        print(type(registry.get_creator("Shift", "1", "mine")).__name__)
        print(scale.Scale(factor=2.0, mode=0)(-np.ones((1, 2), np.float32)).tolist())
        """,
        folder,
        lean,
    )
    assert output.splitlines() == ["IPluginCreator Scale mine", "IPluginCreatorV3One", "[[-2.0, -2.0]]"]


def test_it_needs_the_library_beside_it_and_no_pluginkit(folder: Path, tmp_path: Path) -> None:
    output = run_python(
        """
        import sys
        sys.modules["pluginkit"] = None  # an import of it fails
        import numpy as np, scale
        print(scale.Scale(factor=2.0, mode=0)(-np.ones((1, 2), np.float32)).tolist())
        """,
        folder,
    )
    assert output == "[[-2.0, -2.0]]\n"
    shutil.copy(next(folder.glob("scale.*.so")), tmp_path)
    output = run_python("try:\n    import scale\nexcept ImportError as error:\n    print(error)", tmp_path)
    assert "libscale.so" in output
    assert "pluginkit build puts it beside this module; keep them together." in output


def test_the_build_command_says_where_it_is(three_plugins: Path, folder: Path) -> None:
    # As the fixture built it, so that nothing is compiled again.
    arguments = [str(three_plugins), "--target", "cpu", "--werror"]
    text = CliRunner().invoke(command, arguments).output
    assert f"Python: import scale, from {folder}" in text
    (made,) = json.loads(CliRunner().invoke(command, [*arguments, "--json"]).stdout)
    assert made["module"] == str(next(folder.glob("scale.*.so")))


def test_without_python_h_there_is_no_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output: list[str] = []
    manifest = Manifest.load(Path(__file__).resolve().parents[2] / "samples" / "leaky_relu")
    monkeypatch.setattr(python_module, "headers", lambda: None)
    assert builder._module(tmp_path, manifest, output.append) == {}
    assert "apt install python3-dev" in output[0]


def test_a_module_of_another_name_is_refused(folder: Path, tmp_path: Path) -> None:
    described = {"module": "shift", "target": "shift_python", "file": str(next(folder.glob("scale.*.so")))}
    with pytest.raises(BuildFailed, match="is not a Python module shift") as caught:
        builder._install_module(described, tmp_path)
    assert "PYBIND11_MODULE(shift, module)" in str(caught.value.hint)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("sample", ["bar_plugin", "leaky_relu", "pool_int8"])
def test_the_samples_modules(sample: str, tmp_path: Path) -> None:
    project = tmp_path / sample
    shutil.copytree(
        Path(__file__).resolve().parents[2] / "samples" / sample, project, ignore=shutil.ignore_patterns("build")
    )
    assert build(project, "cpu", python=True, werror=True)[0].module
    output = in_python(project)
    assert "1 passed" in output, output
