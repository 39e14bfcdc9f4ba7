"""Checks of the list of creators, and of what each says of itself."""

from __future__ import annotations

from pathlib import Path

from pluginkit import elf, host, nvidia_plugins
from pluginkit.host import Finding
from pluginkit.host.library import SPACE
from pluginkit.library.loadable import loadable
from pluginkit.library.origin import TENSORRT
from pluginkit.validation.catalog import NothingToCheck, check
from pluginkit.validation.subject import Subject

_REGISTRY = "NVIDIA's registry (tensorrt-lean, TensorRT-RTX)"
_GROUP = "creators"


@check(
    "B22",
    "The library can be loaded, and comes back from its static initializers and setLoggerFinder.",
    group=_GROUP,
    level=1,
    kind="contract",
    need="loaded",
    source="NvInferRuntimeCommon.h, IPluginRegistry::loadLibrary: the library is loaded before any creator is asked",
    fix="Do nothing in static initializers that can fail.",
)
def _loads(subject: Subject) -> None:
    del subject  # it couldn't be here otherwise: the library reports it on loading


@check(
    "B23",
    "The library can be unloaded, and comes back from its static destructors.",
    group=_GROUP,
    level=2,
    kind="contract",
    need="loaded",
    source='NvInferRuntimeCommon.h, IPluginRegistry::deregisterLibrary: "Any resources acquired when the library was '
    'loaded will be released"',
    fix="Destroy nothing at the end that another static object still uses, and end threads before.",
)
def _unloads(subject: Subject) -> None:
    assert subject.library is not None
    file = str(subject.library.path)
    subject.library.close()
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    if any(line.endswith(f" {file}") for line in maps.splitlines()):
        raise NothingToCheck("the library stays loaded when it is closed: names that are unique do that (B19)")


@check(
    "B1",
    group=_GROUP,
    level=1,
    need="loaded",
    fix="Link what has the symbol: -Wl,--no-undefined shows at build what is missing.",
)
def _bound(subject: Subject) -> None:
    del subject  # as B22


@check(
    "B4",
    group=_GROUP,
    level=1,
    need="loaded",
    fix="Return a static array of pointers to static creators, and its length.",
)
def _list(subject: Subject) -> None:
    del subject  # as B22


@check(
    "B5",
    group=_GROUP,
    level=2,
    need="loaded",
    fix="Keep creators and their array in static storage.",
)
def _list_again(subject: Subject) -> None:
    del subject  # as B22


@check(
    "I8",
    group=_GROUP,
    level=1,
    need="plugin",
    fix="Don't override getInterfaceInfo.",
)
def _interface(subject: Subject) -> None:
    # The creator's own is asked where the library is loaded.
    subject.plugin()


@check(
    "I4",
    group=_GROUP,
    level=1,
    need="loaded",
    fix="Return string literals.",
)
def _texts(subject: Subject) -> None:
    creator = _asked_again(subject)
    creator.check()
    if not creator.name or not creator.version:
        what = "getPluginVersion" if creator.name else "getPluginName"
        raise Finding(f"IPluginCreator::{what}", "answered an empty string", rule="I4")
    # Bytes that are not UTF-8 are shown as ASCII.
    namespace = creator.native.namespace() or ""
    if not namespace.isascii():
        shown = repr(namespace.encode("utf-8", "surrogateescape"))[1:]
        raise Finding("IPluginCreator::getPluginNamespace", f"answered {shown}, which is not ASCII", rule="I4")


@check(
    "I9",
    "Name and version stay what they are when they are asked for again, and when the namespace changes.",
    group=_GROUP,
    level=3,
    kind="robustness",
    need="loaded",
    source="no document; hosts keep creators by their names",
    fix="Return string literals, or members that don't change.",
)
def _stable_texts(subject: Subject) -> None:
    creator = subject.creator.native
    before = f"'{creator.name()}' version '{creator.version()}'"
    if subject.creator.kind == "v2":
        creator.set_namespace(SPACE)
    after = f"'{creator.name()}' version '{creator.version()}'"
    if before != after:
        raise Finding("IPluginCreator::getPluginName", f"the creator was {before}, and is {after} now", rule="I9")


@check(
    "B10",
    "No creator has the name, version and namespace of one of NVIDIA's plugins.",
    group=_GROUP,
    level=2,
    kind="robustness",
    need="loaded",
    source="NvInferRuntimeCommon.h, IPluginRegistry::registerCreator: false where a creator of that identity is there",
    fix="Give the plugin another name or version, or a namespace of its own.",
)
def _clash(subject: Subject) -> None:
    one = subject.creator
    eight = subject.library is not None and 8 in {known.number for known in loadable(subject.library.path)}
    known = [known for known in nvidia_plugins.plugins(one.name) if eight or known.first != nvidia_plugins.EIGHT]
    when = next((f" in {listed.when}" for listed in known if listed.version == one.version), "")
    if not one.namespace and (when or one.version in nvidia_plugins.rtx_plugins(one.name)):
        if subject.library is not None and TENSORRT.fullmatch(elf.read(subject.library.path).soname):
            raise NothingToCheck("the library is NVIDIA's own")
        raise Finding(
            "IPluginCreator::getPluginName",
            f"{one.name} version {one.version} without a namespace is one of NVIDIA's own{when}",
            rule="B10",
        )


@check(
    "F1",
    group=_GROUP,
    level=1,
    need="loaded",
    fix="Return the address of a static PluginFieldCollection; nbFields 0 where there are none.",
)
def _fields(subject: Subject) -> None:
    _asked_again(subject).check()


@check(
    "F2",
    group=_GROUP,
    level=1,
    need="loaded",
    fix="List each field once.",
)
def _field_list(subject: Subject) -> None:
    if not subject.creator.fields:
        raise NothingToCheck("it has no fields")
    _asked_again(subject).check()


@check(
    "F14",
    "`getFieldNames` gives the same list again.",
    group=_GROUP,
    level=2,
    kind="robustness",
    need="loaded",
    source="no document; a list that grows with each creator shows the fields of others (TensorRT's changelog of 10.0)",
    fix="Fill the list once, in static storage.",
)
def _fields_again(subject: Subject) -> None:
    first, second = subject.creator.fields, _asked_again(subject).fields
    if first != second:
        raise Finding(
            "IPluginCreator::getFieldNames", f"listed {len(first)} fields, and then {len(second)}", rule="F14"
        )


def _asked_again(subject: Subject) -> host.Creator:
    """The creator, asked for all that it says of itself once more."""
    return host.Creator(subject.creator.native)
