"""Which bundle, version and variant implements each node of a model on a system, and why others don't.

TensorRT's plugin versions are exact strings: a node asks for one, and no other will do. Among bundles with a plugin of
that identity the newest release with a variant that fits is taken, unless a lock names one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import onnx

from pluginkit import nvidia_plugins, parser_operators
from pluginkit.errors import CheckFailed
from pluginkit.importing import onnx_graph
from pluginkit.importing.implementations import wanted
from pluginkit.importing.onnx_graph import Place
from pluginkit.library.problem import Problem
from pluginkit.registry.bundles import compatibility, conflicts, digests
from pluginkit.registry.bundles.bundle import Bundle, Variant
from pluginkit.registry.bundles.systems import System
from pluginkit.registry.storage.index import Entry
from pluginkit.registry.storage.stores import BundlePlace, Stores
from pluginkit.registry.trust.policy import Policy

Identity = tuple[str, str, str]
"""A plugin's name, version and namespace."""
By = Literal["native", "TensorRT's plugins", "bundle", "function", "missing"]


@dataclass(frozen=True)
class Rejected:
    """A bundle, or a variant of one (`file`, `target`), that isn't taken, why, and what to do if that is known."""

    bundle: str
    digest: str
    file: str
    target: str
    reasons: tuple[str, ...]
    fix: str = ""


@dataclass(frozen=True)
class Chosen:
    """What implements a plugin.

    Attributes:
        store: the folder of the store, or the registry's repository, that has it.
        digest: the bundle's.
        bundle: its manifest.
        variant: the library.
        remarks: what the user must know of it.
    """

    store: str
    digest: str
    bundle: Bundle
    variant: Variant
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class PluginResolution:
    """What came of looking for one plugin."""

    identity: Identity
    chosen: Chosen | None
    rejected: tuple[Rejected, ...] = ()
    others: tuple[Identity, ...] = ()
    """Plugins of that name with another version or namespace, where there is not one of the identity."""

    def fix(self, usual: str) -> str:
        """What to do where nothing implements it: what a rejected bundle needs, else the usual."""
        return next((one.fix for one in self.rejected if one.fix), usual)


@dataclass(frozen=True)
class Node:
    """A node of the model, and what implements it."""

    place: Place
    by: By
    identity: Identity | None = None

    @property
    def label(self) -> str:
        """What the user finds it by."""
        return self.place.label


@dataclass(frozen=True)
class Resolution:
    """A model resolved for a system."""

    model: str
    system: System
    nodes: tuple[Node, ...]
    answers: Mapping[Identity, PluginResolution]
    problems: tuple[Problem, ...]
    locked: bool = False

    @property
    def chosen(self) -> tuple[Chosen, ...]:
        """The libraries to be loaded, each once, in the order of the nodes that want them."""
        found = [one.chosen for one in self.answers.values() if one.chosen]
        return tuple({one.variant.digest: one for one in found}.values())

    @property
    def exit_code(self) -> int:
        """0 if every node is implementations, else 1."""
        missing = any(node.by == "missing" for node in self.nodes)
        wrong = any(problem.level == "error" for problem in self.problems)
        return CheckFailed.exit_code if missing or wrong else 0

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "model": self.model,
            "system": asdict(self.system),
            "locked": self.locked,
            "nodes": [
                {"node": one.label, "operator": one.place.operator, "by": one.by, "plugin": one.identity}
                for one in self.nodes
            ],
            "plugins": [_answer(one) for one in self.answers.values()],
            "problems": [asdict(problem) for problem in self.problems],
            "exit_code": self.exit_code,
        }


