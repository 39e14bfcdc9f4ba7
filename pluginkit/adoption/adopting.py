"""Asks a library in worker processes, and writes the drafts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pluginkit import elf, layouts
from pluginkit.adoption import node, questions
from pluginkit.adoption.answers import ListedCreator, PluginAnswers, selected
from pluginkit.adoption.draft import DATA, DraftTexts, LibraryFacts, draft
from pluginkit.adoption.node import ModelNode
from pluginkit.errors import PluginCrashed, PluginkitError, UsageError
from pluginkit.library.loadable import loadable
from pluginkit.manifest import FILE_NAME
from pluginkit.manifest.project import ADDED
from pluginkit.manifest.signature import slug
from pluginkit.process.worker import Worker
from pluginkit.scaffold.writing import write

CHILD = "pluginkit.adoption.adoption_worker"
REFERENCE = "reference.py"

Step = Callable[[str], None]


@dataclass(frozen=True)
class AdoptedPlugin:
    """A plugin that was drafted: its creator, its class, where its files are, and the draft."""

    creator: ListedCreator
    base: str
    folder: Path
    draft: DraftTexts
    answers: PluginAnswers


@dataclass(frozen=True)
class Adopted:
    """What came of it.

    Attributes:
        plugins: those that were drafted, in the library's order.
        layouts: the major versions of TensorRT in which the library gives creators.
        left_out: creators that were not drafted, with the reason.
    """

    plugins: tuple[AdoptedPlugin, ...]
    layouts: tuple[int, ...]
    left_out: tuple[str, ...]


def adopt(
    library: Path,
    folder: Path,
    *,
    wanted: Sequence[str] = (),
    model: Path | None = None,
    timeout: float = 60.0,
    step: Step = lambda _: None,
) -> Adopted:
    """Draft `pluginkit.toml` and `reference.py` for the plugins of a library.

    Args:
        library: the `.so`.
        folder: for the files of the first plugin; another one's go into `plugins/<name>` below.
        wanted: creators to draft, as `Name` or `Name:version`; none: all.
        model: an ONNX model: its first node of each plugin has the values, shapes and constant inputs.
        timeout: seconds for loading the library.
        step: called with what is being done.

    Raises:
        UsageError: no such library, one for another machine, a file that is there already, no such creator, or a model
            that has no node of the library's plugins.
        CheckFailed: it can't be loaded, or has no creators.
        PluginCrashed: loading it ends the process, or takes too long.
    """
    elf.read(library)
    step("loading the library")
    listed = _listed(library, timeout)
    layouts = tuple(sorted(listed))
    creators = next(iter(listed.values()))
    nodes = node.read(model, creators) if model is not None else {}
    named = [one for one in creators if one.index in nodes] if model is not None and not wanted else creators
    chosen, left_out = _chosen(named, wanted)
    places = {one.index: folder if not at else folder / ADDED / slug(one.name) for at, one in enumerate(chosen)}
    _check_free(places.values())
    plugins = []
    for one in chosen:
        step(f"asking {one.name} {one.version}")
        layout, answers = _answers(library, listed, one, nodes.get(one.index), timeout)
        place = places[one.index]
        facts = LibraryFacts(
            os.path.relpath(library.resolve(), place.resolve()),
            layout if answers.made and not _in_other(library, listed, one, layout, answers, timeout) else None,
        )
        plugins.append(
            AdoptedPlugin(one, answers.base, place, draft(one, answers, facts, nodes.get(one.index)), answers)
        )
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[Path, str | None] = {}
    for plugin in plugins:
        files[plugin.folder / FILE_NAME] = plugin.draft.manifest
        files[plugin.folder / REFERENCE] = plugin.draft.reference
    write(folder, files)
    for plugin in plugins:
        data = nodes[plugin.creator.index].data() if plugin.creator.index in nodes else []
        if len(data) == len(plugin.draft.inputs):
            arrays: dict[str, Any] = dict(zip(plugin.draft.inputs, data, strict=True))
            np.savez(plugin.folder / DATA, **arrays)
    return Adopted(tuple(plugins), layouts, tuple(left_out))


def _listed(library: Path, timeout: float) -> dict[int, list[ListedCreator]]:
    """The creators by layout, of the hosts in which the library gives any."""
    found: dict[int, list[ListedCreator]] = {}
    errors: list[PluginkitError] = []
    # The first that a plugin can be made in is drafted.
    for one in loadable(library):
        creators = _creators(library, one.host_version, timeout)
        if isinstance(creators, list):
            found[one.number] = creators
            continue
        errors.append(creators)
        if isinstance(creators, PluginCrashed):
            break
    if not found:
        first = errors[0]
        raise first.worded(f"{library} can't be adopted: {first.message}")
    return found


def _creators(library: Path, version: int, timeout: float) -> list[ListedCreator] | PluginkitError:
    try:
        with Worker(CHILD, {"library": library.resolve(), "version": version}, timeout=timeout) as worker:
            creators: list[ListedCreator] = worker.call("creators")
    except PluginkitError as error:
        return error
    return creators


def _chosen(creators: Sequence[ListedCreator], wanted: Sequence[str]) -> tuple[list[ListedCreator], list[str]]:
    found: dict[str, ListedCreator] = {}
    left = []
    for one in selected(creators, wanted):
        # Files and folders are called by the name alone, so that two versions of it need two projects.
        if slug(one.name) in found:
            twice = found[slug(one.name)].version == one.version
            why = "the library lists it twice" if twice else "one version of a name is drafted"
            left.append(
                f"{one.full_name}: {why}" + ("" if twice else f"; --creator {one.full_name} --dir ... drafts it")
            )
        else:
            found[slug(one.name)] = one
    return list(found.values()), left


def _check_free(folders: Iterable[Path]) -> None:
    for folder in folders:
        for name in (FILE_NAME, REFERENCE, DATA):
            if (folder / name).exists():
                raise UsageError(
                    f"{folder / name} already exists; nothing was written.",
                    hint="Choose another folder with --dir, or remove it.",
                )


def _answers(
    library: Path,
    listed: dict[int, list[ListedCreator]],
    creator: ListedCreator,
    asked: ModelNode | None,
    timeout: float,
) -> tuple[int, PluginAnswers]:
    """What a creator's plugin answers, and the layout in which it does."""
    first: tuple[int, PluginAnswers] | None = None
    for layout, creators in listed.items():
        index = next((one.index for one in creators if one.identity == creator.identity), None)
        if index is None:
            continue
        given, ranks, sizes = (asked.given, asked.ranks, asked.opt_sizes()) if asked else (None, None, ())
        init = {"library": library.resolve(), "version": layouts.layout(layout).host_version}
        with Worker(CHILD, init, timeout=timeout + questions.ALL) as worker:
            found: PluginAnswers = worker.call("answers", index=index, given=given, ranks=ranks, sizes=sizes)
        if found.made:
            return layout, found
        first = first or (layout, found)
    assert first is not None
    return first


def _in_other(
    library: Path,
    listed: dict[int, list[ListedCreator]],
    creator: ListedCreator,
    layout: int,
    answers: PluginAnswers,
    timeout: float,
) -> bool:
    """Whether the plugin can be made in a host of another layout too."""
    for other, creators in listed.items():
        index = next((one.index for one in creators if one.identity == creator.identity), None)
        if other == layout or index is None:
            continue
        init = {"library": library.resolve(), "version": layouts.layout(other).host_version}
        with Worker(CHILD, init, timeout=timeout) as worker:
            if worker.call("base", index=index, given=answers.given):
                return True
    return False
