"""Checks of what an engine keeps of a plugin, and of the plugin that comes out of an engine."""

from __future__ import annotations

from functools import partial
from typing import Any

from pluginkit.field_types import FieldType
from pluginkit.host import Finding, damaged_bytes
from pluginkit.host.bases.v2_plugin import Serialized, V2Plugin
from pluginkit.host.bases.v3.lifecycle import RUNTIME
from pluginkit.validation.catalog import NothingToCheck, check
from pluginkit.validation.subject import LAYER, Subject

_GROUP = "serialization"
_RUNTIME_PLUGIN = "NvInferRuntimePlugin.h"
_V3ONE = "IPluginCreatorV3One::createPlugin"


def _bytes(subject: Subject) -> tuple[V2Plugin[Any], Serialized]:
    """A plugin as it is at the end of a build, and its bytes."""
    plugin = subject.configured() if subject.has_inputs else subject.plugin()
    assert isinstance(plugin, V2Plugin)
    return plugin, plugin.serialize()


@check(
    "S1",
    group=_GROUP,
    level=1,
    of=("v2",),
    fix="Compute both from one list of members.",
)
def _size(subject: Subject) -> None:
    _bytes(subject)


@check(
    "S2",
    group=_GROUP,
    level=2,
    of=("v2",),
    fix="Write members one by one instead of a struct with padding.",
)
def _every_byte(subject: Subject) -> None:
    _, kept = _bytes(subject)
    if not kept.data:
        raise NothingToCheck("it serializes to no bytes")


@check(
    "S3",
    group=_GROUP,
    level=1,
    of=("v2",),
    fix="Read back every member that serialize wrote, in its order.",
)
def _round_trip(subject: Subject) -> None:
    plugin, kept = _bytes(subject)
    again = subject.creator.deserialize(LAYER, kept.data)
    if again.INTERFACE != plugin.INTERFACE:
        message = f"made an {again.INTERFACE} of the bytes of an {plugin.INTERFACE}"
        raise Finding("IPluginCreator::deserializePlugin", message, rule="S3")
    other = again.serialize()
    if not other.like(kept):
        message = f"the plugin made of {len(kept.data)} bytes serializes to {len(other.data)} other bytes"
        raise Finding("IPluginCreator::deserializePlugin", message, rule="S3")
    if again.nb_outputs() != plugin.nb_outputs():
        message = f"answered {again.nb_outputs()} after deserialization, {plugin.nb_outputs()} at build"
        raise Finding(again.name_of("getNbOutputs"), message, rule="T1")


@check(
    "S5",
    group=_GROUP,
    level=4,
    fix="Compare the length before reading, and return null where it doesn't fit.",
)
def _damaged(subject: Subject) -> None:
    if subject.creator.kind == "v3":
        kept = subject.v3().fields_to_serialize()
        # How long a list or a text may be is the plugin's own affair.
        open_ended = {one.name for one in kept if one.length != 1 or one.type == FieldType.STRING.code}
        if not {one.name for one in kept} - open_ended:
            raise NothingToCheck("the engine keeps no field of one number of it")
        damaged_bytes.check_kept(subject.creator, LAYER, kept, open_ended)
        return
    _, written = _bytes(subject)
    if not written.data:
        raise NothingToCheck("it serializes to no bytes")
    damaged_bytes.check_bytes(subject.creator, LAYER, written.data)


@check(
    "S9",
    group=_GROUP,
    level=1,
    of=("v3",),
    fix="Look fields up by name in createPlugin, in both phases alike.",
)
def _restored(subject: Subject) -> None:
    kept = subject.v3().fields_to_serialize()
    subject.creator.restore_v3(LAYER, kept).check_capabilities(RUNTIME)


@check(
    "S4",
    group=_GROUP,
    level=2,
    of=("v3",),
    fix="Keep every field that the plugin was made of.",
)
def _same_fields(subject: Subject) -> None:
    kept = subject.v3().fields_to_serialize()
    if not kept:
        raise NothingToCheck("the engine keeps no field of it")
    again = subject.creator.restore_v3(LAYER, kept).fields_to_serialize()
    if again != kept:
        raise Finding(_V3ONE, "the plugin made of the serialized fields gives others", rule="S4")


def _fields(subject: Subject, rule: str) -> None:
    kept = subject.v3().fields_to_serialize()
    if not kept and rule != "S8":
        raise NothingToCheck("the engine keeps no field of it")


check(
    "S8",
    group=_GROUP,
    level=2,
    of=("v3",),
    fix="Return the address of a member PluginFieldCollection.",
)(partial(_fields, rule="S8"))
check(
    "S10",
    group=_GROUP,
    level=1,
    of=("v3",),
    fix="Set nbFields, length and data together.",
)(partial(_fields, rule="S10"))
check(
    "S11",
    group=_GROUP,
    level=3,
    of=("v3",),
    fix="Keep the fields and what they point to in members.",
)(partial(_fields, rule="S11"))
