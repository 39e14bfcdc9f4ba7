"""The index of a store: an SQLite database of the manifests' content, so that nothing has to read them all.

A rollback journal and no write-ahead log, since a team's store may lie on a network share or be read-only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.registry.bundles.bundle import Bundle

FILE = "index.sqlite"
Bundles = Callable[[], Iterable[tuple[str, Bundle, frozenset[str]]]]
"""Gives digests, manifests, and the digests of those of its files that are there."""
WAIT = 60.0
"""Seconds that a writer waits for others."""

_MIGRATIONS = (
    """
    CREATE TABLE bundles (
        id INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE, name TEXT NOT NULL, release TEXT NOT NULL,
        license TEXT NOT NULL, size INTEGER NOT NULL, targets TEXT NOT NULL);
    CREATE INDEX bundles_by_name ON bundles (name);
    CREATE TABLE plugins (
        bundle INTEGER NOT NULL REFERENCES bundles ON DELETE CASCADE, name TEXT NOT NULL, version TEXT NOT NULL,
        namespace TEXT NOT NULL, base TEXT NOT NULL, description TEXT NOT NULL);
    CREATE INDEX plugins_by_identity ON plugins (name, version, namespace);
    CREATE INDEX plugins_by_bundle ON plugins (bundle);
    CREATE TABLE files (bundle INTEGER NOT NULL REFERENCES bundles ON DELETE CASCADE, digest TEXT NOT NULL);
    CREATE INDEX files_by_bundle ON files (bundle);
    CREATE INDEX files_by_digest ON files (digest);
    """,
)
"""Each brings the database to the next schema version, which SQLite keeps as user_version."""


@dataclass(frozen=True)
class Entry:
    """A bundle in the index.

    Attributes:
        id: grows with each bundle that is added, whatever the clock shows.
        digest, name, release, license: the bundle's.
        size: bytes of its files.
        targets: of its variants, as `cpu, gpu sm_80 sm_90`.
        plugins: (name, version, namespace) of each.
    """

    id: int
    digest: str
    name: str
    release: str
    license: str
    size: int
    targets: str
    plugins: tuple[tuple[str, str, str], ...]

    @property
    def label(self) -> str:
        """`name release`."""
        return f"{self.name} {self.release}"


class Index:
    """An open index."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    @classmethod
    def open(cls, folder: Path, bundles: Bundles) -> Index:
        """The index in a folder, made or migrated as needed.

        Args:
            folder: the store's.
            bundles: what there is to be put into an index that isn't there yet; asked for then only.

        Raises:
            UsageError: it was written by a later pluginkit.
            sqlite3.OperationalError: it cannot be opened or written.
            sqlite3.DatabaseError: it is damaged.
        """
        db = sqlite3.connect(folder / FILE, timeout=WAIT, isolation_level=None)
        try:
            return cls(db)._prepared(bundles)
        except BaseException:
            db.close()
            raise

    @classmethod
    def read_only(cls, folder: Path) -> Index:
        """The index in a folder that is not to be written.

        Raises:
            UsageError: it was written by a later pluginkit.
            sqlite3.DatabaseError: it isn't there, is damaged or of an earlier schema version.
        """
        db = sqlite3.connect(
            f"{(folder / FILE).resolve().as_uri()}?mode=ro", uri=True, timeout=WAIT, isolation_level=None
        )
        try:
            _check_current(db, folder)
        except BaseException:
            db.close()
            raise
        return cls(db)

    @classmethod
    def in_memory(cls, bundles: Bundles) -> Index:
        """An index that goes with the process."""
        return cls(sqlite3.connect(":memory:", isolation_level=None))._prepared(bundles)

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction; one writer at a time has it, in all processes."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def insert(self, digest: str, bundle: Bundle, files: Iterable[str]) -> None:
        """Add a bundle, of whose files some or all are there; to one that is known, those that came since."""
        row = (digest, bundle.name, bundle.release, bundle.license, sum(bundle.files().values()), bundle.targets)
        done = self._db.execute(
            "INSERT OR IGNORE INTO bundles (digest, name, release, license, size, targets) VALUES (?, ?, ?, ?, ?, ?)",
            row,
        )
        if done.rowcount:
            self._db.executemany(
                "INSERT INTO plugins VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (done.lastrowid, one.name, one.version, one.namespace, one.base, one.description)
                    for one in bundle.plugins
                ],
            )
        new = sorted(set(files) - self.files_of(digest))
        sql = "INSERT INTO files SELECT id, ? FROM bundles WHERE digest = ?"
        self._db.executemany(sql, [(file, digest) for file in new])

    def delete(self, digest: str) -> bool:
        """Remove a bundle; whether it was there."""
        return self._db.execute("DELETE FROM bundles WHERE digest = ?", (digest,)).rowcount > 0

    def entries(self, *, text: str = "", digest: str = "", identity: tuple[str, str, str] | None = None) -> list[Entry]:
        """Bundles in the order in which they were added.

        Args:
            text: only those with it in their name, in a plugin's name or namespace, or in a description.
            digest: only those whose digest begins so.
            identity: only those with a plugin of this (name, version, namespace).
        """
        where, values = "1", list[str]()
        if text:
            where = """(b.name LIKE ? ESCAPE '!' OR EXISTS (SELECT 1 FROM plugins p WHERE p.bundle = b.id AND
                (p.name LIKE ? ESCAPE '!' OR p.namespace LIKE ? ESCAPE '!' OR p.description LIKE ? ESCAPE '!')))"""
            values = [f"%{text.replace('!', '!!').replace('%', '!%').replace('_', '!_')}%"] * 4
        elif digest:
            where, values = "b.digest >= ? AND b.digest < ?", [digest, digest + "g"]
        elif identity:
            where = "b.id IN (SELECT bundle FROM plugins WHERE name = ? AND version = ? AND namespace = ?)"
            values = list(identity)
        columns = "b.id, b.digest, b.name, b.release, b.license, b.size, b.targets"
        rows: list[Any] = self._select(f"SELECT {columns} FROM bundles b WHERE {where} ORDER BY b.id", values)
        named: dict[int, list[tuple[str, str, str]]] = {}
        plugins = "SELECT bundle, p.name, p.version, p.namespace FROM plugins p JOIN bundles b ON b.id = p.bundle"
        for key, *identity_ in self._select(f"{plugins} WHERE {where} ORDER BY p.rowid", values):
            named.setdefault(key, []).append((identity_[0], identity_[1], identity_[2]))
        return [_entry(row, named.get(row[0], [])) for row in rows]

    def identities(self, name: str) -> list[tuple[str, str, str]]:
        """Every (name, version, namespace) of plugins of that name."""
        sql = "SELECT DISTINCT name, version, namespace FROM plugins WHERE name = ? ORDER BY version, namespace"
        return [(row[0], row[1], row[2]) for row in self._select(sql, (name,))]

    def files(self) -> set[str]:
        """The digests of all files of all bundles."""
        return {row[0] for row in self._select("SELECT DISTINCT digest FROM files")}

    def files_of(self, digest: str) -> frozenset[str]:
        """The digests of the files of a bundle that are in the store."""
        sql = "SELECT f.digest FROM files f JOIN bundles b ON b.id = f.bundle WHERE b.digest = ?"
        return frozenset(row[0] for row in self._select(sql, (digest,)))

    def check(self) -> str:
        """SQLite's findings on the database's integrity; empty if it is sound."""
        try:
            problems = [str(row[0]) for row in self._db.execute("PRAGMA integrity_check(3)")]
        except sqlite3.DatabaseError as error:
            problems = [str(error)]
        return "" if problems == ["ok"] else "; ".join(problems)

    def replace(self, bundles: Bundles) -> int:
        """Rebuild it from the manifests themselves; how many there are."""
        with self.writing():
            self._db.execute("DELETE FROM bundles")
            return self._fill(bundles)

    def _fill(self, bundles: Bundles) -> int:
        count = 0
        for digest, bundle, files in bundles():
            self.insert(digest, bundle, files)
            count += 1
        return count

    def _prepared(self, bundles: Bundles) -> Index:
        db = self._db
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        if _version(db) < len(_MIGRATIONS):
            with self.writing():
                # Another process may have been first.
                before = _version(db)
                for number in range(before, len(_MIGRATIONS)):
                    for statement in _MIGRATIONS[number].split(";"):
                        db.execute(statement)
                db.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
                if not before:
                    self._fill(bundles)
        return self

    def _select(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.OperationalError as error:
            raise UsageError(f"The store's index cannot be read: {error}.") from None
        except sqlite3.DatabaseError as error:
            raise CheckFailed(
                f"The store's index is damaged: {error}.", hint="pluginkit registry verify --repair rebuilds it."
            ) from None


def _entry(row: Sequence[Any], plugins: Sequence[tuple[str, str, str]]) -> Entry:
    key, digest, name, release, terms, size, targets = row
    return Entry(key, digest, name, release, terms, size, targets, tuple(plugins))


def _version(db: sqlite3.Connection, folder: Path | None = None) -> int:
    found = int(db.execute("PRAGMA user_version").fetchone()[0])
    if found > len(_MIGRATIONS):
        raise UsageError(
            f"The store's index{f' in {folder}' if folder else ''} is of schema version {found}; this pluginkit knows "
            f"up to {len(_MIGRATIONS)}.",
            hint="Update pluginkit: a later one has written it.",
        )
    return found


def _check_current(db: sqlite3.Connection, folder: Path) -> None:
    if _version(db, folder) != len(_MIGRATIONS):
        raise sqlite3.DatabaseError("of an earlier schema version")
