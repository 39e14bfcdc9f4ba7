"""A child-side module that says what process it is in."""

from __future__ import annotations

from os import getcwd, getenv, getpgrp, getpid, getppid
from signal import pause

__all__ = ["getcwd", "getenv", "getpgrp", "getpid", "getppid", "pause"]
