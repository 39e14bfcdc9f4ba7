"""Runs in an SQLite file. A run is one transaction, so one that is killed while it writes has left nothing."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from pluginkit.errors import UsageError
from pluginkit.paths import __version__
from pluginkit.testing.report import CaseResult, Report, Verdict

FILE = "history.sqlite"
FORMAT = 1
"""SQLite's user_version of such a file."""
_BUSY = 30.0
"""Seconds that another run may take to write its own."""
_SCHEMA = """
CREATE TABLE runs (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, plugin TEXT NOT NULL, sha256 TEXT NOT NULL, seed INTEGER NOT NULL,
    shard TEXT NOT NULL, pluginkit TEXT NOT NULL
);
CREATE TABLE results (
    run INTEGER NOT NULL REFERENCES runs(number), id TEXT NOT NULL, place TEXT NOT NULL, machine TEXT NOT NULL,
    outcome TEXT NOT NULL, seconds REAL NOT NULL
);
CREATE INDEX results_run ON results(run);
"""


@dataclass(frozen=True)
class PastResult:
    """What came of a case or a verdict in a run.

    Attributes:
        run: the run's number in its history.
        time: when the run ended, UTC, as ISO 8601 has it.
        plugin: the plugin's name.
        sha256: of the library.
        id: the case's id, or the network's with the runtime.
        place: the kind of place: `cpu`, the GPU's name, with the checks that were compiled in; or the runtime.
        machine: which machine, or on a farm which worker of it.
        outcome: as of `Outcome`.
        seconds: how long it took.
    """

    run: int
    time: str
    plugin: str
    sha256: str
    id: str
    place: str
    machine: str
    outcome: str
    seconds: float


class History:
    """The runs that a folder keeps.

    Args:
        folder: where; made when the first run is added.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / FILE

    def check(self) -> None:
        """Whether runs can be added, before anything is run for it.

        Raises:
            UsageError: the folder can't be written, or the file is damaged or none of these.
        """
        with self._opened(write=True) as database:
            # Written and taken back: a file that can only be read is told from others by nothing less.
            database.execute("BEGIN IMMEDIATE")
            database.execute(f"PRAGMA user_version = {FORMAT}")
            database.rollback()

    def add(self, reports: Sequence[Report]) -> None:
        """Adds what came of a run: of each plugin a run of its own, all of them or none.

        Raises:
            UsageError: as of `check`.
        """
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        here = socket.gethostname()
        with self._opened(write=True) as database, database:
            for report in reports:
                run = database.execute(
                    "INSERT INTO runs (time, plugin, sha256, seed, shard, pluginkit) VALUES (?, ?, ?, ?, ?, ?)",
                    (now, report.plugin, report.sha256, report.seed, report.shard, __version__),
                ).lastrowid
                items: list[CaseResult | Verdict] = [*report.cases, *report.verdicts, *report.controls]
                items += [*report.registries, *report.checks]
                database.executemany(
                    "INSERT INTO results (run, id, place, machine, outcome, seconds) VALUES (?, ?, ?, ?, ?, ?)",
                    [(run, *_row(one, here)) for one in items],
                )

    def entries(self) -> list[PastResult]:
        """Everything, the oldest run first.

        Raises:
            UsageError: there is no history, or it is damaged.
        """
        if not self.file.is_file():
            raise UsageError(
                f"No history is in {self.file.parent}.", hint=f"pluginkit test --history {self.file.parent}"
            )
        with self._opened(write=False) as database:
            rows = database.execute(
                "SELECT number, time, plugin, sha256, id, place, machine, outcome, seconds FROM results "
                "JOIN runs ON run = number ORDER BY number, results.rowid"
            )
            return [PastResult(*row) for row in rows]

    @contextlib.contextmanager
    def _opened(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        try:
            if write:
                self.file.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self.file, timeout=_BUSY)) as database:
                self._check_format(database)
                yield database
        except (sqlite3.Error, OSError) as error:
            raise UsageError(
                f"The history {self.file} can't be {'written' if write else 'read'}: {error}.",
                hint="Name another folder; or move it away if it is damaged: `sqlite3 FILE .recover` saves the rest.",
            ) from None

    def _check_format(self, database: sqlite3.Connection) -> None:
        # In this order: another run that begins the file meanwhile writes both at once.
        (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version == FORMAT:
            # The first page may be whole where later ones are gone.
            (state,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if state != "ok":
                raise sqlite3.DatabaseError(str(state))
            return
        if version or tables:
            raise sqlite3.DatabaseError(f"it is of another program or pluginkit (version {version}, {FORMAT} is known)")
        try:
            database.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
        except sqlite3.OperationalError:
            database.rollback()
            if database.execute("PRAGMA user_version").fetchone() != (FORMAT,):
                raise  # no other run has made it meanwhile


def _row(one: CaseResult | Verdict, here: str) -> tuple[str, str, str, str, float]:
    """Its id, place, machine, outcome and seconds."""
    if isinstance(one, CaseResult):
        place = " ".join(filter(None, (one.gpu or one.target, one.sanitizers)))
        return one.id, place, one.place or here, one.outcome.value, one.seconds
    return one.network, one.runtime, one.place or here, one.outcome.value, one.seconds
