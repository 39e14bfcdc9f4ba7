"""From a build to NVIDIA's registries: build, pack, add, resolve, lock, fetch on a fresh store, load."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import cli, layouts
from pluginkit.bench.measurements import BenchReport, Machine
from pluginkit.build import gpus
from pluginkit.build.artifact import library_path
from pluginkit.build.gpus import DriverInfo
from pluginkit.registry import lock
from pluginkit.registry.bundles import archive, digests, variants
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.bundles.bundle import Bundle, BundlePlugin, Variant
from pluginkit.registry.storage.store import Store
from pluginkit.runtimes.lean import session as lean
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from tests.entry import building
from tests.shared import Shared

HERE = Path(__file__).parent
LOAD = """
import json, sys
sys.path[:0] = [folder for folder in sys.argv[2:] if folder]
module = __import__(sys.argv[1])
import pluginkit
from pluginkit.errors import PluginkitError

def refused(*args, **more):
    try:
        pluginkit.load(*args, **more)
    except PluginkitError as error:
        return error.message

with pluginkit.load("acme::Scale", target="cpu") as found:
    names = [(one.name, one.plugin_version, one.plugin_namespace) for one in found.creators]
    again = refused("acme::Scale")
    did = found.did
registry = module.get_plugin_registry()
left = [one.name for one in registry.all_creators if one.name == "Scale"]
two = pluginkit.load("acme::Scale", version="1", release="1.0.0", target="cpu")
print(json.dumps({"names": names, "again": again, "did": did, "left": left, "release": two.bundle[0],
                  "other": refused("acme::Scale", version="2"), "name": refused("Scale")}))
