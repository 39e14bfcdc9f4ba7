"""Projects of given signatures, built and tested with the whole matrix: many at once on a machine of many cores."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from pluginkit.errors import PluginkitError
from pluginkit.manifest import Manifest
from pluginkit.run import several_plugins
from pluginkit.run.options import Options
from pluginkit.scaffold import project
from pluginkit.scaffold.add import write as add
from pluginkit.scaffold.kernels import patterns
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


def failures(text: str, options: dict[str, Any]) -> list[str]:
    """What is red of one signature, in a library of its own; empty where it is green."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            ran = several_plugins.run(Options(project=library(Path(folder), [text]), strict=True, jobs=1, **options))
        except PluginkitError as error:
            return [str(error)]
        return [*(str(item) for report in ran.reports for item in report.bad), *map(str, ran.errors)]


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
            number, found = asked[one], one.result()
            if found:
                red.append(number)
                print(f"--- {number}: {len(found)} red\n{texts[number]}\n", *found[:3], sep="\n")
            print(f"{done} of {len(texts)} ({number} {'red' if found else 'green'}), {len(red)} red", flush=True)
    print(f"red: {', '.join(map(str, sorted(red))) or 'none'}", file=sys.stderr)
    return sorted(red)
