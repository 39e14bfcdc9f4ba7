"""`pluginkit check`."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from itertools import product
from pathlib import Path

import click
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pluginkit import layouts
from pluginkit.api.checks import ContractReport, located, run
from pluginkit.bases import BASES
from pluginkit.cli import farms, progress, targets, terminal
from pluginkit.cli.inspection.fuzz import Duration, fuzz, fuzz_one
from pluginkit.cli.report_files import check_writable
from pluginkit.demands import NAMES, both
from pluginkit.errors import CheckFailed
from pluginkit.layouts import TARGETS, TargetName
from pluginkit.manifest import Manifest
from pluginkit.process import files
from pluginkit.run.project_checks import ProjectOptions
from pluginkit.run.project_fuzzing import prepare
from pluginkit.runtimes.tensorrt import foreseen
from pluginkit.validation import CHECKS, CheckResult, Ending, baseline, choose
from pluginkit.validation.catalog import DEFAULT_LEVEL
from pluginkit.validation.checking import CheckLimits
from pluginkit.validation.fuzzing.fuzzing import CoveredLibrary, FuzzOptions
from pluginkit.validation.reports import junit, sarif

_STYLES = {
    Ending.PASSED: "green",
    Ending.FAILED: "bold red",
    Ending.CRASHED: "bold red",
    Ending.WARNING: "bold yellow",
    Ending.KNOWN: "dim",
    Ending.SKIPPED: "dim",
}
_FILE = click.Path(path_type=Path)


@click.command("check")
@click.argument("subject", type=click.Path(path_type=Path), metavar="[LIB.so|PROJECT]", required=False)
@click.option("--library", type=_FILE, metavar="LIB.so", help="Check this library of PROJECT instead of building.")
@click.option(
    "--level",
    type=click.IntRange(1, 10),
    default=DEFAULT_LEVEL,
    show_default=True,
    help="Highest level of checks to run.",
)
@click.option(
    "--include",
    multiple=True,
    metavar="PATTERN",
    help="Only these check ids, names or groups, of any level: S*, clone-*, shapes. May be repeated.",
)
@click.option(
    "--exclude", multiple=True, metavar="PATTERN", help="Skip these check ids, names or groups. May be repeated."
)
@click.option(
    "--creator",
    "creators",
    multiple=True,
    metavar="NAME[:VERSION]",
    help="Only this plugin of the library. May be repeated.",
)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    metavar="MODEL.onnx",
    help="Take field values and sizes from this model's nodes.",
)
@click.option("--strict", is_flag=True, help="Treat warnings as failures.")
@click.option(
    "--timeout", type=click.FloatRange(1), default=10.0, show_default=True, help="Seconds allowed for each check."
)
@click.option(
    "--memory", type=click.FloatRange(0.25), default=4.0, show_default=True, help="Memory limit of each check, in GiB."
)
@click.option("--jobs", type=click.IntRange(1), help="Number of parallel jobs. Default: number of CPU cores.")
@farms.farm_option
@farms.on_option
@click.option("--in-process", is_flag=True, help="Run without worker processes, for a debugger; a crash ends the run.")
@click.option("--json", "json_file", type=_FILE, help="Write all results as JSON.")
@click.option("--junit", "junit_file", type=_FILE, help="Write all results as JUnit XML.")
@click.option("--sarif", "sarif_file", type=_FILE, help="Write the findings as SARIF 2.1.0.")
@click.option(
    "--baseline",
    "baseline_file",
    type=_FILE,
    help="File with known findings: they do not fail the run and are shown only with -v.",
)
@click.option("--write-baseline", "new_baseline", type=_FILE, help="Write the findings to a baseline file.")
@click.option(
    "--fuzz",
    "fuzzing",
    type=Duration(),
    metavar="TIME",
    help="Fuzz the plugin for TIME (90s, 10m, 2h) instead of running checks.",
)
@click.option("--fuzz-input", metavar="FILE|SEED", help="Repeat one input found by --fuzz: its file or its seed.")
@click.option(
    "--corpus",
    type=_FILE,
    default=Path("fuzz"),
    show_default=True,
    help="Folder with the inputs for --fuzz; new inputs are added.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed for --fuzz.")
@targets.option("[targets] of pluginkit.toml, or none")
@click.option("--list", "listing", is_flag=True, help="List the checks and exit.")
@click.option("-v", "--verbose", is_flag=True, help="Also show passed and skipped checks.")
def command(
    subject: Path | None,
    library: Path | None,
    level: int,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    creators: tuple[str, ...],
    model: Path | None,
    strict: bool,
    timeout: float,
    memory: float,
    jobs: int | None,
    farm: str | None,
    on: tuple[str, ...],
    in_process: bool,
    json_file: Path | None,
    junit_file: Path | None,
    sarif_file: Path | None,
    baseline_file: Path | None,
    new_baseline: Path | None,
    fuzzing: float | None,
    fuzz_input: str | None,
    corpus: Path,
    seed: int,
    asked_for: tuple[str, ...],
    listing: bool,
    verbose: bool,
) -> int:
    """Check the plugins in LIB.so against TensorRT's plugin contract, each check in its own process.

    No manifest and no reference are needed: field values are guessed, or taken from a model. A project (default: the
    current folder, if it is one) is built first. With a pluginkit.toml, in the project or next to LIB.so, the plugin is
    also run. Exit code 0 if there is nothing worse than warnings, 1 if a check failed, 6 if the plugin crashed or hung.
    """
    chosen = choose(level, include, exclude)
    console = terminal.console()
    if listing:
        console.print(_listing([one.id for one in chosen]))
        return 0
    here = "What is fuzzed, or asked in this process, is asked on this machine."
    farms.check(
        farm,
        on,
        {
            "--jobs": (jobs, farms.FULL),
            "--in-process": (in_process, here),
            "--fuzz": (fuzzing, here),
            "--fuzz-input": (fuzz_input, here),
        },
    )
    given_library = library
    project, library = located(subject, library)
    for file in (json_file, junit_file, sarif_file, new_baseline):
        check_writable(file)
    known = baseline.read(baseline_file) if baseline_file else None
    limits = CheckLimits(timeout, int(memory * 2**30), jobs or 0)
    asked = ProjectOptions(project or Path(), library, model, creators, limits, strict, in_process)
    if fuzzing or fuzz_input:
        options = FuzzOptions(library or Path(), creators, model, fuzzing, None, corpus, seed, limits)
        if project:
            with progress.bar("building", console, elapsed=True) as step:
                fuzzed = prepare(asked, covered=fuzz_input is None, step=step)
            covered = fuzzed.coverage if isinstance(fuzzed.coverage, CoveredLibrary) else None
            options = replace(options, library=fuzzed.library, members=fuzzed.members, coverage=covered)
            strict = fuzzed.strict
            if not fuzz_input:
                console.print(_libfuzzer(fuzzed.coverage), style="dim")
        options = replace(options, command=_repeat_command(subject, given_library, options))
        if fuzz_input:
            results = fuzz_one(options, fuzz_input, console, strict=strict)
        else:
            results = fuzz(options, console, strict=strict)
        report = ContractReport(options.library, (), results, strict)
        _write(report, json_file, junit_file, sarif_file)
        return report.exit_code
    with progress.bar("loading the library", console, elapsed=True) as step, farms.opened(farm, on) as executor:
        report = run(project, library, asked, chosen, step, executor)
    if new_baseline:
        baseline.write(new_baseline, report.results)
        known = baseline.read(new_baseline)
    if known:
        report = replace(report, results=baseline.apply(known, report.results))
    _write(report, json_file, junit_file, sarif_file)
    console.print(_shown(report, verbose=verbose))
    named = Manifest.load(project).named_targets if project is not None else ()
    told = _targets(report, layouts.targets(asked_for) or named)
    console.print(Text("\n").join(Text(one) for _, one in told), end="\n" if told else "")
    console.print(_known(report, new_baseline), end="")  # on one line, for the shell
    return max([report.exit_code, *(code for code, _ in told)])


def _targets(report: ContractReport, names: tuple[TargetName, ...]) -> list[tuple[int, str]]:
    """What tables say of each plugin in each TensorRT, a line each, with the exit code that it makes."""
    found = []
    for name, plugin in product(names, report.plugins):
        found.append((0, f"{plugin.name} for {TARGETS[name].title}, by tables:"))
        known = [base for base, one in BASES.items() if one.interface == plugin.base]
        told = foreseen.of_plugin(known, name) if known else foreseen.of_table(name)
        found += [(CheckFailed.exit_code * (one.what == "interface" and one.refused), f"  {one.line}") for one in told]
    return found


def _libfuzzer(found: CoveredLibrary | str) -> str:
    if isinstance(found, str):
        return f"Without libFuzzer, by what the calls answer: {found}."
    return f"By clang++ {found.version}'s libFuzzer, which goes on with what reaches new code of the plugin."


def _repeat_command(subject: Path | None, library: Path | None, options: FuzzOptions) -> list[str]:
    """The command that fuzzes the same, without the fuzzer's options."""
    usual = CheckLimits()
    command = ["pluginkit", "check", *([str(subject)] if subject else [])]
    command += ["--library", str(library)] if library else []
    if options.limits.seconds != usual.seconds:
        command += ["--timeout", f"{options.limits.seconds:g}"]
    if options.limits.memory != usual.memory:
        command += ["--memory", f"{options.limits.memory / 2**30:g}"]
    return command