two.unload()
two.unload()
"""


def run(*args: str | Path) -> int:
    return cli.run([str(one) for one in args])


@pytest.fixture(scope="module")
def packed(scale_project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the bundle's archive, and a store that has it."""
    folder = tmp_path_factory.mktemp("registry")
    library = library_path(scale_project, "scale", "cpu")
    digest = digests.of_file(library).partition(":")[2]
    report = {"plugin": "Scale", "sha256": digest, "exit_code": 0, "runtimes": {"host": "0.1.0"},
              "cases": [{"outcome": "passed", "target": "cpu"}]}  # fmt: skip
    (folder / "report.json").write_text(json.dumps(report))
    (folder / "other.json").write_text(json.dumps({**report, "sha256": "0" * 64}))
    done = run("pack", scale_project, "--cpu-only", "-o", folder, "--release", "1.0.0", "--evidence",
               folder / "report.json", "--license", "Apache-2.0")  # fmt: skip
    assert done == 0
    assert run("registry", "add", folder / f"scale-1.0.0{archive.SUFFIX}", "--store", folder / "store") == 0
    return folder


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is packed here is for machines without a GPU."""
    monkeypatch.setattr(gpus, "find_driver", DriverInfo)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    made = helper.make_node(
        "Scale", ["x"], ["y"], name="scale", domain="acme", plugin_namespace="acme", factor=2.0, mode=1
    )
    x, y = (helper.make_tensor_value_info(one, TensorProto.FLOAT, [2, 3]) for one in "xy")
    graph = helper.make_graph([made], "g", [x], [y])
    path = tmp_path / "model.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]), path
    )
    return path


def test_the_same_builds_give_the_same_bundle(packed: Path, scale_project: Path, tmp_path: Path) -> None:
    again = ("pack", scale_project, "--cpu-only", "-o", tmp_path / "again.bundle.tar.gz", "--release", "1.0.0",
             "--evidence", packed / "report.json", "--license", "Apache-2.0")  # fmt: skip
    assert run(*again) == 0
    first, second = packed / f"scale-1.0.0{archive.SUFFIX}", tmp_path / "again.bundle.tar.gz"
    assert first.read_bytes() == second.read_bytes()
    with archive.opened(first) as content:
        (variant,), (plugin,) = content.bundle.variants, content.bundle.plugins
        assert variant.target == "cpu"
        assert variant.hosts == ("tensorrt-10", "tensorrt-11", "tensorrt-rtx")
        assert variant.layouts == ("10", "11")
        assert "GLIBC" in variant.floors
        assert [one.name for one in plugin.fields] == ["factor", "mode", "x_scale", "y_scale"][: len(plugin.fields)]
        assert content.bundle.evidence[0].summary == "1 of 1 cases passed"


@pytest.mark.parametrize("command", ["pack", "wheel"])
def test_what_no_engine_could_use_is_not_shipped_unasked(
    packed: Path, scale_project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    sources = [scale_project, *([packed / f"scale-1.0.0{archive.SUFFIX}"] if command == "wheel" else [])]
    for source in sources:
        assert run(command, source, "-o", tmp_path) == 2
        error = " ".join(capsys.readouterr().err.split())
        assert "would have no GPU code" in error
        assert "fix: pluginkit build --target all" in error
        assert "--cpu-only" in error
        assert list(tmp_path.iterdir()) == []


def test_a_report_of_another_library_is_refused(
    packed: Path, scale_project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("pack", scale_project, "--cpu-only", "-o", tmp_path, "--evidence", packed / "other.json") == 1
    assert "about another library" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    (packed / "no.json").write_text("[]")
    assert run("pack", scale_project, "--cpu-only", "-o", tmp_path, "--evidence", packed / "no.json") == 2
    assert run("pack", tmp_path, "--cpu-only") == 2, "no project"


def test_a_report_of_bench_is_evidence(scale_project: Path, tmp_path: Path) -> None:
    library = digests.of_file(library_path(scale_project, "scale", "cpu")).partition(":")[2]
    machine = Machine("a GPU", "9.0", "13.0", 1, 1.0, 1)
    (tmp_path / "bench.json").write_text(json.dumps(BenchReport("Scale", "libscale.so", library, machine).to_json()))
    assert (
        run(
            "pack",
            scale_project,
            "--cpu-only",
            "-o",
            tmp_path / "x.bundle.tar.gz",
            "--evidence",
            tmp_path / "bench.json",
        )
        == 0
    )
    with archive.opened(tmp_path / "x.bundle.tar.gz") as content:
        (report,) = content.bundle.evidence
    assert (report.kind, report.where["GPU"], report.summary) == ("bench", "a GPU", "0 of 0 shapes measured")
    assert not report.passed, "nothing was measured"


def test_a_library_for_another_machine(
    packed: Path, scale_project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(library_path(scale_project, "scale", "cpu").read_bytes())
    data[18:20] = (183 if platform.machine() == "x86_64" else 62).to_bytes(2, "little")  # e_machine of elf.h
    (tmp_path / "libscale.so").write_bytes(data)
    assert run("pack", scale_project, "--cpu-only", "-o", tmp_path, "--build", tmp_path / "libscale.so") == 2
    assert "this machine is" in capsys.readouterr().err


def test_bundles_of_other_machines_are_taken_over(packed: Path, scale_project: Path, tmp_path: Path) -> None:
    first = packed / f"scale-1.0.0{archive.SUFFIX}"
    assert (
        run(
            "pack",
            scale_project,
            "--cpu-only",
            "-o",
            tmp_path / "both.bundle.tar.gz",
            "--build",
            first,
            "--release",
            "2.0",
        )
        == 0
    )
    with archive.opened(tmp_path / "both.bundle.tar.gz") as content, archive.opened(first) as before:
        assert content.bundle.variants == before.bundle.variants
        assert content.bundle.evidence == before.bundle.evidence


@pytest.mark.compile
def test_the_round_trip(packed: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("resolve", model, "--lock", "--store", packed / "store", "--for", "rtx=1.7,sm=none") == 0
    assert lock.path_for(model).exists()
    monkeypatch.chdir(model.parent)
    fresh = tmp_path / "fresh"
    assert run("fetch", "--locked", "--store", fresh) == 1, "it is nowhere else"
    assert run("fetch", "--locked", "--store", fresh, "--from", packed / "store") == 0
    assert run("fetch", "--locked", "--store", fresh) == 0, "now it is there, and nothing else is asked"
    assert run("resolve", model, "--locked", "--store", fresh) == 0
    monkeypatch.setenv("PLUGINKIT_STORE", str(fresh))
    asked = [("tensorrt_lean", str(one.folder or ""), one.version) for one in lean.installed()]
    if tensorrt_rtx.probe().found:
        asked.append(("tensorrt_rtx", "", tensorrt_rtx.probe().version))
    assert asked or pytest.skip("neither tensorrt-lean nor tensorrt-rtx is installed")
    for module, folder, version in asked:
        output = subprocess.run(
            [sys.executable, "-c", LOAD, module, folder], capture_output=True, text=True, check=False
        )
        assert output.returncode == 0, output.stderr
        found = json.loads(output.stdout.splitlines()[-1])
        assert found["names"] == [["Scale", "1", "acme"]]
        assert f"{module} {version}" in found["did"][-1]
        assert "has acme::Scale 1 already" in found["again"]
        assert found["left"] == []
        assert found["release"] == "scale 1.0.0"
        assert "there is acme::Scale 1" in found["other"]
        assert "there is acme::Scale 1" in found["name"]


TWO = """
import json, sys
sys.path[:0] = [folder for folder in sys.argv[2:3] if folder]
module = __import__(sys.argv[1])
import pluginkit

