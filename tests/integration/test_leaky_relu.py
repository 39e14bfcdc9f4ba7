"""samples/leaky_relu: its networks, and its script from NVIDIA's registry to a network, whole and broken on purpose."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pluginkit.build import build
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.testing.report import Outcome

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("leaky_relu")]

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "leaky_relu"
LEAN = {"10": "PLUGINKIT_LEAN10", "11": "PLUGINKIT_LEAN11"}
FAMILIES = ("plain", "chain", "loop-count", "cond-both")

rtx = pytest.mark.skipif(not tensorrt_rtx.probe().found, reason=tensorrt_rtx.probe().reason or "there")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("sample") / "leaky_relu"
    shutil.copytree(SAMPLE, copy, ignore=shutil.ignore_patterns("build"))
    build(copy, "cpu")
    return copy


def script(project: Path, *arguments: str, lean: str = "", edit: tuple[str, str] = ("", "")) -> tuple[int, str, str]:
    """Runs the script, with a piece of it replaced: exit code, stdout, stderr. No GPU is seen."""
    text = (project / "leaky_relu.py").read_text()
    assert edit[0] in text
    file = project / "edited.py"
    file.write_text(text.replace(*edit, 1) if edit[0] else text)
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": os.environ[LEAN[lean]] if lean else ""}
    done = subprocess.run(
        [sys.executable, str(file), *arguments], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(params=LEAN)
def lean(request: pytest.FixtureRequest) -> str:
    version: str = request.param
    if not (Path(os.environ[LEAN[version]]) / "tensorrt_lean").is_dir():
        pytest.skip(f"no tensorrt-lean {version}")
    return version


@pytest.mark.rtx
def test_networks(project: Path) -> None:
    report = run(Options(project=project, families=FAMILIES))
    assert report.bad == []
    assert {(case.family, case.precision.short) for case in report.cases} == {
        (family, precision) for family in FAMILIES for precision in ("FP32", "FP16")
    }
    judgement = (*report.verdicts, *report.controls, *report.registries)
    assert {verdict.outcome for verdict in judgement} <= {Outcome.PASSED}


@pytest.mark.lean
def test_from_the_registry_with_lean(project: Path, lean: str) -> None:
    code, out, err = script(project, "tensorrt_lean", lean=lean)
    assert (code, err) == (0, "")
    assert re.sub(rf"\b{lean}\.[\d.]+", "VERSION", out).splitlines() == [
        "runtime: tensorrt_lean VERSION, no GPU",
        "load:    build/cpu/libl_re_lu.so brought LReLU 1 in namespace ''",
        "find:    LReLU 1 in namespace '': an IPluginCreator with the fields neg_slope (FLOAT32)",
        "make:    a plugin with neg_slope 0.1",
        "restore: the same again, of 12 serialized bytes",
        "end:     tensorrt_lean has no builder. For a network: pip install tensorrt-rtx   (builds without a GPU)",
    ]


@pytest.mark.lean
def test_the_slope_arrives(project: Path, lean: str) -> None:
    """A field whose array is gone would carry whatever lies there now."""
    _, out, _ = script(project, "tensorrt_lean", lean=lean, edit=("{len(data)} serialized bytes", "{data.hex()}"))
    assert np.float32(0.1).tobytes().hex() in out


@rtx
@pytest.mark.rtx
def test_to_a_network_with_rtx(project: Path) -> None:
    code, out, err = script(project, "tensorrt_rtx")
    assert (code, err) == (0, "")
    runtime, *lines = out.splitlines()
    assert re.fullmatch(r"runtime: tensorrt_rtx \d[\d.]+, no GPU", runtime)
    build_line = lines.pop(-2)
    assert re.fullmatch(r"build:   an engine of \d{4,} bytes", build_line)
    assert lines == [
        "load:    build/cpu/libl_re_lu.so brought LReLU 1 in namespace ''",
        "find:    LReLU 1 in namespace '': an IPluginCreatorV3One with the fields neg_slope (FLOAT32)",
        "make:    a plugin with neg_slope 0.1",
        "network: x [2, 3, 4, 4] -> lrelu (PLUGIN_V3) -> y [2, 3, 4, 4]",
        "end:     without a GPU the engine is not run; 'pluginkit test' runs the layer on the CPU",
    ]


@rtx
@pytest.mark.rtx
def test_the_readme_shows_what_it_prints(project: Path) -> None:
    """But for numbers, which are of a version."""
    text = (SAMPLE / "README.md").read_text()
    shown = text[text.index("runtime: tensorrt_rtx") :].partition("```")[0]
    printed = script(project, "tensorrt_rtx")[1]
    assert re.sub(r"\d[\d.]{2,}", "N", shown) == re.sub(r"\d[\d.]{2,}", "N", printed)


BROKEN = {
    "wrong namespace": (
        '"LReLU", "1", ""', '"LReLU", "1", "acme"',
        "the registry has no creator LReLU 1 in namespace 'acme'.",
        "set NAME, VERSION and NAMESPACE to what it has: LReLU 1 in namespace ''",
    ),
    "wrong name": (
        '"LReLU", "1", ""', '"LRelu", "1", ""',
        "the registry has no creator LRelu 1 in namespace ''.",
        "set NAME, VERSION and NAMESPACE to what it has: nothing of that name",
    ),
    "missing field type": (
        "values, trt.PluginFieldType.FLOAT32", "values",
        "the creator made no plugin of the field neg_slope, given as UNKNOWN.",
        "give each field the name and the type that the creator lists: neg_slope (FLOAT32)",
    ),
    "wrong field type": (
        "values, trt.PluginFieldType.FLOAT32", "values, trt.PluginFieldType.INT32",
        "the creator made no plugin of the field neg_slope, given as INT32.",
        "give each field the name and the type that the creator lists: neg_slope (FLOAT32)",
    ),
    "not built": (
        '"libl_re_lu.so"', '"libother.so"',
        "there is no {project}/build/cpu/libother.so.",
        "cd {project} && pluginkit build --target cpu",
    ),
    "no plugin library": (
        '"libl_re_lu.so"', '"libl_re_lu.json"',
        "the registry took no creator from {project}/build/cpu/libl_re_lu.json.",
        "pluginkit inspect --load {project}/build/cpu/libl_re_lu.json",
    ),
}  # fmt: skip
"""What is replaced, by what, what is said, and the fix."""


@pytest.mark.lean
@pytest.mark.parametrize("what", BROKEN)
def test_broken_with_lean(project: Path, lean: str, what: str) -> None:
    check_words(project, what, "tensorrt_lean", lean)


@rtx
@pytest.mark.rtx
@pytest.mark.parametrize("what", BROKEN)
def test_broken_with_rtx(project: Path, what: str) -> None:
    check_words(project, what, "tensorrt_rtx")


def check_words(project: Path, what: str, runtime: str, lean: str = "") -> None:
    good, bad, output, fix = BROKEN[what]
    code, out, err = script(project, runtime, lean=lean, edit=(good, bad))
    assert code == 1
    assert "end:" not in out
    lines = [f"Stopped: {output}", f"Fix: {fix}"]
    assert err.splitlines()[-2:] == [line.format(project=project) for line in lines]
    assert "Traceback" not in err


@rtx
@pytest.mark.rtx
def test_a_network_that_nvidias_parser_refuses(project: Path) -> None:
    code, out, err = script(project, "tensorrt_rtx", edit=("plugin_version=VERSION", 'plugin_version="2"'))
    assert code == 1
    assert "make:" in out and "build:" not in out
    assert "Stopped: NVIDIA's parser refuses the network: " in err
    assert "Traceback" not in err


@rtx
@pytest.mark.rtx
def test_onnx_leakyrelu_is_nvidias_own_in_any_domain(project: Path) -> None:
    """Why the plugin isn't called so."""
    code, out, _ = script(project, "tensorrt_rtx", edit=('NAME, ["x"]', '"LeakyRelu", ["x"]'))
    assert code == 0
    assert "x [2, 3, 4, 4] -> lrelu (ACTIVATION) -> y [2, 3, 4, 4]" in out


def test_a_runtime_that_is_not_there(project: Path) -> None:
    code, out, err = script(project, "tensorrt_none", edit=('"tensorrt_lean": ', '"tensorrt_none": '))
    assert (code, out) == (1, "")
    assert err == "Stopped: not installed: tensorrt_none.\nFix: pip install tensorrt-lean   (registry only)\n"
    assert script(project, "tensorrt_none")[0] == 2
