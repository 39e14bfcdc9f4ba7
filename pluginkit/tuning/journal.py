"""What was measured so far: a run that is interrupted goes on there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pluginkit.build.cmake import put
from pluginkit.tuning.results import Compared


class Journal:
    """A file with the times of each case, of one library on one GPU; what another has measured is forgotten.

    Args:
        path: the file.
        identity: of the library, the GPU, and what the outputs are compared with.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self._path = path
        self._identity = identity
        self._cases: dict[str, Compared] = {}
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["identity"] == identity:
                self._cases = {name: _read(one) for name, one in content["cases"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass  # none, or one that was damaged: all is measured again

    def get(self, name: str) -> Compared | None:
        """What was measured under a name."""
        return self._cases.get(name)

    def put(self, name: str, found: Compared) -> None:
        """Keeps it at once, by a new file that is renamed."""
        self._cases[name] = found
        cases = {key: {"times": _items(one.times), "wrong": _items(one.wrong)} for key, one in self._cases.items()}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"identity": self._identity, "cases": cases}, indent=1) + "\n"
        put(self._path, text.encode(), 0o644)


def _items(table: object) -> dict[str, object]:
    assert isinstance(table, dict)
    return {str(number): value for number, value in table.items()}


def _read(one: dict[str, dict[str, object]]) -> Compared:
    times: dict[int, Sequence[float]] = {}
    for number, seconds in one["times"].items():
        if not isinstance(seconds, list) or not all(isinstance(second, float) and second > 0 for second in seconds):
            raise ValueError(number)
        times[int(number)] = seconds
    return Compared(times, {int(number): str(text) for number, text in one["wrong"].items()})
