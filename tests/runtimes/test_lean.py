"""NVIDIA's registries of TensorRT 10 and 11 with a V2 plugin that behaves, and one that doesn't."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pluginkit import installation
from pluginkit.errors import CheckFailed, ToolMissing
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network
from pluginkit.process.worker_main import CallFile
from pluginkit.runtimes.lean import lean_worker, log_lines
from pluginkit.runtimes.lean import session as lean

from . import faulty

CREATE_NULL, DESERIALIZE_NULL, SERIALIZE_OTHER = 9, 10, 11


def params() -> list[object]:
    found = lean.installed()
    if not found:
        return [pytest.param(None, marks=pytest.mark.skip(reason=lean.probe().reason))]
    return [pytest.param(one, id=one.version) for one in found]


each_lean = pytest.mark.parametrize("which", params())
pytestmark = pytest.mark.lean


@pytest.fixture
def library(which: lean.Lean, compile_library: Callable[..., Path], tmp_path: Path) -> Path:
    return compiled(compile_library, which, "behaving", tmp_path / "libbehaving.so")


@pytest.mark.compile
@each_lean
def test_registry(which: lean.Lean, library: Path, manifest: Manifest, networks: Callable[..., Network]) -> None:
    with lean.open(library, manifest, lean=which) as session:
        verdict = session.build(networks("loop-count/float32"))
        assert verdict.ok, verdict.message
        assert which.version in verdict.message
        for fault, word in (
            (CREATE_NULL, "createPlugin gave nothing"),
            (DESERIALIZE_NULL, "deserializePlugin gave nothing"),
        ):
            verdict = session.build(networks(fault=fault))
            assert verdict.status == "refused"
            assert word in verdict.message
        assert session.build(networks()).ok
        # That is the host's to say, which knows the bytes that were not written.
        assert session.build(networks(fault=SERIALIZE_OTHER)).ok


def compiled(
    compile_library: Callable[..., Path],
    which: lean.Lean,
    source: str,
    to: Path,
    layout: int = 0,
    flags: Sequence[str] = (),
) -> Path:
    major = layout or int(which.version.split(".")[0])
    return compile_library(Path(__file__).parent / f"{source}.cpp", to, f"-DPLUGINKIT_TRT_LAYOUT={major}", *flags)


@pytest.mark.compile
@each_lean
def test_namespaces_duplicates_and_loading_again(
    which: lean.Lean, library: Path, manifest: Manifest, networks: Callable[..., Network]
) -> None:
    with lean.open(library, manifest, lean=which) as session:
        assert session.creators() == [("Behaving", "1", "")]
        for _ in range(2):
            verdict = session.registry()
            assert verdict.ok, verdict.message
            assert "a duplicate refused, unloaded and loaded again" in verdict.message
            assert session.build(networks()).ok, "the creator of the library that was loaded again"


@pytest.mark.compile
@each_lean
def test_two_versions_of_one_name_are_not_unloaded(
    which: lean.Lean, compile_library: Callable[..., Path], manifest: Manifest, networks: Callable[..., Network],
    tmp_path: Path,
) -> None:  # fmt: skip
    """tensorrt-lean 11.4 ends the process when such a library is loaded again; the library can't help it."""
    layout = f"-DPLUGINKIT_TRT_LAYOUT={which.version.split('.')[0]}"
    source = Path(__file__).parent / "behaving.cpp"
    library = compile_library(source, tmp_path / "libtwice.so", layout, "-DBEHAVING_TWICE", "-fno-gnu-unique")
    with lean.open(library, manifest, lean=which) as session:
        assert session.creators() == [("Behaving", "1", ""), ("Behaving", "2", "")]
        verdict = session.registry()
        assert verdict.ok, verdict.message
        assert lean.STAYED in verdict.message
        assert session.build(networks()).ok


@pytest.mark.compile
@each_lean
def test_a_namespace_that_is_forgotten(
    which: lean.Lean, compile_library: Callable[..., Path], networks: Callable[..., Network], tmp_path: Path
) -> None:
    library = compiled(compile_library, which, "refused", tmp_path / "librefused.so", flags=("-DREFUSED_FORGETS",))
    with lean.open(library, faulty.manifest(), lean=which) as session:
        verdict = session.build(faulty.networks(faulty.manifest())["plain/float32"])
    assert verdict.status == "refused"
    assert "is in namespace '', and was put into 'pluginkit.test'" in verdict.message


