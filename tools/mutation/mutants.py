"""The mutants of a class of each base (tests/classes), and which of them are equivalent to it."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutation.operators import changes
from mutation.source import Source

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BASES = ("dynamic", "ioext", "v3")
NAMESPACE = "acme"
"""Of the plugins. An empty one could be lost without being missed."""
EQUIVALENTS = Path(__file__).with_name("equivalents.toml")


@dataclass(frozen=True)
class Mutant:
    """One change of one source.

    Attributes:
        base: of the plugin.
        file: from the project's folder.
        line: of the change's begin.
        function: that it is in, or the type.
        operator: what was changed.
        before, after: the changed lines, without their indentation, and without what did not change around them.
        begin, end, new: the change.
        number: of the mutants of the file that are the same up to here, from 1.
    """

    base: str
    file: str
    line: int
    function: str
    operator: str
    before: str
    after: str
    begin: int
    end: int
    new: str
    number: int = 1

    @property
    def id(self) -> str:
        """The same as long as the mutant is the same, wherever it stands in the file."""
        parts = (self.file, self.function, self.operator, self.before, self.after)
        return f"{self.base}/{self.file.rpartition('/')[2]}:{self.line}/{_digest(*parts)}"

    def apply(self, text: str) -> str:
        """The mutated source."""
        return text[: self.begin] + self.new + text[self.end :]


def sources(project: Path) -> list[Path]:
    """The C++ and CUDA sources of a project, as they are mutated; the Python module's is not one of the plugin's."""
    return sorted(path for path in (project / "src").iterdir() if path.suffix in {".h", ".cpp", ".cu", ".cuh"})


def mutants(project: Path, base: str) -> Iterator[Mutant]:
    """All mutants of a project."""
    for path in sources(project):
        alike: Counter[tuple[str, ...]] = Counter()
        source = Source(path.read_text(encoding="utf-8"))
        for change in changes(source, header=path.suffix in {".h", ".cuh"}):
            first = source.text.rfind("\n", 0, change.begin) + 1
            last = source.text.find("\n", change.end)
            after = source.shown[first : change.begin] + change.new + source.shown[change.end : last]
            texts = (" ".join(source.shown[first:last].split()), " ".join(after.split()))
            function = source.function(change.begin)
            key = (function, *texts)
            alike[key] += 1
            yield Mutant(
                base,
                str(path.relative_to(project)),
                source.line(change.begin),
                function,
                change.operator,
                *texts,
                change.begin,
                change.end,
                change.new,
                alike[key],
            )


class Equivalents:
    """The mutants that do what the plugin does, by `equivalents.toml`, each with the reason."""

    def __init__(self, file: Path = EQUIVALENTS) -> None:
        self._reasons: dict[tuple[str, ...], str] = {}
        self._unused: set[tuple[str, ...]] = set()
        for group in tomllib.loads(file.read_text(encoding="utf-8")).get("equivalent", []):
            for one in group["mutants"]:
                for base in one.get("bases", BASES):
                    self._reasons[_key(base, one)] = group["reason"]
        self._unused = set(self._reasons)

    def reason(self, mutant: Mutant) -> str:
        """Why nothing can tell it from the plugin; empty if something could."""
        key = _key(mutant.base, vars(mutant))
        self._unused.discard(key)
        return self._reasons.get(key, "")

    @property
    def stale(self) -> list[str]:
        """Entries that `reason` has found no mutant for."""
        return sorted(": ".join(one) for one in self._unused)


def _key(base: str, one: Mapping[str, Any]) -> tuple[str, ...]:
    return (base, one["file"], one["function"], one["before"], one["after"], str(one.get("number", 1)))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]
