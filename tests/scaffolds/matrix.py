"""Projects of given signatures, built and tested with the whole matrix: many at once on a machine of many cores."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from pluginkit.errors import PluginkitError
from pluginkit.manifest import Manifest
from pluginkit.run import several_plugins
from pluginkit.run.options import Options
from pluginkit.scaffold import project
from pluginkit.scaffold.add import write as add
from pluginkit.scaffold.kernels import patterns
from pluginkit.testing.families import selection
from tests.scaffolds.building import in_two_sources


def library(folder: Path, texts: Sequence[str]) -> Path:
    """A project whose library has all of them, as Drawn0, Drawn1, ...: each with the kernel that `new` begins with."""
    texts = [text.replace('name = "Drawn"', f'name = "Drawn{index}"', 1) for index, text in enumerate(texts)]
    kernels = [patterns.chosen(Manifest.parse(text), "") for text in texts]
    made = project.write(texts[0], folder, kernel=kernels[0])
    for text, kernel in zip(texts[1:], kernels[1:], strict=True):
        add(text, made, kernel=kernel)
    in_two_sources(made)
    return made


def _held(text: str, families: Sequence[str]) -> tuple[str, ...]:
    """Those of the networks that can hold the plugin, at some rank."""
    ranked = Manifest.parse(text).ranked()
    held = {one.family.NAME for manifest in ranked for one in selection.offered(manifest) if not one.refusal}
    return tuple(name for name in families if any(family.NAME in held for family in selection.called(name)))


def failures(text: str, options: dict[str, Any]) -> list[str]:
    """What is red of one signature, in a library of its own; empty where it is green, or holds no network asked for."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            if options.get("families"):
                options = {**options, "families": _held(text, options["families"])}
                if not options["families"]:
                    return []
            ran = several_plugins.run(Options(project=library(Path(folder), [text]), strict=True, jobs=1, **options))
        except PluginkitError as error:
            return [str(error)]
        except Exception:  # noqa: BLE001 - the others' results are wanted all the same
            return [traceback.format_exc()]
        return [*(str(item) for report in ran.reports for item in report.bad), *map(str, ran.errors)]


def _result(future: Future[list[str]]) -> list[str]:
    try:
        return future.result()
    except BrokenProcessPool as error:
        return [f"not tested, or killed while it was: {error}"]


def run(texts: dict[int, str], jobs: int = 0, **options: Any) -> list[int]:
    """Tests each by itself, prints what is red as it comes, and returns which are.

    Args:
        texts: each signature's `pluginkit.toml`, by its number.
        jobs: how many are built and tested at once; 0: as many as there are cores.
        **options: of `Options`.
    """
    red: list[int] = []
    os.environ.setdefault("CXXFLAGS", "-O0 -g0")
    # By spawn: a process of its own starts the fork server of its own.
    with ProcessPoolExecutor(jobs or os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        asked = {pool.submit(failures, text, options): number for number, text in texts.items()}
        for done, one in enumerate(as_completed(asked), 1):
            number, found = asked[one], _result(one)
            if found:
                red.append(number)
                print(f"--- {number}: {len(found)} red\n{texts[number]}\n", *found[:3], sep="\n")
            print(f"{done} of {len(texts)} ({number} {'red' if found else 'green'}), {len(red)} red", flush=True)
    print(f"red: {', '.join(map(str, sorted(red))) or 'none'}", file=sys.stderr)
    return sorted(red)
