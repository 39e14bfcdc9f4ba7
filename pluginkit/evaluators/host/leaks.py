"""Whether a plugin gives back what it has taken."""

from __future__ import annotations

from pluginkit.demands import DemandWarning
from pluginkit.host.errors import Finding
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Case
from pluginkit.runtimes.host.session import HostSession


def asked(manifest: Manifest, case: Case) -> bool:
    """Whether a case of the plain network is the one that is asked: opt of the first profile."""
    return case.profile == manifest.profiles[0].name and case.id.endswith("/opt")


def find(session: HostSession, case: Case) -> tuple[DemandWarning, ...]:
    """What a case's plugins leave behind in each life (L7).

    Raises:
        Finding: something that `initialize` took is not given back by `terminate` (L12).
        CheckFailed, WorkerCrashed, WorkerTimeout: the plugin doesn't live several times in one process.
    """
    initialized, of_clones, other = session.leaks(case)
    if initialized:
        message = "\n".join(f"does not give back what initialize took: {one}" for one in initialized)
        hint = "Give it back in terminate(): TensorRT calls it for each plugin that it has initialized."
        raise Finding("IPluginV2::terminate", message, rule="L12", hint=hint)
    clones = (
        f"of a clone, which TensorRT never terminates, leaves what terminate gives back: {one}" for one in of_clones
    )
    return tuple(DemandWarning("L7", "destroy", one) for one in (*clones, *other))
