"""The demands that the host makes on a plugin, by their ids, and what becomes of one that isn't met.

demands.toml has what each one asks, and its source; `python -m pluginkit.demands docs/demands.md` writes the tables of
that page. Breaking a `contract` (TensorRT's headers or documents, or
NVIDIA's own code insist on it), what the project has `declared`, or a `limit` of this host is a Finding. Nobody
promises `robustness`: breaking that is a warning, and the run goes on as TensorRT would.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = Literal["contract", "robustness", "declared", "limit"]


@dataclass(frozen=True)
class Demand:
    """What the host asks of a plugin.

    Attributes:
        kind: who promises it.
        of: of whom it is asked.
        asked: what, a sentence.
        source: who says so.
    """

    kind: Kind
    of: str
    asked: str
    source: str


def _read(file: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("pluginkit").joinpath(file).read_text(encoding="utf-8"))


DEMANDS = {id_: Demand(**values) for id_, values in _read("demands.toml").items()}
"""Every demand by its id."""
NAMES: dict[str, str] = _read("rule_names.toml")
"""The readable name of each demand, check and rule of a model, by its id: `S5` is `damaged-bytes-refused`."""
_IDS = {name: id_ for id_, name in NAMES.items()}


def rule_id(text: str) -> str:
    """The id of a name; any other text as it is."""
    return _IDS.get(text, text)


def both(id_: str) -> str:
    """Id and name, as reports show them; an id without a name alone."""
    return f"{id_} {NAMES[id_]}" if id_ in NAMES else id_


SECTIONS: dict[str, Kind] = {
    "The contract": "contract",
    "Robustness": "robustness",
    "What the project declares": "declared",
    "Where this host ends": "limit",
}
"""The page's sections, which have a table each."""


def page(text: str) -> str:
    """docs/demands.md with its tables as they should be.

    Args:
        text: the page as it is.
    """
    lines: list[str] = []
    kind: Kind | None = None
    for line in text.splitlines():
        if line.startswith("## "):
            kind = SECTIONS.get(line.removeprefix("## "))
        if kind is None or not line.startswith("|") or line.startswith("| id |"):
            lines.append(line)
        elif line.startswith("| --- |"):
            of_kind = [(name, one) for name, one in DEMANDS.items() if one.kind == kind]
            lines += [
                line,
                *(f"| {name} | {NAMES[name]} | {one.of} | {one.asked} | {one.source} |" for name, one in of_kind),
            ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class DemandWarning:
    """A demand of the kind `robustness` that a plugin does not meet.

    Attributes:
        rule: the demand's id.
        method: the C++ method that shows it.
        message: what it did.
    """

    rule: str
    method: str
    message: str

    @property
    def text(self) -> str:
        """As it is shown."""
        return f"[{self.rule}] {self.method}: {self.message}"


_noted: dict[DemandWarning, None] = {}


def warn(rule: str, method: str, message: str) -> None:
    """Notes that a plugin does not meet a demand of the kind `robustness`."""
    _noted[DemandWarning(rule, method, message)] = None


def take_warnings() -> tuple[DemandWarning, ...]:
    """What has been noted in this process since the last call, each once."""
    found = tuple(_noted)
    _noted.clear()
    return found


if __name__ == "__main__":
    _page = Path(sys.argv[1])
    _page.write_text(page(_page.read_text(encoding="utf-8")), encoding="utf-8")
