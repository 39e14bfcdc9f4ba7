"""The demands that the host makes on a plugin, by their ids, and what becomes of one that isn't met.

docs/demands.md has what each one asks, and its source. Breaking a `contract` (TensorRT's headers or documents, or
NVIDIA's own code insist on it), what the project has `declared`, or a `limit` of this host is a Finding. Nobody
promises `robustness`: breaking that is a doubt, and the run goes on as TensorRT would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["contract", "robustness", "declared", "limit"]

_IDS: dict[Kind, str] = {
    "contract": "B3 B4 C1 C11 C13 C14 E1 E2 E5 E10 E16 F1 F3 F5 F12 I1 I4 I5 I7 I8 L1 L2 L4 L6 L9 L10 L11 L12 S1 S3 S9 "
    "S10 T1 T6 T8 T9 T10 T12 T14 T16 T17 V1 V2 V3 V4 V8",
    "robustness": "B1 B5 C2 C17 C18 E3 E4 E13 E14 F2 F6 F7 F9 I6 L7 S2 S4 S5 S8 S11 T11 T18 V5 V6 V7",
    "declared": "C3 C16 E6 E7 F8 T19",
    "limit": "T2 T7",
}
DEMANDS: dict[str, Kind] = {name: kind for kind, names in _IDS.items() for name in names.split()}
"""Every demand's id and kind."""


@dataclass(frozen=True)
class Doubt:
    """A demand of the kind `robustness` that a plugin does not meet.

    Attributes:
        rule: the demand's id.
        method: the C++ method that shows it.
        message: what it did.
    """

    rule: str
    method: str
    message: str

    @property
    def text(self) -> str:
        """As it is shown."""
        return f"[{self.rule}] {self.method}: {self.message}"


_noted: dict[Doubt, None] = {}


def doubt(rule: str, method: str, message: str) -> None:
    """Notes that a plugin does not meet a demand of the kind `robustness`."""
    _noted[Doubt(rule, method, message)] = None


def take_doubts() -> tuple[Doubt, ...]:
    """What has been noted in this process since the last call, each once."""
    found = tuple(_noted)
    _noted.clear()
    return found
