"""The worker's side of `loading`: loads a library in one host and describes its creators."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pluginkit import host
from pluginkit.creators import probing
from pluginkit.creators.facts import CreatorFacts, FieldFacts, type_name
from pluginkit.errors import CheckFailed
from pluginkit.process.worker_main import CallFile
from pluginkit.runtimes.nvidia.creator_names import identity


class Child:
    """A library in a host."""

    def __init__(self, creators: Sequence[CreatorFacts]) -> None:
        self._creators = list(creators)

    def creators(self) -> list[CreatorFacts]:
        """What came with the library."""
        return self._creators


def open(call_file: CallFile, *, kind: str, library: str, version: int = 0, folder: str = "") -> Child:  # noqa: A001
    """Load the library and ask its creators.

    Args:
        call_file: gets the calls.
        kind: `host`, `lean` or `rtx`.
        library: the plugin library.
        version: the TensorRT version that the library sees.
        folder: where tensorrt_lean is imported from; empty = as Python finds it.

    Raises:
        UsageError, CheckFailed: it can't be loaded, or answers nonsense.
    """
    if kind == "host":
        host.set_call_file(call_file.path)
        return Child(_in_host(Path(library), version))
    if kind == "lean":
        return Child(_in_lean(call_file, library, folder))
    return Child(_in_rtx(call_file, library))


def _in_host(path: Path, version: int) -> list[CreatorFacts]:
    # Closing is left to the end of the process: what a library does on unloading is not part of the question.
    library = host.Library(path, version)
    return [
        CreatorFacts(
            creator.name,
            creator.version,
            creator.namespace,
            creator.kind.upper(),
            creator.interface,
            base,
            tuple(FieldFacts(field.name, type_name(field.type), field.length) for field in creator.fields),
        )
        for creator, base in zip(library.creators, probing.bases(library.creators), strict=True)
    ]


def _in_lean(call_file: CallFile, library: str, folder: str) -> list[CreatorFacts]:
    if folder:
        sys.path.insert(0, folder)
    import tensorrt_lean as trt

    from pluginkit.runtimes.lean.lean_worker import recorder

    registry = trt.get_plugin_registry()
    registry.error_recorder = errors = recorder(trt)
    return _registered(call_file, registry, library, lambda: [text for _, text in errors.messages])


def _in_rtx(call_file: CallFile, library: str) -> list[CreatorFacts]:
    import tensorrt_rtx as trt

    from pluginkit.runtimes.nvidia.bindings import Log
    from pluginkit.runtimes.rtx.registering import take_registering

    log = Log()
    builder = trt.Builder(log)
    log.take()
    errors = lambda: [text for _, text in log.take()]  # noqa: E731
    process = trt.get_plugin_registry()
    known = {identity(one) for one in process.all_creators}
    call_file.enter("dlopen")
    taken = take_registering(process, library)
    call_file.leave()
    if taken:
        return _new(call_file, process, known, errors)
    return _registered(call_file, builder.get_plugin_registry(), library, errors, alive=builder)


def _registered(
    call_file: CallFile,
    registry: Any,
    library: str,
    log: Callable[[], list[str]],
    alive: Any = None,
) -> list[CreatorFacts]:
    """The creators that are in a registry of NVIDIA's once it has loaded the library."""
    known = {identity(one) for one in registry.all_creators}
    call_file.enter("IPluginRegistry::loadLibrary")
    registry.load_library(library)
    call_file.leave()
    found = _new(call_file, registry, known, log)
    del alive
    return found


def _new(
    call_file: CallFile, registry: Any, known: set[tuple[str, str, str]], log: Callable[[], list[str]]
) -> list[CreatorFacts]:
    """The creators that a registry had not before."""
    new = [one for one in registry.all_creators if identity(one) not in known]
    if not new:
        message = "\n".join(log()) or "no reason given"
        raise CheckFailed(f"its registry takes no creator from the library: {message}")
    facts = []
    for creator in new:
        call_file.enter("IPluginCreatorInterface::getFieldNames")
        facts.append(_facts(creator))
        call_file.leave()
    return facts


def _facts(creator: Any) -> CreatorFacts:
    interface = type(creator).__name__
    fields: list[FieldFacts] = []
    # A null collection comes as None.
    with contextlib.suppress(TypeError):
        fields = [FieldFacts.of(field) for field in creator.field_names]
    kind = "V3" if "V3" in interface else "V2"
    return CreatorFacts(*identity(creator), kind, interface, "IPluginV3" if kind == "V3" else "", tuple(fields))
