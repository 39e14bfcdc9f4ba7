"""The message on a failing case or verdict: the same on a terminal, in pytest and in the HTML report."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pluginkit.manifest import FILE_NAME
from pluginkit.network.large import NAME as LARGE
from pluginkit.testing.calibration import BY_DEFAULT, Calibration
from pluginkit.testing.report import BUILT, NOT_REFUSED, NVIDIAS, CaseResult, Outcome, Report, Verdict

RTX = "tensorrt-rtx"
MANY = ("...", "\N{HORIZONTAL ELLIPSIS}")
"""What a path ends with that stands for all projects below a folder."""
NAMED = 3
"""How many broken networks that were not refused the last line names."""
LOG_LINES = 12
"""How many of a runtime's log lines are shown for a network that it refused."""


@dataclass(frozen=True)
class Failure:
    """A failure's text.

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
    """The message on one item of a report; `command` is what repeats the whole run."""
    before: tuple[str, ...] = ()
    if isinstance(item, CaseResult):
        where = f" on {item.gpu}" if item.gpu and len(report.gpus) > 1 else ""
        head, case, before = f"{item.id}{where}: {item.outcome.value}", item.id, item.after
        log: tuple[str, ...] = ()
    else:
        # An error that is the message is not printed twice.
        lines = dict.fromkeys(line for entry in item.log for line in entry.splitlines())
        log = tuple(line for line in lines if (line.partition(": ")[2] or line) not in item.message)
        head, case = f"{item.network} in {item.runtime}: {item.word}", f"{item.network}/*"
        if item in report.controls:
            head, case = f"{item.network} in {item.runtime}: a broken network, {item.word}", item.network
            # What a builder remarks of a network that it takes has nothing to do with its taking it.
            log = log if item.how != NOT_REFUSED else ()
        elif item in report.registries:
            case = item.network
    if item in report.checks:
        again_ = _check_again(item.network, command)
        return Failure(head, tuple(item.message.splitlines()), (), again_)
    only = " ".join(f"--only {shlex.quote(one)}" for one in (*before, case))
    again_ = f"{command} {only} --seed {report.seed}{_as_before(item, report, command)}"
    return Failure(head, tuple(item.message.splitlines()), log[:LOG_LINES], again_)


def _check_again(name: str, command: str) -> str:
    """The command that asks one check alone: of the project and library of the run."""
    words = shlex.split(command)
    project = [word for word in words[2:3] if not word.startswith("-")]
    if project and project[0].endswith(MANY):
        home = Path(project[0]).parent
        project = [str(one) for one in (home / name).parents if (one / FILE_NAME).is_file()][:1]
    at = words.index("--library") if "--library" in words else len(words)
    library = words[at : at + 2]
    if library and not project:
        project = ["."]
    return shlex.join(["pluginkit", "check", *project, *library, "--include", name.rpartition("/")[2]])


def closing(report: Report) -> str:
    """The last line: what failed, before all that did not; and what took no part."""
    facts = list(_facts(report))
    failed = [text for bad, text in facts if bad]
    rest = [text for bad, text in facts if not bad]
    if report.absent and facts:
        rest.append(f"not tested by {', '.join(report.absent)}")
    if report.shard:
        rest.append(f"shard {report.shard}" + ("" if facts else ", which has nothing of it"))
    text = "; ".join([*failed, *rest, f"seed {report.seed}"])
    return f"{report.plugin}: {'FAILED: ' if failed else ''}{text}"


def _facts(report: Report) -> Iterator[tuple[bool, str]]:
    """The facts for the last line, and whether each makes the run red."""
    if report.cases:
        parts = [f"{report.count(kind)} {kind.value}" for kind in Outcome if report.count(kind)]
        bad = any(case.outcome.bad for case in report.cases)
        yield bad, f"{', '.join(parts)} of {len(report.cases)} cases"
    yield from _library_checks(report)
    for runtime, group in _grouped(report.verdicts):
        bad = any(verdict.outcome.bad for verdict in group)
        if runtime == RTX:
            wrong = Counter(verdict.how.removeprefix(f"{BUILT}, ") for verdict in group if _worth_saying(verdict))
            but = f" ({', '.join(f'{count} {how}' for how, count in wrong.items())})" if wrong else ""
            left = len({case.network for case in report.cases} - {verdict.network for verdict in group})
            more = f", and was not asked about {left}" if left else ""
            yield bad, f"NVIDIA's builder took {sum(one.built for one in group)} of {len(group)} networks{but}{more}"
        elif bad:
            yield bad, f"{sum(one.outcome.bad for one in group)} of {len(group)} networks failed in {runtime}"
    open_ = [verdict.network for verdict in report.controls if verdict.outcome.bad]
    if open_:
        names = ", ".join(open_[:NAMED]) + (", ..." if len(open_) > NAMED else "")
        yield True, f"{len(open_)} of {len(report.controls)} broken networks not refused ({names})"
    elif report.controls and not report.cases:
        yield False, f"{len(report.controls)} of {len(report.controls)} broken networks refused"
    bad_registries = [verdict.network for verdict in report.registries if verdict.outcome.bad]
    if bad_registries:
        yield True, f"failed in {', '.join(bad_registries)}"
    elif report.registries and not report.cases:
        yield False, f"right in {', '.join(verdict.network for verdict in report.registries)}"
    # In a strict run a warning is a failure, and told as one.
    if count := (0 if report.strict else len(report.warnings)) + len(report.unjudged):
        yield False, f"{count} warning{'' if count == 1 else 's'}"


def _library_checks(report: Report) -> Iterator[tuple[bool, str]]:
    asked = [one for one in report.checks if one.outcome is not Outcome.SKIPPED]
    if asked:
        passed = report.count(Outcome.PASSED, asked)
        yield passed < len(asked), f"{passed} of {len(asked)} checks of the library passed"


def _grouped(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, list[Verdict]]]:
    for runtime in dict.fromkeys(verdict.runtime for verdict in verdicts):
        yield runtime, [verdict for verdict in verdicts if verdict.runtime == runtime]


def _worth_saying(verdict: Verdict) -> bool:
    """Whether a network was built and something is wrong with that, or what NVIDIA does with every operator."""
    return (verdict.outcome.bad and verdict.built) or verdict.how in NVIDIAS


def _as_before(item: CaseResult | Verdict, report: Report, command: str) -> str:
    """The options that a case needs to fail again: its target, its checks, the orders if it failed in one of those, and
    that for very large tensors."""
    if not isinstance(item, CaseResult):
        return ""
    # Cases of several networks run in one process only where nothing else runs at the same time.
    one_by_one = " --jobs 1" if item.after else ""
    both = item.target == "gpu" or any(case.target == "gpu" for case in report.cases)
    target = f" --target {item.target}" if both and " --target " not in command else ""
    checks = f" --sanitize {item.sanitizers.replace('+', ',')}" if item.sanitizers else ""
    orders = f" --schedules {report.schedules}" if item.schedule and report.schedules else ""
    large = " --large" if item.point == LARGE else ""
    return target + checks + orders + large + one_by_one


def again(
    project: Path,
    library: Path | None = None,
    data: Path | None = None,
    calibration: Calibration = BY_DEFAULT,
    *,
    strict: bool = False,
    target: str = "auto",
    timeout: float = 60.0,
    farm: str | None = None,
    on: Sequence[str] = (),
    asked_for: Sequence[str] = (),
) -> str:
    """The command that repeats a run, without what chooses a part of it: a case's own command has that."""
    parts = ["pluginkit", "test"]
    parts += [str(project)] if str(project) != "." else []
    parts += ["--library", str(library)] if library else []
    parts += ["--data", str(data)] if data else []
    parts += ["--calibration", calibration.method] if calibration.method else []
    parts += ["--calibration-data", str(calibration.data)] if calibration.data else []
    parts += ["--strict"] if strict else []
    parts += ["--target", target] if target != "auto" else []
    parts += ["--timeout", f"{timeout:g}"] if timeout != 60 else []
    parts += ["--farm", farm] if farm else []
    parts += [part for one in on for part in ("--on", one)]
    parts += ["--for", ",".join(asked_for)] if asked_for else []
    return shlex.join(parts)


def whole(
    command: str,
    *,
    precisions: Sequence[str] = (),
    networks: Sequence[str] = (),
    only: Sequence[str] = (),
    sanitize: Sequence[str] = (),
    schedules: int = 0,
    seed: int = 0,
) -> str:
    """The command of a whole run: `command` (of `again`) with the part that was chosen of it."""
    parts = [f"--{precision}" for precision in precisions]
    parts += [part for name in networks for part in ("--network", name)]
    parts += [part for pattern in only for part in ("--only", pattern)]
    parts += ["--sanitize", ",".join(sanitize)] if sanitize else []
    parts += ["--schedules", str(schedules)] if schedules else []
    return f"{command} {shlex.join([*parts, '--seed', str(seed)])}"
