"""One test run: build, plan, have every runtime judge, run every case, compare. The meeting point of all rooms."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from pluginkit.build import PLAIN, Flavour, build, flavours
from pluginkit.build.exports import exported
from pluginkit.dtypes import DType
from pluginkit.errors import BuildFailed, NothingSelected, ToolMissing, UsageError
from pluginkit.manifest import Manifest
from pluginkit.runtimes import host, lean, tensorrt, tensorrt_rtx
from pluginkit.testing import in_tensorrt, outside, planning, registered
from pluginkit.testing.calibration import BY_DEFAULT, Calibration
from pluginkit.testing.hosted import Configurations, Hosted, Step
from pluginkit.testing.judged import Beside, Judge, beside
from pluginkit.testing.model import Plan
from pluginkit.testing.report import CaseResult, Report, Verdict
from pluginkit.testing.schedules import schedules


@dataclass(frozen=True)
class Options:
    """What a run is asked to do.

    Attributes:
        project: the folder with `pluginkit.toml`.
        precisions: None means all that the manifest declares.
        families: networks by name; None means all.
        only: patterns of case ids; none means all.
        data: an .npz with the person's own inputs.
        calibration: how INT8 scales are found.
        seed: what random shapes and values follow from.
        library: a library to test as it is; None means: build the project's.
        timeout: seconds that any one call into the plugin may take; more where checks are compiled in.
        sanitize: checks to be compiled in, of `pluginkit.build.SANITIZERS`; none: the plain build.
        schedules: in how many random orders of blocks and threads each case is run besides.
    """

    project: Path = Path()
    precisions: tuple[DType, ...] | None = None
    families: tuple[str, ...] | None = None
    only: tuple[str, ...] = ()
    data: Path | None = None
    calibration: Calibration = BY_DEFAULT
    seed: int = 0
    library: Path | None = None
    timeout: float = 60.0
    sanitize: tuple[str, ...] = ()
    schedules: int = 0


@dataclass
class _Run:
    """A run under way: what is known so far."""

    options: Options
    manifest: Manifest
    library: Path
    plan: Plan
    beside: Beside
    step: Step
    cases: list[CaseResult] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    controls: list[Verdict] = field(default_factory=list)
    configured: Configurations = field(default_factory=dict)


def run(options: Options, step: Step = lambda *_: None) -> Report:
    """Test a plugin.

    Raises:
        PluginkitError: the run could not take place (no project, build failed, wrong reference, no such library).
            What the plugin does wrong is in the report.
    """
    manifest = Manifest.load(options.project)
    libraries = _libraries(options, step)
    step("asking the reference", 0, None)
    plan = planning.make(
        manifest,
        options.project,
        precisions=options.precisions,
        families=options.families,
        seed=options.seed,
        data=options.data,
        calibration=options.calibration,
        timeout=options.timeout,
    )
    first = next(iter(libraries.values()))
    more = beside(manifest, plan)
    registries = registered.installed()
    beyond = outside.cases(manifest, plan)
    chosen = select(plan, options.only, [*more.ids, *registries.ids, *(case.id for case in beyond)])
    beyond = outside.cases(manifest, plan, options.only)
    missing = [network for network in plan.networks if network.id in {case.network_id for case in beyond}]
    chosen = replace(chosen, networks=(*chosen.networks, *(one for one in missing if one not in chosen.networks)))
    this = _Run(options, manifest, first, chosen, more.select(options.only), step)
    orders = schedules(options.schedules, options.seed, deferred=bool(options.sanitize))
    for flavour, library in libraries.items():
        hosted = Hosted(library, flavour, manifest, options.project, options.timeout, orders, beyond)
        found = hosted.run(this.plan, step)
        this.cases += found.cases
        this.configured.update(found.configured)
        this.controls += found.controls
    said = _rtx(this)
    deployed = _tensorrt(this)
    found_by = registries.select(options.only) if not options.sanitize else registered.Registered(())
    asked = tuple(found_by.judge(first, manifest, plan, options.timeout, step))
    return Report(
        plugin=manifest.plugin.name,
        library=str(first),
        sha256=hashlib.sha256(first.read_bytes()).hexdigest(),
        seed=options.seed,
        cases=tuple(this.cases),
        verdicts=tuple(this.verdicts),
        controls=tuple(this.controls),
        registries=asked,
        runtimes={
            host.NAME: _said(options, list(libraries)),
            tensorrt_rtx.NAME: said,
            lean.NAME: _lean(options, [verdict.network for verdict in asked]),
            tensorrt.NAME: deployed,
        },
        sanitize=options.sanitize,
        schedules=options.schedules,
    )


def _lean(options: Options, asked: Sequence[str]) -> str:
    """What to say of the registries' part in the run."""
    found = lean.probe()
    if not found.found:
        return f"took no part: {found.reason} ({found.remedy})"
    if options.sanitize:
        return "took no part: it is not run on libraries with checks compiled in"
    return f"NVIDIA's registries: {', '.join(asked)}" if asked else "took no part: not selected"


