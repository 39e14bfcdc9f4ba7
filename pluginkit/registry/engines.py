"""What an engine needs: a sidecar file next to it, and whether this system and these stores can load it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.library.problem import Problem
from pluginkit.process import files
from pluginkit.registry import plans
from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.digests import Digest
from pluginkit.registry.bundles.systems import System
from pluginkit.registry.resolving import Identity, PluginResolution, Resolution, Resolver, is_nvidias, shown

SUFFIX = ".plugins.json"
"""Behind the engine's file name."""
SCHEMA = 1


class _NoteModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EnginePlugin(_NoteModel):
    """A plugin that an engine needs, and the library that it was built with."""

    name: str
    version: str
    namespace: str
    bundle: Digest
    variant: Digest
    label: str

    @property
    def identity(self) -> Identity:
        """Name, version and namespace."""
        return self.name, self.version, self.namespace


class Note(_NoteModel):
    """The sidecar file of an engine."""

    kind: Literal["pluginkit.engine"] = "pluginkit.engine"
    schema_version: int = Field(default=SCHEMA, alias="schema")
    engine: Digest
    model: str
    host: str
    tensorrt: str
    sm: int | None
    plugins: tuple[EnginePlugin, ...]


@dataclass(frozen=True)
class Checked:
    """Whether an engine can be loaded.

    Attributes:
        engine: the file.
        by: `note`: what it needs is from its sidecar; `guess`: from its own bytes.
        plugins: what it needs, and what implements it.
        problems: what is missing or differs, the errors first.
        tensorrt: the version that built it, as far as its note or its bytes tell; empty where they don't.
    """

    engine: Path
    by: Literal["note", "guess"]
    plugins: tuple[PluginResolution, ...]
    problems: tuple[Problem, ...]
    tensorrt: str = ""

    @property
    def exit_code(self) -> int:
        """0 if all that it needs is there, else 1."""
        return CheckFailed.exit_code if any(one.level == "error" for one in self.problems) else 0

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "engine": str(self.engine),
            "by": self.by,
            "tensorrt": self.tensorrt,
            "plugins": [
                {"plugin": shown(one.identity), "bundle": one.chosen and one.chosen.digest,
                 "variant": one.chosen and one.chosen.variant.digest}
                for one in self.plugins
            ],
            "problems": [asdict(one) for one in self.problems],
            "exit_code": self.exit_code,
        }  # fmt: skip


def sidecar(engine: Path) -> Path:
    """Where an engine's note lies."""
    return engine.with_name(engine.name + SUFFIX)


def write(engine: Path, resolution: Resolution) -> Note:
    """Write down what an engine needs that was built of a model.

    Raises:
        CheckFailed: a plugin of the model isn't implementations; or the plan's bytes name other plugins.
        UsageError: the engine can't be read, or the note not be written.
    """
    if missing := [shown(identity) for identity, answer in resolution.answers.items() if answer.chosen is None]:
        raise CheckFailed(
            f"No bundle implements {', '.join(missing)}, so what {engine} needs can't be said.",
            hint=f"pluginkit resolve {resolution.model} shows why.",
        )
    inside = plans.read(engine).plugins
    foreign = [
        shown(one) for one in inside or () if one not in resolution.answers and not is_nvidias(one, resolution.system)
    ]
    if foreign:
        raise CheckFailed(
            f"{engine} holds {', '.join(foreign)}, which {resolution.model} doesn't: it was built of another model.",
            hint="Name the model that the engine was built of.",
        )
    plugins = tuple(
        EnginePlugin(
            name=name,
            version=version,
            namespace=namespace,
            bundle=answer.chosen.digest,
            variant=answer.chosen.variant.digest,
            label=answer.chosen.bundle.label,
        )
        for (name, version, namespace), answer in resolution.answers.items()
        if answer.chosen
    )
    system = resolution.system
    found = Note(
        engine=digests.of_file(engine),
        model=Path(resolution.model).name,
        host=system.host or "",
        tensorrt=system.tensorrt,
        sm=system.sm or None,
        plugins=plugins,
    )
    with files.replacing(sidecar(engine)) as temporary:
        plain = found.model_dump(mode="json", by_alias=True)
        temporary.write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")
    return found


