"""One run: finds GPUs, measures every candidate in each case, and keeps what is faster by more than the noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from statistics import median

from pluginkit.bench import BenchOptions
from pluginkit.bench.measurements import BenchCase
from pluginkit.bench.runner import asked
from pluginkit.build import toolchain
from pluginkit.build.gpus import Gpu, find_driver
from pluginkit.errors import CheckFailed, ToolMissing
from pluginkit.manifest import FILE_NAME, Manifest
from pluginkit.manifest.tuning.section import Kept, Values
from pluginkit.testing import reference
from pluginkit.tuning import choosing, manifest_text
from pluginkit.tuning.candidates import candidates
from pluginkit.tuning.journal import Journal
from pluginkit.tuning.measuring import GpuMeasuring, Measuring, folder
from pluginkit.tuning.results import Compared, Tuned, TuneOptions, TuneReport

ROUNDS = 3
"""In which every candidate has its turn."""
CONFIRMING = 9
"""Rounds of the fastest one and the usual values alone."""

Step = Callable[[str, int, int | None], None]
Measurer = Callable[[TuneOptions, Manifest, Gpu, Sequence[Values], Callable[[str], None]], Measuring]


def tune(options: TuneOptions, step: Step = lambda *_: None, measurer: Measurer = GpuMeasuring) -> TuneReport:
    """Tune a project's launches for each GPU architecture here, and keep what was found in pluginkit.toml.

    Args:
        options: what is measured.
        step: called with each step of the progress.
        measurer: makes what measures.

    Raises:
        UsageError: there is nothing to tune, or nothing that can be measured.
        ToolMissing: there is no GPU here, or no nvcc.
        CheckFailed: the usual values answer wrongly, or a candidate leaves the GPU's context unusable.
        PluginkitError: the run could not take place otherwise. pluginkit.toml is as it was: all architectures are
            written at once, at the end.
    """
    manifest, cases = asked(BenchOptions(options.project, options.precisions, options.only))
    sets = candidates(options.project, manifest)
    gpus = _gpus(manifest)
    if measurer is GpuMeasuring:
        toolchain.nvcc().best()
    found = []
    for gpu in gpus:
        step(f"building {len(sets)} candidates for sm_{gpu.arch}", 0, None)
        with closing(
            measurer(options, manifest, gpu, sets, lambda line: step(f"building: {line}", 0, None))
        ) as measuring:
            found.append(_on(gpu, options, manifest, cases, sets, measuring, step))
    changes = {one.arch: one.kept for one in found if one.kept or one.removed is not None}
    if changes and not options.dry_run:
        manifest_text.write(options.project / FILE_NAME, changes)
    for one in found:  # all is done: the next run measures again
        journal_path(options.project, manifest, one.arch).unlink(missing_ok=True)
    here = {f"sm_{gpu.arch}" for gpu in gpus}
    left = {arch: kept for arch, kept in manifest.tuning.kept.items() if arch not in here}
    return TuneReport(manifest.plugin.name, tuple(found), left, max(case.bytes for case in cases))


def journal_path(project: Path, manifest: Manifest, arch: str) -> Path:
    """Where an interrupted run's times are."""
    return folder(project) / f"measured-{manifest.slug}-{arch}.json"


def _expected(project: Path) -> str:
    """A digest of what says which answers are right: times of a candidate that is wrong now must not count."""
    texts = [path.read_bytes() for name in (FILE_NAME, reference.FILE_NAME) if (path := project / name).exists()]
    return sha256(b"\0".join(texts)).hexdigest()


def _gpus(manifest: Manifest) -> list[Gpu]:
    """One of each architecture.

    Raises:
        ToolMissing: there is none.
    """
    driver = find_driver()
    if not driver.gpus:
        kept = ", ".join(manifest.tuning.kept)
        raise ToolMissing(
            f"pluginkit tune measures on a GPU, and there is none here: {driver.problem or 'the driver lists none'}."
            + (f" What pluginkit.toml has for {kept} stays as it is, and builds use it." if kept else ""),
            hint="Run it on a machine with an NVIDIA GPU, its driver and nvcc; 'pluginkit info' shows what is found.",
        )
    first: dict[str, Gpu] = {}
    for gpu in driver.gpus:
        first.setdefault(gpu.arch, gpu)
    return list(first.values())


def _on(
    gpu: Gpu,
    options: TuneOptions,
    manifest: Manifest,
    cases: Sequence[BenchCase],
    sets: Sequence[Values],
    measuring: Measuring,
    step: Step,
) -> Tuned:
    arch = f"sm_{gpu.arch}"
    identity = f"{measuring.identity} {list(sets)} {_expected(options.project)}"
    journal = Journal(journal_path(options.project, manifest, arch), identity)

    def compare(what: str, case: BenchCase, numbers: Sequence[int], rounds: int) -> Compared:
        name = f"{what} {case!r} {list(numbers)}"
        found = journal.get(name)
        if found is None:
            found = measuring.compare(case, numbers, rounds)
            if 0 in found.wrong:
                raise CheckFailed(f"{case.id}: with the values that launches have by themselves: {found.wrong[0]}")
            journal.put(name, found)
        return found

    screened: dict[str, Compared] = {}
    wrong: dict[int, str] = {}
    for number, case in enumerate(cases):
        step(f"{arch}: {case.id}, {len(sets) - len(wrong)} candidates", number, 2 * len(cases))
        left = [one for one in range(len(sets)) if one not in wrong]
        screened[case.id] = compare("all", case, left, ROUNDS)
        wrong.update({one: f"{case.id}: {problem}" for one, problem in screened[case.id].wrong.items()})

    def right() -> dict[str, dict[int, Sequence[float]]]:
        return {id_: {one: t for one, t in found.times.items() if one not in wrong} for id_, found in screened.items()}

    best = choosing.fastest(right())
    alone: dict[str, Mapping[int, Sequence[float]]] = {}
    while best and len(alone) < len(cases):
        case = cases[len(alone)]
        step(f"{arch}: {case.id}, the fastest again", len(cases) + len(alone), 2 * len(cases))
        found = compare("fastest", case, [0, best], CONFIRMING)
        alone[case.id] = found.times
        if best in found.wrong:  # right in the rounds that chose it, and not always
            wrong[best] = f"{case.id}: {found.wrong[best]}"
            best, alone = choosing.fastest(right()), {}
    times = right()
    gain, noise = 1.0, max(choosing.noise(one) for one in times.values())
    if best:
        gain, noise = choosing.confirmed(alone, best)
    won = best if choosing.is_gain(gain, noise) else 0
    # Only there TensorRT has a choice.
    also = choosing.better_somewhere(times, won) if manifest.plugin.base == "v3" else []
    kept = None
    if (won or also) and not options.dry_run:
        values = [sets[one] for one in also if one]
        kept = Kept(
            values=sets[won],
            also=tuple(values),
            gpu=gpu.name,
            gain=round(gain if won else 1.0, 4),
            noise=round(noise, 4),
        )
    # Else it would go on being built in.
    removed = None if won or also else _section_of(arch, manifest, sets)
    medians = {name: {one: median(t) for one, t in found.items()} for name, found in times.items()}
    return Tuned(arch, gpu.name, sets, medians, wrong, best, gain, noise, also, kept, removed)


def _section_of(arch: str, manifest: Manifest, sets: Sequence[Values]) -> int | None:
    """The set that pluginkit.toml has for an architecture, by its number; None: it has none."""
    old = manifest.tuning.kept.get(arch)
    if old is None:
        return None
    plain = manifest.tuning.plain(old.values)
    return sets.index(plain) if plain in sets else 0  # the usual values, written out
