"""What trust.toml says of namespaces and identities: a text, with `*` for any characters."""

from __future__ import annotations

import re


def matches(text: str, pattern: str) -> bool:
    """Whether a pattern takes a text. fnmatch's `?` and `[...]` are not patterns here: e-mail addresses have them, as
    `github-actions[bot]@...`."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None
