"""The results of a test run as plain data, JSON and JUnit XML."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import junitparser

from pluginkit.demands import DemandWarning
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, PluginCrashed
from pluginkit.network.api_model import AnyNetwork
from pluginkit.process import files
from pluginkit.process.findings import Defect
from pluginkit.runtimes.verdict import Target

if TYPE_CHECKING:
    # It brings Polygraphy, which `pluginkit info` does without.
    from pluginkit.testing.heat import Heat

BUILT = "built"
"""What `Verdict.how` begins with where a builder took the network."""
NOT_REFUSED = "not refused"
"""`Verdict.how` of a control that was taken."""
STRICT = "a warning is a failure here (--strict, strict = true in pluginkit.toml, or E19 for TensorRT 8.5):"
"""What comes before a warning in the message of a case that fails by it."""

REFUSED_ALIKE = "refused whatever the operator"
"""`Verdict.how` where a builder refuses a network of a right operator, too."""
WRONG_ALIKE = "wrong whatever the operator"
"""`Verdict.how` where NVIDIA's runtime computes wrong values with a right operator, too, or its process ends."""
NVIDIAS = (REFUSED_ALIKE, WRONG_ALIKE)
"""`Verdict.how` of what is not a verdict on a plugin."""
ABSENT = "took no part"
"""How `Report.runtimes` begins for a runtime that wasn't asked."""


class Outcome(str, Enum):
    """How a case or a build ended. A crash is not a failure, and a skip is not a pass."""

    PASSED = "passed"
    FAILED = "failed"
    CRASHED = "crashed"
    HUNG = "hung"
    SKIPPED = "skipped"

    @property
    def bad(self) -> bool:
        """Whether it must turn the run red."""
        return self in (Outcome.FAILED, Outcome.CRASHED, Outcome.HUNG)


@dataclass(frozen=True)
class CaseResult:
    """One case in the host.

    Attributes:
        id: the case's id, which repeats it: `pluginkit test --only ID`.
        network: the network's id; `family` and `precision` are its parts.
        point: `min`, `opt`, `max`, `random-1`, ..., `data`, with the branch or trip count behind it.
        shape: the symbols' values, as in `n=2 c=3`.
        error: the largest error, in `unit` (`abs` or `steps`); None where there is no number.
        allowed: the tolerance at the place of that error, in `unit`.
        message: what is wrong, where and by how much; empty if nothing is.
        seconds: how long it took in the worker, all runs together.
        sanitizers: the checks that were compiled in, as in `address+undefined`; empty for the plain build.
        schedule: a description of the order that it failed in; empty if it was the usual one.
        runs: how often it ran: in each order, and in each convention of what dimensions are.
        defects: what the CUDA-on-CPU runtime and the compiled-in checks found, which makes the case fail.
        log: what the plugin's process printed in a run with findings, sanitizers' reports included.
        target: where its kernels ran.
        after: the cases that must run before it in the same process, for it to fail: the plugin keeps something.
        watched: on target gpu, by what enqueue's calls of CUDA were seen.
        large_untried: why the plugin was not also tried on tensors of more than 2^31 elements, where that goes with the
            case; empty otherwise.
        unjudged: what a run beyond the profile did not show, and why; a warning that makes no failure.
        heat: where its errors are, if it has failed by them; a picture, which JSON goes without.
        warnings: what TensorRT doesn't require and a good plugin does (docs/demands.md); failures with `--strict`.
        demand: the id of the demand that it fails by; empty where that is told by `defects`, or isn't known.
        way: how enqueue was called in the run that failed, as of `runtimes.Way`; `order` of another launch order.
        place: the worker that it ran on, in a run on a farm.
        gpu: the GPU that it ran on, on target gpu.
    """

    id: str
    network: str
    family: str
    precision: DType
    point: str
    shape: str
    outcome: Outcome
    error: float | None = None
    allowed: float | None = None
    unit: str = "abs"
    message: str = ""
    seconds: float = 0.0
    sanitizers: str = ""
    schedule: str = ""
    runs: int = 1
    defects: tuple[Defect, ...] = ()
    log: tuple[str, ...] = ()
    target: Target = "cpu"
    after: tuple[str, ...] = ()
    watched: str = ""
    large_untried: str = ""
    unjudged: str = ""
    heat: Heat | None = field(default=None, compare=False, repr=False)
    warnings: tuple[DemandWarning, ...] = ()
    demand: str = ""
    way: str = "eager"
    place: str = ""
    gpu: str = ""

    @property
    def variant(self) -> str:
        """What its network's id has behind family and precision: `implicit-max`, `/c16`; mostly nothing."""
        return self.network.removeprefix(f"{self.family}/{self.precision.value}").removeprefix("-")


