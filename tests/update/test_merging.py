"""Three-way merge of texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.scaffold.merging import merge, unresolved

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n"]), max_size=12).map("".join)


def merged(base: str, ours: str, theirs: str) -> str:
    done = merge(base, ours, theirs, label="new")
    assert not done.conflicts
    return done.text


@given(TEXTS, TEXTS)
def test_what_one_side_alone_changed_is_taken(base: str, changed: str) -> None:
    assert merged(base, changed, base) == changed
    assert merged(base, base, changed) == changed
    assert merged(base, changed, changed) == changed


@given(TEXTS, TEXTS, TEXTS)
def test_a_conflict_holds_both_sides_whole(base: str, ours: str, theirs: str) -> None:
    """Whichever side is chosen in all conflicts, no line of its changes is lost."""
    done = merge(base, ours, theirs, label="new")
    lines = done.text.splitlines()
    assert len(done.conflicts) == len(unresolved(done.text)) == sum(line.startswith(">>>>>>> ") for line in lines)
    for first, last in done.conflicts:
        inside = lines[first - 1 : last]
        assert inside[0] == "<<<<<<< yours"
        assert inside[-1] == ">>>>>>> new"
        assert inside.count("=======") == 1
        cut = inside.index("=======")
        assert inside[1:cut] != inside[cut + 1 : -1]
    mine = [line for line in lines if line[:7] not in ("<<<<<<<", "=======", ">>>>>>>")]
    for side in (ours, theirs):
        added = set(side.splitlines()) - set(base.splitlines())
        assert added <= set(mine)


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(0, 2**30))
def test_edits_of_different_lines_meet(changes: list[bool], seed: int) -> None:
    """Lines that are all different, with an unchanged one between any two edits: there is one right answer."""
    base = [f"{number}\n" for number in range(2 * len(changes) + 1)]
    ours, theirs, both = list(base), list(base), list(base)
    for index, mine in enumerate(changes):
        at = 2 * index + 1
        new = ["", f"x{at}\n", f"x{at}\ny{at}\n"][(seed >> index) % 3]
        (ours if mine else theirs)[at] = both[at] = new
    assert merged("".join(base), "".join(ours), "".join(theirs)) == "".join(both)


def test_a_conflict_as_git_shows_it() -> None:
    done = merge("a\nb\nc\n", "a\nours\nboth\nc\n", "a\ntheirs\nboth\nc\n", label="pluginkit 1")
    assert done.text == "a\n<<<<<<< yours\nours\n=======\ntheirs\n>>>>>>> pluginkit 1\nboth\nc\n"
    assert done.conflicts == ((2, 6),)
    assert unresolved(done.text) == [2]


@pytest.mark.parametrize("last", ["b", "b\n"])
def test_the_last_line_needs_no_end(last: str) -> None:
    assert merged(f"a\n{last}", f"x\n{last}", f"a\n{last}") == f"x\n{last}"
    done = merge("a", "b", "c", label="new")
    assert done.text == "<<<<<<< yours\nb\n=======\nc\n>>>>>>> new\n"


def test_line_ends_of_the_person_are_kept() -> None:
    assert merged("a\nb\nc\nd\n", "a\r\nB\r\nc\r\nd\r\n", "a\nb\nc\nD\n") == "a\r\nB\r\nc\r\nD\r\n"
    done = merge("a\n", "b\r\n", "c\n", label="new")
    assert done.text == "<<<<<<< yours\r\nb\r\n=======\r\nc\r\n>>>>>>> new\r\n"
