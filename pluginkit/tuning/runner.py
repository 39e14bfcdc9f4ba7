"""One run: finds GPUs, measures every candidate in each case, and keeps what is faster by more than the noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median

from pluginkit.bench import BenchOptions
from pluginkit.bench.model import BenchCase
from pluginkit.bench.runner import asked
from pluginkit.build import toolchain
from pluginkit.build.gpus import Gpu, find_driver
from pluginkit.errors import CheckFailed, ToolMissing
from pluginkit.manifest import FILE_NAME, Manifest
from pluginkit.manifest.tuning.section import Kept, Values
from pluginkit.tuning import choosing, manifest_text
from pluginkit.tuning.candidates import candidates
from pluginkit.tuning.journal import Journal
from pluginkit.tuning.measuring import GpuMeasuring, Measuring, folder
from pluginkit.tuning.model import Compared, Tuned, TuneOptions, TuneReport

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
        step: told how far it is.
        measurer: makes what measures.

    Raises:
        UsageError: there is nothing to tune, or nothing that can be measured.
        ToolMissing: there is no GPU here, or no nvcc.
        CheckFailed: the usual values answer wrongly.
        PluginkitError: the run could not take place otherwise. pluginkit.toml is as it was.
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
    here = {f"sm_{gpu.arch}" for gpu in gpus}
    left = {arch: kept for arch, kept in manifest.tuning.kept.items() if arch not in here}
    return TuneReport(manifest.plugin.name, tuple(found), left, max(case.bytes for case in cases))


def journal_path(project: Path, manifest: Manifest, arch: str) -> Path:
    """Where an interrupted run's times are."""
    return folder(project) / f"measured-{manifest.slug}-{arch}.json"


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
    journal = Journal(journal_path(options.project, manifest, arch), f"{measuring.identity} {list(sets)}")

    def compare(what: str, case: BenchCase, numbers: Sequence[int], rounds: int) -> Compared:
        name = f"{what} {case.id} {list(numbers)}"
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
    times = {name: {one: t for one, t in found.times.items() if one not in wrong} for name, found in screened.items()}
    best = choosing.fastest(times)
    gain, noise = 1.0, max(choosing.noise(one) for one in times.values())
    if best:
        alone: dict[str, Mapping[int, Sequence[float]]] = {}
        for number, case in enumerate(cases):
            step(f"{arch}: {case.id}, the fastest again", len(cases) + number, 2 * len(cases))
            alone[case.id] = compare("fastest", case, [0, best], CONFIRMING).times
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
        manifest_text.write(options.project / FILE_NAME, arch, kept)
    journal.remove()
    medians = {name: {one: median(t) for one, t in found.items()} for name, found in times.items()}
    return Tuned(arch, gpu.name, sets, medians, wrong, best, gain, noise, also, kept)
