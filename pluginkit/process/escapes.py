"""Names and paths with control characters: on one line for the user, and as a word of a shell command."""

from __future__ import annotations

import shlex
import unicodedata

_TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""They change the direction of what is written behind them."""


def shown(text: str, keep: str = "") -> str:
    r"""The text with escapes for control characters (`\n`, `\x1b`): no line breaks in it, and no terminal obeys it.

    Args:
        text: of any origin.
        keep: characters that stay, as the line breaks of a text that has several lines.
    """
    return "".join(char if char in keep or not _hidden(char) else _escape(char) for char in text)


def quoted(text: str) -> str:
    r"""A word for a shell, on one line: as `shlex.quote`, and `$'a\nb'` (bash, zsh) where it has control characters."""
    if not any(map(_hidden, text)):
        return shlex.quote(text)
    escaped = {"\\": r"\\", "'": r"\'"}
    return f"$'{''.join(escaped.get(char) or (_in_word(char) if _hidden(char) else char) for char in text)}'"


def _hidden(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} or char in _TURNING


def _in_word(char: str) -> str:
    # A shell reads \x85 as a byte, and \u0085 as a character.
    return f"\\u{ord(char):04x}" if 0x80 <= ord(char) <= 0x9F else _escape(char)


def _escape(char: str) -> str:
    code = ord(char)
    # Python's form of a byte of a path that is not UTF-8.
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else char.encode("unicode_escape").decode()
