"""Networks in which a field has another value: whether the plugin may refuse it, and where it has lost it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pluginkit.demands import DemandWarning
from pluginkit.field_types import shown
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.networks import Array, Case, FieldValues, Network
from pluginkit.runtimes import BuildVerdict
from pluginkit.runtimes.host.session import HostSession
from pluginkit.testing.comparison import compare
from pluginkit.testing.report import CaseResult, Outcome

_CREATES = "::createPlugin"


def refused(network: AnyNetwork, verdict: BuildVerdict) -> str:
    """The message for a network whose field has an undeclared value, where createPlugin refuses it; else nothing.

    A plugin takes the values that its author chose. For others, TensorRT's headers have createPlugin answer null;
    many end the process.
    """
    one = _varied(network)
    if (
        one is None
        or not one.name
        or (one.declared and not one.more)
        or verdict.ok
        or not verdict.method.endswith(_CREATES)
    ):
        return ""
    if one.more:
        return f"createPlugin refuses {_shown(one)} at once, so this was not run."
    return (
        f"createPlugin refuses {one.name} = {shown(one.value)}, which pluginkit.toml doesn't declare, so this was not "
        "run.\nSay which values the field takes: min and max, or choices."
    )


def as_warning(network: AnyNetwork, result: CaseResult) -> CaseResult:
    """The result, as a warning (F6) where it is bad and rests on values that pluginkit.toml doesn't declare, or on
    omitted fields: that a field has a default doesn't say that TensorRT's users omit it."""
    one = _varied(network)
    if one is None or one.declared or not result.outcome.bad:
        return result
    how = (
        f"with {one.name} = {shown(one.value)}, near its default"
        if one.name
        else "without the fields that have a default"
    )
    only = DemandWarning("F6", "createPlugin", f"{how}: {result.message}")
    return replace(result, outcome=Outcome.PASSED, message="", warnings=(*result.warnings, only))


def describe(session: HostSession, network: AnyNetwork, case: Case, outputs: Mapping[str, Array]) -> str:
    """The cause, if the outputs are those of the field's usual value."""
    one = _varied(network)
    if one is None:
        return ""
    if not one.name:
        return "The node gives no field that has a default: the plugin's own defaults must be those of pluginkit.toml."
    if not compare(outputs, case.lost, case.tolerance).ok:
        return f"Here {_shown(one)} at once; with each alone see the networks before it." if one.more else ""
    kept = session.engine_has(network.id, one.name)
    where = "createPlugin, clone, serialize, deserializePlugin and enqueue"
    if kept is not None:
        where = "deserializePlugin and enqueue" if kept else "createPlugin, clone and getFieldsToSerialize"
        where = f"the engine {'has' if kept else 'has not'} the value, so look at {where}"
    else:
        where = f"look at {where}"
    return f"These are the outputs for {one.name} = {shown(one.default)}, and the node has {shown(one.value)}: {where}."


def _shown(one: FieldValues) -> str:
    return " and ".join(f"{name} = {shown(value)}" for name, value in one.values.items())


def _varied(network: AnyNetwork) -> FieldValues | None:
    return network.fields if isinstance(network, Network) else None
