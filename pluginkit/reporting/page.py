"""The HTML page: how a run ended, the causes of failures with pictures and networks, warnings; folded, the rest."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pluginkit import installation
from pluginkit.errors import ToolMissing
from pluginkit.process import files
from pluginkit.reporting import causes, summary
from pluginkit.reporting.causes import Cause
from pluginkit.reporting.matrix import matrix
from pluginkit.run import messages
from pluginkit.testing.report import CaseResult, Outcome, Report, Verdict

if TYPE_CHECKING:
    from pluginkit.testing.heat import Heat

NEEDED = ("jinja2", "matplotlib", "networkx")
PICTURES = 24
"""So many pictures of errors are on a page, which is to stay small."""
NAMED = 3
"""So many plugins are named in a title."""

_MARKS = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.CRASHED: "!", Outcome.HUNG: "∞", Outcome.SKIPPED: "–"}


@dataclass(frozen=True)
class Mark:
    """An outcome as a square: its colour's name, its sign (for those who see no colours), its text, where it leads."""

    kind: str
    sign: str
    title: str
    link: str = ""


@dataclass(frozen=True)
class Cell:
    """A network in a precision: a square a case, and one for each runtime's verdict."""

    cases: tuple[Mark, ...]
    verdicts: tuple[tuple[str, Mark], ...]


@dataclass(frozen=True)
class Failed:
    """A cause of failures.

    Attributes:
        anchor: where it is on the page.
        failure: its message.
        heats: pictures of errors, each with its caption.
        network: the first case's network, drawn; empty for what is about none.
        others: what else it is in: what each item is and how it failed.
    """

    anchor: str
    failure: messages.Failure
    heats: tuple[tuple[str, str], ...]
    network: str
    others: tuple[tuple[str, str], ...]


def check() -> None:
    """Whether a page can be made, before a run for it.

    Raises:
        ToolMissing: a package of the extra `html` isn't installed.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ToolMissing(
            f"--html needs {', '.join(missing)}, which is not installed.", hint=installation.extra("html")
        )


def write(report: Report, file: Path, *, command: str, whole: str, reports: Sequence[Report] = ()) -> None:
    """Write the page, whole or not at all.

    Args:
        report: of the run.
        file: what is written; what was there is replaced.
        command: what a failing case's own command is made from (`messages.again`).
        whole: what repeats the run (`messages.whole`).
        reports: of each plugin, where `report` is of several.

    Raises:
        ToolMissing: as `check`.
    """
    check()
    files.write(file, page(report, command=command, whole=whole, reports=reports))


def page(report: Report, *, command: str, whole: str, reports: Sequence[Report] = ()) -> str:
    """The page's text; all that comes from elsewhere is escaped by the template."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pluginkit.reporting", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found = [(one, cause) for one in reports or [report] for cause in causes.causes(one)]
    anchors = {id(item): f"failure-{number}" for number, (_, cause) in enumerate(found, 1) for item in cause.items}
    precisions = list(dict.fromkeys(case.precision.short for case in report.cases))
    in_matrix = {case.network for case in report.cases}
    others = [verdict for verdict in (*report.verdicts, *report.registries) if verdict.network not in in_matrix]
    return environment.get_template("page.html.jinja").render(
        report=report,
        again=whole,
        title=f"{_named(report, reports)}: {'failed' if report.bad else 'passed'}",
        closing=messages.closing(report),
        parts=list(summary.parts(report)),
        precisions=precisions,
        places=matrix(reports or [report]),
        rows=_rows(report, precisions, anchors),
        beside=[(item, _mark(item, anchors)) for item in others],
        controls=[(item, _mark(item, anchors)) for item in report.controls],
        failures=_failures(found, command),
    )


def _named(report: Report, reports: Sequence[Report]) -> str:
    """The plugin, or how many there are: a title is short."""
    return f"{len(reports)} plugins" if len(reports) > NAMED else report.plugin


def _rows(report: Report, precisions: Sequence[str], anchors: dict[int, str]) -> list[tuple[str, list[Cell]]]:
    """A row for each network, a cell for each precision."""
    rows: dict[str, dict[str, list[CaseResult]]] = {}
    for case in report.cases:
        name = " ".join(filter(None, (case.family, case.variant)))
        rows.setdefault(name, {}).setdefault(case.precision.short, []).append(case)
    verdicts: dict[str, list[Verdict]] = {}
    for verdict in report.verdicts:
        verdicts.setdefault(verdict.network, []).append(verdict)

    def cell(cases: Sequence[CaseResult]) -> Cell:
        networks = dict.fromkeys(one.network for one in cases)
        marks = [(one.runtime, _mark(one, anchors)) for name in networks for one in verdicts.get(name, ())]
        return Cell(tuple(_mark(one, anchors) for one in cases), tuple(marks))

    return [(name, [cell(row.get(one, ())) for one in precisions]) for name, row in rows.items()]


def _mark(item: CaseResult | Verdict, anchors: dict[int, str]) -> Mark:
    if isinstance(item, CaseResult):
        where = f"on {item.gpu or 'the GPU'}" if item.target == "gpu" else ""
        checks = "".join(f" ({one})" for one in (where, item.sanitizers) if one)
        title = f"{item.id}{checks}, {item.shape}: {item.outcome.value}"
    else:
        title = f"{item.network} in {item.runtime}: {item.word}"
    return Mark(item.outcome.value, _MARKS[item.outcome], title, anchors.get(id(item), ""))


def _failures(found: Sequence[tuple[Report, Cause]], command: str) -> list[Failed]:
    """The causes, with pictures of the first cases of each."""
    if not found:
        return []
    from pluginkit.reporting import drawing, picture

    made = []
    left = PICTURES
    for number, (report, cause) in enumerate(found, 1):
        items = (cause.first, *cause.others)
        drawn = [(one, one.heat) for one in items if isinstance(one, CaseResult) and one.heat]
        drawn = drawn[: min(left, causes.SHOWN)]
        left -= len(drawn)
        network = next((one for one in report.networks if one.id == cause.first.network), None)
        made.append(
            Failed(
                f"failure-{number}",
                causes.message(cause, report, command),
                tuple((picture.png(heat), _caption(one, heat)) for one, heat in drawn),
                drawing.svg(network) if network else "",
                tuple((causes.name_of(one), one.message.partition("\n")[0]) for one in cause.others),
            )
        )
    return made


def _caption(case: CaseResult, heat: Heat) -> str:
    return f"{case.id}: |error| of {heat.where}; the largest beyond its tolerance is at {list(heat.index)}"
