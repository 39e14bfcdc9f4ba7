"""The public functions: docs/notebook.ipynb as it stands, and its reports as JSON, held against the schemas."""

from __future__ import annotations

import importlib.util
import json
import pydoc
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

import pluginkit
from pluginkit.api import json_schema
from pluginkit.api.report import ROWS, JsonReport
from pluginkit.runtimes.rtx import session as tensorrt_rtx

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
built = [
    pytest.mark.compile,
    pytest.mark.rtx,
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
    pytest.mark.xdist_group("api"),
]


def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "tools" / "notebook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """The notebook's names once it has run, and what its cells show."""
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("notebook"))
        yield names, runner().run(json.loads(NOTEBOOK.read_text()), names)


class TestNotebook:
    pytestmark = built

    def test_it_prints_nothing(self, capfd: pytest.CaptureFixture[str], run: tuple[dict[str, Any], list[Any]]) -> None:
        # The fixture runs within this test's capture: it is the first to ask for it.
        printed = capfd.readouterr()
        assert (printed.out, printed.err) == ("", "")
        assert len(run[0]["steps"]) > 5

    def test_it_shows_what_it_has(self, run: tuple[dict[str, Any], list[Any]]) -> None:
        kept = [one["outputs"][0] for one in json.loads(NOTEBOOK.read_text())["cells"] if one["cell_type"] == "code"]
        for before, now in zip(kept, run[1], strict=True):
            # Which of NVIDIA's other runtimes are here differs from machine to machine.
            assert before["data"]["text/plain"].partition("; ")[0] == now["data"]["text/plain"].partition("; ")[0]
            assert before["data"].keys() == now["data"].keys()

    def test_its_reports_are_as_their_schemas_say(self, run: tuple[dict[str, Any], list[Any]]) -> None:
        names = run[0]
        reports = [names[one] for one in ("built", "report", "model", "facts", "checks")]
        reports.append(pluginkit.inspect(names["built"].library, load=True))
        for one in reports:
            plain = json.loads(json.dumps(one.to_json(), allow_nan=False))
            jsonschema.validate(plain, closed(json_schema.schema(one.schema)))
        assert {one.schema for one in reports} == set(json_schema.SHAPES)
        assert [one.ok for one in reports] == [True, True, False, True, True, True]

    def test_a_wrong_plugin_is_a_report_and_no_exception(self, run: tuple[dict[str, Any], list[Any]]) -> None:
        project = run[0]["project"]
        reference = project / "reference.py"
        before = reference.read_text()
        try:
            reference.write_text(before.replace("return ", "return 1.5 * ", 1))
            found = pluginkit.test(project, only=["plain/float32/max"], target="cpu")
        finally:
            reference.write_text(before)
        assert not found.ok
        assert found.exit_code == 1
        assert found.cases[0].outcome.value == "failed"
        assert found.cases[0].id in found._repr_html_()


def closed(schema: Any) -> Any:
    """The schema without keys that it doesn't name."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "properties" in schema else {}
    return {**{key: closed(one) for key, one in schema.items()}, **more}


@pytest.mark.parametrize("name", json_schema.SHAPES)
def test_the_published_schema_is_that_of_the_code(name: str) -> None:
    kept = (json_schema.FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert kept == json_schema.text(name), "python -m pluginkit.api.json_schema; a change that breaks: the next number"


def test_the_first_screen_of_help_is_the_api() -> None:
    text = pydoc.plain(pydoc.render_doc(pluginkit))
    first = text.partition("PACKAGE CONTENTS")[0]
    assert len(first.splitlines()) <= 30
    for name in pluginkit.__all__:
        assert getattr(pluginkit, name) is not None
        if not name.startswith("_") and not name.endswith("_dir"):
            assert name in first


class _Row(JsonReport):
    schema = "row"
    exit_code = 0

    def summary(self) -> str:
        return "<b>"

    def rows(self) -> Iterator[tuple[str]]:
        yield ("what",)
        for number in range(ROWS + 5):
            yield (f"<script>{number}",)


def test_html_is_escaped_and_has_an_end() -> None:
    text = _Row()._repr_html_()
    assert "<script>" not in text
    assert "<b>" not in text
    assert f"&lt;script&gt;{ROWS - 1}<" in text
    assert f"&lt;script&gt;{ROWS}<" not in text
    assert "to_json()" in text
