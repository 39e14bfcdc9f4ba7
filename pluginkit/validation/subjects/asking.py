"""Checks that are asked of something else than the library in a worker: manifests, models, and test runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pluginkit.adoption.answers import ListedCreator, PluginAnswers
from pluginkit.demands import rule_id
from pluginkit.layouts import BEFORE_V3
from pluginkit.manifest import Manifest
from pluginkit.manifest.project import Member
from pluginkit.validation.catalog import BY_RUNS, Check
from pluginkit.validation.judging import ending_of, obstacle, result_of
from pluginkit.validation.results import CheckResult, Ending
from pluginkit.validation.subjects.evidence import Observation, RunEvidence
from pluginkit.validation.subjects.library import ListedLibrary, identity
from pluginkit.validation.subjects.model_nodes import ModelSubject

NO_MANIFEST = "there is no pluginkit.toml of it (pluginkit adopt drafts one)"
NO_MODEL = "--model MODEL.onnx gives one"
NO_RUN = "needs a project, or a pluginkit.toml next to the library (pluginkit adopt drafts one)"
SWITCHED_OFF = "switched off in pluginkit.toml"


@dataclass(frozen=True)
class MoreSubjects:
    """What else there is to ask.

    Attributes:
        creators: the library's.
        members: manifests.
        models: of each creator the model's nodes, by its index.
        evidence: of test runs, by the plugin's name.
    """

    creators: Sequence[ListedCreator]
    members: Sequence[Member]
    models: Mapping[int, ModelSubject]
    evidence: Mapping[str, RunEvidence]

    def manifest(self, creator: ListedCreator) -> Manifest | None:
        """The creator's plugin's, if there is one."""
        found = next((one.manifest for one in self.members if identity(one.manifest) == creator.identity), None)
        return found.in_layout(BEFORE_V3) if found is not None and creator.where else found

    def kinds(self, creator: ListedCreator) -> Iterator[ListedCreator]:
        """A creator, and the one of its name for TensorRT 8 where the manifest says that it is of another kind."""
        yield creator
        manifest = self.manifest(creator)
        if manifest is not None and len(manifest.plugin.interfaces) > 1:
            yield replace(creator, index=-1 - creator.index, kind="v2", where=f"TensorRT {BEFORE_V3.number}")

    def missing(self, asked: Sequence[Check], wanted: Sequence[str]) -> Iterator[CheckResult]:
        """The results for manifests whose plugin the library doesn't have; none of a choice of creators."""
        there = {one.identity for one in self.creators}
        for manifest in (one.manifest for one in self.members):
            if identity(manifest) not in there and not wanted:
                plugin = f"{manifest.plugin.name} {manifest.plugin.version}"
                library = ListedLibrary(manifest, self.creators)
                yield from (result_of(one, plugin, library) for one in asked if one.id == "I3")

    def results(
        self, asked: Sequence[Check], creator: ListedCreator, answers: PluginAnswers, direct: Iterator[CheckResult]
    ) -> Iterator[CheckResult]:
        """All results of a creator, in the order in which they are asked.

        Args:
            asked: the checks.
            creator: whom of.
            answers: what its plugin has answered.
            direct: the results of those that were asked in a worker; what test runs show of them counts as well.
        """
        found = {one.check: one for one in direct}
        plugin = creator.label
        # A library may have other versions of the name, which the runs were not of.
        evidence = self.evidence.get(creator.name) if self.manifest(creator) else None
        for one in asked:
            if one.id in found:
                shown = evidence.observed(one.id) if evidence else ()
                usual = found[one.id]
                yield _observed(one, plugin, shown[0]) if shown and not usual.is_finding else usual
            else:
                yield self._result(one, creator, answers, plugin, evidence)

    def _result(
        self, one: Check, creator: ListedCreator, answers: PluginAnswers, plugin: str, evidence: RunEvidence | None
    ) -> CheckResult:
        def skipped(why: str) -> CheckResult:
            return CheckResult(one.id, plugin, Ending.SKIPPED, message=why)

        manifest = self.manifest(creator)
        if one.need == "model":
            model = self.models.get(creator.index)
            return result_of(one, plugin, model) if model else skipped(NO_MODEL)
        if one.need == "manifest":
            library = ListedLibrary(manifest, self.creators, answers.base) if manifest else None
            return result_of(one, plugin, library) if library else skipped(NO_MANIFEST)
        assert one.need in BY_RUNS, one
        if evidence is None:
            return skipped(NO_RUN)
        if why := obstacle(one, creator, answers):
            return skipped(why)
        result, shown = result_of(one, plugin, evidence), evidence.observed(one.id)
        crashed = result.ending is Ending.FAILED and shown[0].crashed
        return replace(result, ending=Ending.CRASHED) if crashed else result

    def switched(self, results: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
        """The results, those of checks that manifests switch off as skipped, with the reason.

        What is asked of the library is switched off by any of its plugins' manifests.
        """
        own = {
            f"{one.name} {one.manifest.plugin.version}": {
                rule_id(name): reason for name, reason in one.manifest.checks.items()
            }
            for one in self.members
        }
        anyone = {name: reason for checks in own.values() for name, reason in checks.items()}
        return tuple(
            CheckResult(one.check, one.plugin, Ending.SKIPPED, message=f"{SWITCHED_OFF}: {checks[one.check]}")
            if one.check in (checks := own.get(one.plugin.partition(" (")[0], {}) if one.plugin else anyone)
            else one
            for one in results
        )


def _observed(one: Check, plugin: str, shown: Observation) -> CheckResult:
    return CheckResult(one.id, plugin, ending_of(one), shown.method, f"{shown.where}: {shown.message}")
