"""The worker's side of asking pluginkit's host: a whole case, with the calls that the chameleons keep."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pluginkit import layouts
from pluginkit.errors import CheckFailed
from pluginkit.host import BuiltPlugin, set_backtrace_file, set_call_file
from pluginkit.manifest import Manifest
from pluginkit.network.networks import PluginCall
from pluginkit.process import backtrace
from pluginkit.process.worker_main import CallFile
from pluginkit.runtimes.host.host_worker import HostChild
from tests.fidelity.tensorrt8.drawing.case import Case, feeds
from tests.fidelity.tensorrt8.hosting.network import hosted
from tests.fidelity.tensorrt8.recording import calls, outputs

HOW = "branches"
"""As TensorRT 8.5 runs a network: the branches that are not taken, too."""


def open(call_file: CallFile, *, library: Path, manifest: Manifest) -> CaseChild:  # noqa: A001
    """As `host_worker.open`, of the layout of TensorRT 8."""
    set_call_file(call_file.path)
    set_backtrace_file(backtrace.beside(call_file.path))
    return CaseChild(Choosing(library, manifest, "cpu", layouts.BEFORE_V3.host_version), library)


class Choosing(HostChild):
    """The host as in a network whose types the builder chooses: it asks most there."""

    def _build(self, call: PluginCall, implicit_batch: bool, chooses: bool) -> BuiltPlugin:
        del chooses
        return super()._build(call, implicit_batch, True)


class CaseChild:
    """The host in this process, with the chameleons."""

    def __init__(self, host: HostChild, library: Path) -> None:
        self._host = host
        self._kept = calls.Kept(str(library))

    def answer(self, case: Case, scales: Mapping[str, float]) -> dict[str, Any]:
        """What the host does with a case, as `trt_worker.Recorder.answer` says it, with the scales of a calibrator."""
        network = hosted(case, scales)
        self._kept.take()
        lives = calls.Lives()
        answer: dict[str, Any] = {"id": case.id, "verdict": "built", "outputs": [], "ran": []}
        # 8.5.3 gives the shapes of an interface with static ones without the batch, in each kind of network.
        apart = case.base != "dynamic"
        stage = "build"
        try:
            built = self._host.build(network, implicit_batch=apart)
            lives.add(self._kept.take())
            stage = "run"
            for number, run in enumerate(case.runs):
                profile = network.profiles[run.profile].name
                given = {"profile": profile, "feeds": feeds(case, run), "order": "forward", "deferred": False}
                ran = self._host.run(network, built, **given, tactic=0, way=HOW, free=())
                named = zip(case.network.outputs, ran.outputs.values(), strict=True)
                answer["outputs"].append({name: outputs.short(array) for name, array in named})
                answer["ran"].append(calls.ran(lives.add(self._kept.take())))
                if number == 0:
                    # The other things that TensorRT 8.5 was seen to do: calls, not values.
                    self._host.run(network, built, **given, tactic=0, way="as-8.5", free=())
                    lives.add(self._kept.take())
            answer["lives"], answer["run_lives"] = lives.texts(engine=False), lives.texts(engine=True)
            answer["configured"] = lives.configured()
        except CheckFailed as error:
            answer |= {"verdict": "refused", "stage": stage, "message": str(error)[:400]}
        return answer
