"""From builds to a bundle."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version
from pydantic import ValidationError

from pluginkit import layouts, patterns
from pluginkit.build.artifact import TARGETS, library_path
from pluginkit.creators import loading
from pluginkit.errors import CheckFailed, PluginCrashed, UsageError
from pluginkit.library import inspection
from pluginkit.library.loadable import loadable
from pluginkit.manifest import FILE_NAME, Manifest
from pluginkit.manifest.project import Member, members, root
from pluginkit.paths import __version__
from pluginkit.process.programs import run as run_process
from pluginkit.registry.bundles import archive, digests, variants
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.bundles.bundle import (
    LONGEST_PATTERN,
    Bundle,
    BundlePattern,
    BundlePlugin,
    BundleSource,
    BundleTensor,
    Evidence,
    File,
    Host,
    PluginField,
    Variant,
    host_of_layout,
)


def _hosts(library: Path) -> list[tuple[Host, int]]:
    """The kinds of registries that a library may be for, and the version that pluginkit's host gives as each."""
    found = [(host_of_layout(one.number), one.host_version) for one in reversed(loadable(library))]
    return [*found, ("tensorrt-rtx", layouts.RTX_HOST)]


@dataclass(frozen=True)
class PackOptions:
    """What the user asks for.

    Attributes:
        project: the folder with `pluginkit.toml`: plugins, signatures, fields.
        builds: libraries, and bundles' archives whose variants and reports are taken over; none: what the project's
            own builds have made.
        evidence: JSON reports of `pluginkit test` and `pluginkit bench`.
        release: the bundle's; it orders bundles of one name.
        license: an SPDX expression; empty: unknown.
        timeout: seconds that loading a library may take.
    """

    project: Path
    builds: tuple[Path, ...] = ()
    evidence: tuple[Path, ...] = ()
    release: str = "0.0.0"
    license: str = ""
    timeout: float = 60.0


@contextmanager
def packed(options: PackOptions, progress: Callable[[str], None] = lambda _: None) -> Iterator[Content]:
    """A bundle of builds. Its files are the builds' own; those of archives go with the context.

    Raises:
        UsageError: the release is not a version, the project or a report can't be read, there is no build, or a library
            is for another machine than this one (pack it there, and give the archive here).
        CheckFailed: a library hasn't the plugins of pluginkit.toml, no host lists it, or a report is about
            another library.
        PluginCrashed: a library takes the process down on loading.
    """
    try:
        Version(options.release)
    except InvalidVersion:
        raise UsageError(
            f"{options.release!r} is not a release.", hint="A version as PEP 440 has them: 1.4.2."
        ) from None
    project = root(options.project)
    plugins = members(project)
    shipped = _patterns(project)
    with ExitStack() as stack:
        files: dict[str, Path] = {}
        taken: list[Variant] = []
        reports: list[Evidence] = []
        for path in options.builds or _built(project, plugins[0].manifest.slug):
            if path.name.endswith(archive.SUFFIX):
                content = stack.enter_context(archive.opened(path))
                _same_plugins(path, content.bundle, plugins)
                taken += content.bundle.variants
                reports += content.bundle.evidence
                files.update(content.files)
                continue
            progress(f"loading {path}")
            variant = _variant(path, plugins, options.timeout)
            taken.append(variant)
            files[variant.digest] = path
        taken = sorted(
            {one.digest: one for one in taken}.values(), key=lambda one: (one.target, one.machine, one.digest)
        )
        for path in options.evidence:
            report = _evidence(path, taken)
            reports.append(report)
            files[report.digest] = path
        found = Bundle(
            name=plugins[0].manifest.slug,
            release=options.release,
            license=options.license,
            source=_source(project),
            made_by=f"pluginkit {__version__}",
            plugins=tuple(plugin_of(one.manifest) for one in plugins),
            patterns=shipped,
            variants=tuple(taken),
            evidence=tuple(
                sorted({one.digest: one for one in reports}.values(), key=lambda one: (one.kind, one.digest))
            ),
        )
        yield Content(found, found.to_bytes(), files)


def require_gpu_code(bundle: Bundle) -> None:
    """Raises where no engine on a GPU could use what is shipped.

    Raises:
        UsageError: all libraries of the bundle are of target cpu.
    """
    if all(one.target == "cpu" for one in bundle.variants):
        files = ", ".join(dict.fromkeys(one.file for one in bundle.variants))
        raise UsageError(
            f"{bundle.label} would have no GPU code, and no engine on a GPU could use it: {files} is for target cpu.",
            hint="pluginkit build --target all, which needs nvcc and no GPU; or --cpu-only, if that is what you want.",
        )


def _patterns(project: Path) -> tuple[BundlePattern, ...]:
    """The patterns that the project ships; each is one, so that nobody finds out elsewhere that it is none."""
    found = []
    for name, path in patterns.shipped_by(project).items():
        patterns.of_file(path)
        try:
            found.append(BundlePattern(name=name, text=path.read_text(encoding="utf-8")))
        except ValidationError:
            raise UsageError(
                f"{path} can't go into a bundle.",
                hint="Its name begins with a letter or digit and has letters, digits and _ . - only; its text is at "
                f"most {LONGEST_PATTERN} characters.",
            ) from None
    return tuple(found)


def _built(project: Path, slug: str) -> list[Path]:
    found = [path for target in TARGETS if (path := library_path(project, slug, target)).is_file()]
    if not found:
        raise UsageError(f"{project} has no build.", hint="pluginkit build")
    return found


