"""The whole of `pluginkit import`: load, serve, check, build, run."""

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
from pluginkit.build import PLAIN, flavours
from pluginkit.errors import CheckFailed, PluginCrashed, ToolMissing, UsageError
from pluginkit.importing import model as model_
from pluginkit.importing import profiles, running, unserved
from pluginkit.importing.building import ModelSession, advice
from pluginkit.importing.extraction import commands
from pluginkit.importing.extraction.neighbours import Neighbour
from pluginkit.importing.extraction.project import FromModel
from pluginkit.importing.files import external, libraries, recorded
from pluginkit.importing.files.recorded import Recorded
from pluginkit.importing.rules import dynamic as rules_dynamic
from pluginkit.importing.rules import loop_sizes as rules_loop_sizes
from pluginkit.importing.rules import model as rules_model
from pluginkit.importing.rules import operators as rules_operators
from pluginkit.importing.rules import parser_limits as rules_parser_limits
from pluginkit.importing.rules import plugins as rules_plugins
from pluginkit.importing.rules import recurrences as rules_recurrences
from pluginkit.importing.rules import signature as rules_signature
from pluginkit.importing.rules import structure as rules_structure
from pluginkit.importing.rules import tensor_types
from pluginkit.importing.rules import tensors as rules_tensors
from pluginkit.importing.rules.constants import Constants
from pluginkit.importing.rules.table import FORESEES, UNFIT
from pluginkit.importing.running import RunOutcome
from pluginkit.importing.serving import PluginLibrary, Served, serve
from pluginkit.importing.shape_tensors import TensorClass, classify
from pluginkit.importing.sizes import profile as sizes
from pluginkit.importing.unserved import UnservedOperator
from pluginkit.library import Problem
from pluginkit.network.model import NetworkProfile
from pluginkit.process.escapes import shown
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.verdict import BuildVerdict

Progress = Callable[[str], None]
LEVELS = ("error", "warning")
SINGLE = (32, 48, 64, 128, 224, 320, 640)
"""Sizes that NVIDIA's builder is asked for at last, each for all open dimensions."""
SIZES = r"violate shape constraints|dimensions must be equal|ShapeException|volume mismatch|reshape would change"
BUILT, REFUSED = "built", "refused"


