"""Three-way merge of texts, line by line: diff3, as S. Khanna, K. Kunal and B. C. Pierce describe it.

"A Formal Investigation of Diff3", FSTTCS 2007. Lines that all three texts share, as difflib matches them, cut the texts
into chunks; a chunk that one side alone has changed is that side's, and one that both have changed differently is a
conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

OURS, MIDDLE, THEIRS = "<" * 7, "=" * 7, ">" * 7
"""Git's marks of a conflict (git-merge, "How conflicts are presented")."""

Lines = list[str]


@dataclass(frozen=True)
class Merged:
    """What came of a merge.

    Attributes:
        text: the merged text, conflicts between marks.
        conflicts: the first and the last line of each conflict in it, marks included, counted from 1.
    """

    text: str
    conflicts: tuple[tuple[int, int], ...]


def merge(base: str, ours: str, theirs: str, *, label: str) -> Merged:
    """Bring into `ours` what `theirs` has changed since `base`.

    Args:
        base: the text that both come from.
        ours: one side; its line ends are kept where they are not those of the others.
        theirs: the other side.
        label: what the other side is called at the end of a conflict.
    """
    if ours.count("\r\n") == ours.count("\n") > 0:
        base, theirs = (text.replace("\r\n", "\n").replace("\n", "\r\n") for text in (base, theirs))
    merged: Lines = []
    conflicts = []
    sides = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    end = "\r\n" if ours.endswith("\r\n") else "\n"
    for old, mine, yours in _chunks(*sides):
        if yours in (mine, old):
            merged += mine
        elif mine == old:
            merged += yours
        else:
            # What both sides did alike at the edges is no matter of the conflict.
            head = _alike(mine, yours)
            tail = _alike(mine[head:][::-1], yours[head:][::-1])
            merged += mine[:head]
            first = len(merged) + 1
            merged += [
                f"{OURS} yours{end}",
                *_ended(mine[head : len(mine) - tail], end),
                f"{MIDDLE}{end}",
                *_ended(yours[head : len(yours) - tail], end),
                f"{THEIRS} {label}{end}",
            ]
            conflicts.append((first, len(merged)))
            merged += mine[len(mine) - tail :]
    return Merged("".join(merged), tuple(conflicts))


def unresolved(text: str) -> list[int]:
    """The lines, counted from 1, at which unresolved conflicts begin."""
    return [number for number, line in enumerate(text.splitlines(), 1) if line.startswith(f"{OURS} ")]


def _chunks(base: Lines, ours: Lines, theirs: Lines) -> Iterator[tuple[Lines, Lines, Lines]]:
    """The texts in corresponding pieces: those that are the same in all three, and what lies between them."""
    at = (0, 0, 0)
    for start, mine, yours, size in _shared(base, ours, theirs):
        yield base[at[0] : start], ours[at[1] : mine], theirs[at[2] : yours]
        same = base[start : start + size]
        yield same, same, same
        at = (start + size, mine + size, yours + size)
    yield base[at[0] :], ours[at[1] :], theirs[at[2] :]


def _shared(base: Lines, ours: Lines, theirs: Lines) -> Iterator[tuple[int, int, int, int]]:
    """Where all three agree: (line of base, of ours, of theirs, how many)."""
    left = SequenceMatcher(None, base, ours, autojunk=False).get_matching_blocks()
    right = SequenceMatcher(None, base, theirs, autojunk=False).get_matching_blocks()
    i = j = 0
    while i < len(left) and j < len(right):
        a, b = left[i], right[j]
        start, end = max(a.a, b.a), min(a.a + a.size, b.a + b.size)
        if start < end:
            yield start, a.b + start - a.a, b.b + start - b.a, end - start
        if a.a + a.size < b.a + b.size:
            i += 1
        else:
            j += 1


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _ended(lines: Lines, end: str) -> Lines:
    """With an end of line at the last one too: a mark follows."""
    return [*lines[:-1], lines[-1] if lines[-1].endswith("\n") else lines[-1] + end] if lines else []