def read(engine: Path) -> Note | None:
    """An engine's note; None if there is none.

    Raises:
        UsageError: it can't be read, or a later pluginkit has written it.
    """
    path = sidecar(engine)
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}", hint="pluginkit engine note writes it again.") from None
    if isinstance(plain, dict) and plain.get("schema") != SCHEMA:
        raise UsageError(f"{path} is of schema version {plain.get('schema')!r}; this pluginkit knows {SCHEMA}.")
    try:
        return Note.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {where}: {first['msg']}.", hint="pluginkit engine note writes it again.") from None


def check(engine: Path, resolver: Resolver) -> Checked:
    """Say whether a system and stores have what an engine needs.

    Raises:
        UsageError: the engine or its note can't be read.
    """
    note = read(engine)
    problems: list[Problem] = []
    tensorrt = ""
    if note and note.engine != digests.of_file(engine):
        problems.append(
            Problem(
                "warning",
                f"{sidecar(engine).name} is about another file: the engine was changed or rebuilt.",
                f"pluginkit engine note {engine} --from MODEL.onnx",
            )
        )
        note = None
    if note is None:
        guess = plans.read(engine)
        if guess.plugins is None:
            problems.append(
                Problem(
                    "error",
                    f"It has {guess.layers} plugin layers, and its bytes don't show which plugins they are.",
                    f"pluginkit engine note {engine} --from MODEL.onnx",
                )
            )
        wanted = [one for one in guess.plugins or () if not is_nvidias(one, resolver.system)]
        answers = [resolver.plugin(one) for one in wanted]
        problems += _sms(guess.sms, resolver.system)
        tensorrt = guess.tensorrt
    else:
        tensorrt = note.tensorrt if note.host == "tensorrt" else ""
        meant = {shown(one.identity): frozenset({one.bundle}) for one in note.plugins}
        exact = Resolver(resolver.stores, resolver.system, meant, policy=resolver.policy)
        found = [exact.plugin(one.identity) for one in note.plugins]
        answers = [one if one.chosen else resolver.plugin(one.identity) for one in found]
        problems += _differences(note, answers, resolver)
    problems += [_missing(one) for one in answers if one.chosen is None]
    problems.sort(key=lambda one: one.level)
    return Checked(engine, "note" if note else "guess", tuple(answers), tuple(problems), tensorrt)


def _missing(answer: PluginResolution) -> Problem:
    reasons = "".join(f"\n  {one.bundle} ({one.target}): {reason}" for one in answer.rejected for reason in one.reasons)
    if reasons:
        return Problem(
            "error",
            f"{shown(answer.identity)}: no variant fits:{reasons}",
            answer.fix("Add a bundle that has one."),
        )
    return Problem(
        "error",
        f"{shown(answer.identity)} is in no store.",
        "pluginkit registry add puts its bundle in.",
    )


def _differences(note: Note, answers: Sequence[PluginResolution], resolver: Resolver) -> list[Problem]:
    found = []
    for needed, answer in zip(note.plugins, answers, strict=True):
        got = answer.chosen
        if got and got.variant.digest != needed.variant:
            what = "another variant of that bundle" if got.digest == needed.bundle else f"{got.bundle.label}"
            found.append(
                Problem(
                    "warning",
                    f"{shown(needed.identity)} was {needed.label} when the engine was built; here is {what}.",
                    "What it reads and computes must be the same: the engine holds the plugin's serialized data.",
                )
            )
    system = resolver.system
    if note.host and system.host and (note.host, note.tensorrt) != (system.host, system.tensorrt):
        found.append(
            Problem(
                "warning",
                f"It was built with {note.host} {note.tensorrt}; here is {system.host} {system.tensorrt}.",
                "Engines load in the version that built them, unless they were built version compatible.",
            )
        )
    return found + (_sms((note.sm,), system) if note.sm else [])


def _sms(sms: Sequence[int], system: System) -> list[Problem]:
    if not sms or not system.sm or system.sm in sms:
        return []
    built = ", ".join(f"sm_{one}" for one in sms)
    return [
        Problem(
            "warning",
            f"It was built for {built}; the GPU is sm_{system.sm}.",
            "Engines run on the GPU that they were built for, unless they were built hardware compatible.",
        )
    ]
