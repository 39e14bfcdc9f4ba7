"""Recorded cases given to the host, and each difference with the row that explains it."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pluginkit.errors import CheckFailed
from pluginkit.runtimes.tensorrt.behaviours import BEHAVIOURS
from tests.fidelity.tensorrt8.drawing.case import Case
from tests.fidelity.tensorrt8.drawing.networks import case
from tests.fidelity.tensorrt8.hosting.hosted import Host, compile_for_cpu

from .answers import Recording
from .comparing import Difference, Kind, differences
from .conditions import CONDITIONS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Explained:
    """A row of explained.toml: why host and TensorRT part.

    Attributes:
        id: its name.
        what: the difference, for docs/fidelity.md.
        why: the reason.
        kind: of the difference.
        flaws: of the case; none: any.
        bases: of the case; none: any.
        quantized: how the case comes to INT8; none: any.
        families: of the case; none: any.
        when: a name of conditions.CONDITIONS that holds of the case; empty: any.
        text: a regular expression that the difference's text matches.
        row: of the table of behaviours whose message is 8.5.3's.
    """

    id: str
    what: str
    why: str
    kind: Kind
    flaws: Sequence[str] = ()
    bases: Sequence[str] = ()
    quantized: Sequence[str] = ()
    families: Sequence[str] = ()
    when: str = ""
    text: str = ""
    row: str = ""

    def explains(self, one: Case, found: Difference) -> bool:
        """Whether the difference of a case is this one."""
        given = (
            (self.flaws, one.flaw),
            (self.bases, one.base),
            (self.quantized, one.quantized),
            (self.families, one.family),
        )
        if found.kind != self.kind or any(allowed and value not in allowed for allowed, value in given):
            return False
        if self.when and not CONDITIONS[self.when](one):
            return False
        message = BEHAVIOURS[self.row].refused if self.row else self.text
        return re.search(message, found.text) is not None


def _rows() -> tuple[Explained, ...]:
    text = (Path(__file__).parent / "explained.toml").read_text(encoding="utf-8")
    return tuple(Explained(name, **values) for name, values in tomllib.loads(text).items())


ROWS = _rows()


@dataclass(frozen=True)
class Judgement:
    """A case, what both say, how that differs, and by which row each difference is explained; empty: by none."""

    case: Case
    trt: Mapping[str, Any]
    host: Mapping[str, Any]
    found: tuple[tuple[Difference, str], ...]

    @property
    def left(self) -> tuple[Difference, ...]:
        """What no row explains."""
        return tuple(one for one, row in self.found if not row)


def judge(host: Host, seed: int, number: int, answer: Mapping[str, Any]) -> Judgement:
    """The host asked for a recorded case.

    Raises:
        CheckFailed: the case was another when it was recorded.
    """
    one = case(seed, number)
    if answer["digest"] != one.digest:
        raise CheckFailed(
            f"case {number} of seed {seed} is {one.digest} now and was {answer['digest']} when it was recorded",
            hint="Undo what changed the drawing, or record all cases again.",
        )
    mine = host.answer(one, answer.get("cache"))
    found = [
        (difference, next((row.id for row in ROWS if row.explains(one, difference)), ""))
        for difference in differences(one, answer, mine)
    ]
    return Judgement(one, answer, mine, tuple(found))


def replay(recording: Recording, numbers: Sequence[int], jobs: int = 1) -> list[Judgement]:
    """The cases of these numbers, in their order, by so many processes."""
    parts = [numbers[start::jobs] for start in range(jobs)]
    with tempfile.TemporaryDirectory(prefix="fidelity-") as folder:
        library = compile_for_cpu(Path(folder))
        given = [(library, recording.seed, [(number, recording.answers[number]) for number in part]) for part in parts]
        if jobs == 1:
            return _part(*given[0])
        with ProcessPoolExecutor(jobs) as pool:
            found = [one for part in pool.map(_part, *zip(*given, strict=True)) for one in part]
    places = {number: place for place, number in enumerate(numbers)}
    return sorted(found, key=lambda one: places[int(one.case.id.rpartition("/")[2])])


def _part(library: Path, seed: int, answers: Sequence[tuple[int, Mapping[str, Any]]]) -> list[Judgement]:
    with Host(library) as host:
        return [judge(host, seed, number, answer) for number, answer in answers]
