"""The figures of docs/kernels.md and of the gallery are those of the record that the pages link."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "kernels.md"


@pytest.fixture(scope="module")
def written() -> dict[Path, str]:
    """What `benchmarks/patterns_tables.py` writes of the record that docs/kernels.md links."""
    made: dict[str, Any] = runpy.run_path(str(ROOT / "benchmarks" / "patterns_tables.py"))
    links = set(re.findall(r"\(([./\w-]+-patterns)\.json\)", PAGE.read_text(encoding="utf-8")))
    assert len(links) == 1
    record = (PAGE.parent / f"{links.pop()}.json").resolve()
    documents: dict[Path, str] = made["written"](json.loads(record.read_text(encoding="utf-8")), record.stem)
    return documents


@pytest.mark.parametrize("name", ["kernels.md", "README.md", "-patterns.md"])
def test_the_documents_show_the_record(written: dict[Path, str], name: str) -> None:
    (path,) = (path for path in written if path.name.endswith(name))
    assert path.read_text(encoding="utf-8") == written[path], (
        "run `python benchmarks/patterns_tables.py RECORD` with the record that docs/kernels.md links"
    )


def test_every_case_of_the_record_is_in_the_table(written: dict[Path, str]) -> None:
    (page,) = (text for path, text in written.items() if path == PAGE)
    table = page.split("<!-- figures -->")[1].split("<!-- end of figures -->")[0]
    assert "| nonzero | " in table
    assert "| pluginkit new | " in table


def test_a_pattern_behind_cub_is_missed() -> None:
    made: dict[str, Any] = runpy.run_path(str(ROOT / "benchmarks" / "patterns_tables.py"))
    place = {"case": "cumsum, one row", "elements": made["ELEMENTS"], "columns": made["ELEMENTS"]}
    times = {"float32": (100.0, 101.0), "float16": (103.0, 100.0)}
    record = {
        "cases": [{**place, "type": kind, "us": ours, "share": 1.0} for kind, (ours, _) in times.items()],
        "cub": [{**place, "type": kind, "us": theirs} for kind, (_, theirs) in times.items()],
        "replayed": [],
    }
    assert made["missed"](record) == ["cumsum, one row, float16: 1.03 times what CUB takes"]
    assert made["beside_cub"](record).rows == [["cumsum, one row", "0.99", "1.03", "", ""]]
