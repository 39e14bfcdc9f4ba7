"""`pluginkit.lock`: the bundles that a model was resolved to, by digest, for named systems.

version = 1
plugins = ["acme::Scale 1"]          # what the model wanted

[[systems]]
name = "tensorrt=10.13,sm=89"
[[systems.bundles]]
name = "scale"
release = "1.2.0"
bundle = "sha256:..."
variant = "sha256:..."
plugins = ["acme::Scale 1"]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import tomli_w
from pydantic import BaseModel, ConfigDict, ValidationError

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.process import files
from pluginkit.registry.bundles.digests import Digest
from pluginkit.registry.resolving import Identity, Resolution, shown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE_NAME = "pluginkit.lock"
VERSION = 1
_HEAD = "# Written by `pluginkit resolve --lock`. Keep it next to the model, and in version control.\n"


class _LockModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LockedBundle(_LockModel):
    """A bundle, the variant of it, and the plugins that the model wants of it."""

    name: str
    release: str
    bundle: Digest
    variant: Digest
    plugins: tuple[str, ...]


class LockedSystem(_LockModel):
    """What was chosen for a system; its name is that of `--for`."""

    name: str
    bundles: tuple[LockedBundle, ...]


class Lock(_LockModel):
    """A lock file."""

    version: int = VERSION
    plugins: tuple[str, ...]
    systems: tuple[LockedSystem, ...]

    def system(self, name: str) -> LockedSystem:
        """What was chosen for a system.

        Raises:
            CheckFailed: nothing was.
        """
        for one in self.systems:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self.systems)
        raise CheckFailed(
            f"The lock has nothing for {name}; it has: {known}.", hint=f"pluginkit resolve --lock --for {name}"
        )

    def allowed(self, name: str = "") -> dict[str, frozenset[str]]:
        """The digests of the bundles by the plugins that they implement (as `acme::Scale 1`): for a system, or for any.

        Raises:
            CheckFailed: as `system`.
        """
        found: dict[str, set[str]] = {}
        for system in [self.system(name)] if name else self.systems:
            for one in system.bundles:
                for plugin in one.plugins:
                    found.setdefault(plugin, set()).add(one.bundle)
        return {plugin: frozenset(digests) for plugin, digests in found.items()}


def path_for(model: Path) -> Path:
    """Where a model's lock lies."""
    return model.resolve().parent / FILE_NAME


def read(path: Path) -> Lock:
    """Read a lock.

    Raises:
        UsageError: there is none, it is not TOML, or isn't valid.
    """
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"There is no {path}.", hint="pluginkit resolve MODEL.onnx --lock writes it.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.") from None
    if plain.get("version") != VERSION:
        raise UsageError(
            f"{path} is of version {plain.get('version')!r}; this pluginkit knows {VERSION}.", hint="Update pluginkit."
        )
    try:
        return Lock.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {where}: {first['msg']}.", hint="Run pluginkit resolve --lock again.") from None


def write(path: Path, resolutions: Sequence[Resolution]) -> Lock:
    """Write what a model was resolved to, for each system; systems that the file has for the same plugins stay.

    Raises:
        CheckFailed: a resolution finds no library for a plugin.
        UsageError: it can't be written, or what is there is no lock.
    """
    for one in resolutions:
        if missing := [shown(identity) for identity, answer in one.answers.items() if answer.chosen is None]:
            raise CheckFailed(
                f"{one.model} cannot be locked for {one.system.key}: nothing implements {', '.join(missing)}.",
                hint="pluginkit resolve shows why.",
            )
    wanted = tuple(sorted({shown(identity) for one in resolutions for identity in one.answers}))
    systems = [_system(one) for one in resolutions]
    if path.exists() and (before := read(path)).plugins == wanted:
        names = {one.name for one in systems}
        systems = [*(one for one in before.systems if one.name not in names), *systems]
    found = Lock(plugins=wanted, systems=tuple(sorted(systems, key=lambda one: one.name)))
    with files.replacing(path) as temporary:
        temporary.write_text(_HEAD + tomli_w.dumps(found.model_dump(mode="json")), encoding="utf-8")
    return found


def check(lock: Lock, plugins: Sequence[Identity], where: Path) -> None:
    """Hold a lock against what a model wants now.

    Raises:
        CheckFailed: they no longer agree; it names the plugins.
    """
    now, before = {shown(one) for one in plugins}, set(lock.plugins)
    found = [f"the model wants {one}, which is not locked" for one in sorted(now - before)]
    found += [f"{one} is locked, and the model no longer wants it" for one in sorted(before - now)]
    if found:
        raise CheckFailed(
            f"{where} and the model no longer agree:\n" + "\n".join(f"  {line}" for line in found),
            hint="pluginkit resolve MODEL.onnx --lock writes it again.",
        )


def _system(one: Resolution) -> LockedSystem:
    chosen: dict[str, LockedBundle] = {}
    for identity, answer in one.answers.items():
        if answer.chosen is None:
            continue
        got = answer.chosen
        before = chosen[got.digest].plugins if got.digest in chosen else ()
        chosen[got.digest] = LockedBundle(
            name=got.bundle.name,
            release=got.bundle.release,
            bundle=got.digest,
            variant=got.variant.digest,
            plugins=(*before, shown(identity)),
        )
    return LockedSystem(name=one.system.key, bundles=tuple(chosen.values()))
