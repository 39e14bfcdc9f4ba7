"""The whole of `pluginkit import`: load, look for implementations, check, build, run."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import onnx

from pluginkit import parser_operators
from pluginkit.build import PLAIN, instrumentations
from pluginkit.errors import CheckFailed, PluginCrashed, ToolMissing, UsageError
from pluginkit.importing import missing_operators, onnx_graph, profiles, running
from pluginkit.importing.building import ModelSession, advice, unexplained
from pluginkit.importing.engines import whole
from pluginkit.importing.engines.targets import ModelTarget, of_model
from pluginkit.importing.engines.whole import EngineOutcome
from pluginkit.importing.extraction import commands
from pluginkit.importing.extraction.neighbours import Neighbour
from pluginkit.importing.extraction.project import FromModel
from pluginkit.importing.files import external, libraries, recorded
from pluginkit.importing.files.recorded import Recorded
from pluginkit.importing.implementations import Implementation, PluginLibrary, find_implementations
from pluginkit.importing.missing_operators import MissingOperator
from pluginkit.importing.rules import dynamic as rules_dynamic
from pluginkit.importing.rules import loop_sizes as rules_loop_sizes
from pluginkit.importing.rules import operators as rules_operators
from pluginkit.importing.rules import parser_limits as rules_parser_limits
from pluginkit.importing.rules import plugins as rules_plugins
from pluginkit.importing.rules import recurrences as rules_recurrences
from pluginkit.importing.rules import signature as rules_signature
from pluginkit.importing.rules import structure as rules_structure
from pluginkit.importing.rules import tensor_types, whole_model
from pluginkit.importing.rules import tensors as rules_tensors
from pluginkit.importing.rules.constants import Constants
from pluginkit.importing.rules.table import FORESEES, UNFIT
from pluginkit.importing.running import RunOutcome
from pluginkit.importing.shape_tensors import TensorClass, classify
from pluginkit.importing.sizes import profile as sizes
from pluginkit.layouts import TargetName
from pluginkit.library import Problem
from pluginkit.network.networks import NetworkProfile
from pluginkit.process.escapes import shown
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.verdict import BuildVerdict

Progress = Callable[[str], None]
LEVELS = ("error", "warning")
SINGLE = (32, 48, 64, 128, 224, 320, 640)
"""Sizes that NVIDIA's builder is asked for at last, each for all dynamic dimensions."""
SIZES = r"violate shape constraints|dimensions must be equal|ShapeException|volume mismatch|reshape would change"
BUILT, REFUSED = "built", "refused"
ENDED = {
    "compared": "run in",
    "ran": "run in",
    "failed": "failed in",
    "refused": "refused by",
    "crashed": "crashed in",
    "hung": "hung in",
    "not asked": "not asked of",
}
"""How a model ended in an engine, before the name of TensorRT."""


@dataclass(frozen=True)
class ImportOptions:
    """What the user asks for.

    Attributes:
        model: the ONNX file.
        plugins: libraries, and folders of projects, which are built first.
        profiles: of --profile.
        seed: what the inputs of the run follow from.
        timeout: seconds for each step that may hang.
        strict: whether warnings, and what was not built or not run, count as wrong.
        data: an .npz with inputs for the run; those that it lacks are drawn.
        expected: an .npz with the outputs that the run must give.
        sanitize: checks to be compiled into the plugins for the run, of `pluginkit.build.SANITIZERS`.
        marked: outputs that a later engine has as shape tensors: INetworkDefinition::markOutputForShapes.
        targets: the TensorRTs that the model is for, of which tables are asked; none: those of the plugins' projects.
    """

    model: Path
    plugins: tuple[Path, ...] = ()
    profiles: tuple[str, ...] = ()
    seed: int = 0
    timeout: float = 60.0
    strict: bool = False
    data: Path | None = None
    expected: Path | None = None
    sanitize: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    targets: tuple[TargetName, ...] = ()


