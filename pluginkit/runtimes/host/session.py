"""pluginkit's own host: builds the plugin's layers in one process, and runs networks in another, fresh one."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from typing_extensions import Self

from pluginkit import layouts
from pluginkit.bases import BASES
from pluginkit.build import PLAIN, Instrumentation
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.host.bases.v3.plugin import KeptField
from pluginkit.host.errors import Finding
from pluginkit.host.memory.gpu_watch import CHECK, FINDINGS
from pluginkit.host.memory.leaks import HOST_MEMORY, Leak
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import ApiNetwork
from pluginkit.network.large import MOST_TOUCHED, TOOK_TOO_MUCH, LargeCase, LargeRun
from pluginkit.network.networks import Case, Network
from pluginkit.paths import __version__
from pluginkit.process import sanitizer_log
from pluginkit.process.findings import Defect, Findings
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerError, WorkerTimeout
from pluginkit.runtimes.host.time_limit import TimeLimit
from pluginkit.runtimes.verdict import Availability, BuildVerdict, Configured, Ran, Target, Way

NAME = "host"


@dataclass(frozen=True)
class Asked:
    """A run that was asked for: `HostSession.run`'s arguments."""

    case: Case
    order: str = "forward"
    deferred: bool = False
    convention: str = ""
    way: Way = "eager"


IMPLICIT = "an implicit batch dimension (docs/bases.md)"
"""The second convention of an IPluginV2IOExt, for people."""
CHILD = "pluginkit.runtimes.host.host_worker"
_DEVICE = "PLUGINKIT_CPU_DEVICE"
"""The number of the current device of target cpu: not 0, which a plugin may take for the engine's."""
_KERNEL_SECONDS = "PLUGINKIT_CPU_TIME_LIMIT"


def probe() -> Availability:
    """It comes with pluginkit."""
    return Availability(True, __version__, str(Path(__file__).parent))


def open(  # noqa: A001
    library: Path,
    manifest: Manifest,
    *,
    timeout: float = 60.0,
    environment: Mapping[str, str] | None = None,
    project: Path = Path(),
    target: Target = "cpu",
    instrumentation: Instrumentation = PLAIN,
    layout: layouts.Layout | None = None,
) -> HostSession:
    """Loads the library in a worker.

    Args:
        library: the plugin library.
        manifest: the plugin's.
        timeout: seconds that any one call into the plugin may take, until it has hung twice (`TimeLimit`).
        environment: what is set in the workers' environment.
        project: the folder of the sources, for the places of findings.
        target: what the library is built for.
        instrumentation: a tool of compute-sanitizer in it is what runs with the plugin inside.
        layout: whose classes the host has; None: the newest, or the only one that the manifest says.

    Raises:
        UsageError: no such file, or no ELF.
        CheckFailed: no exports, or no creator of the manifest's plugin.
        WorkerCrashed, WorkerTimeout: loading took the process down, or never ended.
    """
    return HostSession(library, manifest, timeout, environment or {}, project, target, instrumentation, layout)


