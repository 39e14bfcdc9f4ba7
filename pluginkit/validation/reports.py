"""A run of checks for other programs: JUnit by junitparser, SARIF by models of the part of it that is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from pluginkit.demands import NAMES
from pluginkit.paths import __version__
from pluginkit.validation.catalog import CHECKS, Check
from pluginkit.validation.checking import CheckReport
from pluginkit.validation.results import CheckResult, Ending
from pluginkit.validation.subjects.asking import SWITCHED_OFF

DOCS = "https://pypi.org/project/pluginkit/"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def to_json(report: CheckReport) -> dict[str, Any]:
    """All of a run as plain data."""
    return {
        "pluginkit": __version__,
        "library": str(report.library),
        "plugins": [vars(one) for one in report.plugins],
        "strict": report.strict,
        "results": [
            {
                **one.to_json(),
                "name": NAMES[one.check],
                "title": CHECKS[one.check].title,
                "kind": CHECKS[one.check].kind,
            }
            for one in report.results
        ],
    }


def junit(report: CheckReport) -> JUnitXml:
    """A suite for each plugin and one for the file; what doesn't fail the run is a passed case with the finding in
    its output."""
    found = JUnitXml("pluginkit check")
    for plugin in dict.fromkeys(one.plugin for one in report.results):
        suite = TestSuite(plugin or report.library.name)
        for one in report.results:
            if one.plugin == plugin:
                suite.add_testcase(_case(one, report))
        found.add_testsuite(suite)
    return found


def _case(one: CheckResult, report: CheckReport) -> Any:
    case = TestCase(f"{one.check} {CHECKS[one.check].title}", classname=CHECKS[one.check].group)
    text = one.text
    if one in report.bad:
        case.result = [(Error if one.ending is Ending.CRASHED else Failure)(text, one.ending.value)]
    elif one.ending is Ending.SKIPPED:
        case.result = [Skipped(text)]
    elif one.is_finding:
        case.system_out = f"{one.ending.value}: {text}"
    return case


class _Model(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class SarifText(_Model):
    """SARIF 2.1.0, 3.11: a message."""

    text: str


class SarifArtifact(_Model):
    """3.4"""

    uri: str


class SarifPhysicalLocation(_Model):
    """3.29"""

    artifact_location: SarifArtifact


class SarifLogicalLocation(_Model):
    """3.33"""

    fully_qualified_name: str
    kind: str = "function"


class SarifLocation(_Model):
    """3.28"""

    physical_location: SarifPhysicalLocation
    logical_locations: list[SarifLogicalLocation] | None = None


class SarifResult(_Model):
    """3.27"""

    rule_id: str
    rule_index: int
    level: Literal["error", "warning", "note", "none"]
    message: SarifText
    locations: list[SarifLocation]
    partial_fingerprints: dict[str, str]


class SarifConfiguration(_Model):
    """3.50"""

    level: Literal["error", "warning"]


class SarifRule(_Model):
    """3.49: a reportingDescriptor."""

    id: str
    name: str
    short_description: SarifText
    full_description: SarifText
    help: SarifText
    default_configuration: SarifConfiguration


class SarifDriver(_Model):
    """3.19: a toolComponent."""

    name: str = "pluginkit"
    semantic_version: str = __version__
    information_uri: str = DOCS
    rules: list[SarifRule]


class SarifTool(_Model):
    """3.18"""

    driver: SarifDriver


class SarifRuleReference(_Model):
    """3.52: a reportingDescriptorReference."""

    id: str
    index: int


class SarifNotification(_Model):
    """3.58"""

    level: Literal["note"] = "note"
    message: SarifText
    associated_rule: SarifRuleReference


class SarifInvocation(_Model):
    """3.20; `tool_configuration_notifications` is 3.20.22."""

    execution_successful: bool = True
    tool_configuration_notifications: list[SarifNotification]


class SarifRun(_Model):
    """3.14"""

    tool: SarifTool
    invocations: list[SarifInvocation]
    results: list[SarifResult]


class SarifLog(_Model):
    """3.13"""

    schema_uri: str = Field(SCHEMA, alias="$schema")
    version: Literal["2.1.0"] = "2.1.0"
    runs: list[SarifRun]


def sarif(report: CheckReport, root: Path) -> dict[str, Any]:
    """The findings that no baseline knows, as a SARIF log, and which checks a manifest switches off. A library below
    `root` is named relative to it."""
    rules = list(dict.fromkeys(one.check for one in report.results))
    library, top = report.library.resolve(), root.resolve()
    # 3.4.3: a relative reference is a URI by RFC 3986, too.
    uri = quote(library.relative_to(top).as_posix()) if library.is_relative_to(top) else library.as_uri()
    results = [
        _result(one, rules, uri, report) for one in report.results if one.is_finding and one.ending is not Ending.KNOWN
    ]
    switched = [
        SarifNotification(
            message=SarifText(text=": ".join(filter(None, (one.plugin, one.check, one.message)))),
            associated_rule=SarifRuleReference(id=one.check, index=rules.index(one.check)),
        )
        for one in report.results
        if one.ending is Ending.SKIPPED and one.message.startswith(SWITCHED_OFF)
    ]
    driver = SarifDriver(rules=[_rule(CHECKS[name]) for name in rules])
    invocation = SarifInvocation(tool_configuration_notifications=switched)
    log = SarifLog(runs=[SarifRun(tool=SarifTool(driver=driver), invocations=[invocation], results=results)])
    return log.model_dump(by_alias=True, exclude_none=True)


def _rule(one: Check) -> SarifRule:
    return SarifRule(
        id=one.id,
        name=NAMES[one.id],
        short_description=SarifText(text=one.title),
        full_description=SarifText(text=f"{one.title} Source: {one.source}"),
        help=SarifText(text=one.fix),
        default_configuration=SarifConfiguration(level="error" if one.kind == "contract" else "warning"),
    )


def _result(one: CheckResult, rules: Sequence[str], uri: str, report: CheckReport) -> SarifResult:
    where = [SarifLogicalLocation(fully_qualified_name=one.method)] if one.method else None
    text = ": ".join(filter(None, (one.plugin, one.text)))
    return SarifResult(
        rule_id=one.check,
        rule_index=rules.index(one.check),
        level="error" if one in report.bad else "warning",
        message=SarifText(text=text),
        locations=[
            SarifLocation(
                physical_location=SarifPhysicalLocation(artifact_location=SarifArtifact(uri=uri)),
                logical_locations=where,
            )
        ],
        partial_fingerprints={"pluginkit/v1": "/".join(one.key)},
    )
