"""The project that `pluginkit new` writes, in every runtime that is here."""

from __future__ import annotations

from pathlib import Path

import pytest

from pluginkit.build import find_artifact
from pluginkit.evaluators.rtx import participation
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import ApiNetwork
from pluginkit.network.networks import Network
from pluginkit.runtimes.host import session as host
from pluginkit.runtimes.lean import session as lean
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.testing.comparison import compare
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference


@pytest.fixture
def project(my_plugin: Path) -> Path:
    return my_plugin


@pytest.mark.compile
def test_host_and_nvidias_builder_agree(project: Path) -> None:
    library, manifest = find_artifact(project).library, Manifest.load(project)
    made = plan(manifest, Reference.load(project, manifest))
    configured = {}
    with host.open(library, manifest) as ours:
        for network in made.networks:
            verdict = ours.build(network)
            assert verdict.ok, (network.id, verdict.message)
            if isinstance(network, Network):
                assert participation.problems(network, verdict.configured) == []
            configured[network.id] = verdict.configured
        for case in made.cases:
            ran = ours.run(case)
            comparison = compare(case.defined(ran.outputs), case.expected, case.tolerance)
            assert comparison.ok, (case.id, comparison.message)
            assert ran.enqueues == case.enqueues
    if not tensorrt_rtx.probe().found:
        pytest.skip(f"host only: {tensorrt_rtx.probe().reason}")
    with tensorrt_rtx.open(library, manifest) as nvidias:
        for network in made.networks:
            verdict = nvidias.build_api(network) if isinstance(network, ApiNetwork) else nvidias.build(network)
            assert verdict.ok, (network.id, verdict.message)
            assert participation.problems(network, verdict.configured, configured[network.id]) == []


@pytest.mark.compile
@pytest.mark.lean
def test_one_library_is_right_for_every_registry(project: Path) -> None:
    if not lean.installed():
        pytest.skip(lean.probe().reason)
    library, manifest = find_artifact(project).library, Manifest.load(project)
    for which in lean.installed():
        with lean.open(library, manifest, lean=which) as session:
            for network in plan(manifest, Reference.load(project, manifest)).usual:
                verdict = session.build(network)
                assert verdict.ok, (which.version, verdict.message)
