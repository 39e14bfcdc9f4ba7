"""IPluginV2Ext and IPluginV2 of a library that exists, from `adopt` to a green test."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from pluginkit import cli
from pluginkit.errors import UsageError
from pluginkit.evaluators.rtx.evaluator import without_adapter
from pluginkit.manifest import Manifest

if TYPE_CHECKING:
    from pluginkit.evaluators.protocol import RunWork

pytestmark = pytest.mark.compile

REFERENCE = "def reference(x, *, fault):\n    return x\n"


@pytest.mark.parametrize(("base", "interface", "layout"), [("v2ext", "IPluginV2Ext", 10), ("v2", "IPluginV2", 11)])
def test_a_draft_is_tested(
    batched: Callable[[str, int], Path],
    tmp_path: Path,
    base: str,
    interface: str,
    layout: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run(["adopt", str(batched(base, layout)), "--dir", str(tmp_path)]) == 0
    assert f"BatchProbe 1: {interface}, inputs: 1" in capsys.readouterr().out
    file = tmp_path / "pluginkit.toml"
    text = file.read_text(encoding="utf-8")
    assert "the plugin also takes the types" not in text
    # It takes any number of inputs: which is right stands nowhere in it.
    file.write_text(re.sub(r"^# FILL IN: how many inputs.*\n", "", text, flags=re.MULTILINE), encoding="utf-8")
    manifest = Manifest.load(tmp_path)
    assert (manifest.plugin.base, manifest.library and manifest.library.layout) == (base, layout)
    assert [one.shape for one in (*manifest.inputs, *manifest.outputs)] == [("n", "c", "h", "w")] * 2
    assert {tuple(kind.value for kind in one.types) for one in manifest.inputs} == {("float32", "float16")}
    (tmp_path / "reference.py").write_text(REFERENCE, encoding="utf-8")
    assert cli.run(["test", str(tmp_path), "--network", "plain", "--network", "loop-count"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert re.search(r"BatchProbe: (\d+) passed of \1 cases", shown)
    assert "has no adapter for IPluginV2" in shown


SIGNATURE = """
plugin = {{ name = "Old", base = "{base}" }}
inputs = [
  {{ name = "x", types = ["float32", "int8"], shape = ["n", "c", 4, 4], formats = ["linear"], scale = "s" }},
  {{ name = "i", types = ["{index}"], shape = ["{batch}"] }},
]
outputs = [{{ name = "y", types = ["float32", "int8"], shape = ["n", "c", 4, 4], formats = [{formats}], scale = "s" }}]
fields = [{{ name = "s", type = "float32", default = 0.0 }}]
profiles = [{{ symbols = {{ n = [2, 2, 2], c = [32, 32, 32] }} }}]
library = {{ path = "libold.so" }}
"""
GOOD = {"base": "v2ext", "index": "int32", "batch": "n", "formats": '"linear"'}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"batch": "c"}, "an IPluginV2Ext gets shapes without the batch"),
        ({"base": "v2"}, "i.types: an IPluginV2 has one type for all tensors"),
        ({"formats": '"linear", "chw4"'}, "y.formats: "),
        ({"formats": '"linear", "hwc"'}, "y.formats: an IPluginV2Ext has one format for all floating tensors"),
    ],
)
def test_what_such_a_base_can_not_say(changed: dict[str, str], problem: str) -> None:
    Manifest.parse(SIGNATURE.format(**GOOD))
    with pytest.raises(UsageError, match=re.escape(problem)):
        Manifest.parse(SIGNATURE.format(**{**GOOD, **changed}))


@pytest.mark.parametrize(("base", "interface"), [("v2ext", "IPluginV2Ext"), ("v2", "IPluginV2")])
def test_no_adapter_brings_such_a_base_to_rtx(tmp_path: Path, base: str, interface: str) -> None:
    """Also where pluginkit's CMake package made the library, which gives other bases an adapter."""
    text = SIGNATURE.format(**GOOD).replace('base = "v2ext"', f'base = "{base}"')
    manifest = Manifest.parse(text if base == "v2ext" else text.replace('"int32"', '"float32", "int8"'))
    work = SimpleNamespace(manifest=manifest, project=tmp_path)
    assert without_adapter(cast("RunWork", work)).endswith(f"no adapter for {interface}")


def test_formats_that_such_a_base_never_gets() -> None:
    text = SIGNATURE.format(**{**GOOD, "index": "int32"}).replace('"linear"', '"linear", "chw32"').replace('"c"', "32")
    with pytest.raises(UsageError, match="an IPluginV2Ext never gets kCHW32"):
        Manifest.parse(text.replace(", c = [32, 32, 32]", ""))
