"""Which failures of a run have one cause, so that it is shown once, with the cases that it is in."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from pluginkit.run import messages
from pluginkit.testing.report import STRICT, CaseResult, Report, Verdict

Item = CaseResult | Verdict
SHOWN = 3
"""So many cases of a cause are named."""
_DIFFERS = re.compile(
    r"(?P<place>[\w./-]*\w\.[a-z]+:\d+)"  # a line of a source: that is where the cause is
    r"|(?<!\w)'[^'\n]*'(?!\w)|\"[^\"\n]*\""
    r"|-?\w*\d\w*(?:\.\w+)?(?:[-+]\d+)?(?:,? -?\w*\d\w*(?:\.\w+)?)*"
)
"""What differs from network to network in a message: names in quotes, names with numbers, numbers and lists of them."""

_FIELD = re.compile(r"-(no-fields|field-\w+?)(?:-\d+)?(?=/|$)")
"""In the id of a network that gives the plugin other fields than usual."""


@dataclass(frozen=True)
class Cause:
    """What is wrong, as far as messages tell.

    Attributes:
        items: the cases or verdicts that show it, in the report's order; at least one.
        common: what the failing cases have in common and others of the run have not: `at max`, `in INT8`.
    """

    items: tuple[Item, ...]
    common: tuple[str, ...] = ()

    @property
    def first(self) -> Item:
        """The item whose message is shown: the first one with the usual fields and a likely cause, if there is one.

        One that fails by a warning alone comes last: the others say what is wrong for certain.
        """
        return max(self.items, key=lambda one: (STRICT not in one.message, not _field(one), _explained(one)))

    @property
    def others(self) -> tuple[Item, ...]:
        """All but the first."""
        return tuple(one for one in self.items if one is not self.first)


def causes(report: Report) -> list[Cause]:
    """Everything that turns a run red, grouped by `key`, in the report's order.

    What is wrong with the usual fields is wrong with others, too: then a case with others has the same cause.
    """
    controls = {id(one) for one in report.controls}
    found: dict[Hashable, list[Item]] = {}
    for item in sorted(report.bad, key=lambda one: bool(_field(one))):
        own = key(item, control=id(item) in controls)
        usual = (one for one, (first, *_) in found.items() if own not in found and _field(item) and _same(first, item))
        found.setdefault(next(usual, own), []).append(item)
    return [Cause(tuple(items), _common(items, report.cases)) for items in found.values()]


def message(cause: Cause, report: Report, command: str) -> messages.Failure:
    """The message on the first item of a cause, with what else it is in; `command` is what repeats the whole run."""
    one = messages.failure(cause.first, report, command)
    if not cause.others:
        return one
    noun = "cases" if isinstance(cause.first, CaseResult) else "networks"
    common = f", all {', '.join(cause.common)}" if cause.common else ""
    names = ", ".join(name_of(item) for item in (cause.first, *cause.others)[:SHOWN])
    more = ", ..." if len(cause.items) > SHOWN else ""
    return replace(one, message=(f"in {len(cause.items)} {noun}{common}: {names}{more}", *one.message))


def name_of(item: Item) -> str:
    """A case's id, or a verdict's network."""
    return item.id if isinstance(item, CaseResult) else item.network


def key(item: Item, *, control: bool = False) -> Hashable:
    """Items with one key have one cause.

    - A case with defects in the sources: their kinds and places.
    - A case with other values than the reference's: the precision. Places and sizes of errors follow from the network.
    - A network that NVIDIA's builder refuses: the place in its sources, where the message has one.
    - A network that must be refused and is not: what is broken in it.
    - All else: the text, without the names and numbers in it that differ from network to network.

    A case that fails only in another order, or only after others, or on another target, has another cause.

    Args:
        item: a failing case or verdict.
        control: whether it is the verdict on a network that must be refused.
    """
    if isinstance(item, Verdict):
        place = next((found["place"] for found in _DIFFERS.finditer(item.message) if found["place"]), "")
        name = item.network.rpartition("/")[2] if control else ""
        return item.runtime, item.outcome, item.how, place or name or _text(item)
    what: Hashable = _text(item), _field(item)
    if item.defects:
        what = frozenset((one.kind, one.place or _plain(one.text)) for one in item.defects)
    elif _is_off(item):
        what = item.precision, _field(item)
    order = _plain(item.schedule), item.way, bool(item.after)
    return item.outcome, item.target, item.demand, order, what


def _is_off(case: CaseResult) -> bool:
    """Whether its values are what is wrong."""
    return case.error is not None and case.allowed is not None and not case.error <= case.allowed


def _explained(item: Item) -> bool:
    """Whether the message has more than which values are wrong: small outputs don't show why."""
    return any(not line.startswith("output ") for line in item.message.splitlines())


def _same(usual: Item, item: Item) -> bool:
    """Whether a case with other fields than usual fails as one with the usual ones."""
    if not isinstance(usual, CaseResult) or not isinstance(item, CaseResult) or _field(usual):
        return False
    if (usual.outcome, usual.target) != (item.outcome, item.target):
        return False
    if _is_off(usual) and _is_off(item):
        return usual.precision is item.precision
    text = "\n".join(_text(item))
    return all(line in text for line in _text(usual))


def _field(item: Item) -> str:
    found = _FIELD.search(item.network)
    return found[1] if found else ""


def _text(item: Item) -> frozenset[str]:
    own = item.message.replace(name_of(item), "")
    return frozenset(_plain(line) for line in own.splitlines())


def _plain(text: str) -> str:
    return _DIFFERS.sub(lambda found: found["place"] or "#", text)


def _common(items: Sequence[Item], every: Sequence[CaseResult]) -> tuple[str, ...]:
    cases = [one for one in items if isinstance(one, CaseResult)]
    if len(cases) < SHOWN or len(cases) < len(items):
        return ()
    found = []
    for name in (_point, _precision, _network, _target):
        values = {name(one) for one in cases}
        if len(values) == 1 and len({name(one) for one in every}) > 1:
            found.append(values.pop())
    return tuple(found)


def _point(case: CaseResult) -> str:
    return f"at {case.point.partition('/')[0]}"


def _precision(case: CaseResult) -> str:
    return f"in {case.precision.short}"


def _network(case: CaseResult) -> str:
    return f"in {case.family}"


def _target(case: CaseResult) -> str:
    return f"on target {case.target}"