@dataclass(frozen=True)
class Imported:
    """What came of it.

    Attributes:
        model: the model's file.
        implementations: every node, and what implements it.
        problems: what is wrong, the errors first.
        evaluator: who decides which operators are native.
        profile: what it was built for; None if it was not built.
        defaulted: the inputs without given shapes.
        verdict: TensorRT-RTX's; None if it could not be asked.
        not_built: why not.
        foreseen: what the rules alone say of NVIDIA's build: `built` or `refused`.
        ran: what came of running it.
        strict: as of `ImportOptions`.
        unserved: the unserved operators.
        tensors: which tensors are shape tensors, execution tensors or both.
        sizes_found: whether sizes that --profile does not give were found by trying, since the defaults were refused by
            NVIDIA's builder or could not be run.
        engine: what TensorRT 8 made of it on a GPU; None where there is none.
        targets: what tables say of the TensorRTs that were named.
    """

    model: Path
    implementations: tuple[Implementation, ...]
    problems: tuple[Problem, ...]
    evaluator: str
    profile: NetworkProfile | None = None
    defaulted: tuple[str, ...] = ()
    verdict: BuildVerdict | None = None
    not_built: str = ""
    foreseen: str = BUILT
    ran: RunOutcome = field(default_factory=lambda: RunOutcome("not run"))
    strict: bool = False
    unserved: tuple[MissingOperator, ...] = ()
    sizes_found: bool = False
    tensors: tuple[TensorClass, ...] = ()
    engine: EngineOutcome | None = None
    targets: tuple[ModelTarget, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 if the model is fine, 6 if a plugin crashed or hung, 1 for anything else that is wrong.

        4 if nothing is wrong, and the run or its comparison needs a package that isn't installed. Warnings, and a build
        or run that did not take place, are wrong if `strict`.
        """
        ends = {one.status for one in (self.ran, self.verdict, self.engine) if one is not None}
        # Of a model without plugins it is NVIDIA's builder that ended.
        if ends & {"crashed", "hung"} and any(one.by == "plugin" for one in self.implementations):
            return PluginCrashed.exit_code
        wrong = any(problem.level == "error" for problem in self.problems) or any(one.refused for one in self.targets)
        refused = self.verdict is not None and not self.verdict.ok
        if wrong or refused or self.ran.status == "failed" or (self.engine is not None and self.engine.wrong):
            return CheckFailed.exit_code
        if self.ran.lacks:
            return ToolMissing.exit_code
        left_open = bool(self.problems) or self.verdict is None or self.ran.status == "not run"
        return CheckFailed.exit_code if self.strict and left_open else 0

    @property
    def not_in_all(self) -> dict[str, str]:
        """The operators that not all of NVIDIA's parsers have, with those that do."""
        places = [one.place.node for one in self.implementations if one.by in {"native", "missing"}]
        return parser_operators.not_in_all(dict.fromkeys(node.op_type for node in places))

    @property
    def build_fix(self) -> str:
        """What to do about NVIDIA's refusal; empty if that isn't known."""
        proved = self.ran.remedy if self.ran.status == "failed" else ""
        if self.verdict is None or self.verdict.ok:
            return ""
        return advice(self.verdict, self.implementations, proved) or unexplained(self.verdict, self.implementations)

    @property
    def last_line(self) -> str:
        """How it ended: what is wrong, who built it, whether it was run, and what would run it."""
        counts: Counter[str] = Counter(problem.level for problem in self.problems)
        parts = [f"{counts[level]} {level}{'' if counts[level] == 1 else 's'}" for level in LEVELS if counts[level]]
        parts.append(f"{self.verdict.status} by TensorRT-RTX" if self.verdict else self._not_built)
        if self.engine is not None:
            parts.append(f"{ENDED[self.engine.status]} TensorRT {self.engine.version}")
        outcomes = {"compared": "run on the CPU, ", "ran": "run on the CPU, compared with nothing: "}
        ran = outcomes.get(self.ran.status, f"{self.ran.status} on the CPU: ")
        parts.append(ran + (self.ran.message.splitlines() or ["no reason given"])[0].rstrip(":"))
        if self.ran.status == "not run" and self.ran.remedy:
            parts.append(f"to run it, {self.ran.remedy}")
        elif self.ran.lacks:
            parts.append(f"to compare it, {self.ran.remedy}")
        ends = f" (exit code {self.exit_code} by --strict)" if self.strict and self._only_strictly else ""
        return shown(f"{self.model}: {'; '.join(parts)}{ends}")

    @property
    def _only_strictly(self) -> bool:
        return self.exit_code != replace(self, strict=False).exit_code

    @property
    def _not_built(self) -> str:
        return f"not built: {self.not_built.partition('. ')[0]}"

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        verdict = self.verdict
        return {
            "model": str(self.model),
            "nodes": [one.to_json() for one in self.implementations],
            "unserved": [one.to_json() for one in self.unserved],
            "tensors": [{**asdict(one), "kind": one.kind} for one in self.tensors],
            "native_by": self.evaluator,
            "not_in_all_parsers": self.not_in_all,
            "targets": [asdict(one) for one in self.targets],
            "problems": [asdict(problem) for problem in self.problems],
            "profile": {"shapes": self.profile.shapes, "values": self.profile.values} if self.profile else None,
            "profile_defaulted": list(self.defaulted),
            "build": {
                "foreseen": self.foreseen,
                "status": verdict.status if verdict else "not asked",
                "message": verdict.message if verdict else self.not_built,
                "fix": self.build_fix,
                "log": list(verdict.log) if verdict else [],
                "printed": list(verdict.printed) if verdict else [],
            },
            "engine": self.engine and self.engine.to_json(),
            "run": self.ran.to_json(),
            "summary": self.last_line,
        }


def run(options: ImportOptions, progress: Progress = lambda _: None) -> Imported:
    """Do all of it.

    Raises:
        UsageError: the model, a library, --profile, --data or --expected can't be read, or they don't fit.
        BuildFailed, ToolMissing: a project doesn't build.
        PluginCrashed: a library takes the process down on loading, or hangs.
        CheckFailed: no host takes a library.
    """
    found = _read(options, progress)
    targets = options.targets or libraries.targets(options.plugins)
    if not targets:
        return found
    return replace(found, targets=of_model(onnx_graph.load(options.model), found.implementations, targets))


def _read(options: ImportOptions, progress: Callable[[str], None]) -> Imported:
    shapes = [profiles.parse(text) for text in options.profiles]
    proto = onnx_graph.load(options.model)
    given = recorded.read(proto, options.data, options.expected)
    plugins = libraries.read(options.plugins, options.sanitize, options.timeout, progress)
    found = tensorrt_rtx.probe()
    progress("looking up what implements each node")
    if not found.found:
        why = f"{found.reason}. {found.remedy}"
        return _without_rtx(options, given, proto, plugins, shapes, why, progress)
    with ModelSession([one.path for one in plugins], options.timeout) as session:
        # With those that may be written in their place.
        known = session.native(sorted({*_operators(proto), *parser_operators.OPERATORS}))
        implementations = find_implementations(proto, plugins, lambda operator: operator in known)
        problems = find_problems(options.model, proto, implementations, plugins, options.marked)
        problems += tuple(rules_plugins.in_rtx(implementations, plugins))
        progress("TensorRT-RTX: parsing")
        foreseen = _foreseen(problems)
        if outside := [one.path.name for one in plugins if one.registers and not one.for_rtx]:
            ran = _run(options, given, proto, implementations, problems, None, progress)
            why = (
                f"{outside[0]} registers its plugins itself with another TensorRT, and TensorRT-RTX takes from such a "
                "library what loadLibrary finds"
            )
            evaluator = f"the parser of TensorRT-RTX {found.version}"
            return _unbuilt(
                options,
                proto,
                plugins,
                implementations,
                problems,
                evaluator,
                why,
                ran,
                known.__contains__,
                given,
                progress,
            )
        inputs, verdict = session.inputs(options.model, options.marked, [one.name for one in profiles.given(proto)])
        profile: NetworkProfile | None = None
        tried: RunOutcome | None = None
        if verdict is None:
            profile = profiles.profile(inputs, shapes)
            progress("TensorRT-RTX: building")
            verdict = session.build(options.model, profile)
            opened = profiles.defaulted(inputs, shapes)
            ours = opened and all(one.by in {"native", "function"} for one in implementations)
            # NVIDIA's builder takes sizes that no run can have, as those of a pooling that leaves nothing.
            if verdict.ok and ours and not given.data:
                tried = _run(options, given, proto, implementations, problems, profile, progress)
            if ours and (verdict.status == "refused" or (tried and _unfit(tried))):
                progress("looking for sizes that the model takes")
                mended = _with_sizes(session, options, proto, verdict, profile, opened)
                if mended[0].ok or not verdict.ok:
                    (verdict, profile), tried = mended, tried if mended[1] == profile else None
            problems += tuple(whole_model.branch_shapes(proto, profile))
            problems += tuple(rules_operators.squeezed(proto, profile))
            problems += tuple(rules_dynamic.loops(proto, profile))
            problems += tuple(rules_tensors.chosen(proto, profile))
            foreseen = _foreseen(problems)
            if verdict.ok:
                problems = tuple(map(rules_signature.built_all_the_same, problems))
            problems += _participation(implementations, verdict)
    evaluator = f"the parser of TensorRT-RTX {found.version}"
    ran = tried or _run(options, given, proto, implementations, problems, profile, progress)
    return Imported(
        options.model,
        tuple(implementations),
        _sorted((*_on_lines(problems), *ran.problems)),
        evaluator,
        profile,
        tuple(profiles.defaulted(inputs, shapes)),
        verdict,
        foreseen=foreseen,
        ran=ran,
        strict=options.strict,
        unserved=_missing(options, proto, plugins, implementations, known.__contains__, progress),
        sizes_found=profile is not None and profile != profiles.profile(inputs, shapes),
        tensors=classify(proto, options.marked),
        engine=_engine(options, given, proto, implementations, plugins, profile, progress),
    )


def _engine(
    options: ImportOptions,
    given: Recorded,
    proto: onnx.ModelProto,
    implementations: Sequence[Implementation],
    plugins: Sequence[PluginLibrary],
    profile: NetworkProfile | None,
    progress: Progress,
) -> EngineOutcome | None:
    """What TensorRT 8 makes of it, where one is here with a GPU."""
    if profile is None:
        with contextlib.suppress(UsageError):
            profile = _declared(options, proto)
    given_plugins = list(zip(options.plugins, plugins, strict=True))
    return whole.ask(
        options.model,
        proto,
        implementations,
        given_plugins,
        profile,
        given,
        seed=options.seed,
        timeout=options.timeout,
        progress=progress,
    )


def _without_rtx(
    options: ImportOptions,
    given: Recorded,
    proto: onnx.ModelProto,
    plugins: Sequence[PluginLibrary],
    shapes: Sequence[profiles.Shapes],
    why: str,
    progress: Progress,
) -> Imported:
    """By the rules, and a run on the CPU."""
    known = parser_operators.OF_RTX.__contains__
    evaluator = f"the parser of {parser_operators.RTX}, by its recorded list,"
    implementations = find_implementations(proto, plugins, known)
    problems = find_problems(options.model, proto, implementations, plugins, options.marked)
    problems += tuple(rules_plugins.in_rtx(implementations, plugins))
    with contextlib.suppress(UsageError):
        declared = profiles.profile(profiles.declared_inputs(proto), shapes)
        problems += tuple(whole_model.branch_shapes(proto, declared))
        problems += tuple(rules_operators.squeezed(proto, declared))
        problems += tuple(rules_dynamic.loops(proto, declared))
    ran = _run(options, given, proto, implementations, problems, None, progress)
    return _unbuilt(options, proto, plugins, implementations, problems, evaluator, why, ran, known, given, progress)


def _unbuilt(
    options: ImportOptions,
    proto: onnx.ModelProto,
    plugins: Sequence[PluginLibrary],
    implementations: Sequence[Implementation],
    problems: Sequence[Problem],
    evaluator: str,
    why: str,
    ran: RunOutcome,
    native: Callable[[str], bool],
    given: Recorded,
    progress: Progress,
) -> Imported:
    """What came of it where NVIDIA's builder isn't asked."""
    found = _sorted((*_on_lines(problems), *ran.problems))
    return Imported(
        options.model,
        tuple(implementations),
        found,
        evaluator,
        not_built=why,
        foreseen=_foreseen(found),
        ran=ran,
        strict=options.strict,
        unserved=_missing(options, proto, plugins, implementations, native, progress),
        tensors=classify(proto, options.marked),
        engine=_engine(options, given, proto, implementations, plugins, None, progress),
    )


def _missing(
    options: ImportOptions,
    proto: onnx.ModelProto,
    libraries: Sequence[PluginLibrary],
    implementations: Sequence[Implementation],
    native: Callable[[str], bool],
    progress: Progress,
) -> tuple[MissingOperator, ...]:
    """The missing operators, with commands that were tried."""
    found = missing_operators.find(options.model, proto, implementations, native)
    given = [Neighbour(member.manifest, member.folder) for library in libraries for member in library.plugins]
    paths = [path for path, library in zip(options.plugins, libraries, strict=True) if library.plugins]
    asked = FromModel(options.model, shapes=options.profiles, plugins=paths, timeout=options.timeout)
    return commands.tried(asked, proto, found, given, progress)


def _declared(options: ImportOptions, proto: onnx.ModelProto) -> NetworkProfile:
    """The profile by what the model declares: without NVIDIA's parser there is only the model itself.

    Raises:
        UsageError: an input has no known shape, or --profile doesn't fit.
    """
    return profiles.profile(profiles.declared_inputs(proto), [profiles.parse(text) for text in options.profiles])


def _unfit(ran: RunOutcome) -> bool:
    """Whether other sizes may be what a run lacks: they help none that takes too long."""
    return ran.status == "not run" and ran.remedy != running.LONGER


def _with_sizes(
    session: ModelSession,
    options: ImportOptions,
    proto: onnx.ModelProto,
    verdict: BuildVerdict,
    profile: NetworkProfile,
    opened: Sequence[str],
) -> tuple[BuildVerdict, NetworkProfile]:
    """The verdict on the least sizes that onnxruntime runs the model with; what there was if none are found."""
    found = sizes.least(proto, profile, opened, options.timeout)
    verdict = verdict if found == profile else session.build(options.model, found)
    # An average over more than there is has no element in TensorRT, which onnxruntime takes for one.
    narrow = sizes.from_opt(found, opened)
    others = [] if verdict.ok else [narrow]
    others += [sizes.single(found, size, opened) for size in SINGLE] if _by_sizes(verdict) else []
    tried = [profile, found]
    for other in others:
        if other not in tried and (again := session.build(options.model, other)).ok:
            return again, other
        tried.append(other)
    return verdict, found


def _by_sizes(verdict: BuildVerdict) -> bool:
    """Whether other sizes may fix a refusal, by the builder's words."""
    return not verdict.ok and re.search(SIZES, verdict.message) is not None


def _operators(proto: onnx.ModelProto) -> list[str]:
    return sorted(
        {place.node.op_type for graph in (proto.graph, *proto.functions) for place in onnx_graph.places(graph)}
    )


def _run(
    options: ImportOptions,
    given: Recorded,
    proto: onnx.ModelProto,
    implementations: Sequence[Implementation],
    problems: Sequence[Problem],
    profile: NetworkProfile | None,
    progress: Progress,
) -> RunOutcome:
    broken = {problem.rule for problem in problems if problem.level == "error"}
    unfit = [problem.node for problem in problems if problem.level == "error" and problem.rule in UNFIT]
    if unfit:
        what = "the graph can't be computed" if "M19" in broken else f"{unfit[0]} does not fit its plugin"
        return RunOutcome("not run", what, remedy="fix the errors above")
    if missing := external.left_out(proto):
        return RunOutcome("not run", f"{missing}, more than is run here", remedy="run it by onnxruntime itself")
    progress("running it on the CPU")
    if profile is None:
        try:
            profile = _declared(options, proto)
        except UsageError as error:
            return RunOutcome(
                "not run", f"its inputs have no known shapes: {error.message}", remedy="give them by --profile"
            )
    checks = instrumentations(options.sanitize) if options.sanitize else (PLAIN,)
    ran = running.run(
        proto, implementations, profile, given, seed=options.seed, timeout=options.timeout, instrumentations=checks
    )
    if ran.status == "not run" and any(problem.rule == "M13" for problem in problems):
        return replace(ran, remedy="fix what rule M13 says of its opset")
    return ran


def find_problems(
    model: Path,
    proto: onnx.ModelProto,
    implementations: Sequence[Implementation],
    libraries: Sequence[PluginLibrary],
    marked: Sequence[str] = (),
) -> tuple[Problem, ...]:
    """What breaks the rules that need neither sizes nor a builder, the errors first.

    Args:
        model: the model's file.
        proto: what it holds.
        implementations: its nodes, and what implements them.
        libraries: those that were given with it.
        marked: as of `ImportOptions`.
    """
    known = onnx_graph.shapes(proto)
    constants = Constants(proto)
    places = [one.place for one in implementations]
    structure = (*rules_structure.check(proto), *rules_parser_limits.check(proto))
    found = [
        *rules_plugins.clashes(libraries),
        *structure,
        *rules_plugins.check(implementations, libraries, known, tensor_types.types(proto, implementations)),
        *whole_model.functions(proto, libraries, implementations),
        *whole_model.check(proto, places, known, constants, model),
        *rules_tensors.check(proto, known, constants),
        *rules_operators.check(proto, known, constants),
        *rules_recurrences.check(proto, constants),
        *rules_loop_sizes.check(proto, known),
        *rules_dynamic.check(proto, known, classify(proto, marked)),
    ]
    if any(problem.level == "error" for problem in structure):
        # onnx's checker says the same once more, of the first only.
        found = [problem for problem in found if not (problem.rule == "M14" and not problem.node)]
    return _sorted(found)


def _foreseen(problems: Iterable[Problem]) -> str:
    """What NVIDIA will do with the model, by the rules."""
    return REFUSED if any(one.level == "error" and one.rule in FORESEES for one in problems) else BUILT


def _on_lines(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Rules' sentences, each on a line of its own whatever the names in it have."""
    return tuple(replace(one, text=shown(one.text), fix=shown(one.fix)) for one in problems)


def _sorted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The errors first, each once: some are found both by the rules and by the run."""
    return tuple(sorted(dict.fromkeys(problems), key=lambda problem: problem.level))


def _participation(implementations: Sequence[Implementation], verdict: BuildVerdict) -> tuple[Problem, ...]:
    """Plugins of the main graph that the builder never configured: it did without them."""
    if not verdict.ok:
        return ()
    seen = {record.node for record in verdict.configured}
    return tuple(
        Problem(
            "warning",
            "the builder never asked the plugin for its configuration: nothing that the model gives depends on its "
            "values, so this build says nothing about it.",
            "Is the node's output used? A plugin of which only the shape is used is optimised away.",
            "participation",
            one.place.label,
        )
        for one in implementations
        # Names of nodes in functions and of nameless nodes are the parser's own.
        # A library that registers itself has no probe before it.
        if one.by == "plugin"
        and not (one.library and one.library.registers)
        and one.place.node.name
        and not one.place.path
        and one.place.node.name not in seen
    )
