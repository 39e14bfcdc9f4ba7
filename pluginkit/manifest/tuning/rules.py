"""Rules on the part `[tuning]`."""

from __future__ import annotations

import math
import re

from pluginkit.manifest.mistakes import unknown
from pluginkit.manifest.signature import ManifestModel
from pluginkit.manifest.tuning.section import STANDARD, Kept, Values, constant

ARCHITECTURE = re.compile(r"sm_[1-9][0-9]{1,2}")
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_MOST_PACKS = 16
_MOST = 2**31 - 1


def problems(manifest: ManifestModel) -> list[str]:
    """What is wrong in the section."""
    tuning = manifest.tuning
    found = _same_names([*STANDARD, *tuning.parameters])
    for name, numbers in tuning.parameters.items():
        where = f"tuning.parameters.{name}"
        if not _NAME.fullmatch(name):
            found.append(f"{where}: '{name}' is not a name for it: lower case letters, digits and _, as in unroll_by")
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
        if kept.also and manifest.plugin.base != "v3":
            found.append(f"tuning.{arch}.also: is for tactics, which plugins of base v3 alone have: remove it")
        found += [f"tuning.{arch}.{problem}" for problem in _figures(kept)]
    return found


def _same_names(names: list[str]) -> list[str]:
    first_of: dict[str, str] = {}
    found = []
    for name in names:
        first = first_of.setdefault(constant(name), name)
        if first != name:
            found.append(f"tuning.parameters: '{first}' and '{name}' are both {constant(name)} in C++: rename one")
    return found


def _figures(kept: Kept) -> list[str]:
    found = []
    if not (math.isfinite(kept.gain) and kept.gain > 0):
        found.append(f"gain: is {kept.gain}: how many times faster, as 1.03")
    if not (math.isfinite(kept.noise) and kept.noise >= 0):
        found.append(f"noise: is {kept.noise}: a part of the time, as 0.004")
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