@pytest.mark.compile
@each_lean
def test_a_library_of_the_other_layout(
    which: lean.Lean, compile_library: Callable[..., Path], manifest: Manifest, tmp_path: Path
) -> None:
    other = 21 - int(which.version.split(".")[0])
    library = compiled(compile_library, which, "behaving", tmp_path / "libother.so", other)
    with pytest.raises(CheckFailed, match="compiled for the layout of another major version") as caught:
        lean.open(library, manifest, lean=which)
    assert "No creator returned" in caught.value.message, "NVIDIA's own words"
    assert "make both TensorRT 10's and 11's" in caught.value.hint


@pytest.mark.compile
@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("int nothing;", "does not export getCreators"),
        ("extern int absent; int* here = &absent;", "uses absent, which nothing that it is linked with has"),
        (None, "is not a shared library"),
    ],
)
@each_lean
def test_libraries_that_do_not_load(
    which: lean.Lean,
    compile_library: Callable[..., Path],
    manifest: Manifest,
    tmp_path: Path,
    source: str | None,
    what: str,
) -> None:
    library = tmp_path / "libodd.so"
    if source is None:
        library.write_text("no ELF")
    else:
        (tmp_path / "odd.cpp").write_text(source)
        compile_library(tmp_path / "odd.cpp", library, "-fvisibility=default")
    with pytest.raises(CheckFailed) as caught:
        lean.open(library, manifest, lean=which)
    assert f"the library {what}" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("output", "what"),
    [
        ("Cannot register the library as plugin creator of Bar exists already. In x", "has the plugin Bar, which"),
        ("SymbolAddress for setLoggerFinder could not be loaded, check", "does not export setLoggerFinder"),
        ("(Unable to load: /a.so: libz.so: version `GLIBC_9' not found (required by /a.so) In", "needs GLIBC_9, which"),
        ("(Unable to load: /a.so: libq.so: cannot open shared object file: No such file or directory In", "libq.so"),
    ],
)
def test_words(output: str, what: str) -> None:
    known = log_lines.explain(output)
    assert known is not None
    assert what in known.what
    assert known.hint
    assert log_lines.explain("the moon is full") is None


class FakeCreator:
    name, plugin_version, plugin_namespace = "Bar", "1", ""


class FakeRegistry:
    """A registry with one thing wrong."""

    def __init__(self, wrong: str) -> None:
        self.wrong = wrong
        self.all_creators: list[FakeCreator] = []
        self.error_recorder: Any = None
        self.loads = 0

    def load_library(self, library: str) -> None:
        self.loads += 1
        lost = self.wrong == "lost" and self.loads == 4
        if self.all_creators and self.wrong != "doubles":
            self.error_recorder.report_error(0, "plugin creator of Bar exists already")
        elif not lost:
            self.all_creators.append(FakeCreator())

    def get_creator(self, name: str, version: str, namespace: str) -> FakeCreator | None:
        found = self.wrong == "everywhere" or not namespace
        return FakeCreator() if found and self.wrong != "nowhere" else None

    def deregister_library(self, handle: object) -> None:
        if self.wrong != "stays":
            self.all_creators.clear()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("", ""),
        ("nowhere", "does not find it in ''"),
        ("everywhere", "in a namespace that it is not in"),
        ("doubles", "instead of a refusal"),
        ("stays", "after unloading"),
        ("lost", "after loading bar.so again"),
    ],
)
def test_a_registry_that_does_otherwise(wrong: str, message: str, tmp_path: Path) -> None:
    registry = FakeRegistry(wrong)
    fake = SimpleNamespace(
        get_plugin_registry=lambda: registry, IErrorRecorder=object, IPluginCreator=FakeCreator, __version__="0"
    )
    (tmp_path / "crumb").touch()
    child = lean_worker.LeanChild(CallFile(tmp_path / "crumb"), fake, "bar.so", ("Bar", "1", ""), v3=False)
    with pytest.raises(CheckFailed, match=message) if message else contextlib.nullcontext():
        child.registry("copy.so")


@each_lean
def test_a_missing_library(which: lean.Lean, manifest: Manifest, tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match="cannot open shared object file"):
        lean.open(tmp_path / "missing.so", manifest, lean=which)


def test_missing_wheels(manifest: Manifest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lean, "installed", list)
    found = lean.probe()
    assert (found.found, found.remedy) == (False, installation.extra("lean"))
    with pytest.raises(ToolMissing, match="PLUGINKIT_LEAN10"):
        lean.open(tmp_path / "x.so", manifest)
