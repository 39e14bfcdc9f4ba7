"""What is said of a failing case or verdict: the same on a terminal, in pytest and in the HTML report."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from pluginkit.testing.calibration import BY_DEFAULT, Calibration
from pluginkit.testing.report import NOT_REFUSED, CaseResult, Report, Verdict

LOG_LINES = 12
"""How many of a runtime's log lines are shown for a network that it refused."""


@dataclass(frozen=True)
class Failure:
    """The words.

    Attributes:
        head: what it is and how it ended.
        message: where, by how much; lines.
        log: the first of the runtime's own lines.
        again: the command that repeats it alone.
    """

    head: str
    message: tuple[str, ...]
    log: tuple[str, ...]
    again: str

    @property
    def text(self) -> str:
        """All of it as plain lines."""
        lines = [self.head, *(f"  {line}" for line in self.message), *(f"  | {line}" for line in self.log)]
        return "\n".join([*lines, f"  again: {self.again}"])


def failure(item: CaseResult | Verdict, report: Report, command: str) -> Failure:
    """The words on one item of a report; `command` is what repeats the whole run."""
    before: tuple[str, ...] = ()
    if isinstance(item, CaseResult):
        head, case, before = f"{item.id}: {item.outcome.value}", item.id, item.after
        log: tuple[str, ...] = ()
    else:
        # An error that is the message needs not be told twice.
        log = tuple(line for line in dict.fromkeys(item.log) if (line.partition(": ")[2] or line) not in item.message)
        head, case = f"{item.network} in {item.runtime}: {item.word}", f"{item.network}/*"
        if item in report.controls:
            head, case = f"{item.network} in {item.runtime}: a broken network, {item.word}", item.network
            # What a builder remarks of a network that it takes has nothing to do with its taking it.
            log = log if item.how != NOT_REFUSED else ()
        elif item in report.registries:
            case = item.network
    only = " ".join(f"--only {shlex.quote(one)}" for one in (*before, case))
    again_ = f"{command} {only} --seed {report.seed}{_as_before(item, report)}"
    return Failure(head, tuple(item.message.splitlines()), log[:LOG_LINES], again_)


def _as_before(item: CaseResult | Verdict, report: Report) -> str:
    """The options that a case needs to fail again: its target, its checks, and the orders if it failed in one of
    those."""
    if not isinstance(item, CaseResult):
        return ""
    # Cases of several networks run in one process only where nothing runs beside them.
    one_by_one = " --jobs 1" if item.after else ""
    target = " --target gpu" if item.target == "gpu" else ""
    checks = f" --sanitize {item.sanitizers.replace('+', ',')}" if item.sanitizers else ""
    orders = f" --schedules {report.schedules}" if item.schedule and report.schedules else ""
    return target + checks + orders + one_by_one


def again(
    project: Path,
    library: Path | None = None,
    data: Path | None = None,
    calibration: Calibration = BY_DEFAULT,
    *,
    strict: bool = False,
) -> str:
    """The command that repeats a run."""
    parts = ["pluginkit", "test"]
    parts += [str(project)] if str(project) != "." else []
    parts += ["--library", str(library)] if library else []
    parts += ["--data", str(data)] if data else []
    parts += ["--calibration", calibration.method] if calibration.method else []
    parts += ["--calibration-data", str(calibration.data)] if calibration.data else []
    parts += ["--strict"] if strict else []
    return shlex.join(parts)