class HostSession:
    """A plugin library in the host. `build` and `run` have a process each, so what `run` has is what was serialized."""

    def __init__(
        self,
        library: Path,
        manifest: Manifest,
        timeout: float,
        environment: Mapping[str, str],
        project: Path,
        target: Target,
        instrumentation: Instrumentation,
        layout: layouts.Layout | None = None,
    ) -> None:
        self._manifest = manifest
        self._init = {"library": library, "manifest": manifest, "target": target}
        if layout is not None:
            self._init["version"] = layout.host_version
        twice = BASES[manifest.plugin.base].implicit_batch and manifest.batch() is not None
        self.conventions: tuple[str, ...] = ("", IMPLICIT) if twice else ("",)
        """Of what a plugin's dimensions are: each case is to be run in each."""
        self._limit = TimeLimit(timeout)
        self._folder = tempfile.TemporaryDirectory(prefix="pluginkit-host-")
        self._findings = Findings(Path(self._folder.name) / "findings", project)
        self._environment = {
            **environment,
            FINDINGS: str(self._findings.file),
            **({CHECK: instrumentation.tool} if instrumentation.tool else {}),
            _DEVICE: "1",
        }
        self._logs = sanitizer_log.Logs(Path(self._folder.name), project)
        self._instrumentation = instrumentation
        self._built: dict[str, Any] = {}
        self._builder: Worker | None = None
        self._runner: Worker | None = None
        self._asked: list[Asked] = []
        self.printed = ""
        """What the plugin's process printed in the last build or run."""
        try:
            self._builder = self._start()
        except BaseException:
            self._folder.cleanup()
            raise

    def _start(self, command: Sequence[str] = ()) -> Worker:
        return self._worker(self._init, command)

    def _worker(self, init: dict[str, Any], command: Sequence[str]) -> Worker:
        env = {_KERNEL_SECONDS: str(self._limit.kernel_seconds), **self._environment}
        return Worker(CHILD, init, timeout=self._limit.seconds, env=env, command=command)

    def _run_with_handles(self, case: Case, asked: dict[str, Any], *, implicit_batch: bool) -> Ran:
        """Builds and runs as TensorRT 10, the last to give a plugin handles, or as 8 if that was asked for, in a
        process of its own."""
        init = {"version": layouts.IMPLICIT_BATCH.host_version, **self._init}
        command = self._instrumentation.command(Path(self._folder.name))
        try:
            worker = self._worker(init, command)
        except Finding as finding:
            if finding.rule != "B4":
                raise
            return self.run(case)  # a library for TensorRT 11 alone: that gives none
        with worker:
            try:
                asked["built"] = worker.call("build", network=asked["network"], implicit_batch=implicit_batch)
                ran = worker.call("run", **asked, order="forward", deferred=False, way="handles")
            except WorkerTimeout as error:
                raise self._limit.hung(error) from None
            finally:
                self.printed = worker.printed
        assert isinstance(ran, Ran)
        return ran

    def _start_runner(self) -> Worker:
        self._asked = []
        # Nothing is enqueued at build, so that compute-sanitizer is here alone.
        return self._start(self._instrumentation.command(Path(self._folder.name)))

    def build(self, network: Network | ApiNetwork) -> BuildVerdict:
        """Builds all plugin nodes of a network for all profiles."""
        begun = time.monotonic()
        verdict = self._verdict(network)
        return replace(verdict, seconds=time.monotonic() - begun)

    def _verdict(self, network: Network | ApiNetwork) -> BuildVerdict:
        from pluginkit.interpreter import preflight  # with onnx, which `pluginkit info` does without

        self.printed = ""
        found: list[dict[str, Any]] = []
        trying = ""
        try:
            builder = self._builder = self._builder or self._start()
            try:
                for convention in self.conventions:
                    trying = convention
                    built = builder.call("build", network=network, implicit_batch=bool(convention))
                    if isinstance(network, Network):
                        builder.call("walk", network=network, built=built)
                    found.append(built)
                # A forked child knows nothing of CUDA's; on the CPU a process that only builds has no kernels' threads.
                if self.typical(network) and self._init["target"] == "cpu":
                    builder.call("damage", built=found[0])
                warnings = builder.call("warnings")
            finally:
                self.printed = builder.printed
            # Last, and not in the child, which does what NVIDIA's builder does: that takes such a network.
            preflight.check_channels(network.calls)
        except WorkerTimeout as error:
            self._builder = None
            return BuildVerdict("hung", in_convention(trying, self._limit.hung(error).message))
        except WorkerCrashed as error:
            self._builder = None
            method = error.last_call if error.inside else ""
            return BuildVerdict("crashed", in_convention(trying, error.message), method=method)
        except CheckFailed as error:
            # After a finding the plugin may be in any state: the next network gets a process of its own.
            self._end_builder()
            method, demand = (error.method, error.rule) if isinstance(error, Finding) else ("", "")
            return BuildVerdict("refused", in_convention(trying, str(error)), method=method, demand=demand)
        self._built[network.id] = (network, dict(zip(self.conventions, found, strict=True)))
        first = found[0].items()
        configured = [Configured.of(node, record) for node, plugin in first for record in plugin.configured]
        return BuildVerdict(
            "built", f"{len(first)} plugin nodes built", configured=tuple(configured), warnings=warnings
        )

    def typical(self, network: Network | ApiNetwork) -> bool:
        """Whether damaged bytes of this network's engine are tried, and leaks are looked for: in one is enough, and the
        same in each run."""
        usual = isinstance(network, Network) and network.family == "plain" and not network.variant
        first = usual and network.precision is self._manifest.precisions()[0]
        return first and not self._instrumentation.name

    def findings(self) -> tuple[Defect, ...]:
        """What the library's own checks have found since the last call. If there is any, new processes go on."""
        found = (*self._findings.take(), *self._logs.take())
        if found:
            self._limit.found(found)
            self._end_builder()
            self._end_runner()
        return found

    def kept(self, network: Network) -> dict[str, tuple[KeptField, ...]]:
        """What an engine keeps of each IPluginV3 of a network that `build` has built, by node."""
        _, built = self._built[network.id]
        return {node: plugin.v3.kept for node, plugin in built[""].items() if plugin.v3 is not None}

    def engine_has(self, network: str, name: str) -> bool | None:
        """Whether the engine of a network that `build` has built keeps a field's value; None where that is unknown."""
        _, built = self._built[network]
        return next((plugin.engine_has(name) for plugin in built[self.conventions[0]].values()), None)

    def workspace(self, network: str) -> int:
        """The bytes of the largest workspace that a plugin of a network has asked for; `build` has built it."""
        _, built = self._built[network]
        return max((plugin.workspace for layers in built.values() for plugin in layers.values()), default=0)

    def ways(self, case: Case) -> tuple[str, ...]:
        """The ways in which a case is to be run: in each convention, or with each tactic of an IPluginV3."""
        network, built = self._built[case.network_id]
        profile = [p.name for p in network.profiles].index(case.profile)
        tactics = [plugin.v3.tactics[profile] for plugin in built[""].values() if plugin.v3 is not None]
        most: tuple[int, ...] = max(tactics, key=len, default=(0,))
        return self.conventions if len(most) == 1 else tuple(f"tactic {number}" for number in most)

    def run(
        self,
        case: Case,
        *,
        order: str = "forward",
        deferred: bool = False,
        convention: str = "",
        way: Way = "eager",
        initialize_clones: bool = False,
    ) -> Ran:
        """Runs a case on a network that `build` has built.

        Args:
            case: the case.
            order: of a kernel's blocks and threads: `forward`, `reverse`, or the seed of a random one.
            deferred: whether streams do nothing before they are waited for.
            convention: one of `ways`.
            way: how enqueue is called; `reused` of a case that has earlier ones.
            initialize_clones: whether clones are initialized and terminated too, which TensorRT doesn't do.

        Raises:
            UsageError: the network isn't built.
            CheckFailed: a shape, or a shape tensor's value, is outside of the case's profile; the plugin isn't asked.
            Finding: the plugin did something wrong (a CheckFailed with the method's name).
            WorkerCrashed, WorkerTimeout: it took its process down, or never came back. The next run works again.
        """
        from pluginkit.interpreter import preflight

        if case.network_id not in self._built:
            raise UsageError(f"case {case.id}: the network {case.network_id} isn't built")
        network, built = self._built[case.network_id]
        preflight.check_feeds(next(one for one in network.profiles if one.name == case.profile), case.feeds)
        tactic = 0 if convention in built else self.ways(case).index(convention)
        layers = built.get(convention, built[""])
        asked = {"network": network, "built": layers, "profile": case.profile, "feeds": case.feeds, "tactic": tactic}
        asked.update(free=case.free, initialize_clones=initialize_clones)
        if way == "reused":
            asked["earlier"] = [(one.profile, one.feeds, one.free) for one in case.earlier]
        self.printed = ""
        if way == "handles":
            return self._run_with_handles(case, asked, implicit_batch=bool(convention))
        try:
            runner = self._runner = self._runner or self._start_runner()
            self._asked.append(Asked(case, order, deferred, convention, way))
            try:
                ran = runner.call("run", **asked, order=order, deferred=deferred, way=way)
            finally:
                self.printed = runner.printed
        except WorkerTimeout as error:
            self._runner = None
            raise self._limit.hung(error) from None
        except WorkerCrashed:
            self._runner = None
            raise
        except (CheckFailed, WorkerError) as error:
            # A new process takes longer than most cases.
            if not (isinstance(error, Finding) and error.contained):
                self._end_runner()
            raise
        assert isinstance(ran, Ran)
        return ran

    def large(self, case: LargeCase, *, most_touched: int = MOST_TOUCHED, cpu_seconds: float = math.inf) -> LargeRun:
        """Builds the network of a case and runs it on tensors that are too large to be compared as a whole, in a
        process of its own.

        Args:
            case: what is run.
            most_touched: on target cpu, the bytes of memory that it may take.
            cpu_seconds: on target cpu, what enqueue may take of the processor's time.

        Raises:
            CheckFailed, WorkerCrashed, WorkerTimeout: as `run`; `took_too_much` tells which crash is a limit's.
        """
        with self._worker(self._init, ()) as worker:
            try:
                built = worker.call("build", network=case.network)
                ran = worker.call("large", case=case, built=built, most_touched=most_touched, cpu_seconds=cpu_seconds)
            finally:
                self.printed = worker.printed
        assert isinstance(ran, LargeRun)
        return ran

    @staticmethod
    def took_too_much(death: WorkerCrashed) -> bool:
        """Whether `large` has ended the process, because target cpu would have needed memory for whole tensors."""
        return death.how == f"exit code {TOOK_TOO_MUCH}"

    def leaks(self, case: Case) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """What is left behind each time that the network of a case is built and the case is run, a sentence each: what
        `initialize` of an IPluginV2 took, what `terminate` alone gives back of its clones, and what else. The case has
        been run and has passed.

        Raises:
            CheckFailed, WorkerCrashed, WorkerTimeout: as `run`; the plugin doesn't live several times in one process.
        """
        network, built = self._built[case.network_id]
        layers = built[self.conventions[0]]
        asked = {"network": network, "built": layers, "profile": case.profile, "feeds": case.feeds, "free": case.free}
        try:
            runner = self._runner = self._runner or self._start_runner()
            try:
                found = runner.call("leaks", **asked)
            finally:
                self.printed = runner.printed
        except WorkerTimeout as error:
            self._runner = None
            raise self._limit.hung(error) from None
        except WorkerCrashed:
            self._runner = None
            raise
        except (CheckFailed, WorkerError):
            self._end_runner()
            raise
        taken = [leak.taken for some in found for leak in some]
        self._findings.look_up((one.library, (one.offset, *one.callers)) for one in taken)
        initialized, of_clones, other = (tuple(filter(None, map(self._leak, some))) for some in found)
        return initialized, of_clones, other

    def _leak(self, leak: Leak) -> str:
        """In words, with the line; empty for host memory that no line of the project has taken: target cpu's own
        runtime is in the library, too."""
        taken = leak.taken
        if taken.kind == HOST_MEMORY:
            place = self._findings.place_in_project(taken.library, (taken.offset, *taken.callers))
            return f"{place}: {leak}" if place else ""
        place = self._findings.place(taken.library, taken.offset, *taken.callers)
        return f"{place}: {leak}" if place else str(leak)

    @property
    def asked(self) -> tuple[Asked, ...]:
        """The runs that the process of the next run has had before it, in order."""
        return tuple(self._asked) if self._runner is not None else ()

    def renew(self) -> None:
        """Has the next run begin in a process of its own, in which nothing has run before it."""
        self._end_runner()

    def close(self) -> None:
        """Ends both processes."""
        self._end_builder()
        self._end_runner()
        self._folder.cleanup()

    def _end_builder(self) -> None:
        if self._builder is not None:
            self._builder.close()
        self._builder = None

    def _end_runner(self) -> None:
        if self._runner is not None:
            self._runner.close()
        self._runner = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def in_convention(convention: str, message: str) -> str:
    """A message with the convention that it is true of; the first one goes without saying."""
    return f"with {convention}:\n{message}" if convention and message else message
