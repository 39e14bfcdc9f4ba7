"""Writes docs/statements.md."""

from __future__ import annotations

from tests.statements import PAGE, page

PAGE.write_text(page(), encoding="utf-8")
