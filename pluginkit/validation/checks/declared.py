"""Checks of the library against `pluginkit.toml`."""

from __future__ import annotations

from pluginkit.host import Finding
from pluginkit.validation.catalog import check
from pluginkit.validation.checks.by_runs import of_runs
from pluginkit.validation.subjects.evidence import RunEvidence
from pluginkit.validation.subjects.library import ListedLibrary

_GROUP = "manifest"
_MANIFEST = "the plugin's pluginkit.toml"


@check(
    "I3",
    "The library has a creator of the name, version and namespace of pluginkit.toml.",
    group=_GROUP,
    level=1,
    kind="declared",
    need="manifest",
    source=f"{_MANIFEST}; a registry knows a creator by these three",
    fix="Let [plugin] in pluginkit.toml and the creator say the same.",
)
def _identity(library: ListedLibrary) -> None:
    plugin = library.manifest.plugin
    if library.creator is None:
        has = ", ".join(f"{one.namespace}::{one.full_name}".removeprefix("::") for one in library.creators)
        wanted = f"{plugin.namespace}::{plugin.name}:{plugin.version}".removeprefix("::")
        raise Finding("getCreators", f"has no creator {wanted}; it has {has}", rule="I3")


@check(
    "I11",
    "The plugin's class is the base of pluginkit.toml.",
    group=_GROUP,
    level=1,
    kind="declared",
    need="manifest",
    source=f"{_MANIFEST}; TensorRT calls a plugin by its class",
    fix="Name the class's base in [plugin] base; pluginkit adopt finds it.",
)
def _base(library: ListedLibrary) -> None:
    library.check_base()


def _no_fields(evidence: RunEvidence) -> str:
    return "" if evidence.manifest.fields else "pluginkit.toml has no fields"


def _no_defaults(evidence: RunEvidence) -> str:
    optional = any(one.default is not None for one in evidence.manifest.plain_fields())
    return "" if optional else "no field of pluginkit.toml has a default"


def _no_workspace(evidence: RunEvidence) -> str:
    return "" if evidence.manifest.plugin.workspace is not None else "pluginkit.toml declares no workspace"


def _no_outputs(evidence: RunEvidence) -> str:
    return "" if any(case.error is not None for case in evidence.cases) else "no outputs were compared"


of_runs(
    "F8",
    group=_GROUP,
    level=5,
    fix="List the field in getFieldNames, or take it out of pluginkit.toml.",
    nothing=_no_fields,
)
of_runs(
    "F9",
    group=_GROUP,
    level=5,
    fix="List the field with the type of pluginkit.toml.",
    nothing=_no_fields,
)
of_runs(
    "F6",
    group=_GROUP,
    level=5,
    fix="Give the member the default of pluginkit.toml, and read the field only where it is given.",
    nothing=_no_defaults,
)
of_runs(
    "T19",
    group=_GROUP,
    level=5,
    fix="Let the shape method and pluginkit.toml say the same; pluginkit.toml's expressions are those of [[outputs]]. "
    "So with getAliasedInput and `alias`.",
)
of_runs(
    "T20",
    group=_GROUP,
    level=5,
    fix="Compute in getWorkspaceSize what [plugin] workspace says.",
    nothing=_no_workspace,
)
of_runs(
    "C3",
    group=_GROUP,
    level=5,
    fix="Take the types and formats of pluginkit.toml in supportsFormatCombination, or declare fewer.",
)
of_runs(
    "C16",
    group=_GROUP,
    level=5,
    fix="Refuse the format, or declare it, so that it is tested.",
)
of_runs(
    "C18",
    group=_GROUP,
    level=5,
    fix="Refuse the type, or declare it, so that it is tested.",
)
of_runs(
    "E7",
    group=_GROUP,
    level=5,
    fix="pluginkit test shows the element, and the command that repeats the case.",
    nothing=_no_outputs,
)
of_runs(
    "E6",
    group=_GROUP,
    level=5,
    fix="Write each element of each output; a grid's last block is the usual place.",
    nothing=_no_outputs,
)