def _libraries(options: Options, step: Step) -> dict[Flavour, Path]:
    """The library of each build that the run takes.

    Raises:
        UsageError: a check that isn't there, or one for a library that is not built here, or not for target cpu.
    """
    wanted = flavours(options.sanitize)
    if options.schedules < 0:
        raise UsageError(f"--schedules is {options.schedules}; it must be 1 or more.")
    if options.library is None:
        made = {}
        for flavour in wanted:
            step(f"building {flavour.name}".rstrip(), 0, None)
            # Before it is compiled for nothing.
            flavour.environment()
            made[flavour] = build(options.project, "cpu", flavour=flavour)[0].library
        return made
    if options.sanitize:
        raise UsageError(
            "--library and --sanitize contradict each other: checks are compiled in, and a library is tested as it is.",
            hint="Leave out --library.",
        )
    if options.schedules and not _on_cpu(options.library):
        raise UsageError(
            f"--schedules is for target cpu, and {options.library} was not built for it by this pluginkit.",
            hint="pluginkit build --target cpu",
        )
    return {PLAIN: options.library}


def _on_cpu(library: Path) -> bool:
    """Whether a library is one of target cpu. If it is none at all, the host will say so better."""
    try:
        return not library.exists() or "pluginkit_cpu_control" in exported(library)
    except BuildFailed:
        return True


def _said(options: Options, flavours_: Sequence[Flavour]) -> str:
    """What to say of the host's part in the run."""
    said = "pluginkit's own, on target cpu"
    if options.sanitize:
        said += " with " + " and then with ".join(flavour.name for flavour in flavours_)
    also = ["with deferred streams"] if options.sanitize or options.schedules else []
    if options.schedules:
        orders = "order" if options.schedules == 1 else "orders"
        also += ["in reverse", f"in {options.schedules} random {orders} of seed {options.seed}"]
    return said + (f"; each case also {', '.join(also)}" if also else "")


def select(plan: Plan, only: Sequence[str], beside_ids: Sequence[str] = ()) -> Plan:
    """The part of a plan whose case ids match one of the patterns; all of it if there are none.

    Raises:
        NothingSelected: no case matches, and nothing of what is built beside the plan (`beside_ids`).
    """
    if not only:
        return plan
    cases = tuple(case for case in plan.cases if any(fnmatchcase(case.id, pattern) for pattern in only))
    others = [name for one in beside_ids for name in (one, f"{one}/")]
    if not cases and not any(fnmatchcase(name, pattern) for name in others for pattern in only):
        raise NothingSelected(
            f"No case matches {' or '.join(only)}.",
            hint=f"Case ids look like {plan.cases[0].id}; * stands for anything.",
        )
    used = {case.network_id for case in cases}
    return replace(plan, cases=cases, networks=tuple(n for n in plan.networks if n.id in used))


def _rtx(this: _Run) -> str:
    """Have NVIDIA's builder judge every network; what to say of its part in the run."""
    if this.options.sanitize:
        return "took no part: it is not run on libraries with checks compiled in"
    found = tensorrt_rtx.probe()
    if not found.found:
        return f"took no part: {found.reason} ({found.remedy})"
    judge = Judge(this.library, this.manifest, this.options.timeout, this.plan, this.beside, this.configured, this.step)
    judgement = judge.run()
    this.verdicts += judgement.verdicts
    this.controls += judgement.controls
    said = f"{found.version}, through the V3 adapter; engines built, not run"
    return f"{said}; {judgement.static} points also as static networks" if judgement.static else said


def _tensorrt(this: _Run) -> str:
    """Have the full TensorRT build and run everything, on a GPU; what to say of its part in the run."""
    options = this.options
    if options.sanitize:
        return "took no part: it is not run on libraries with checks compiled in"
    found = tensorrt.probe()
    if not found.found:
        return f"took no part: {found.reason} ({found.remedy})"
    # What is built for target cpu takes device memory for its own.
    library = options.library
    if library is None:
        try:
            library = build(options.project, "gpu")[0].library
        except ToolMissing as error:
            return f"took no part: {error.message} ({error.hint})"
    elif _on_cpu(library):
        return f"took no part: {library} is built for target cpu (pluginkit build --target gpu)"
    this.verdicts += in_tensorrt.judge(library, this.manifest, options.timeout, this.plan, this.beside.api, this.step)
    return f"{found.version}, on the GPU; networks by its API built, not run"
