"""Rules on the part `[tuning]`."""

from __future__ import annotations

import re

from pluginkit.manifest.mistakes import unknown
from pluginkit.manifest.signature import ManifestModel
from pluginkit.manifest.tuning.section import STANDARD, Values

ARCHITECTURE = re.compile(r"sm_[1-9][0-9]{1,2}")
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_MOST_PACKS = 16
_MOST = 2**31 - 1


def problems(manifest: ManifestModel) -> list[str]:
    """What is wrong in the section."""
    tuning = manifest.tuning
    found = []
    for name, numbers in tuning.parameters.items():
        where = f"tuning.parameters.{name}"
        if not _NAME.fullmatch(name):
            found.append(f"{where}: '{name}' is no name for it: lower case letters, digits and _, as in unroll_by")
        if not numbers:
            found.append(f"{where}: write the values to try, the usual one first, as in [4, 1, 2, 8]")
        if len(set(numbers)) < len(numbers):
            found.append(f"{where}: a value stands there twice")
        found += [f"{where}: {problem}" for number in numbers if (problem := _value(name, number))]
    known = [*dict.fromkeys([*STANDARD, *tuning.parameters])]
    for arch, kept in tuning.kept.items():
        if not ARCHITECTURE.fullmatch(arch):
            found.append(f"tuning.{arch}: is neither `parameters` nor an architecture, as sm_90")
        for where, values in ((f"tuning.{arch}.values", kept.values), *((f"tuning.{arch}.also", v) for v in kept.also)):
            found += [f"{where}: {problem}" for problem in _values(values, known)]
    return found


def _values(values: Values, known: list[str]) -> list[str]:
    return [unknown("value", name, known) for name in values if name not in known] + [
        problem for name, number in values.items() if name in known and (problem := _value(name, number))
    ]


def _value(name: str, number: int) -> str:
    if name == "threads" and not (32 <= number <= 1024 and number % 32 == 0):
        return f"threads = {number}: a block has 32 to 1024 threads, a multiple of 32"
    if name == "packs" and not 1 <= number <= _MOST_PACKS:
        return f"packs = {number}: a thread takes 1 to {_MOST_PACKS}"
    return "" if 0 <= number <= _MOST else f"{name} = {number}: a value is 0 to {_MOST}"
