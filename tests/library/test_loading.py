"""`pluginkit inspect --load`: what each host's registry lists, and libraries that do not survive it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pluginkit import cli
from pluginkit.creators import loading
from pluginkit.runtimes.lean import session as lean
from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .conftest import ENTRIES, INCLUDE, Make

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("projects")]


def by_hand(make: Make, *flags: str) -> Path:
    """The plugin Behaving of the runtimes' tests: layout 11 and V3, without CMake."""
    source = Path(__file__).parents[1] / "runtimes" / "behaving.cpp"
    return make(f'#include "{source}"', "-std=c++17", "-fvisibility=hidden", f"-I{INCLUDE}", "-ldl", *flags)


def test_every_host_lists_the_creator_with_its_fields(scale_project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = scale_project / "build" / "cpu" / "libscale.so"
    assert cli.run(["inspect", str(library), "--load", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)["loaded"]
    expected = [
        ("factor", "kFLOAT32", 1),
        ("mode", "kINT32", 1),
        ("x_scale", "kFLOAT32", 1),
        ("y_scale", "kFLOAT32", 1),
    ]
    bases = {"host": ("V2", "IPluginV2DynamicExt"), "tensorrt-lean": ("V2", ""), "tensorrt-rtx": ("V3", "IPluginV3")}
    present = [one for one in output if one["status"] != "missing"]
    for one in present:
        assert one["status"] == "loaded", one
        (creator,) = one["creators"]
        assert [creator[key] for key in ("name", "version", "namespace")] == ["Scale", "1", "acme"]
        assert (creator["kind"], creator["base"]) == bases[one["runtime"]]
        assert [(field["name"], field["type"], field["length"]) for field in creator["fields"]] == expected
    assert len(present) == 2 + len(lean.installed()) + tensorrt_rtx.probe().found
    assert cli.run(["inspect", str(library), "--load"]) == 0
    shown = capsys.readouterr().out
    assert "IPluginV2DynamicExt" in shown
    assert "factor: kFLOAT32 × 1" in shown


def test_a_library_of_one_layout(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    library = by_hand(make)
    ten = loading.in_host(library, 101600)
    assert ten.status == "refused"
    assert "no creator" in ten.message
    (creator,) = loading.in_host(library, 110100).creators
    assert (creator.name, creator.kind, creator.base) == ("Behaving", "V2", "IPluginV2DynamicExt")
    (third,) = loading.in_host(library, 10701).creators
    assert (third.kind, third.base) == ("V3", "IPluginV3")
    assert cli.run(["inspect", str(library), "--load"]) == 0
    assert "refused" in capsys.readouterr().out


PICKY = """
#include <pluginkit/entry.h>
#pragma push_macro("PLUGINKIT_PLUGINS")
#undef PLUGINKIT_PLUGINS
#define PLUGINKIT_PLUGINS(...)
#include "BEHAVING"
#pragma pop_macro("PLUGINKIT_PLUGINS")
#include <unistd.h>
using namespace nvinfer1;

template <int WHICH>
class Picky final : public behaving::BehavingCreator
{
public:
    char const* getPluginName() const noexcept override
    {
        static char const* const names[] = {"Exits", "Aborts", "NeedsFields", "KillsItself", "Hangs"};
        return names[WHICH];
    }
    IPluginV2* createPlugin(char const* layer, PluginFieldCollection const* fields) noexcept override
    {
        if (WHICH == 0) { puts("no such field"); exit(1); }
        if (WHICH == 1) { abort(); }
        if (WHICH == 2 && fields->nbFields == 0) { raise(SIGSEGV); }
        if (WHICH == 3) { raise(SIGKILL); }
        while (WHICH == 4) { pause(); }
        return BehavingCreator::createPlugin(layer, fields);
    }
};
PLUGINKIT_PLUGINS(Picky, Picky<0>, Picky<1>, Picky<2>, Picky<3>, Picky<4>, behaving::BehavingCreator)
"""


def test_creators_that_end_the_process_for_want_of_a_field(make: Make) -> None:
    """No document promises that a creator makes a plugin of unknown fields: no finding, and no library lost."""
    behaving = Path(__file__).parents[1] / "runtimes" / "behaving.cpp"
    flags = ("-std=c++17", "-fvisibility=hidden", f"-I{INCLUDE}", "-ldl")
    one = loading.in_host(make(PICKY.replace("BEHAVING", str(behaving)), *flags), 110100)
    assert one.status == "loaded", one.message
    known = {"NeedsFields": "IPluginV2DynamicExt", "Behaving": "IPluginV2DynamicExt"}
    assert {creator.name: creator.base for creator in one.creators} == {
        **dict.fromkeys(("Exits", "Aborts", "KillsItself", "Hangs"), ""),
        **known,
    }


def test_a_namespace_that_is_no_text_is_shown(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    source = Path(__file__).parents[1] / "host" / "plugin.cpp"
    flags = ("-DWITH_ENTRY", "-DPLUGINKIT_TRT_LAYOUT=11", "-std=c++17", f"-I{INCLUDE}", "-ldl")
    library = make(f'#include "{source}"', *flags, name="name_latin-probe.so")
    (creator,) = loading.in_host(library, 110100).creators
    assert creator.namespace == r"acm\xe9"
    rtx = loading.in_rtx(library)
    assert [one.namespace for one in rtx.creators] == ([r"acm\xe9"] if tensorrt_rtx.probe().found else []), rtx.message
    assert cli.run(["inspect", str(library), "--load"]) == 0
    assert r"'acm\xe9'" in capsys.readouterr().out


def test_a_library_that_crashes_on_load(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    source = "#include <csignal>\n" + ENTRIES + "__attribute__((constructor)) void f() { raise(SIGSEGV); }"
    library = make(source)
    assert cli.run(["inspect", str(library)]) == 0
    assert cli.run(["inspect", str(library), "--load"]) == 6
    assert "SIGSEGV" in capsys.readouterr().out


def test_a_library_that_hangs_on_load(make: Make) -> None:
    library = make("#include <unistd.h>\n" + ENTRIES + "__attribute__((constructor)) void f() { for (;;) pause(); }")
    one = loading.in_host(library, 110100, timeout=3)
    assert (one.status, one.creators) == ("hung", ())


def test_a_library_that_ends_the_process_in_getcreators(make: Make) -> None:
    source = (
        '#include <cstdlib>\nextern "C" void* getCreators(int&) { exit(3); } extern "C" void setLoggerFinder(void*) {}'
    )
    one = loading.in_host(make(source), 110100)
    assert one.status == "crashed"
    assert "exit code 3" in one.message
    assert "getCreators" in one.message


def test_a_library_that_nobody_takes(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    library = make(ENTRIES)
    assert {one.status for one in loading.load(library)} <= {"refused", "missing"}
    assert cli.run(["inspect", str(library), "--load"]) == 1
    assert "no creator" in capsys.readouterr().out


def test_a_host_that_is_not_here(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in lean.FOLDERS:
        monkeypatch.delenv(folder, raising=False)
    output = {one.runtime: one for one in loading.load(make(ENTRIES))}
    if not lean.installed():
        assert output["tensorrt-lean"].status == "missing"
        assert "pip install" in output["tensorrt-lean"].message