@dataclass(frozen=True)
class Warned:
    """A demand that isn't met, and what it is met in.

    Attributes:
        warning: the first one.
        cases: the ids of all cases that it is true of.
    """

    warning: DemandWarning
    cases: tuple[str, ...]

    @property
    def where(self) -> str:
        """For people: in which cases."""
        more = f", and {len(self.cases) - 1} more" if len(self.cases) > 1 else ""
        return f"in {self.cases[0]}{more}"


@dataclass(frozen=True)
class Verdict:
    """A runtime's builder's verdict on one network.

    Attributes:
        how: what happened, where `outcome` alone would say something else: `refused`, `built, not live`.
        place: as of `CaseResult`.
    """

    network: str
    runtime: str
    outcome: Outcome
    message: str = ""
    log: tuple[str, ...] = ()
    seconds: float = 0.0
    how: str = ""
    place: str = ""

    @property
    def built(self) -> bool:
        """Whether the builder took the network, whatever was wrong with that."""
        return self.how.startswith(BUILT) or self.outcome is Outcome.PASSED

    @property
    def word(self) -> str:
        """How it ended, short enough for a table's cell."""
        return self.how or self.outcome.value


@dataclass(frozen=True)
class Report:
    """A whole run."""

    plugin: str
    library: str
    sha256: str
    seed: int
    cases: tuple[CaseResult, ...]
    verdicts: tuple[Verdict, ...]
    runtimes: dict[str, str] = field(default_factory=dict)
    """Each runtime with its version, or why it took no part."""
    sanitize: tuple[str, ...] = ()
    """The checks that were asked for."""
    schedules: int = 0
    """The random orders that were asked for."""
    controls: tuple[Verdict, ...] = ()
    """What NVIDIA's builder must refuse: `network` is the control's id, and it has passed if it was refused."""
    networks: tuple[AnyNetwork, ...] = field(default=(), compare=False, repr=False)
    """The plan's, to be drawn; JSON goes without."""
    strict: bool = False
    """Whether warnings are failures."""
    kept_fields: dict[str, str] = field(default_factory=dict)
    """The fields that have one value in all networks, and why."""
    registries: tuple[Verdict, ...] = ()
    """What NVIDIA's plugin registries say: `network` is `registry/` with the version."""
    checks: tuple[Verdict, ...] = ()
    """Those of `pluginkit check` that a whole run asks too: `network` is `check/` with the id."""
    shard: str = ""
    """The part of a run that this is, as `2/3`."""
    check_warnings: tuple[DemandWarning, ...] = ()
    """What these found that TensorRT doesn't require, and no case has shown."""

    @property
    def bad(self) -> list[CaseResult | Verdict]:
        """Everything that turns the run red."""
        everything: list[CaseResult | Verdict] = [*self.cases, *self.verdicts, *self.controls, *self.registries]
        everything += self.checks
        return [item for item in everything if item.outcome.bad]

    @property
    def gpus(self) -> tuple[str, ...]:
        """The GPUs that cases ran on."""
        return tuple(dict.fromkeys(case.gpu for case in self.cases if case.gpu))

    @property
    def absent(self) -> list[str]:
        """The runtimes that took no part: their verdicts are unknown."""
        return [name for name, status in self.runtimes.items() if status.startswith(ABSENT)]

    @property
    def unjudged(self) -> tuple[str, ...]:
        """What the runs beyond the profile did not show, and why: the plugin may be wrong there."""
        return tuple(dict.fromkeys(case.unjudged for case in self.cases if case.unjudged))

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """One for each demand and method, in the order in which they came."""
        found: dict[tuple[str, str], list[tuple[DemandWarning, str]]] = {}
        for case in self.cases:
            for one in case.warnings:
                found.setdefault((one.rule, one.method), []).append((one, case.id))
        for one in self.check_warnings:
            found.setdefault((one.rule, one.method), []).append((one, f"check/{one.rule}"))
        return tuple(Warned(ones[0][0], tuple(dict.fromkeys(name for _, name in ones))) for ones in found.values())

    @property
    def exit_code(self) -> int:
        """0, or 6 if the plugin crashed or hung anywhere, or 1."""
        outcomes = {item.outcome for item in self.bad}
        if outcomes & {Outcome.CRASHED, Outcome.HUNG}:
            return PluginCrashed.exit_code
        return CheckFailed.exit_code if outcomes else 0

    def verdict(self, runtime: str, network: str) -> Verdict | None:
        """The runtime's verdict on a network; None where it gave none."""
        return next((v for v in self.verdicts if v.runtime == runtime and v.network == network), None)

    def count(self, outcome: Outcome, items: Sequence[CaseResult | Verdict] | None = None) -> int:
        """How many cases (or `items`) ended so."""
        return sum(item.outcome is outcome for item in (self.cases if items is None else items))

    def to_json(self) -> dict[str, Any]:
        """The report for machines: plain JSON values; a number that JSON lacks (NaN, infinity) is null."""
        plain = asdict(replace(self, cases=tuple(replace(case, heat=None) for case in self.cases), networks=()))
        del plain["networks"]
        for case in plain["cases"]:
            del case["heat"]
        plain["warnings"] = [{**asdict(one.warning), "cases": one.cases} for one in self.warnings]
        plain["exit_code"] = self.exit_code
        found = _plain(plain)
        assert isinstance(found, dict)
        return found

    def write_junit(self, file: Path) -> None:
        """Write JUnit XML: a suite for the host's cases on each build, one for each runtime's verdicts.

        Raises:
            UsageError: the file can't be written.
        """
        xml = junitparser.JUnitXml(name=self.plugin)
        several = len(self.gpus) > 1
        for target, gpu, checks in dict.fromkeys((c.target, c.gpu, c.sanitizers) for c in self.cases):
            cases = [c for c in self.cases if (c.target, c.gpu, c.sanitizers) == (target, gpu, checks)]
            where = (target == "gpu") * (f"gpu ({gpu})" if several else "gpu")
            name = " ".join(filter(None, ("host", where, checks)))
            xml.append(_suite(name, [_test(c.id, c.family, c) for c in cases]))
        for runtime in dict.fromkeys(v.runtime for v in self.verdicts):
            verdicts = [v for v in self.verdicts if v.runtime == runtime]
            xml.append(_suite(runtime, [_test(v.network, runtime, v) for v in verdicts]))
        if self.registries:
            tests = [_test(v.network, v.runtime, v) for v in self.registries]
            xml.append(_suite(self.registries[0].runtime, tests))
        if self.checks:
            xml.append(_suite(self.checks[0].runtime, [_test(v.network, v.runtime, v) for v in self.checks]))
        if self.controls:
            tests = [_test(v.network, "refused", v) for v in self.controls]
            xml.append(_suite(f"{self.controls[0].runtime} refuses", tests))
        xml.update_statistics()
        text = io.BytesIO()
        xml.write(text, pretty=True)
        files.write(file, text.getvalue())


def _suite(name: str, tests: list[junitparser.TestCase]) -> junitparser.TestSuite:
    suite = junitparser.TestSuite(name)
    suite.add_testcases(tests)
    return suite


def _test(name: str, classname: str, item: CaseResult | Verdict) -> junitparser.TestCase:
    test = junitparser.TestCase(name, classname, item.seconds)
    if item.outcome is Outcome.SKIPPED:
        test.result = [junitparser.Skipped(item.message)]
    elif item.outcome is Outcome.FAILED:
        test.result = [junitparser.Failure(item.message, "failed")]
    elif item.outcome.bad:
        test.result = [junitparser.Error(item.message, item.outcome.value)]
    if item.place:
        properties = junitparser.Properties()
        properties.add_property(junitparser.Property("place", item.place))
        test.append(properties)
    if isinstance(item, CaseResult) and (item.log or item.warnings):
        lines = [*(f"warning {one.text}" for one in item.warnings), *item.log]
        # XML has no characters for most of the control codes that a program may print.
        test.system_out = "\n".join("".join(c for c in line if c.isprintable() or c == "\t") for line in lines)
    return test


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
