"""The runtime `tensorrt` against the real names and signatures of TensorRT 10.16 and 11.4. Nothing of NVIDIA's runs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from polygraphy.backend.trt import TrtRunner
from polygraphy.cuda import DeviceArray, Stream

from pluginkit.manifest import Manifest
from pluginkit.process.worker import WorkerCrashed
from pluginkit.runtimes.tensorrt.session import TensorrtSession
from tests.tensorrt_api.conftest import ROOT, VERSIONS, Bindings

pytestmark = pytest.mark.xdist_group("tensorrt_api")

RUNTIMES = ROOT / "pluginkit" / "runtimes"
SHARED = [
    RUNTIMES / f"{name}.py"
    for name in (
        "nvidia/bindings",
        "nvidia/network_api",
        "rtx/rtx_worker",
        "nvidia/engine_worker",
        "nvidia/engine_contexts",
    )
]
"""What TensorRT-RTX runs too."""
CHILD = [RUNTIMES / "tensorrt" / f"{name}.py" for name in ("tensorrt_worker", "plugins")]
ONLY_10 = RUNTIMES / "tensorrt" / "weak_types.py"
NOT_NVIDIAS = re.compile(
    r"np\.|array|\bvalues?\b|feeds|batch|runner|kept|outputs|stream\.|key=lambda|self\._held|kind\.numpy"
    # Whose answer pybind11 doesn't name; it is annotated where it is kept.
    r"|trt\.get_plugin_registry\(\)|trt\.nptype"
    # TensorRT 8's own: its bindings aren't those that are checked against.
    r"|version8\.|\bends\b"
    # Polygraphy's exception, and its text.
    r"|PolygraphyException|\{error\}"
)
"""Lines on which an expression may be of any type: NumPy's arrays and Polygraphy's runner."""


def test_these_are_the_versions(bindings: Bindings) -> None:
    code = "import tensorrt_bindings as trt; print(trt.__version__, trt.IBuilderConfig)"
    assert bindings.python("-c", code).split()[0] == VERSIONS[bindings.major]


def test_every_use_is_right(bindings: Bindings) -> None:
    files = [*SHARED, *CHILD, *([ONLY_10] if bindings.major == 10 else [])]
    assert bindings.mypy(*files) == []


def test_what_rtx_runs_is_right_there_too(bindings_rtx: Bindings, tmp_path: Path) -> None:
    assert bindings_rtx.mypy(*SHARED) == []
    wrong = tmp_path / "wrong.py"
    _, good, bad = BREAKS["profile switch"]
    wrong.write_text((RUNTIMES / "nvidia" / "engine_contexts.py").read_text().replace(good, bad))
    assert len(bindings_rtx.mypy(wrong)) == 1


def test_what_11_lacks_is_used_on_10_only(bindings11: Bindings) -> None:
    wrong = "\n".join(bindings11.mypy(ONLY_10))
    for name in (
        "IInt8MinMaxCalibrator", "FP16", "INT8", "OBEY_PRECISION_CONSTRAINTS", "precision", "int8_calibrator",
        "set_calibration_profile", "set_dynamic_range",
    ):  # fmt: skip
        assert f'"{name}"' in wrong or f'.{name}"' in wrong, name


def test_no_use_escapes_the_check_by_having_any_type(bindings10: Bindings) -> None:
    lines = bindings10.mypy(*SHARED, *CHILD, ONLY_10, options=("--disallow-any-expr",))
    escaped = []
    for line in lines:
        file, number, _ = line.split(":", 2)
        text = Path(ROOT / file).read_text().splitlines()[int(number) - 1]
        if 'has type "Any"' in line and not NOT_NVIDIAS.search(text):
            escaped.append(f"{line}: {text}")
    assert "\n".join(escaped) == ""


BREAKS = {
    "method": ("nvidia/engine_worker", "builder.create_builder_config()", "builder.make_builder_config()"),
    "keyword": ("tensorrt/plugins", "shape_inputs=shape_inputs", "shapes=shape_inputs"),
    "missing argument": ("tensorrt/plugins", "shape_inputs=shape_inputs, ", ""),
    "argument's type": ("tensorrt/plugins", "plugin=two", "plugin=node"),
    "enum member": ("nvidia/network_api", "trt.TripLimit.COUNT", "trt.TripLimit.COUNTER"),
    "module's name": ("nvidia/engine_worker", "trt.Runtime(self.log)", "trt.EngineRuntime(self.log)"),
    "property": ("nvidia/engine_contexts", "context.active_optimization_profile ==", "context.active_profile =="),
    "profile switch": ("nvidia/engine_contexts", "stream_handle=stream.ptr", "stream=stream.ptr"),
    "parser": ("nvidia/bindings", "error.node_operator()", "error.operator()"),
    "only 10": ("tensorrt/weak_types", "config.set_calibration_profile(", "config.set_profile_for_calibration("),
    "overridden method": ("tensorrt/weak_types", "names: Sequence[str]) -> list[int]", "names: int) -> list[int]"),
}


def test_a_wrong_name_is_found(bindings10: Bindings, tmp_path: Path) -> None:
    right, wrong = [], {}
    for number, (what, (module, good, bad)) in enumerate(BREAKS.items()):
        text = (RUNTIMES / f"{module}.py").read_text()
        assert good in text, what
        right.append(tmp_path / f"right_{number}.py")
        right[-1].write_text(text)
        wrong[what] = tmp_path / f"wrong_{number}.py"
        wrong[what].write_text(text.replace(good, bad))
    # What is wrong must be the break, not that the file lies elsewhere.
    assert bindings10.mypy(*right) == []
    lines = bindings10.mypy(*wrong.values())
    assert [what for what, file in wrong.items() if not any(file.name in line for line in lines)] == []


def test_polygraphy_has_what_is_used() -> None:
    inspect.signature(TrtRunner.__init__).bind("self", "context")
    inspect.signature(TrtRunner.infer).bind("self", {}, check_inputs=False)
    inspect.signature(DeviceArray.__init__).bind("self", (1,), np.float32)
    inspect.signature(DeviceArray.copy_from).bind("self", np.zeros(1))
    for owner, name in ((TrtRunner, "activate"), (TrtRunner, "deactivate"), (Stream, "synchronize")):
        assert callable(getattr(owner, name))
    activate = inspect.getsource(TrtRunner.activate_impl)
    assert "self.context = engine_or_context" in activate
    assert "self.stream = cuda.Stream()" in activate


FIELDS = """
import os, sys
import tensorrt_bindings
sys.modules["tensorrt"] = tensorrt_bindings
os.environ["PLUGINKIT_BINDINGS"] = "tensorrt"
from pluginkit.field_types import FieldType
from pluginkit.runtimes.nvidia import bindings as nvidia, engine_worker, engine_contexts, network_api
from pluginkit.runtimes.tensorrt import tensorrt_worker, plugins as tensorrt_plugins
from pluginkit.runtimes.nvidia.bindings import trt
from pluginkit.network.networks import PluginCall
one_of_each = {kind.name: (kind, "text" if kind.is_text else (1, 2)) for kind in FieldType}
fields = {"alpha": (FieldType.FLOAT32, 2.5), "steps": (FieldType.INT32, 3), **one_of_each}
call = PluginCall("n", fields, (), (), (), (), ())
held = []
for field in tensorrt_plugins.collection(call, held):
    print(field.name, field.type.name, field.size)