@dataclass
class Resolver:
    """Looks for plugins in stores, for a system. Asked twice for one plugin it answers the same.

    Attributes:
        stores: where it looks.
        system: what a library must fit.
        locked: the digests of the bundles that may be taken, by plugin (as `acme::Scale 1`); None: any.
        release: the only release that may be taken; empty: the newest that fits.
        policy: whose bundles may be taken; None: anyone's.
    """

    stores: Stores
    system: System
    locked: Mapping[str, frozenset[str]] | None = None
    release: str = ""
    policy: Policy | None = None
    _answers: dict[Identity, PluginResolution] = field(default_factory=dict)

    def plugin(self, identity: Identity) -> PluginResolution:
        """What implements a plugin.

        Raises:
            CheckFailed: a store's manifest was changed.
        """
        if identity not in self._answers:
            self._answers[identity] = self._look(identity)
        return self._answers[identity]

    def absent(self, identity: Identity) -> tuple[str, ...]:
        """The digests of the bundles that the lock names for a plugin, where no store has any of them; else none."""
        named = (self.locked or {}).get(shown(identity), frozenset[str]())
        if named & {entry.digest for _, entry in self.stores.having(*identity)}:
            return ()
        return tuple(sorted(named))

    def _look(self, identity: Identity) -> PluginResolution:
        rejected: list[Rejected] = []
        for sources, entry in self.stores.having(*identity):
            if reason := self._unwanted(identity, entry):
                rejected.append(Rejected(entry.label, entry.digest, "", "", (reason,)))
                continue
            chosen, why = self._variant(sources, entry, sources[0].bundle(entry.digest))
            rejected += why
            if chosen:
                return PluginResolution(identity, chosen, tuple(rejected))
        others = () if rejected else tuple(self.stores.identities(identity[0]))
        return PluginResolution(identity, None, tuple(rejected), others)

    def _unwanted(self, identity: Identity, entry: Entry) -> str:
        if self.locked is not None and entry.digest not in self.locked.get(shown(identity), ()):
            return "the lock names another bundle"
        return f"release {self.release} is asked for" if self.release not in {"", entry.release} else ""

    def _variant(
        self, sources: Sequence[BundlePlace], entry: Entry, bundle: Bundle
    ) -> tuple[Chosen | None, list[Rejected]]:
        fitting, rejected = list[Variant](), list[Rejected]()
        having: dict[str, BundlePlace] = {}
        for source in reversed(sources):
            having |= dict.fromkeys(source.here(entry.digest), source)
        for variant in bundle.variants:
            reasons = compatibility.misfits(variant, self.system)
            if not reasons and variant.digest not in having:
                reasons = ["it was not pulled: pluginkit registry pull --all, or --for this system, brings it"]
            if reasons:
                rejected.append(Rejected(bundle.label, entry.digest, variant.file, variant.target, tuple(reasons)))
            else:
                fitting.append(variant)
        if not fitting:
            return None, rejected
        best = max(fitting, key=lambda one: compatibility.preference(one, self.system))
        source = having[best.digest]
        if self.policy is not None:
            signatures = source.signatures(entry.digest)
            if reason := self.policy.refusal(bundle, entry.digest, signatures, remote=source.remote):
                why, fix = (f"refused: {reason}",), self.policy.hint(reason)
                refused = Rejected(bundle.label, entry.digest, best.file, best.target, why, fix)
                return None, [*rejected, refused]
        remarks = tuple(compatibility.remarks(best, self.system))
        return Chosen(source.place, entry.digest, bundle, best, remarks), rejected


def resolve(model: Path, resolver: Resolver) -> Resolution:
    """Say what implements each node of a model, those of subgraphs and of local functions that are called too.

    Raises:
        UsageError: the model can't be read.
        CheckFailed: a store's manifest was changed.
    """
    proto = onnx_graph.load(model)
    system = resolver.system
    rtx = system.host == "tensorrt-rtx"
    native = parser_operators.OF_RTX if rtx else parser_operators.OPERATORS
    functions = {function.name: function for function in proto.functions}
    nodes = [_implementation(place, resolver, native, functions) for place in onnx_graph.places(proto.graph)]
    called: set[str] = set()
    while new := {one.place.node.op_type for one in nodes if one.by == "function"} - called:
        called |= new
        for name in sorted(new):
            nodes += [
                _implementation(place, resolver, native, functions) for place in onnx_graph.places(functions[name])
            ]
    asked = dict.fromkeys(node.identity for node in nodes if node.identity and node.by in {"bundle", "missing"})
    answers = {identity: resolver.plugin(identity) for identity in asked}
    problems = tuple(_problems(answers, resolver))
    return Resolution(str(model), system, tuple(nodes), answers, problems, resolver.locked is not None)


