"""What comes of a check, as plain data."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass
from typing import Any


class Ending(str, enum.Enum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    WARNING = "warning"
    KNOWN = "known"
    CRASHED = "crashed"
    SKIPPED = "skipped"

    @property
    def bad(self) -> bool:
        """Whether it is a finding that no option can make acceptable."""
        return self in (Ending.FAILED, Ending.CRASHED)


@dataclass(frozen=True)
class CheckResult:
    """One check of one creator, or of the library's file.

    Attributes:
        check: its id.
        plugin: `Name version` of the creator; empty for checks of the library.
        ending: how it ended.
        method: the C++ method that showed it; empty where there is none.
        message: what was observed, or why it was skipped.
        frames: where a process ended, the innermost function first.
    """

    check: str
    plugin: str
    ending: Ending
    method: str = ""
    message: str = ""
    frames: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Method, message and frames."""
        first = f"{self.method}: {self.message}" if self.method else self.message
        return "\n".join((first, *(f"    {frame}" for frame in self.frames)))

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes a finding the same one in another run."""
        return self.check, self.plugin, self.method

    @property
    def is_finding(self) -> bool:
        """Whether it shows something wrong, known or not."""
        return self.ending not in (Ending.PASSED, Ending.SKIPPED)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "ending": self.ending.value}