log = nvidia.Log()
log.log(trt.ILogger.Severity.ERROR, "bad")
print(log.refused("TensorRT", [])[1])
print(engine_worker.strongly_typed())
if trt.__version__.startswith("10."):
    from pluginkit.runtimes.tensorrt import weak_types as tensorrt_weak
    for kind in tensorrt_weak.CALIBRATORS.values():
        for cache in (b"", b"kept"):
            one = kind([], cache)
            print(one.get_batch_size(), one.get_batch(["x"]), one.read_calibration_cache())
"""


def test_what_needs_no_library_runs_on_the_real_bindings(bindings: Bindings) -> None:
    lines = bindings.python("-c", FIELDS).splitlines()
    kinds = {"FLOAT32", "FLOAT16", "FLOAT64", "INT8", "INT16", "INT32", "INT64"}
    listed = {*(f"{kind} {kind} 2" for kind in kinds), "BFLOAT16 BF16 2", "STRING CHAR 4"}
    assert lines[:2] == ["alpha FLOAT32 1", "steps INT32 1"]
    assert set(lines[2:11]) == listed
    assert lines[11] == "TensorRT: bad"
    # STRONGLY_TYPED is bit 1 of NetworkDefinitionCreationFlag; TensorRT 11 has no other networks.
    assert lines[12:] == (["2", *["1 [] None", "1 [] b'kept'"] * 2] if bindings.major == 10 else ["0"])


def test_a_session_reaches_nvidias_first_function(
    bindings: Bindings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "tensorrt"
    package.mkdir()
    text = "from tensorrt_bindings import *\nfrom tensorrt_bindings import __version__\n"
    (package / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(str(bindings.folder / "wheel"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(bindings.folder / "lib"))
    manifest = Manifest.load(ROOT / "samples" / "bar_plugin")
    with TensorrtSession(tmp_path / "lib.so", manifest, 60, VERSIONS[bindings.major]) as session:
        assert session.weak == (bindings.major == 10)
        # The stub: all that is imported and done before it is done with the real bindings.
        with pytest.raises(WorkerCrashed) as death:
            session.check()
    assert death.value.how == "SIGABRT"
    assert "Traceback" not in death.value.log_tail