def _write(report: ContractReport, json_file: Path | None, junit_file: Path | None, sarif_file: Path | None) -> None:
    if json_file:
        files.write(json_file, json.dumps(report.to_json(), indent=2) + "\n")
    if junit_file:
        junit(report).write(str(junit_file), pretty=True)
    if sarif_file:
        files.write(sarif_file, json.dumps(sarif(report, Path.cwd()), indent=2) + "\n")


def _listing(names: list[str]) -> Table:
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("id", "name", "level", "group", "kind", "of", "what is asked"):
        rows.add_column(title, overflow="fold")
    for name in names:
        one = CHECKS[name]
        rows.add_row(
            one.id, NAMES[one.id], str(one.level), one.group, one.kind, ", ".join(one.of) or "all", Text(one.title)
        )
    return rows


def _shown(report: ContractReport, *, verbose: bool) -> RenderableType:
    lines: list[RenderableType] = []
    for plugin in report.plugins:
        name = "::".join(filter(None, (plugin.namespace, plugin.name)))
        how = {
            "": "no plugin could be made",
            "nothing": "made of no fields",
            "draws": "made of fields that were drawn",
            "model": "made of the model's values",
            "manifest": "made of pluginkit.toml's values",
        }
        made = how.get(plugin.made, f"made of fields that are all {plugin.made}")
        lines.append(Text(f"{name} {plugin.version}: {plugin.base or 'base unknown'}, {made}"))
    quiet = () if verbose else (Ending.PASSED, Ending.KNOWN, Ending.SKIPPED)
    lines += [_result(one, report) for one in report.results if one.ending not in quiet]
    lines.append(_reasons(report))
    lines.append(Text(f"\n{report.counts}\n{_told(report)}", style="bold red" if report.bad else "bold green"))
    return Group(*lines)


