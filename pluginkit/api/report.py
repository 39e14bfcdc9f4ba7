"""What all reports have: the JSON of `--json`, an exit code, and a table for notebooks."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from itertools import islice
from typing import Any, ClassVar

Progress = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much (None: not known)."""
ROWS = 20
"""Rows of a report in a notebook; `to_json()` has all."""


def silent(_what: str, _done: int, _total: int | None) -> None:
    """No progress."""


def values(found: Any) -> dict[str, Any]:
    """A dataclass's fields, not copied: what makes a report of it."""
    return {one.name: getattr(found, one.name) for one in fields(found)}


class JsonReport:
    """A report of one of `pluginkit`'s functions.

    Attributes:
        schema: the name and version of its JSON's schema: `pluginkit/api/schemas/NAME.json`. The version changes when a
            key is removed or means something else; keys may be added.
    """

    schema: ClassVar[str]

    @property
    def exit_code(self) -> int:
        """That of the command: 0 if nothing is wrong, 1 if something is, 6 if a plugin crashed or hung."""
        raise NotImplementedError

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.exit_code == 0

    def to_json(self) -> Any:
        """The report as plain JSON values, as `--json` writes it."""
        raise NotImplementedError

    def summary(self) -> str:
        """The result in one line."""
        raise NotImplementedError

    def rows(self) -> Iterator[Sequence[str]]:
        """What is worth a look, problems first: the cells of a table, its titles first."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """The report in a notebook: the summary, and at most 20 rows."""
        color = "#1a7f37" if self.ok else "#cf222e"
        head = f'<p style="color:{color};font-weight:bold">{html.escape(self.summary())}</p>'
        titles, *found = islice(self.rows(), ROWS + 2)
        if not found:
            return head
        lines = [_row("th", titles), *(_row("td", one) for one in found[:ROWS])]
        more = "<p>More in <code>to_json()</code>.</p>" if len(found) > ROWS else ""
        return f"{head}<table>{''.join(lines)}</table>{more}"


def _row(tag: str, cells: Sequence[str]) -> str:
    style = ' style="text-align:left;white-space:pre-wrap"'
    return f"<tr>{''.join(f'<{tag}{style}>{html.escape(one)}</{tag}>' for one in cells)}</tr>"