@dataclass(frozen=True)
class ImportOptions:
    """What a person asks for.

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


@dataclass(frozen=True)
class Imported:
    """What came of it.

    Attributes:
        model: the model's file.
        served: every node, and who serves it.
        problems: what is wrong, the errors first.
        judge: who decides which operators are native.
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
    """

    model: Path
    served: tuple[Served, ...]
    problems: tuple[Problem, ...]
    judge: str
    profile: NetworkProfile | None = None
    defaulted: tuple[str, ...] = ()
    verdict: BuildVerdict | None = None
    not_built: str = ""
    foreseen: str = BUILT
    ran: RunOutcome = field(default_factory=lambda: RunOutcome("not run"))
    strict: bool = False
    unserved: tuple[UnservedOperator, ...] = ()
    sizes_found: bool = False
    tensors: tuple[TensorClass, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 if the model is fine, 6 if a plugin crashed or hung, 1 for anything else that is wrong.

        4 if nothing is wrong, and the run or its comparison needs a package that isn't installed. Warnings, and a build
        or run that did not take place, are wrong if `strict`.
        """
        ends = {self.ran.status, self.verdict.status if self.verdict else ""}
        # Of a model without plugins it is NVIDIA's builder that ended.
        if ends & {"crashed", "hung"} and any(one.by == "plugin" for one in self.served):
            return PluginCrashed.exit_code
        wrong = any(problem.level == "error" for problem in self.problems)
        refused = self.verdict is not None and not self.verdict.ok
        if wrong or refused or self.ran.status == "failed":
            return CheckFailed.exit_code
        if self.ran.lacks:
            return ToolMissing.exit_code
        left_open = bool(self.problems) or self.verdict is None or self.ran.status == "not run"
        return CheckFailed.exit_code if self.strict and left_open else 0

    @property
    def last_line(self) -> str:
        """How it ended: what is wrong, who built it, whether it was run, and what would run it."""
        counts: Counter[str] = Counter(problem.level for problem in self.problems)
        parts = [f"{counts[level]} {level}{'' if counts[level] == 1 else 's'}" for level in LEVELS if counts[level]]
        parts.append(f"{self.verdict.status} by TensorRT-RTX" if self.verdict else "not built: TensorRT-RTX isn't here")
        outcomes = {"compared": "run on the CPU, ", "ran": "run on the CPU, compared with nothing: "}
        ran = outcomes.get(self.ran.status, f"{self.ran.status} on the CPU: ")
        parts.append(ran + (self.ran.message.splitlines() or ["no reason given"])[0])
        if self.ran.status == "not run" and self.ran.remedy:
            parts.append(f"to run it, {self.ran.remedy}")
        elif self.ran.lacks:
            parts.append(f"to compare it, {self.ran.remedy}")
        ends = f" (exit code {self.exit_code} by --strict)" if self.strict and self._only_strictly else ""
        return shown(f"{self.model}: {'; '.join(parts)}{ends}")

    @property
    def _only_strictly(self) -> bool:
        return self.exit_code != replace(self, strict=False).exit_code

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        verdict = self.verdict
        return {
            "model": str(self.model),
            "nodes": [one.to_json() for one in self.served],
            "unserved": [one.to_json() for one in self.unserved],
            "tensors": [{**asdict(one), "kind": one.kind} for one in self.tensors],
            "native_by": self.judge,
            "problems": [asdict(problem) for problem in self.problems],
            "profile": {"shapes": self.profile.shapes, "values": self.profile.values} if self.profile else None,
            "profile_defaulted": list(self.defaulted),
            "build": {
                "foreseen": self.foreseen,
                "status": verdict.status if verdict else "not asked",
                "message": verdict.message if verdict else self.not_built,
                "fix": advice(verdict) if verdict else "",
                "log": list(verdict.log) if verdict else [],
                "printed": list(verdict.printed) if verdict else [],
            },
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
    shapes = [profiles.parse(text) for text in options.profiles]
    proto = model_.load(options.model)
    given = recorded.read(proto, options.data, options.expected)
    plugins = libraries.read(options.plugins, options.sanitize, options.timeout, progress)
    found = tensorrt_rtx.probe()
    progress("asking who serves each node")
    if not found.found:
        judge = "the onnx package, for TensorRT-RTX isn't here"
        served = serve(proto, plugins, onnx.defs.has)
        problems = find_problems(options.model, proto, served, plugins, options.marked)
        with contextlib.suppress(UsageError):
            declared = profiles.profile(profiles.declared_inputs(proto), shapes)
            problems += tuple(rules_model.branch_shapes(proto, declared))
            problems += tuple(rules_operators.squeezed(proto, declared))
        ran = _run(options, given, proto, served, problems, None, progress)
        problems = _sorted((*_on_lines(problems), *ran.problems))
        return Imported(
            options.model,
            tuple(served),
            problems,
            judge,
            not_built=f"{found.reason}. {found.remedy}",
            foreseen=_foreseen(problems),
            ran=ran,
            strict=options.strict,
            unserved=_unserved(options, proto, plugins, served, onnx.defs.has, progress),
            tensors=classify(proto, options.marked),
        )
    with ModelSession([one.path for one in plugins], options.timeout) as session:
        # With those that may be written in their place.
        known = session.native(sorted({*_operators(proto), *parser_operators.OPERATORS}))
        served = serve(proto, plugins, lambda operator: operator in known)
        problems = find_problems(options.model, proto, served, plugins, options.marked)
        problems += tuple(rules_plugins.in_rtx(served, plugins))
        progress("TensorRT-RTX: parsing")
        foreseen = _foreseen(problems)
        inputs, verdict = session.inputs(options.model, options.marked, [one.name for one in profiles.given(proto)])
        profile: NetworkProfile | None = None
        tried: RunOutcome | None = None
        if verdict is None:
            profile = profiles.profile(inputs, shapes)
            progress("TensorRT-RTX: building")
            verdict = session.build(options.model, profile)
            opened = profiles.defaulted(inputs, shapes)
            ours = opened and all(one.by in {"native", "function"} for one in served)
            # NVIDIA's builder takes sizes that no run can have, as those of a pooling that leaves nothing.
            if verdict.ok and ours and not given.data:
                tried = _run(options, given, proto, served, problems, profile, progress)
            if ours and (verdict.status == "refused" or (tried and _unfit(tried))):
                progress("looking for sizes that the model takes")
                mended = _with_sizes(session, options, proto, verdict, profile, opened)
                if mended[0].ok or not verdict.ok:
                    (verdict, profile), tried = mended, tried if mended[1] == profile else None
            problems += tuple(rules_model.branch_shapes(proto, profile))
            problems += tuple(rules_operators.squeezed(proto, profile))
            problems += tuple(rules_dynamic.loops(proto, profile))
            foreseen = _foreseen(problems)
            if verdict.ok:
                problems = tuple(map(rules_signature.built_all_the_same, problems))
            problems += _liveness(served, verdict)
    judge = f"the parser of TensorRT-RTX {found.version}"
    ran = tried or _run(options, given, proto, served, problems, profile, progress)
    return Imported(
        options.model,
        tuple(served),
        _sorted((*_on_lines(problems), *ran.problems)),
        judge,
        profile,
        tuple(profiles.defaulted(inputs, shapes)),
        verdict,
        foreseen=foreseen,
        ran=ran,
        strict=options.strict,
        unserved=_unserved(options, proto, plugins, served, known.__contains__, progress),
        sizes_found=profile is not None and profile != profiles.profile(inputs, shapes),
        tensors=classify(proto, options.marked),
    )


def _unserved(
    options: ImportOptions,
    proto: onnx.ModelProto,
    libraries: Sequence[PluginLibrary],
    served: Sequence[Served],
    native: Callable[[str], bool],
    progress: Progress,
) -> tuple[UnservedOperator, ...]:
    """The unserved operators, with commands that were tried."""
    found = unserved.find(options.model, proto, served, native)
    given = [Neighbour(member.manifest, member.folder) for library in libraries for member in library.plugins]
    paths = [path for path, library in zip(options.plugins, libraries, strict=True) if library.plugins]
    asked = FromModel(options.model, shapes=options.profiles, plugins=paths, timeout=options.timeout)
    return commands.tried(asked, proto, found, given, progress)


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
    """Whether other sizes may mend a refusal, by the builder's words."""
    return not verdict.ok and re.search(SIZES, verdict.message) is not None


def _operators(proto: onnx.ModelProto) -> list[str]:
    return sorted({place.node.op_type for graph in (proto.graph, *proto.functions) for place in model_.places(graph)})


def _run(
    options: ImportOptions,
    given: Recorded,
    proto: onnx.ModelProto,
    served: Sequence[Served],
    problems: Sequence[Problem],
    profile: NetworkProfile | None,
    progress: Progress,
) -> RunOutcome:
    broken = {problem.rule for problem in problems if problem.level == "error"}
    unfit = [problem.node for problem in problems if problem.level == "error" and problem.rule in UNFIT]
    if unfit:
        what = "the graph can't be computed" if "M19" in broken else f"{unfit[0]} does not fit its plugin"
        return RunOutcome("not run", what, remedy="mend the errors above")
    if missing := external.left_out(proto):
        return RunOutcome("not run", f"{missing}, more than is run here", remedy="run it by onnxruntime itself")
    progress("running it on the CPU")
    if profile is None:
        try:
            # Without NVIDIA's parser there is only the model itself.
            profile = profiles.profile(
                profiles.declared_inputs(proto), [profiles.parse(text) for text in options.profiles]
            )
        except UsageError as error:
            return RunOutcome(
                "not run", f"its inputs have no known shapes: {error.message}", remedy="give them by --profile"
            )
    checks = flavours(options.sanitize) if options.sanitize else (PLAIN,)
    ran = running.run(proto, served, profile, given, seed=options.seed, timeout=options.timeout, flavours=checks)
    if ran.status == "not run" and any(problem.rule == "M13" for problem in problems):
        return replace(ran, remedy="mend what rule M13 says of its opset")
    return ran


def find_problems(
    model: Path,
    proto: onnx.ModelProto,
    served: Sequence[Served],
    libraries: Sequence[PluginLibrary],
    marked: Sequence[str] = (),
) -> tuple[Problem, ...]:
    """What breaks the rules that need neither sizes nor a builder, the errors first.

    Args:
        model: the model's file.
        proto: what it holds.
        served: its nodes, and who serves them.
        libraries: those that were given with it.
        marked: as of `ImportOptions`.
    """
    known = model_.shapes(proto)
    constants = Constants(proto)
    places = [one.place for one in served]
    structure = (*rules_structure.check(proto), *rules_parser_limits.check(proto))
    found = [
        *rules_plugins.clashes(libraries),
        *structure,
        *rules_plugins.check(served, libraries, known, tensor_types.types(proto, served)),
        *rules_model.functions(proto, libraries, served),
        *rules_model.check(proto, places, known, constants, model),
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
    """The errors first."""
    return tuple(sorted(problems, key=lambda problem: problem.level))


def _liveness(served: Sequence[Served], verdict: BuildVerdict) -> tuple[Problem, ...]:
    """Plugins of the main graph that the builder never configured: it did without them."""
    if not verdict.ok:
        return ()
    seen = {record.node for record in verdict.configured}
    return tuple(
        Problem(
            "warning",
            "the builder never asked the plugin for its configuration: nothing that the model gives depends on its "
            "values, so this build says nothing of it.",
            "Is the node's output used? A plugin of which only the shape is used is optimised away.",
            "liveness",
            one.place.label,
        )
        for one in served
        # Names of nodes in functions and of nameless nodes are the parser's own.
        if one.by == "plugin" and one.place.node.name and not one.place.path and one.place.node.name not in seen
    )
