"""The site, without building it (`make docs` does): tables of contents, README and its picture."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TOC = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_page_is_in_one_table_of_contents() -> None:
    listed = Counter(
        line
        for page in DOCS.rglob("*.md")
        for block in TOC.findall(page.read_text(encoding="utf-8"))
        for line in block.splitlines()
        if line and not line.startswith(":")
    )
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")} - {"index"}
    assert set(listed) == pages
    assert [name for name, count in listed.items() if count > 1] == []


def test_the_picture_is_of_the_tutorial() -> None:
    spec = importlib.util.spec_from_file_location("picture", ROOT / "tools" / "picture.py")
    assert spec is not None
    assert spec.loader is not None
    picture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(picture)
    words = re.findall(r"\w+", picture.shown())
    drawn = picture.PICTURE.read_text(encoding="utf-8")
    # What rich makes of the text may change; the words may not.
    assert [word for word in words if word not in drawn] == [], "python tools/picture.py"


def test_readme_is_short_and_shows_the_tutorials_run() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 120
    tutorial = (DOCS / "first-plugin.md").read_text(encoding="utf-8")
    for line in readme.splitlines():
        if re.match(r"(host|tensorrt-rtx)  |MyPlugin: ", line):
            plain = re.sub(r"\s+[\d.]+ s$|\s+-$", "", line)
            assert re.search(re.sub(r"\\? +", r"\\s+", re.escape(plain)), tutorial), line


def test_contributing_names_files_that_there_are() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:pluginkit|native|docs|tools)/[\w/.]+)`", text)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []
