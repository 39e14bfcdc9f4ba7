"""Fuzzes the plugins of a library: for each creator and target an own sequence of inputs, shared out over workers."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from pluginkit.adoption import node
from pluginkit.adoption.answers import ListedCreator, selected
from pluginkit.errors import PluginkitError, UsageError
from pluginkit.manifest.project import Member
from pluginkit.process.worker_pool import Sessions, WorkerPool
from pluginkit.validation import library_hosts as hosts
from pluginkit.validation.asking import known_of
from pluginkit.validation.checking import CheckLimits
from pluginkit.validation.fuzzing import inputs
from pluginkit.validation.fuzzing.inputs import FuzzInput, KeptInput, Target
from pluginkit.validation.fuzzing.loop import FuzzFinding, FuzzLimits, FuzzPart, FuzzState
from pluginkit.validation.fuzzing.mutation import Draw, steps_of
from pluginkit.validation.library_hosts import LibrarySource
from pluginkit.validation.subject import Known
from pluginkit.validation.subjects.asking import MoreSubjects

TURN = 0.5
"""Seconds in which a worker gives inputs to one target, before it is another's turn."""
MOST_HUNG = 3
"""Inputs of a target that hang, after which it gets no more."""
PATIENCE = 600.0
"""Seconds that a turn may last in which every input is slow."""
FINDINGS = "findings"
"""The folder in the corpus of inputs with which something is wrong; they are not part of it."""


@dataclass(frozen=True)
class CoveredLibrary:
    """The same plugins in a library that counts its edges.

    Attributes:
        library: of target cpu, built by clang++ (`pluginkit.build.coverage`).
        libfuzzer: of `libfuzzer.cpp` and the libFuzzer of that clang++.
        version: of it.
    """

    library: Path
    libfuzzer: Path
    version: str


@dataclass(frozen=True)
class FuzzOptions:
    """What is fuzzed, and how.

    Attributes:
        library: the `.so`.
        wanted: creators, as `Name` or `Name:version`; none: all.
        model: an ONNX model with values of fields, and sizes.
        seconds: how long; None: no limit.
        most: inputs of each target; None: no limit.
        corpus: the folder of inputs, which grows.
        seed: of all random numbers.
        limits: seconds and memory for one input, and workers.
        members: the plugins' manifests, where there are any: they have values of fields, types and sizes.
        coverage: the library that is fuzzed in place of `library`, where there is one; findings are of both.
        command: what repeats the run, without the options of the fuzzer; empty: `pluginkit check` of the library.
    """

    library: Path
    wanted: Sequence[str] = ()
    model: Path | None = None
    seconds: float | None = None
    most: int | None = None
    corpus: Path = Path("fuzz")
    seed: int = 0
    limits: CheckLimits = field(default_factory=CheckLimits)
    members: Sequence[Member] = ()
    coverage: CoveredLibrary | None = None
    command: Sequence[str] = ()


@dataclass(frozen=True)
class FoundInput:
    """An input with which something is wrong.

    Attributes:
        plugin: its creator as `Name:version`.
        finding: what is wrong.
        seed: from which it is drawn again; empty for one that comes from a file.
        file: that holds it.
        command: that repeats it alone.
        times: how many inputs came to the same.
    """

    plugin: str
    finding: FuzzFinding
    seed: str
    file: Path
    command: str
    times: int = 1


@dataclass
class Fuzzed:
    """One target of one creator.

    Attributes:
        creator: whose plugin it is.
        target: what is called.
        layout, known: how the plugin is made, and called.
        state: how far it has come.
        done: inputs given.
        skipped: why it was not fuzzed; empty where it was.
        hung: inputs that did not come back.
        edges: of the library's code, that were reached, and all; zeros where nothing counts them.
        found: inputs with which something is wrong, by what makes them alike.
    """

    creator: ListedCreator
    target: Target
    layout: int
    known: Known
    state: FuzzState | None = None
    done: int = 0
    skipped: str = ""
    hung: int = 0
    edges: tuple[int, int] = (0, 0)
    found: dict[tuple[object, ...], FoundInput] = field(default_factory=dict)

    @property
    def plugin(self) -> str:
        """As options name it."""
        return self.creator.full_name

    @property
    def behaviours(self) -> int:
        """How many different things came of its inputs."""
        return len(self.state.seen) if self.state else 0


@dataclass(frozen=True)
class FuzzReport:
    """What came of a run.

    Attributes:
        fuzzed: the targets.
        seed: of the run.
        corpus: the folder of inputs.
        seconds: how long it took.
        interrupted: whether somebody has ended it.
    """

    fuzzed: tuple[Fuzzed, ...]
    seed: int
    corpus: Path
    seconds: float
    interrupted: bool = False

    @property
    def found(self) -> tuple[FoundInput, ...]:
        """All inputs with which something is wrong."""
        return tuple(found for one in self.fuzzed for found in one.found.values())


def fuzz_library(options: FuzzOptions, step: Callable[[Sequence[Fuzzed]], None] = lambda _: None) -> FuzzReport:
    """Give inputs to the plugins of a library until the time is over, or somebody presses Ctrl-C.

    Args:
        options: what and how.
        step: called with the targets whenever one has had its turn.

    Raises:
        UsageError: no such library or creator, a corpus that can't be read or written.
        PluginkitError: the library can't be loaded.
    """
    kept = inputs.read_folder(options.corpus)
    begin = monotonic()
    fuzzed: list[Fuzzed] = []
    interrupted = False
    try:
        with WorkerPool(options.limits.jobs or len(os.sched_getaffinity(0))) as pool:
            run = _FuzzRun(options, pool)
            fuzzed += run.targets(kept)
            step(fuzzed)
            for _ in run.turns([one for one in fuzzed if one.state], begin):
                step(fuzzed)
    except KeyboardInterrupt:
        interrupted = True
    return FuzzReport(tuple(fuzzed), options.seed, options.corpus, monotonic() - begin, interrupted)


def repeat(options: FuzzOptions, what: str) -> FoundInput | None:
    """Give one input alone.

    Args:
        options: as of `fuzz_library`; of the times only the limits count.
        what: a file that a run has written, or the seed of a finding: `serialized:7:12.507`.

    Returns:
        What is wrong with it; None where nothing is.

    Raises:
        UsageError: no such file.
        PluginkitError: the library can't be loaded.
    """
    file = Path(what)
    kept = inputs.read(file) if file.suffix == ".json" or file.exists() else None
    with WorkerPool(1) as pool:
        run = _FuzzRun(replace(options, wanted=[kept.plugin]) if kept else options, pool)
        if kept:
            (target,) = (found for found in run.begun() if found.target is kept.input.target)
            given = kept.input
        else:
            target, given = run.of_seed(what)
        finding = pool.submit(lambda own: run.once(own, target, given)).result()
    return run.entered(target, finding, file=file, seed=kept.seed if kept else what) if finding else None


