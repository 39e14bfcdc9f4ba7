"""What a case can have wrong, and by which words TensorRT 8.5.3's refusal is known to be for that."""

from __future__ import annotations

from dataclasses import dataclass

ALL = ("plain", "chain", "neighbour", "before", "after", "then", "else", "both", "outside")
EVERY = ("dynamic", "ioext", "v2ext", "v2")


@dataclass(frozen=True)
class Flaw:
    """One thing that is wrong.

    Attributes:
        name: its name.
        fault: the number of chameleon.h's `Fault`, if it is one of the plugin.
        bases: of the plugins that can have it.
        families: of the networks that can.
        dynamic: whether a dimension must be open for it.
        weight: how often it is drawn, compared with others.
    """

    name: str
    fault: int = 0
    bases: tuple[str, ...] = EVERY
    families: tuple[str, ...] = ALL
    dynamic: bool = False
    weight: float = 1.0


ONLY = ("dynamic",)
BY_POSITION = ("dynamic", "ioext")
FLAWS: tuple[Flaw, ...] = (
    Flaw("null-plugin", 1, weight=0.7),
    Flaw("null-in-a-shape", 2, ONLY, weight=0.3),
    Flaw("huge-workspace", 3),
    Flaw("plugin-name", 4),
    Flaw("plugin-version", 5),
    Flaw("unserializable", 6, weight=0.5),
    Flaw("null-clone", 7, weight=0.3),
    Flaw("minus-one-dimensions", 8, weight=0.5),
    Flaw("nine-dimensions", 9, weight=0.3),
    Flaw("unknown-output-type", 10, ("dynamic", "ioext", "v2ext"), weight=0.5),
    Flaw("look-ahead", 11, BY_POSITION),
    Flaw("never-linear", 13, weight=0.7),
    Flaw("initialize-fails", 19),
    Flaw("enqueue-fails", 20),
    Flaw("no-format", bases=BY_POSITION, weight=1.5),
    Flaw("wrong-output-type", bases=BY_POSITION),
    Flaw("no-outputs"),
    Flaw("too-few-outputs"),
    Flaw("negative-dimension", families=("plain", "chain")),
    Flaw("negative-at-min", bases=ONLY, families=("plain", "chain"), dynamic=True),
    Flaw("negative-at-max", bases=ONLY, families=("plain", "chain"), dynamic=True),
    Flaw("huge-output", families=("plain", "chain")),
    Flaw("division-by-zero", bases=ONLY, families=("plain", "chain"), weight=0.5),
    Flaw("neighbour-of-another-shape", families=("neighbour",)),
    Flaw("min-above-opt", bases=ONLY, dynamic=True),
    Flaw("opt-above-max", bases=ONLY, dynamic=True),
    Flaw("profile-against-constant", bases=ONLY, dynamic=True),
    Flaw("profile-without-input", bases=ONLY, dynamic=True),
    Flaw("shape-outside", bases=ONLY, families=("plain", "chain"), dynamic=True),
    Flaw("open-dimensions", bases=("ioext", "v2ext"), families=("plain", "chain")),
    Flaw("v2-explicit", bases=("v2",), families=("plain", "chain")),
    Flaw("dynamic-implicit", bases=ONLY, families=("plain", "chain")),
    Flaw("type-half-without-flag", bases=BY_POSITION, families=("plain", "chain")),
    Flaw("type-int8-without-flag", bases=BY_POSITION, families=("plain",), weight=0.7),
    Flaw("int8-at-end", bases=BY_POSITION, families=("plain", "chain")),
    Flaw("calibration-without-float", bases=BY_POSITION, families=("plain",), weight=0.7),
)
