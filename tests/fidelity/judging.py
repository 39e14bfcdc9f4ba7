"""Each case asked of the host and of TensorRT-RTX, and what the two say held against one another."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pluginkit.errors import CheckFailed
from pluginkit.formats import Format
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Dims
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerTimeout
from pluginkit.runtimes.host.session import CHILD
from pluginkit.runtimes.rtx import refusals
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.rtx.session import RtxSession
from pluginkit.runtimes.verdict import BuildVerdict, Configured, SeenTensor
from tests.compilers import default_cxx

from .flaws import LENIENT, WILD
from .generator import Case
from .graphs import NAMES, without_probes
from .signature import FIELDS

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "pluginkit" / "include"
MANIFESTS = {
    base: Manifest.parse(
        f"""
        plugin = {{name = "{name}", base = "{"v3" if base == "v3" else "dynamic"}"}}
        inputs = [{{name = "x", types = ["float32"], shape = ["n"]}}]
        outputs = [{{name = "y", types = ["float32"], shape = ["n"]}}]
        profiles = [{{symbols = {{n = [1, 2, 3]}}}}]
        fields = [{", ".join(f'{{name = "{field}", type = "{kind.value}"}}' for field, kind in FIELDS.items())}]
        """
    )
    for base, name in NAMES.items()
}


@dataclass(frozen=True)
class Judgement:
    """What both say to a case.

    Attributes:
        case: the case.
        host, rtx: the verdicts.
        differences: where both build it, and see other types or shapes.
        compared: how many outputs' types and shapes were compared.
        tighter: for how many layers and profiles NVIDIA's bounds of a shape are tighter than the host's.
        refusal: the row of pluginkit.runtimes.rtx.refusals that NVIDIA refuses it by, if the row's experiment says so.
    """

    case: Case
    host: BuildVerdict
    rtx: BuildVerdict
    differences: tuple[str, ...]
    compared: int
    tighter: int = 0
    refusal: str = ""

    @property
    def agree(self) -> bool:
        """Both build it with the same types and shapes, or neither does."""
        return self.host.ok == self.rtx.ok and not self.differences

    @property
    def lenient(self) -> bool:
        """Whether it belongs to the table of leniencies or to that of refusals, or is about a format of no manifest."""
        if self.refusal or self.other_format:
            return True
        if self.case.flaw is WILD and not self.agree:
            return any(re.search(text, self.host.message) for text in LENIENT.values()) or self._has_quantized_scalar
        return self.case.flaw is not None and bool(self.case.flaw.lenient)

    @property
    def other_format(self) -> bool:
        """Whether the host misses the manifest's format, linear, and NVIDIA has found one that no manifest declares."""
        if self.host.ok or not self.rtx.ok or "no combination of the types and formats" not in self.host.message:
            return False
        tensors = (tensor for one in self.rtx.configured for tensor in (*one.inputs, *one.outputs))
        return any(tensor.format != Format.LINEAR.code for tensor in tensors)

    @property
    def _has_quantized_scalar(self) -> bool:
        inputs = [pair for call in self.case.network.calls for pair in zip(call.types, call.inputs[0], strict=True)]
        return any(kind.is_quantized and opt == () for kind, (_, opt, _) in inputs)

    @property
    def for_its_reason(self) -> bool:
        """Whether NVIDIA's refusal is in the words of the flaw."""
        text = "\n".join((self.rtx.message, *self.rtx.log))
        reason = self.case.flaw.reason if self.case.flaw else ""
        return self.rtx.status == "refused" and bool(reason) and bool(re.search(reason, text))


def compile_chameleon(folder: Path) -> Path:
    """The library, compiled."""
    library = folder / "libchameleon.so"
    options = ["-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{INCLUDE}"]
    subprocess.run([default_cxx(), *options, HERE / "chameleon.cpp", "-o", library, "-ldl"], check=True)
    return library


def differences(host: Sequence[Configured], rtx: Sequence[Configured]) -> list[str]:
    """The layers and profiles for which NVIDIA's configure saw no such types and shapes as the host's did."""
    found = []
    for one in host:
        if not any(_same(one, other) for other in rtx):
            its = "; ".join(_text(other) for other in rtx if other.node == one.node)
            found.append(f"{one.node}: the host's configure saw {_text(one)}; NVIDIA's {its}")
    return found


def _same(host: Configured, rtx: Configured) -> bool:
    """The same types and optimal shapes, and NVIDIA's bounds are not wider than the host's."""
    mine, its = (*host.inputs, *host.outputs), (*rtx.inputs, *rtx.outputs)
    return host.node == rtx.node and len(mine) == len(its) and all(map(_fits, mine, its))


