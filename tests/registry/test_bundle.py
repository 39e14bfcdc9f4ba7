"""Manifests: one form, one schema version, and what can't be is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.manifest import Manifest
from pluginkit.registry.bundles import bundle, digests, packing
from pluginkit.registry.bundles.bundle import Bundle, BundlePattern

from .conftest import Make

SCHEMA = Path(bundle.__file__).parents[1] / "schemas" / f"bundle-{bundle.SCHEMA}.json"

EVIDENCE = {
    "kind": "test", "digest": "sha256:" + "0" * 64, "size": 1, "library": "sha256:" + "1" * 64, "passed": True,
    "summary": "", "where": {},
}  # fmt: skip


def test_the_published_schema_is_that_of_the_code() -> None:
    assert json.loads(SCHEMA.read_text()) == bundle.json_schema(), (
        "python -m pluginkit.registry.bundles.bundle writes it again"
    )


def test_a_manifest_is_read_as_it_was_written(make: Make) -> None:
    content = make()
    assert bundle.parse(content.manifest, "x") == content.bundle
    assert content.digest == digests.of_bytes(content.manifest)


def test_a_plugin_stands_there_as_in_its_project(make: Make) -> None:
    text = """
        plugin = {name = "Rows", base = "v3", workspace = "n * 4"}
        inputs = [{name = "x", types = ["float32"], shape = ["n"]},
                  {name = "s", types = ["int64"], shape = [1], values = ["m"]}]
        outputs = [{name = "y", types = ["float32"], shape = ["n"], alias = "x", valid = "kept"},
                   {name = "kept", types = ["int32"], shape = []},
                   {name = "z", types = ["int64"], shape = ["count"]},
                   {name = "count", types = ["int32"], shape = [], upper = "n * 2", opt = "n"},
                   {name = "w", types = ["float32"], shape = ["m"]}]
        fields = [{name = "axes", type = "int64", length = [0, 4], default = [0, 1], min = -1, max = 3},
                  {name = "mode", type = "string", choices = ["a", "b"]}, {name = "k", type = "int32", default = 0}]
        profiles = [{symbols = {n = [1, 2, 3], m = [1, 2, 3]}}]
    """
    plugin = packing.plugin_of(Manifest.parse(text))
    content = make()
    whole = content.bundle.model_copy(update={"plugins": (plugin,)})
    assert bundle.parse(whole.to_bytes(), "x") == whole
    (plain,) = json.loads(whole.to_bytes())["plugins"]
    assert plain["workspace"] == "n * 4"
    assert plain["inputs"][1]["values"] == ["m"]
    later = {"alias", "upper", "opt", "valid"}
    found = [{key: one[key] for key in one if key in later} for one in plain["outputs"]]
    assert found == [{"alias": "x", "valid": "kept"}, {}, {}, {"upper": "n * 2", "opt": "n"}, {}]
    axes, mode, k = plain["fields"]
    assert (axes["type"], axes["min"], axes["max"], mode["choices"]) == ("int64[0..4]", -1, 3, ["a", "b"])
    # An older pluginkit reads what has nothing of this.
    assert k == {"name": "k", "type": "int32", "default": 0, "description": ""}
    assert set(plain["inputs"][0]) == {"name", "types", "shape", "formats"}
    assert "workspace" not in json.loads(content.manifest)["plugins"][0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one.update(schema=2), "schema version 2"),
        (lambda one: one.pop("schema"), "schema version None"),
        (lambda one: one.update(kind="x"), "kind"),
        (lambda one: one.update(release="new"), "release"),
        (lambda one: one.update(name="../x"), "name"),
        (lambda one: one.update(extra=1), "extra"),
        (lambda one: one.update(variants=[]), "variants"),
        (lambda one: one.update(variants=one["variants"] * 2), "twice"),
        (lambda one: one.update(plugins=one["plugins"] * 2), "same name, version and namespace"),
        (lambda one: one["variants"][0].update(file="a/b.so"), "file name"),
        (lambda one: one["variants"][0].update(file=".."), "file name"),
        (lambda one: one["variants"][0].update(digest="sha256:../../x"), "digest"),
        (lambda one: one["variants"][0].update(digest="md5:00"), "digest"),
        (lambda one: one["variants"][0].update(size=-1), "size"),
        (lambda one: one.update(evidence=[EVIDENCE]), "not a library"),
    ],
)
def test_a_manifest_that_says_what_cannot_be(make: Make, change: Callable[[dict[str, Any]], Any], message: str) -> None:
    plain = json.loads(make().manifest)
    change(plain)
    data = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    with pytest.raises(CheckFailed, match=message):
        bundle.parse(data, "the manifest")


@given(st.binary(max_size=200))
def test_other_bytes_are_no_manifest(data: bytes) -> None:
    with pytest.raises(CheckFailed):
        bundle.parse(data, "x")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_other_json_is_no_manifest(plain: object) -> None:
    with pytest.raises(CheckFailed):
        bundle.parse(json.dumps(plain).encode(), "x")


@given(st.text())
def test_only_digests_are_digests(text: str) -> None:
    adapter = TypeAdapter(digests.Digest)
    with pytest.raises(ValidationError):
        adapter.validate_python(text)
    with pytest.raises(ValidationError):
        adapter.validate_python(f"sha256:{'0' * 64}{text or '/'}")


@given(st.text(max_size=40))
def test_file_names_are_plain(text: str) -> None:
    adapter = TypeAdapter(bundle.FileName)
    try:
        found = adapter.validate_python(text)
    except ValidationError:
        return
    assert (Path("/folder") / found).parent == Path("/folder")
    assert found not in {"", ".", ".."}


def test_labels(make: Make) -> None:
    found: Bundle = make(name="scale", release="1.2.0").bundle
    assert found.label == "scale 1.2.0"
    assert found.plugins[0].identity == "acme::Scale"


def test_patterns_are_in_the_manifest_and_only_where_there_are_some(make: Make) -> None:
    """An older pluginkit refuses keys that it doesn't know; without patterns it has none to refuse."""
    plain = make().bundle
    assert "patterns" not in json.loads(plain.to_bytes())
    pattern = BundlePattern(name="fused", text='chain = ["Relu", "Tanh"]\n')
    with_one = plain.model_copy(update={"patterns": (pattern,)})
    assert bundle.parse(with_one.to_bytes(), "x").patterns == (pattern,)
    assert digests.of_bytes(with_one.to_bytes()) != digests.of_bytes(plain.to_bytes())
    twice = plain.model_copy(update={"patterns": (pattern, pattern)})
    with pytest.raises(CheckFailed, match="patterns: two have the same name"):
        bundle.parse(twice.to_bytes(), "x")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("fused", "chain = [", "fused.toml is not TOML"),
        ("fused", "nothing = 1", "nothing: Extra inputs are not permitted"),
        (".fused", 'chain = ["Relu"]', "can't go into a bundle"),
        ("fused", f'chain = ["{"R" * bundle.LONGEST_PATTERN}"]', "can't go into a bundle"),
    ],
)
def test_patterns_that_cannot_be_packed(tmp_path: Path, name: str, text: str, message: str) -> None:
    manifest = """
        plugin = {name = "Rows", base = "v3"}
        inputs = [{name = "x", types = ["float32"], shape = ["n"]}]
        outputs = [{name = "y", types = ["float32"], shape = ["n"]}]
        profiles = [{symbols = {n = [1, 2, 3]}}]
    """
    (tmp_path / "pluginkit.toml").write_text(manifest)
    (tmp_path / "patterns").mkdir()
    (tmp_path / "patterns" / f"{name}.toml").write_text(text)
    with pytest.raises(UsageError, match=message), packing.packed(packing.PackOptions(tmp_path)):
        pass
