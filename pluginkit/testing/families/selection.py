"""Which families a run takes: by name or by group, and only those that can hold the plugin."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pluginkit.errors import NothingSelected, UsageError
from pluginkit.manifest import Manifest
from pluginkit.testing.families import FAMILIES, Family
from pluginkit.testing.families.base import Setting

SIZED = (
    "an output has a size that only enqueue knows; the networks made of ONNX models hold it, in loops and conditionals "
    "padded to its upper bound"
)
SHAPED = (
    "an input is a shape input, for which TensorRT-RTX's process ends in loops and conditionals; the networks made of "
    "ONNX models hold it there, as a constant for NVIDIA's builder"
)


@dataclass(frozen=True)
class Offered:
    """A family, and why it cannot hold a plugin (empty if it can)."""

    family: Family
    refusal: str


def offered(manifest: Manifest) -> list[Offered]:
    """Every family, with its obstacle to a signature, if any. Shapes and kinds are the same in every precision."""
    setting = Setting(manifest, manifest.precisions()[0], {})

    def obstacle(family: Family) -> str:
        if manifest.size_tensors() and family.BY_API:
            return SIZED
        return SHAPED if manifest.shape_inputs() and not family.SHAPE_INPUTS else family.refusal(setting)

    return [Offered(family, obstacle(family)) for family in FAMILIES.values()]


def choose(manifest: Manifest, wanted: Iterable[str] | None) -> list[Family]:
    """The families of a run.

    Args:
        manifest: the signature.
        wanted: names and groups (`loop` is every loop-...); None means all that can hold the plugin.

    Raises:
        UsageError: no such network, or one named alone (or a whole group) that cannot hold the plugin.
        NothingSelected: nothing is named.
    """
    every = {one.family.NAME: one for one in offered(manifest)}
    if wanted is None:
        return [one.family for one in every.values() if not one.refusal]
    chosen: dict[str, Family] = {}
    names = list(dict.fromkeys(wanted))
    for name in names:
        asked = [every[family.NAME] for family in called(name)]
        can = [one.family for one in asked if not one.refusal]
        if not can:
            raise UsageError(
                f"The network '{name}' cannot hold {manifest.plugin.name}: {asked[0].refusal}.",
                hint="pluginkit networks lists which can, and why the others cannot.",
            )
        chosen.update({family.NAME: family for family in can})
    if not names:
        raise NothingSelected("No network is selected.", hint=f"The networks are: {', '.join(FAMILIES)}.")
    return list(chosen.values())


def choose_ranked(ranked: Sequence[Manifest], wanted: Iterable[str] | None) -> list[list[Family]]:
    """The families of each rank of a signature; one that is asked for must be able to hold the plugin at some rank.

    Raises:
        UsageError, NothingSelected: as `choose`.
    """
    if wanted is None or len(ranked) == 1:
        return [choose(one, wanted) for one in ranked]
    names = list(dict.fromkeys(wanted))
    found: list[list[Family]] = [[] for _ in ranked]
    for name in names:
        refused = []
        for one, families in zip(ranked, found, strict=True):
            held = [each.family for each in offered(one) if not each.refusal]
            mine = [family for family in called(name) if family in held]
            families += [family for family in mine if family not in families]
            refused += [] if mine else [one]
        if len(refused) == len(ranked):
            choose(refused[0], [name])
    if not names:
        choose(ranked[0], names)
    return found


def called(name: str) -> list[Family]:
    """The families of a name, or of a group (`loop` is every loop-...).

    Raises:
        UsageError: there is none.
    """
    if name in FAMILIES:
        return [FAMILIES[name]]
    found = [family for family in FAMILIES.values() if family.group == name]
    if not found:
        raise _unknown(name)
    return found


def _unknown(name: str) -> UsageError:
    groups = {family.group: None for family in FAMILIES.values()}
    close = difflib.get_close_matches(name, [*FAMILIES, *groups], n=1)
    return UsageError(
        f"There is no network '{name}'" + (f"; did you mean '{close[0]}'?" if close else "."),
        hint=f"The networks are: {', '.join(FAMILIES)}; a first word like loop means all of its kind.",
    )