def _fits(host: SeenTensor, rtx: SeenTensor) -> bool:
    if (host.type, host.opt, len(host.min)) != (rtx.type, rtx.opt, len(rtx.min)):
        return False
    inside = zip(host.min, rtx.min, rtx.max, host.max, strict=True)
    return all(low <= its_low <= its_high <= high for low, its_low, its_high, high in inside)


def _text(one: Configured) -> str:
    return ", ".join(f"{t.type}: {t.min} {t.opt} {t.max}" for t in (*one.inputs, *one.outputs))


def _refusal(session: RtxSession, case: Case, verdict: BuildVerdict) -> str:
    """The row that NVIDIA refuses it by, if it builds the network once what the row is about is hidden from it."""
    hidden: list[refusals.Hidden] = []
    rows: list[str] = []
    while not verdict.ok:
        row = refusals.recognise(verdict)
        if row is None or not row.hidden or row.hidden in hidden:
            return ""
        hidden.append(row.hidden)
        rows.append(row.id)
        verdict = session.without(hidden, case.network)
    return rows[0]


def _is_shape(host: Dims, rtx: Dims) -> bool:
    """Whether NVIDIA's shape is the host's; in a static network it leaves open only what enqueue says."""
    return len(host) == len(rtx) and all(its in (-1, mine) for mine, its in zip(host, rtx, strict=True))


class Host:
    """pluginkit's host, one process for all: what this plugin does wrong leaves nothing behind."""

    def __init__(self, library: Path, base: str) -> None:
        self._init = {"library": library, "manifest": MANIFESTS[base], "target": "cpu"}
        self._worker: Worker | None = None

    def evaluate(self, case: Case) -> tuple[BuildVerdict, list[list[dict[str, tuple[str, Dims]]]]]:
        """The verdict, and the graph outputs' types and shapes per profile at min, opt and max."""
        network = replace(case.network, model=without_probes(case.network.model))
        self._worker = self._worker or Worker(CHILD, self._init, timeout=60)
        try:
            built = self._worker.call("build", network=network)
            outputs = self._worker.call("walk", network=network, built=built)
        except CheckFailed as error:
            return BuildVerdict("refused", str(error)), []
        except (WorkerCrashed, WorkerTimeout) as error:
            self._worker = None
            return BuildVerdict("crashed", error.message), []
        seen = [Configured.of(node, record) for node, plugin in built.items() for record in plugin.configured]
        return BuildVerdict("built", "", configured=tuple(seen)), outputs

    def close(self) -> None:
        """Ends the process."""
        if self._worker is not None:
            self._worker.close()


class Evaluators:
    """Both, at the same time."""

    def __init__(self, library: Path, sessions: Mapping[str, RtxSession]) -> None:
        self._rtx = sessions
        self._hosts = {base: Host(library, base) for base in sessions}
        self._pool = ThreadPoolExecutor(1)

    def evaluate(self, case: Case) -> Judgement:
        """Asks both."""
        session = self._rtx[case.base]
        asked = self._pool.submit(self._hosts[case.base].evaluate, case)
        rtx = session.build(case.network)
        shapes = session.shapes() if rtx.ok else {}
        host, outputs = asked.result()
        if not (host.ok and rtx.ok):
            return Judgement(case, host, rtx, (), 0, refusal=_refusal(session, case, rtx) if host.ok else "")
        found = differences(host.configured, rtx.configured)
        compared = sum(len(record.outputs) for record in host.configured)
        if case.static:
            compared += len(shapes)
            ((own, *_),) = outputs
            found += [
                f"output {name!r}: the host's shape is {own[name][1]}, NVIDIA's {dims}"
                for name, dims in shapes.items()
                if not _is_shape(own[name][1], dims)
            ]
        seen = {_text(one) for one in rtx.configured}
        return Judgement(
            case, host, rtx, tuple(found), compared, sum(_text(one) not in seen for one in host.configured)
        )

    def close(self) -> None:
        """Ends the host's processes."""
        for host in self._hosts.values():
            host.close()
        self._pool.shutdown()


@contextmanager
def evaluators(folder: Path) -> Iterator[Evaluators]:
    """Both, with the library compiled in that folder."""
    library = compile_chameleon(folder)
    with ExitStack() as stack:
        sessions = {
            base: stack.enter_context(tensorrt_rtx.open(library, manifest, timeout=60))
            for base, manifest in MANIFESTS.items()
        }
        both = Evaluators(library, sessions)
        try:
            yield both
        finally:
            both.close()