class _FuzzRun:
    """A library whose plugins are fuzzed by a pool."""

    def __init__(self, options: FuzzOptions, pool: WorkerPool) -> None:
        self._options = options
        self._pool = pool
        library, libfuzzer = options.library, None
        if options.coverage:
            library, libfuzzer = options.coverage.library, options.coverage.libfuzzer
        self._source = LibrarySource(library, max(options.limits.seconds, hosts.PATIENCE), libfuzzer)

    def begun(self) -> list[Fuzzed]:
        """Every target of every creator."""
        first = self._pool.submit(lambda own: own.get(self._source).first()).result()
        if isinstance(first, PluginkitError):
            raise first
        creators = selected(first[0], self._options.wanted)
        nodes = node.read(self._options.model, creators) if self._options.model else {}
        seconds = self._options.limits.seconds
        extra = MoreSubjects(creators, self._options.members, {}, {})

        def known(own: Sessions, one: ListedCreator) -> tuple[int, Known]:
            return known_of(own.get(self._source), one, nodes.get(one.index), extra.manifest(one), seconds)

        asked = [(one, self._pool.submit(lambda own, one=one: known(own, one))) for one in creators]  # type: ignore[misc]
        return [Fuzzed(one, target, *future.result()) for one, future in asked for target in Target]

    def targets(self, kept: Sequence[KeptInput]) -> list[Fuzzed]:
        """Every target, with the inputs of the corpus."""
        found = self.begun()
        goods = [self._pool.submit(lambda own, one=one: self._good(own, one)) for one in found]  # type: ignore[misc]
        for one, future in zip(found, goods, strict=True):
            good: FuzzInput | str = future.result()
            if isinstance(good, str):
                one.skipped = good
                continue
            parents = tuple(
                ((), kept_one.input)
                for kept_one in kept
                if kept_one.plugin == one.plugin and kept_one.input.target is one.target
            )
            one.state = FuzzState(Draw(self._options.seed, good), parents=parents)
        return found

    def _good(self, own: Sessions, one: Fuzzed) -> FuzzInput | str:
        if not one.known.answers.made:
            return "no plugin could be made of guessed fields: --model MODEL.onnx gives values"
        if one.target in (Target.FORMATS, Target.SHAPES) and not one.known.answers.taken and not one.known.sizes:
            return "it is not known which inputs the plugin takes"
        found: FuzzInput | str = self.call(own, one, "fuzz_good", target=one.target)
        if isinstance(found, FuzzInput) and found == FuzzInput(one.target):
            return "there is nothing that it reads"
        return found

    def of_seed(self, text: str) -> tuple[Fuzzed, FuzzInput]:
        """The target and the input of the seed of a finding."""
        name, _, rest = text.partition(":")
        try:
            asked = Target[name.upper()]
            seed, steps = steps_of(rest)
        except (KeyError, ValueError):
            hint = "A seed is `serialized:7:12.507`, as a finding shows it."
            raise UsageError(f"{text} is neither a file nor the seed of a finding.", hint=hint) from None
        found = [one for one in self.begun() if one.target is asked]
        if len(found) != 1:
            hint = f"--creator {found[0].plugin}"
            raise UsageError(f"A seed is that of one plugin, and the library has {len(found)}.", hint=hint)
        good = self._pool.submit(lambda own: self._good(own, found[0])).result()
        if isinstance(good, str):
            raise UsageError(f"{found[0].plugin} has no {name}: {good}.")
        return found[0], Draw(seed, good).input_of(steps)

    def once(self, own: Sessions, one: Fuzzed, given: FuzzInput) -> FuzzFinding | None:
        """What is wrong with one input."""
        found: FuzzFinding | None = self.call(own, one, "fuzz_one", given=given)
        return found

    def turns(self, fuzzed: Sequence[Fuzzed], begin: float) -> Iterator[None]:
        """Lets each target have its turn, again and again."""
        end = begin + self._options.seconds if self._options.seconds is not None else None
        waiting = {id(one): self._pool.submit(lambda own, one=one: self._turn(own, one)) for one in fuzzed}  # type: ignore[misc]
        while waiting:
            for one in fuzzed:
                if id(one) not in waiting:
                    continue
                self._take(one, waiting.pop(id(one)).result())
                yield
                over = end is not None and monotonic() >= end
                if not over and one.hung < MOST_HUNG and (self._options.most is None or one.done < self._options.most):
                    waiting[id(one)] = self._pool.submit(lambda own, one=one: self._turn(own, one))  # type: ignore[misc]

    def _turn(self, own: Sessions, one: Fuzzed) -> FuzzPart:
        most = self._options.most - one.done if self._options.most is not None else 1 << 62
        part: FuzzPart = self.call(own, one, "fuzz", state=one.state, seconds=TURN, most=most)
        return part

    def call(self, own: Sessions, one: Fuzzed, method: str, **arguments: Any) -> Any:
        """Calls a method of a worker that has the library loaded."""
        loaded = own.get(self._source)
        worker, index = next((w, index) for at, w, index in loaded.with_creator(one.creator) if at == one.layout)
        limits = FuzzLimits(self._options.limits.seconds, self._options.limits.memory)
        return worker.call(method, timeout=PATIENCE, index=index, known=one.known, limits=limits, **arguments)

    def _take(self, one: Fuzzed, part: FuzzPart) -> None:
        assert one.state is not None
        one.done += part.done
        one.edges = max(one.edges, part.edges)
        for steps, given in part.fresh:
            KeptInput(one.plugin, given, self._seed(one.target, steps)).write(self._options.corpus)
        one.state = replace(
            one.state,
            step=part.step,
            parents=(*one.state.parents, *part.fresh),
            seen=one.state.seen | part.seen,
        )
        for finding in part.findings:
            one.hung += finding.ending == "hung"
            if there := one.found.get(finding.key):
                one.found[finding.key] = replace(there, times=there.times + 1)
                continue
            # Ctrl-C may come at any time.
            self._keep(one, finding)
            smaller = self._pool.submit(lambda own, it=finding: self._smaller(own, one, it)).result()  # type: ignore[misc]
            if smaller != finding:
                before = one.found[finding.key].file
                self._keep(one, smaller)
                before.unlink(missing_ok=True)

    def _smaller(self, own: Sessions, one: Fuzzed, finding: FuzzFinding) -> FuzzFinding:
        assert one.state is not None
        found: FuzzFinding = self.call(own, one, "fuzz_smaller", finding=finding, good=one.state.draw.good)
        return found

    def _keep(self, one: Fuzzed, finding: FuzzFinding) -> None:
        kept = KeptInput(one.plugin, finding.input, self._seed(one.target, finding.steps))
        folder = self._options.corpus / FINDINGS
        one.found[finding.key] = self.entered(one, finding, folder / kept.name, kept.seed)
        kept.write(folder)

    def _seed(self, target: Target, steps: Sequence[int]) -> str:
        text = f"{target.name.lower()}:{self._options.seed}:{'.'.join(map(str, steps))}"
        return text if steps else ""

    def entered(self, one: Fuzzed, finding: FuzzFinding, file: Path, seed: str) -> FoundInput:
        """A finding for the report."""
        model = ["--model", str(self._options.model)] if self._options.model else []
        subject = self._options.command or ("pluginkit", "check", str(self._options.library))
        command = [*subject, *model, "--fuzz-input", str(file)]
        return FoundInput(one.plugin, finding, seed, file, shlex.join(command))