def _told(report: ContractReport) -> str:
    """Whether the contract is kept, for the last line."""
    kinds = {CHECKS[one.check].kind for one in report.results if one.ending is Ending.FAILED}
    if report.count(Ending.CRASHED):
        return "TensorRT's contract is not kept: the plugin crashed or hung."
    if "contract" in kinds:
        return "TensorRT's contract is not kept."
    if "declared" in kinds:
        return "What pluginkit.toml declares is not kept."
    if report.count(Ending.SKIPPED) == len(report.results):
        return "Nothing was asked: whether TensorRT's contract is kept isn't known."
    known = " but for what the baseline knows" if report.count(Ending.KNOWN) else ""
    failed = "; what no document promises has failed, for the run is strict" if report.bad else ""
    return f"TensorRT's contract is kept{known}, as far as was asked{failed}."


def _known(report: ContractReport, new_baseline: Path | None) -> Text:
    """How many findings a new baseline has, and the option that reads it; empty without one, or where it has none."""
    count = report.count(Ending.KNOWN)
    if new_baseline is None or not count:
        return Text()
    return Text(f"{count} known from now on, with --baseline {shlex.quote(str(new_baseline))}\n", style="dim")


def _result(one: CheckResult, report: ContractReport) -> RenderableType:
    asked, ending = CHECKS[one.check], report.ending_of(one)
    head = Text.assemble(
        "\n", (ending.value, _STYLES[ending]), (f" {both(one.check)} ", "bold"), asked.title, f"  {one.plugin}"
    )
    if one.ending is Ending.PASSED:
        return head
    lines: list[RenderableType] = [head, Text(f"  {one.text}")]
    if one.ending is not Ending.SKIPPED:
        lines += [Text(f"  source: {asked.source}", style="dim"), Text.assemble(("  fix: ", "bold"), asked.fix)]
    return Group(*lines)


def _reasons(report: ContractReport) -> RenderableType:
    """Why checks were skipped, each reason once; where several plugins have it, how many checks that makes."""
    alike: dict[str, list[str]] = {}
    for one in report.results:
        if one.ending is Ending.SKIPPED:
            alike.setdefault(one.message, []).append(one.check)
    lines = []
    for reason, names in alike.items():
        once = dict.fromkeys(names)
        times = f" ({len(names)} of several plugins)" if len(names) > len(once) else ""
        lines.append(Text(f"\nskipped {', '.join(once)}{times}: {reason}", style="dim"))
    return Group(*lines)