def _variant(path: Path, plugins: Sequence[Member], timeout: float) -> Variant:
    facts = inspection.inspect(path)
    if facts.record and facts.record.content and not facts.record.same:
        raise CheckFailed(f"{facts.record.path} is about another file than {path}.", hint="pluginkit build")
    record = facts.record.content if facts.record else None
    hosts, reason = [], ""
    for host, version in _hosts(path):
        loaded = loading.in_host(path, version, timeout=timeout)
        if loaded.status in {"crashed", "hung"}:
            raise PluginCrashed(f"{path} cannot be loaded: {loaded.message}", hint=f"pluginkit inspect --load {path}")
        if loaded.status == "loaded":
            _has_plugins(path, loaded, plugins)
            hosts.append(host)
        reason = reason or loaded.message
    if not hosts:
        raise CheckFailed(f"No host takes {path}: {reason}", hint=f"pluginkit inspect --load {path}")
    return variants.of_library(path, hosts=tuple(hosts), record=record)


def _has_plugins(path: Path, loaded: loading.Loaded, plugins: Sequence[Member]) -> None:
    there = {(one.name, one.version, one.namespace) for one in loaded.creators}
    for member in plugins:
        one = member.manifest.plugin
        if (one.name, one.version, one.namespace) not in there:
            listed = ", ".join(
                f"{space}::{name} {version}" if space else f"{name} {version}" for name, version, space in there
            )
            raise CheckFailed(
                f"{path} lists {listed}, not {one.name} {one.version} of {member.folder / FILE_NAME}.",
                hint="pluginkit build makes the project's own library.",
            )


def _same_plugins(path: Path, bundle: Bundle, plugins: Sequence[Member]) -> None:
    if bundle.plugins != tuple(plugin_of(one.manifest) for one in plugins):
        raise CheckFailed(
            f"The plugins of {path} are not those of the project: names, signatures and fields must be the same.",
            hint="Pack it from the same revision of the sources.",
        )


def plugin_of(manifest: Manifest) -> BundlePlugin:
    """What a bundle says of a plugin: what its `pluginkit.toml` says of the signature."""

    def tensor(one: Any) -> BundleTensor:
        types = tuple(kind.value for kind in one.types)
        return BundleTensor(
            name=one.name,
            types=types,
            shape=manifest.written(one),
            formats=tuple(kind.value for kind in one.formats),
            alias=one.alias or "",
            upper=one.upper or "",
            opt=one.opt or "",
            valid=one.valid or "",
            values=one.values or (),
        )

    return BundlePlugin(
        name=manifest.plugin.name,
        version=manifest.plugin.version,
        namespace=manifest.plugin.namespace,
        base=", ".join(manifest.plugin.interfaces),
        description=manifest.plugin.description,
        inputs=tuple(map(tensor, manifest.inputs)),
        outputs=tuple(map(tensor, manifest.outputs)),
        fields=tuple(
            PluginField(
                name=one.name,
                type=one.written(),
                default=one.default,
                description=one.description,
                min=one.min,
                max=one.max,
                choices=one.choices,
            )
            for one in manifest.fields
        ),
        workspace=manifest.plugin.workspace or "",
    )


def _source(project: Path) -> BundleSource:
    """The git revision of the project's folder; empty where it isn't in a repository, or git isn't here."""
    try:
        revision = run_process(["git", "-C", str(project), "rev-parse", "HEAD"], timeout=20)
        changes = run_process(["git", "-C", str(project), "status", "--porcelain", "--", "."], timeout=20)
    except Exception:  # noqa: BLE001 - a bundle can be made without git
        return BundleSource()
    if not revision.ok or not changes.ok:
        return BundleSource()
    return BundleSource(revision=revision.stdout.strip(), changed=bool(changes.stdout.strip()))


def _evidence(path: Path, taken: Sequence[Variant]) -> Evidence:
    try:
        data = path.read_bytes()
        report = json.loads(data)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}.", hint="pluginkit test --json FILE writes a report.") from None
    kind = "bench" if isinstance(report, dict) and "copy_rate" in report else "test"
    if not isinstance(report, dict) or "sha256" not in report or not ({"cases", "results"} & report.keys()):
        raise UsageError(
            f"{path} is not a report of pluginkit test or bench.", hint="pluginkit test --json FILE writes one."
        )
    library = f"{digests.ALGORITHM}:{report['sha256']}"
    if library not in {one.digest for one in taken}:
        raise CheckFailed(
            f"{path} is about another library ({digests.short(library)}) than those that are packed.",
            hint="Test the library that you pack: pluginkit test --json FILE, then pluginkit pack, no build between.",
        )
    file = File(digest=digests.of_bytes(data), size=len(data))
    if kind == "bench":
        where = {"GPU": str(report["device"]), "capability": str(report["capability"]), "driver": str(report["driver"])}
        done = sum(one.get("times") is not None for one in report["results"])
        summary = f"{done} of {len(report['results'])} shapes measured"
        passed = 0 < done == len(report["results"])
        return Evidence(**dict(file), kind="bench", library=library, passed=passed, summary=summary, where=where)
    cases = report["cases"]
    count = sum(one["outcome"] == "passed" for one in cases)
    targets = sorted({one["target"] for one in cases})
    where = {
        **{str(key): str(value) for key, value in report.get("runtimes", {}).items()},
        "targets": ", ".join(targets),
    }
    summary = f"{count} of {len(cases)} cases passed"
    passed = report.get("exit_code") == 0
    return Evidence(**dict(file), kind="test", library=library, passed=passed, summary=summary, where=where)
