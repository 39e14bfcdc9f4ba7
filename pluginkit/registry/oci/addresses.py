"""URLs that a registry names: what they lead to, and whether they may be followed."""

from __future__ import annotations

from urllib.parse import SplitResult, urljoin, urlsplit


def parse(url: str) -> SplitResult | None:
    """The parts of a URL with a host; None if it has none, or a port that is none."""
    try:
        parts = urlsplit(url)
        valid = parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts if valid else None


def following(url: str, text: str) -> str:
    """What an answer from a URL names: a URL, or a path there. Empty if it is neither, or is not encrypted while the
    answer was."""
    try:
        found = urljoin(url, text)
    except ValueError:
        return ""
    parts = parse(found)
    return found if parts is not None and parts.scheme in {urlsplit(url).scheme, "https"} else ""


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of a URL that `parse` takes."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
