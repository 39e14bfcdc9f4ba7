"""The shapes of the JSON that reports give, and what writes them as JSON schemas.

`python -m pluginkit.api.json_schema` writes `pluginkit/api/schemas/NAME.json`. They are committed, so that a change of
a report shows in its schema. A change that breaks readers gets the next number, and the old file stays.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, get_type_hints

from pydantic import TypeAdapter
from typing_extensions import NotRequired, TypedDict

from pluginkit.api.builds import BuildReport
from pluginkit.api.checks import ContractReport
from pluginkit.api.libraries import LibraryReport
from pluginkit.api.models import ModelReport
from pluginkit.api.tests import TestReport
from pluginkit.creators.loading import Loaded
from pluginkit.demands import DemandWarning
from pluginkit.importing.engines.targets import ModelTarget
from pluginkit.importing.engines.whole import EngineOutcome
from pluginkit.importing.missing_operators import MissingOperator
from pluginkit.library.gpu_code import GpuCode
from pluginkit.library.problem import Problem
from pluginkit.testing.report import CaseResult, Verdict
from pluginkit.validation.checking import CheckedPlugin

FOLDER = Path(__file__).with_name("schemas")


class BuiltJson(TypedDict):
    """A library: its build record (`pluginkit.library.build_record`), and where it is."""

    library: str
    module: str | None
    fresh: bool
    name: str
    slug: str
    target: Literal["cpu", "gpu"]
    layouts: dict[str, Any]
    compiler: Any
    cuda_compiler: NotRequired[Any]
    architectures: NotRequired[list[str]]
    exports: list[str]
    sha256: str
    size: int
    pluginkit: str


class WarningJson(TypedDict):
    """A demand that isn't met, and the cases that it isn't met in."""

    rule: str
    method: str
    message: str
    cases: list[str]


CaseJson: Any = TypedDict(  # type: ignore[misc]  # a case's fields, but for its picture
    "CaseJson",
    {name: kind for name, kind in get_type_hints(CaseResult, None, {"Heat": object}).items() if name != "heat"},
)


class TestJson(TypedDict):
    """A test run."""

    schema: str
    plugin: str
    library: str
    sha256: str
    seed: int
    cases: list[CaseJson]
    verdicts: list[Verdict]
    runtimes: dict[str, str]
    sanitize: list[str]
    schedules: int
    controls: list[Verdict]
    strict: bool
    kept_fields: dict[str, str]
    registries: list[Verdict]
    checks: list[Verdict]
    shard: str
    check_warnings: list[DemandWarning]
    warnings: list[WarningJson]
    exit_code: int


class CheckJson(TypedDict):
    """One check of one plugin, or of the library's file."""

    check: str
    plugin: str
    ending: Literal["passed", "failed", "warning", "known", "crashed", "skipped"]
    method: str
    message: str
    frames: list[str]
    name: str
    title: str
    kind: str


class ContractJson(TypedDict):
    """A run of `check`."""

    schema: str
    pluginkit: str
    library: str
    plugins: list[CheckedPlugin]
    strict: bool
    results: list[CheckJson]


class NeededJson(TypedDict):
    """A library that it needs; no path: it wasn't found."""

    name: str
    path: str | None


class ManifestJson(TypedDict):
    """The build record next to it; `same`: whether it is this file's."""

    path: str
    same: bool
    content: dict[str, Any] | None


class LibraryJson(TypedDict):
    """A plugin library."""

    schema: str
    library: str
    sha256: str
    size: int
    target: Literal["cpu", "gpu", "unknown"]
    compiler: str
    layouts: list[str]
    soname: str
    exports: list[str]
    exported_cxx: list[str]
    needed: list[NeededJson]
    runpath: list[str]
    needed_versions: dict[str, list[str]]
    gpu_code: list[GpuCode]
    manifest: ManifestJson | None
    problems: list[Problem]
    loaded: NotRequired[list[Loaded]]


class NodeJson(TypedDict):
    """A node, and what implements it."""

    node: str
    operator: str
    by: Literal["native", "plugin", "function", "missing"]
    library: str | None
    plugin: list[str] | None
    function: str | None


class TensorJson(TypedDict):
    """A tensor: a shape tensor, an execution tensor or both."""

    name: str
    node: str
    operator: str
    shape: bool
    execution: bool
    rule: str
    computed: bool
    kind: str


class NvidiaBuildJson(TypedDict):
    """The build by NVIDIA's builder; `foreseen`: what the rules alone say."""

    foreseen: Literal["built", "refused"]
    status: str
    message: str
    fix: str
    log: list[str]
    printed: list[str]


class ModelRunJson(TypedDict):
    """The run on the CPU."""

    status: Literal["compared", "ran", "failed", "crashed", "hung", "not run"]
    message: str
    fix: str
    log: list[str]
    against: str
    checks: list[str]
    inputs: list[str]
    outputs: list[dict[str, Any]]


class ModelJson(TypedDict):
    """A model."""

    schema: str
    model: str
    nodes: list[NodeJson]
    unserved: list[MissingOperator]
    tensors: list[TensorJson]
    native_by: str
    not_in_all_parsers: dict[str, str]
    targets: list[ModelTarget]
    problems: list[Problem]
    profile: dict[str, Any] | None
    profile_defaulted: list[str]
    build: NvidiaBuildJson
    engine: EngineOutcome | None
    run: ModelRunJson
    summary: str


SHAPES: dict[str, Any] = {
    BuildReport.schema: list[BuiltJson],
    TestReport.schema: TestJson,
    ContractReport.schema: ContractJson,
    LibraryReport.schema: LibraryJson,
    ModelReport.schema: ModelJson,
}


def schema(name: str) -> dict[str, Any]:
    """The JSON schema (2020-12) of a report, as `test-1`."""
    found = TypeAdapter(SHAPES[name]).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": name, **found}


def text(name: str) -> str:
    """The schema's file."""
    return json.dumps(schema(name), indent=1) + "\n"


if __name__ == "__main__":
    for _name in SHAPES:
        (FOLDER / f"{_name}.json").write_text(text(_name), encoding="utf-8")