def listed():
    creators = module.get_plugin_registry().all_creators
    return sorted(one.plugin_version for one in creators if one.name == "Scale")

one = pluginkit.load("acme::Scale", version="1", target="cpu")
two = pluginkit.load("acme::Scale", version="2", target=sys.argv[3])
both = listed()
one.unload()
left = listed()
two.unload()
print(json.dumps([both, left, listed()]))
"""


def side_by_side(store: Path, second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load version 1, for target cpu, and 2, for another, into each of lean's registries."""
    monkeypatch.setenv("PLUGINKIT_STORE", str(store))
    found = lean.installed()
    assert found or pytest.skip("tensorrt-lean is not installed")
    for one in found:
        command = [sys.executable, "-c", TWO, "tensorrt_lean", str(one.folder or ""), second]
        output = subprocess.run(command, capture_output=True, text=True, check=False)
        assert output.returncode == 0, output.stderr
        assert json.loads(output.stdout.splitlines()[-1]) == [["1", "2"], ["2"], []]


@pytest.mark.compile
def test_two_versions_side_by_side(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is a creator alone, compiled in three seconds."""
    library = building.all_layouts(tmp_path, HERE / "second_version.cpp", "Scale", numbers=layouts.DEFAULT)
    hosts: Any = ("tensorrt-10", "tensorrt-11")
    variant = Variant(**{**variants.facts_of(library), "file": "libscale.so", "hosts": hosts})
    plugin = BundlePlugin(name="Scale", version="2", namespace="acme", base="v3")
    bundle = Bundle(name="scale", release="2.0.0", plugins=(plugin,), variants=(variant,))
    store = tmp_path / "store"
    assert run("registry", "add", packed / f"scale-1.0.0{archive.SUFFIX}", "--store", store) == 0
    with Store.open(store) as opened:
        opened.add(Content(bundle, bundle.to_bytes(), {variant.digest: library}))
    side_by_side(store, "unknown", monkeypatch)


@pytest.mark.slow
@pytest.mark.compile
def test_two_built_versions_side_by_side(
    packed: Path, scale_project: Path, shared: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project, and the same one with another version: a build of 13 s of CPU."""
    written = Path(shutil.copytree(scale_project, tmp_path / "scale", ignore=shutil.ignore_patterns("build")))
    for name, old, new in (
        ("pluginkit.toml", 'version = "1"', 'version = "2"'),
        ("src/scale.cpp", 'kVersion = "1"', 'kVersion = "2"'),
    ):
        text = (written / name).read_text()
        assert text.count(old) == 1
        (written / name).write_text(text.replace(old, new))
    store = tmp_path / "store"
    assert (
        run("registry", "add", packed / f"scale-1.0.0{archive.SUFFIX}", shared.project(written), "--store", store) == 0
    )
    side_by_side(store, "cpu", monkeypatch)


@pytest.mark.rtx
def test_a_model_is_built_with_what_it_is_resolved_to(
    packed: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In TensorRT-RTX, to a built network."""
    if not tensorrt_rtx.probe().found:
        pytest.skip("tensorrt-rtx is not installed")
    assert run("import", model, "--resolve", "--store", packed / "store", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["nodes"][0]["by"] == "plugin"
    assert found["build"]["status"] == "built"


def test_the_commands(packed: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ("--store", packed / "store")
    for command in (("list",), ("show", "scale"), ("search", "SCALE"), ("verify",), ("verify", "scale@1.0.0")):
        assert run("registry", *command, *store) == 0
        assert "scale" in capsys.readouterr().out or command[0] == "verify"
    assert run("registry", "list", *store, "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["release"] == "1.0.0"
    assert run("registry", "export", *store, "-o", tmp_path / "out") == 0
    (tmp_path / "out" / "bad.bundle.tar.gz").write_bytes(b"\x1f\x8b")
    mine = ("--store", tmp_path / "mine")
    assert run("registry", "import", tmp_path / "out", *mine) == 1
    assert "1 bundle taken, 1 refused" in capsys.readouterr().out
    assert run("registry", "verify", "--repair", *mine) == 0
    assert run("registry", "env", "acme::Scale", *mine) == 0
    output = capsys.readouterr().out
    assert "# acme::Scale: scale 1.0.0, target cpu\n# No engine can use a library of target cpu" in output
    assert str(tmp_path / "mine" / "blobs") in output
    assert run("registry", "remove", "scale", *mine) == 0
    assert run("registry", "gc", *mine) == 0
    assert "2 files removed" in capsys.readouterr().out, "the library and the report"
    assert run("registry", "remove", "scale", *mine) == 2
    assert run("registry", "export", *mine, "-o", tmp_path) == 3
    assert run("registry", "add", tmp_path / "none", *mine) == 2
    assert run("registry", "verify", "--store", tmp_path / "nothing") == 2
    capsys.readouterr()
    assert run("registry", "env", "acme::Scale@7", *store) == 1
    assert "There is: acme::Scale@1\n" in capsys.readouterr().err
    assert run("registry", "env", "other::Unknown", *store) == 1
    assert "pluginkit registry list" in capsys.readouterr().err
    assert run("resolve", model, *mine) == 1
    assert run("resolve", model, "--locked", *store) == 2, "there is no lock"
    assert run("fetch", *store) == 2
    assert run("engine", "check", tmp_path / "none.plan", *store) == 2
    assert run("resolve", model, "--for", "sm=89", *store, "--json") == 1
    assert "a GPU's memory" in capsys.readouterr().out


def test_the_engine_commands(packed: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from .test_resolving import plan

    engine = tmp_path / "model.plan"
    engine.write_bytes(plan(("Scale", "1", "acme")))
    store = ("--store", packed / "store")
    assert run("engine", "check", engine, *store) == 0
    assert "guessed from its bytes" in capsys.readouterr().out
    assert run("engine", "note", engine, "--from", model, *store) == 0
    assert run("engine", "check", engine, *store, "--json") == 0
    assert json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))["by"] == "note"
    assert run("engine", "check", engine, "--store", tmp_path / "empty") == 1


def test_load_says_what_is_missing(packed: Path) -> None:
    environment = {**os.environ, "PLUGINKIT_STORE": str(packed / "store")}
    code = "import pluginkit\ntry:\n    pluginkit.load('acme::Scale')\nexcept Exception as error:\n    print(error)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert "No TensorRT is imported" in output.stdout
    assert "import tensorrt before pluginkit.load()" in output.stdout
