"""What the full TensorRT did with networks, as rows for its table of behaviours (docs/extending/behaviour.md)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from pluginkit.paths import __version__
from pluginkit.runtimes.tensorrt import foreseen
from pluginkit.runtimes.tensorrt import session as tensorrt
from pluginkit.testing.report import REFUSED_ALIKE, Outcome, Report, Verdict

RIGHT, REFUSED, WRONG, FELL = "builds, and computes the right values", "refused", "computes wrong values", "falls over"
LONGEST = 200
"""Of a message."""


def rows(reports: Sequence[Report], version: str) -> str:
    """TOML: a table for each row that the run's networks are examples of.

    Args:
        reports: of each plugin.
        version: TensorRT's.
    """
    plugins = ", ".join(report.plugin for report in reports)
    gpus = ", ".join(dict.fromkeys(gpu for report in reports for gpu in report.gpus)) or "a GPU"
    lines = [
        f"# TensorRT {version} on {gpus}, by `pluginkit test --record-behaviour` (pluginkit {__version__}, {plugins})."
    ]
    found: dict[str, list[Verdict]] = {}
    for row, verdict in _asked(reports):
        found.setdefault(row, []).append(verdict)
    for row, verdicts in sorted(found.items()):
        lines += ["", f"[{row}]", *_written(version, verdicts)]
    return "\n".join([*lines, ""])


def _asked(reports: Sequence[Report]) -> Iterator[tuple[str, Verdict]]:
    for report in reports:
        networks = {network.id: network for network in report.networks}
        for verdict in report.verdicts:
            network = networks.get(verdict.network)
            if verdict.runtime == tensorrt.NAME and network and (row := foreseen.shown_by(network)):
                yield row.id, verdict


def _written(version: str, verdicts: Sequence[Verdict]) -> Iterator[str]:
    counts = Counter(map(_did, verdicts))
    text = "; ".join(f"{what} ({count} of {len(verdicts)} networks)" for what, count in counts.most_common())
    yield f"tensorrt = {json.dumps(version)}"
    yield f"seen = {json.dumps(text)}"
    yield f"networks = {json.dumps(sorted({verdict.network for verdict in verdicts}))}"
    said = sorted({_words(verdict) for verdict in verdicts if _did(verdict) != RIGHT})
    if said:
        yield f"said = {json.dumps(said)}"


def _did(verdict: Verdict) -> str:
    if verdict.outcome is Outcome.PASSED:
        return RIGHT
    if verdict.how == REFUSED_ALIKE:
        return f"{REFUSED} whatever the plugin"
    if verdict.outcome in (Outcome.CRASHED, Outcome.HUNG):
        return FELL
    return REFUSED if "TensorRT's " in verdict.message else WRONG


def _words(verdict: Verdict) -> str:
    """TensorRT's own, where the message has them."""
    lines = verdict.message.splitlines() or [""]
    return next((line for line in lines if line.startswith("TensorRT's ")), lines[0])[:LONGEST]