def _implementation(
    place: Place, resolver: Resolver, native: frozenset[str], functions: Mapping[str, onnx.FunctionProto]
) -> Node:
    name = place.node.op_type
    identities = wanted(place.node, native=name in native)
    for identity in identities:
        if is_nvidias(identity, resolver.system):
            return Node(place, "TensorRT's plugins", identity)
        if resolver.plugin(identity).chosen:
            return Node(place, "bundle", identity)
    # Before what else might implement it: the lock says that this plugin does, and its bundle is only not here.
    if locked := [identity for identity in identities if resolver.absent(identity)]:
        return Node(place, "missing", locked[0])
    if name in native:
        return Node(place, "native")
    if name in functions:
        return Node(place, "function")
    known = [identity for identity in identities if resolver.stores.having(*identity)]
    return Node(place, "missing", (known or identities)[-1])


def is_nvidias(identity: Identity, system: System) -> bool:
    """Whether TensorRT's own plugin library, or the registry of TensorRT-RTX, has a plugin."""
    name, version, namespace = identity
    if namespace:
        return False
    if system.host == "tensorrt-rtx":
        return version in nvidia_plugins.rtx_plugins(name)
    return version in {one.version for one in nvidia_plugins.plugins(name, tensorrt=system.tensorrt)}


def _problems(answers: Mapping[Identity, PluginResolution], resolver: Resolver) -> list[Problem]:
    found: list[Problem] = []
    for identity, answer in answers.items():
        label, version = _label(identity), identity[1]
        bundles = {entry.name for _, entry in resolver.stores.having(*identity)}
        if len(bundles) > 1 and resolver.locked is None:
            found.append(conflicts.between(label, version, bundles))
        if answer.chosen is None:
            told = _absent(label, version, resolver.absent(identity)) or _missing(label, version, answer)
            found.append(Problem("error", *told, "missing"))
    libraries: dict[Identity, set[str]] = {}
    for one in {answer.chosen.variant.digest: answer.chosen for answer in answers.values() if answer.chosen}.values():
        for plugin in one.bundle.plugins:
            libraries.setdefault((plugin.name, plugin.version, plugin.namespace), set()).add(one.bundle.name)
    for identity, names in libraries.items():
        if len(names) > 1 and identity not in answers:
            found.append(conflicts.between(_label(identity), identity[1], names))
    return found


def _absent(label: str, version: str, locked: tuple[str, ...]) -> tuple[str, str] | None:
    if not locked:
        return None
    names = " or ".join(map(digests.short, locked))
    return (
        f"{label} {version}: the lock names the bundle {names}, which is in no store or registry that was searched.",
        "pluginkit fetch MODEL.onnx --locked --from STORE copies it; --registry HOST/REPOSITORY downloads it.",
    )


def _missing(label: str, version: str, answer: PluginResolution) -> tuple[str, str]:
    for one in answer.rejected:
        if one.fix:
            return f"{label} {version}: {one.bundle} is {'; '.join(one.reasons)}.", one.fix
    if answer.rejected:
        tried = len({one.digest for one in answer.rejected})
        what = "no bundle that has it fits" if tried > 1 else "the bundle that has it doesn't fit"
        return f"{label} {version}: {what}.", "Add a bundle with a variant for that system; the reasons stand below."
    if answer.others:
        there = ", ".join(map(shown, answer.others))
        fix = "Versions and namespaces are exact: the node's plugin_version and plugin_namespace must be the plugin's."
        return f"{label} {version} is in no store; there is {there}.", fix
    if when := nvidia_plugins.releases(answer.identity[0]):
        return f"{label} {version} is in no store.", f"TensorRT's own plugin library has it ({when})."
    return (
        f"{label} {version} is in no store.",
        "pluginkit registry add puts a bundle in; pluginkit new writes a plugin.",
    )


def _answer(one: PluginResolution) -> dict[str, Any]:
    chosen = one.chosen
    return {
        "name": one.identity[0],
        "version": one.identity[1],
        "namespace": one.identity[2],
        "chosen": chosen
        and {
            "store": chosen.store,
            "bundle": chosen.digest,
            "label": chosen.bundle.label,
            "variant": chosen.variant.model_dump(mode="json"),
            "remarks": list(chosen.remarks),
        },
        "rejected": [asdict(rejected) for rejected in one.rejected],
        "others": [list(identity) for identity in one.others],
    }


def shown(identity: Identity) -> str:
    """`namespace::name version`."""
    return f"{_label(identity)} {identity[1]}"


def _label(identity: Identity) -> str:
    name, _, namespace = identity
    return f"{namespace}::{name}" if namespace else name
