"""The HTML page: the matrix, and for each failure the message, the errors and the network."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pluginkit import installation
from pluginkit.errors import ToolMissing
from pluginkit.reporting.matrix import matrix
from pluginkit.run import messages
from pluginkit.testing.report import CaseResult, Outcome, Report, Verdict

NEEDED = ("jinja2", "matplotlib", "networkx")
PICTURES = 24
"""Of so many failing cases the errors are drawn: a wrong kernel fails everywhere, and a page is to stay small."""

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
    """A failing item; `network` is where its network is drawn."""

    anchor: str
    failure: messages.Failure
    heat: str
    where: str
    network: str


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
    text = page(report, command=command, whole=whole, reports=reports)
    if file.exists() and not file.is_file():
        # /dev/stdout, for one: nothing there can be replaced by renaming.
        file.write_text(text, encoding="utf-8")
        return
    handle, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.absolute().parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


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
    anchors = {id(item): f"failure-{number}" for number, item in enumerate(report.bad, 1)}
    families = list(dict.fromkeys(case.family for case in report.cases))
    precisions = list(dict.fromkeys(case.precision.short for case in report.cases))
    rows = [(family, [_cell(report, family, precision, anchors) for precision in precisions]) for family in families]
    in_matrix = {case.network for case in report.cases}
    others = [verdict for verdict in (*report.verdicts, *report.registries) if verdict.network not in in_matrix]
    failures, drawings = _failures(report, command, anchors)
    return environment.get_template("page.html.jinja").render(
        report=report,
        again=whole,
        closing=messages.closing(report),
        precisions=precisions,
        places=matrix(reports or [report]),
        rows=rows,
        beside=[(item, _mark(item, anchors)) for item in others],
        controls=[(item, _mark(item, anchors)) for item in report.controls],
        failures=failures,
        drawings=drawings,
        pictures=PICTURES,
    )


def _cell(report: Report, family: str, precision: str, anchors: dict[int, str]) -> Cell:
    cases = [case for case in report.cases if case.family == family and case.precision.short == precision]
    networks = {case.network for case in cases}
    verdicts = [verdict for verdict in report.verdicts if verdict.network in networks]
    return Cell(
        tuple(_mark(case, anchors) for case in cases),
        tuple((verdict.runtime, _mark(verdict, anchors)) for verdict in verdicts),
    )


def _mark(item: CaseResult | Verdict, anchors: dict[int, str]) -> Mark:
    if isinstance(item, CaseResult):
        where = f"on {item.gpu or 'the GPU'}" if item.target == "gpu" else ""
        checks = "".join(f" ({one})" for one in (where, item.sanitizers) if one)
        title = f"{item.id}{checks}, {item.shape}: {item.outcome.value}"
    else:
        title = f"{item.network} in {item.runtime}: {item.word}"
    return Mark(item.outcome.value, _MARKS[item.outcome], title, anchors.get(id(item), ""))


def _failures(
    report: Report, command: str, anchors: dict[int, str]
) -> tuple[Sequence[Failed], Sequence[tuple[str, str]]]:
    """The failing items, and their networks: where each stands on the page, and its drawing."""
    if not report.bad:
        return [], []
    from pluginkit.reporting import drawing, picture

    networks = {network.id: network for network in report.networks}
    drawn: dict[str, tuple[str, str]] = {}
    found = []
    left = PICTURES
    for item in report.bad:
        heat = item.heat if isinstance(item, CaseResult) and left else None
        left -= heat is not None
        if item.network in networks and item.network not in drawn:
            drawn[item.network] = (f"network-{len(drawn) + 1}", drawing.svg(networks[item.network]))
        found.append(
            Failed(
                anchors[id(item)],
                messages.failure(item, report, command),
                picture.png(heat) if heat else "",
                f"|error| of {heat.where}; the largest beyond its tolerance is at {list(heat.index)}" if heat else "",
                drawn[item.network][0] if item.network in drawn else "",
            )
        )
    return found, list(drawn.values())
