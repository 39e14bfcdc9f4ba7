"""What TensorRT does with a plugin that is right, by version: NVIDIA's refusals and oddities, and the way round.

behaviours.toml has the rows; `python -m pluginkit.runtimes.tensorrt.behaviours docs/behaviours.md
docs/loops-and-conditionals.md` writes these pages' tables. tests/gpu/test_behaviours8.py asks TensorRT 8.5 again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from pluginkit.layouts import TargetName

Group = Literal["loops", "conditionals", "types", "calls", "shapes", "batch", "registry"]
MARKED = re.compile(r"(<!-- behaviours: ([a-z ]+) -->\n).*?(<!-- end of behaviours -->)", re.DOTALL)
HEAD = (
    "| id | what | TensorRT 8.5.3 | TensorRT-RTX 1.7.1 | TensorRT 10 and 11 | what to do | seen by |",
    "| --- | --- | --- | --- | --- | --- | --- |",
)


@dataclass(frozen=True)
class Behaviour:
    """One row; texts are Markdown.

    Attributes:
        id: what tests and reports call it.
        group: which table it stands in.
        network: the network, or what is done.
        tensorrt8: what TensorRT 8.5.3 does.
        rtx: what TensorRT-RTX 1.7.1 does.
        later: what is known of TensorRT 10 and 11.
        instead: what to do about it; empty where nothing need be done.
        refused: a regular expression of 8.5.3's message; empty if it refuses nothing.
        seen: what the controls answer where nothing is refused; `refused` where the message is not known.
        controls: functions of tests/gpu/controls8 that show it.
        source: how it was seen where no control shows it.
    """

    id: str
    group: Group
    network: str
    tensorrt8: str
    rtx: str
    later: str
    instead: str = ""
    refused: str = ""
    seen: str = ""
    controls: Sequence[str] = ()
    source: str = ""

    def shown_by(self, answer: str) -> bool:
        """Whether the answer of a control is what the row says."""
        refused, _, message = answer.partition(": ")
        if self.refused:
            return refused == "refused" and re.search(self.refused, message) is not None
        return self.seen in (answer, refused)

    def of(self, target: TargetName) -> tuple[str, str]:
        """What a TensorRT does, and how that is known: `by a run`, `by a document` or `not known`."""
        if target == "8.5":
            return self.tensorrt8, "by a run"
        text = self.rtx if target == "rtx" else self._later(target)
        if text.startswith("not known"):
            return re.sub("^not known[;:]? ?", "", text) or "not known", "not known"
        return text, "by a run" if target == "rtx" else "by a document"

    def _later(self, target: TargetName) -> str:
        """Of TensorRT 10 and 11, which a row may have apart: `10: not known; 11 has no calibrators`."""
        parts = dict(re.findall(r"(10|11):? (.*?)(?:; (?=1[01]\b)|$)", self.later)) if self.later[:2] == "10" else {}
        return str(parts.get(target, self.later))

    def written(self) -> str:
        """The row as a line of a table."""
        shown = ", ".join(f"`{name}`" for name in self.controls) or self.source
        cells = (f"`{self.id}`", self.network, self.tensorrt8, self.rtx, self.later, self.instead or "-", shown)
        return f"| {' | '.join(cells)} |"


def _read() -> dict[str, Behaviour]:
    text = resources.files(__package__ or "").joinpath("behaviours.toml").read_text(encoding="utf-8")
    return {name: Behaviour(name, **values) for name, values in tomllib.loads(text).items()}


BEHAVIOURS = _read()
"""Every row by its id."""


def recognise(groups: Sequence[Group], *texts: str) -> Behaviour | None:
    """The first row of some groups that a refusal's message belongs to; None if none is."""
    rows = (row for row in BEHAVIOURS.values() if row.refused and row.group in groups)
    return next((row for row in rows if any(re.search(row.refused, text) for text in texts)), None)


def page(text: str) -> str:
    """A page with its tables as they should be: between the marks, the rows of the groups that a mark names."""

    def table(found: re.Match[str]) -> str:
        rows = [one.written() for one in BEHAVIOURS.values() if one.group in found[2].split()]
        return "\n".join([found[1].rstrip("\n"), *HEAD, *rows, found[3]])

    return MARKED.sub(table, text)


if __name__ == "__main__":
    for _page in map(Path, sys.argv[1:]):
        _page.write_text(page(_page.read_text(encoding="utf-8")), encoding="utf-8")
