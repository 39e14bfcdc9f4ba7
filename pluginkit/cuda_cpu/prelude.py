"""The prelude of every source, precompiled by g++: reading it takes longer than compiling a small source.

It is kept in the user's cache (`$XDG_CACHE_HOME/pluginkit`, else `~/.cache/pluginkit`), an entry for each compiler and
its options, since a new build folder would have to make it again. A compiler that has no such thing, a cache that can't
be written and a macro that the prelude depends on only cost the time: the prelude is then read as text.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pluginkit.errors import UsageError
from pluginkit.paths import user_folder

KEPT = 8
"""So many are kept, of 60 MB each: the last ones that were used."""
IN_USE_SECONDS = 600
"""An entry that was used a shorter time ago may be a running compiler's."""
_HEADERS = ("cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h")
_MACROS = re.compile(r"-[DU](?:_|NDEBUG\b|PLUGINKIT_(?!TRT_LAYOUT\b|SECONDARY\b))")
"""Those that the prelude may depend on: not those of TensorRT's layouts, which are compiled with one prelude. g++ takes
it as text where another macro turns out to matter."""
_NAME = "prelude.h"


@dataclass(frozen=True)
class Precompiled:
    """An entry of the cache.

    Attributes:
        header: what a source includes first; g++ takes `header.gch` in its place.
        dependencies: the headers in it, as they stand in a Makefile.
    """

    header: Path
    dependencies: str

    def add_dependencies(self, rules: Path) -> None:
        """Puts the headers into the rule that the preprocessor wrote, which has only those of the source itself."""
        rule = rules.read_text(encoding="utf-8").rstrip("\n")
        rules.write_text(f"{rule} \\\n {self.dependencies}\n", encoding="utf-8")


def precompiled(
    cxx: str, options: Sequence[str], preprocess: Sequence[Sequence[str]], prelude: Path
) -> Precompiled | None:
    """The precompiled prelude for these options; None where there is none (yet).

    It is made when it is asked for the second time: options that are used once aren't worth it.

    Args:
        cxx: the compiler; only g++ has one here.
        options: for compiling.
        preprocess: options for the preprocessor, each with its value.
        prelude: the header that includes everything.
    """
    if "clang" in Path(cxx).name or any(each[0] in {"-include", "-MP"} for each in preprocess):
        return None
    compiler = shutil.which(cxx)
    if compiler is None:
        return None
    flags = [*(each for each in options if not each.startswith("-W")), *_that_matter(preprocess)]
    identity = [compiler, *_state(Path(compiler).resolve()), *flags, str(prelude)]
    key = hashlib.sha256("\0".join(map(str, identity)).encode()).hexdigest()[:24]
    try:
        return _entry(user_folder("XDG_CACHE_HOME", ".cache") / "preludes" / key, [compiler, *flags], prelude)
    except (OSError, UsageError):
        return None


def _that_matter(preprocess: Sequence[Sequence[str]]) -> list[str]:
    """The options that the prelude can depend on: CUDA's headers, and macros of the C++ library and of ours."""
    kept: list[str] = []
    for name, *value in preprocess:
        flag = name + "".join(value)
        folder = re.sub(r"^-(?:I|isystem|iquote|idirafter)", "", flag)
        if (folder != flag and any(Path(folder, each).exists() for each in _HEADERS)) or _MACROS.match(flag):
            kept += [name, *value]
    return kept


def _entry(folder: Path, command: list[str], prelude: Path) -> Precompiled | None:
    header, record = folder / _NAME, folder / "headers.json"
    if record.exists():
        saved = _read(record)
        if saved and all(_state(Path(path)) == state for path, state in saved["state"].items()):
            os.utime(record)
            return Precompiled(header, saved["dependencies"]) if saved["works"] else None
        shutil.rmtree(folder)
    if not folder.exists():
        folder.mkdir(parents=True)
        return None
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None  # another compiler of the same build makes it
        if not record.exists():
            _make(header, record, command, prelude)
            leave_out_old(folder.parent)
    return _entry(folder, command, prelude) if record.exists() else None


def _make(header: Path, record: Path, command: list[str], prelude: Path) -> None:
    """Writes the entry; its record last, and under another name until it is whole."""
    header.write_text(f'#include "{prelude}"\n', encoding="utf-8")
    made, rules, empty = (header.with_name(name) for name in (f"{_NAME}.gch", "rules", "empty.ii"))
    make = [*command, "-w", "-x", "c++-header", "-MD", "-MF", str(rules), "-MT", "x", str(header), "-o", str(made)]
    works = subprocess.run(make, capture_output=True, check=False).returncode == 0
    dependencies, state = "", {}
    if works:
        # Some machines' g++ can't map what it has written.
        empty.write_text(f'#pragma GCC pch_preprocess "{made}"\n', encoding="utf-8")
        check = [*command, "-w", "-x", "c++-cpp-output", "-fpch-preprocess", "-c", str(empty), "-o", os.devnull]
        works = subprocess.run(check, capture_output=True, check=False).returncode == 0
        dependencies = rules.read_text(encoding="utf-8").partition(": ")[2].replace(str(header), "").strip(" \\\n")
        names = re.findall(r"(?:\\.|[^\s\\])+", dependencies)
        paths = [re.sub(r"\\(.)", r"\1", name).replace("$$", "$") for name in names]
        state = {path: _state(Path(path)) for path in paths}
    if not works:
        made.unlink(missing_ok=True)
    whole = record.with_suffix(".new")
    whole.write_text(json.dumps({"works": works, "dependencies": dependencies, "state": state}), encoding="utf-8")
    whole.rename(record)


def _read(record: Path) -> dict[str, Any]:
    """What `_make` wrote; nothing where it is damaged."""
    try:
        saved = json.loads(record.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return saved if isinstance(saved, dict) and {"works", "dependencies", "state"} <= set(saved) else {}


def _state(path: Path) -> list[int]:
    try:
        status = path.stat()
    except OSError:
        return []
    return [status.st_mtime_ns, status.st_size]


def leave_out_old(cache: Path) -> None:
    """Removes all but the last `KEPT` entries that were used, unless a compiler may be reading them."""
    entries = sorted(cache.glob("*/headers.json"), key=lambda each: each.stat().st_mtime, reverse=True)
    for record in entries[KEPT:]:
        if time.time() - record.stat().st_mtime > IN_USE_SECONDS:
            shutil.rmtree(record.parent, ignore_errors=True)
