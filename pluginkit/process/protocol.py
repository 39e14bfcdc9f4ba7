"""The protocol between a worker and its child: pickled messages with their length, and the size of the call_file."""

from __future__ import annotations

import struct
from typing import NamedTuple

HEADER = struct.Struct("<Q")
"""A message's length."""
CALL_FILE_BYTES = 4096
"""As in native/call_file.h."""
ABSENT_AT = 3072
"""Where it names a function that isn't on this machine; as there."""
BEYOND_AT = 3584
"""Where it says which memory that the plugin was given an access has left; as there."""


class LastCall(NamedTuple):
    """What a call_file holds.

    Attributes:
        name: the last native call; empty if there was none.
        inside: whether it was still under way.
        absent: the function of a library that isn't on this machine which was called first; empty if none was.
        beyond: which memory that the plugin was given an access has left, as `reads in[2], which has 2`; empty if it
            has left none.
    """

    name: str
    inside: bool
    absent: str
    beyond: str

    @property
    def after(self) -> str:
        """The end of a sentence on a process that ended in this call: what is known of why; may be empty."""
        return f"{after_absent(self.absent)}{f': it {self.beyond}' if self.beyond else ''}"


def last_call(crumb: bytes) -> LastCall:
    """What the content of the file says."""
    parts = (crumb[1:], crumb[ABSENT_AT:], crumb[BEYOND_AT:])
    name, absent, beyond = (part.split(b"\0", 1)[0].decode(errors="replace") for part in parts)
    return LastCall(name, crumb[:1] == b"I", absent, beyond)


def after_absent(absent: str) -> str:
    """The end of a sentence on a process that called such a function; empty where it called none."""
    return f", after it had called {absent}, which is not on this machine" if absent else ""
