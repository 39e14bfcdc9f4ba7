"""What documents say of signatures and bases, held against the manifests and the code that they speak of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pluginkit.bases import BASES
from pluginkit.importing.running import RUN
from pluginkit.manifest import Manifest, Tensor

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(path.parent for path in (ROOT / "samples").glob("*/pluginkit.toml"))


def rows(text: str) -> list[list[str]]:
    """The cells of all tables, without the words before a name: input `x` is `x`."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_samples_readme_says_what_its_manifest_does(sample: Path) -> None:
    text = (sample / "README.md").read_text(encoding="utf-8")
    manifest = Manifest.load(sample)
    table = {row[0]: row[1:] for row in rows(text)}
    for what, tensors in (("input", manifest.inputs), ("output", manifest.outputs)):
        for tensor in tensors:
            _agrees(tensor, table[f"{what} `{tensor.name}`"], text)
    named = {name for first in table for name in re.findall(r"`(\w+)`", first)}
    fields = {field.name for field in manifest.fields}
    assert fields <= named
    # No attribute is promised that the creator hasn't: of those that are called like a scale.
    assert set(re.findall(r"`(\w+_scale)`", text)) <= fields


def _agrees(tensor: Tensor, cells: list[str], text: str) -> None:
    types, shape, *formats = cells
    if not types.startswith("as "):
        assert [name.strip() for name in types.split(",")] == [kind.value for kind in tensor.types]
    if re.fullmatch(r"`\[[^.]*\]`", shape) and " along " not in shape:
        assert shape == f"`[{', '.join(tensor.shape)}]`"
    if len(tensor.formats) > 1 or formats:
        assert [name.strip() for name in formats[0].split(",")] == [one.value for one in tensor.formats], text


def test_project_md_shows_a_manifest_that_is_read_and_names_all_bases() -> None:
    text = (ROOT / "docs" / "project.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    # Its scales are of fields that the text leaves out.
    scales = "".join(
        f'[[fields]]\nname = "{name}"\ntype = "float32"\ndefault = 0.0\n' for name in ("x_scale", "y_scale")
    )
    Manifest.parse(block.replace("[[profiles]]", f"{scales}[[profiles]]", 1))
    (line,) = [line for line in block.splitlines() if line.startswith("base = ")]
    for name, base in BASES.items():
        assert f'"{name}"' in line
        assert base.interface in line


def test_the_page_on_import_names_the_bases_that_it_runs() -> None:
    text = " ".join((ROOT / "docs" / "inspect-and-import.md").read_text(encoding="utf-8").split())
    (listed,) = re.findall(r"a base other than ([\w, ]+?), a node", text)
    assert re.findall(r"\w+", listed.replace(" and ", " ")) == list(RUN)
