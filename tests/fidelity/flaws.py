"""What a case of the generator can have wrong, and by which words NVIDIA's refusal is known to be for that."""

from __future__ import annotations

from dataclasses import dataclass

FAMILIES = ("plain", "chain", "neighbour", "loop", "cond")


@dataclass(frozen=True)
class Flaw:
    """One thing that is wrong.

    Attributes:
        name: its name.
        reason: a regular expression that NVIDIA's message matches; empty for leniencies.
        families: of the networks that can have it.
        fault: the number of chameleon.cpp's `Fault`, if it is one of the plugin.
        dynamic: whether a dimension must be open for it.
        lenient: the row of pluginkit.runtimes.rtx.leniencies that it belongs to.
        known: why the host refuses what NVIDIA takes, where that is a limit of the host: see docs/fidelity.md.
        weight: how often it is drawn, compared with others.
    """

    name: str
    reason: str = ""
    families: tuple[str, ...] = FAMILIES
    fault: int = 0
    dynamic: bool = False
    lenient: str = ""
    known: str = ""
    weight: float = 1.0


NO_FORMAT = "supported plugin/custom tactic format"
SHAPE = "output shape computation failed with a non-zero return code"
NOT_FOUND = "Plugin not found, are the plugin name, version, and namespace correct"
OUTPUTS = "Node has more output tensors than TRT expected"
FLAWS: tuple[Flaw, ...] = (
    Flaw("no-format", NO_FORMAT, weight=2),
    Flaw("look-ahead", NO_FORMAT, fault=11),
    Flaw("wrong-output-type", NO_FORMAT),
    Flaw("never-linear", NO_FORMAT, fault=13, weight=0.5, known="the host's tensors are all linear"),
    Flaw("unknown-output-type", "Unlisted DataType 42", fault=10),
    Flaw("null-plugin", "Could not create the plugin", fault=1),
    Flaw("null-in-a-shape", SHAPE, fault=2),
    Flaw("huge-workspace", "Failed to create any myelin custom layer tactic", fault=3),
    Flaw("minus-one-dimensions", SHAPE, fault=8),
    Flaw("nine-dimensions", SHAPE, fault=9),
    Flaw("no-outputs", OUTPUTS),
    Flaw("too-few-outputs", OUTPUTS, ("plain", "chain", "neighbour", "loop")),
    Flaw("negative-dimension", "inherently negative length", ("plain", "chain")),
    Flaw("huge-output", "exceeds the maximum supported element count|tensor volume exceeds", ("plain", "chain")),
    Flaw("no-such-version", NOT_FOUND),
    Flaw("no-such-namespace", NOT_FOUND),
    Flaw("min-above-opt", "MIN<=OPT<=MAX", dynamic=True),
    Flaw("opt-above-max", "MIN<=OPT<=MAX", dynamic=True),
    Flaw("profile-against-constant", "static dimensions that don't match|Dimension mismatch for tensor"),
    Flaw("profile-without-input", "is missing dimensions in profile", dynamic=True),
    Flaw(
        "state-changes-shape",
        "IRecurrenceLayer (have different shapes|must have inputs with same shape)",
        ("loop",),
        weight=3,
    ),
    Flaw(
        "state-changes-type",
        "must have inputs with implicitly convertible types|the parsed type is",
        ("loop",),
        weight=2,
    ),
    Flaw("branches-of-other-types", "must have inputs of same type", ("cond",), weight=2),
    Flaw("branches-of-other-ranks", "(?i)must have inputs with equal ranks", ("cond",), weight=2),
    Flaw("neighbour-of-another-shape", "broadcast dimensions must be conformable", ("neighbour",), weight=2),
    Flaw("plugin-name", fault=4, lenient="plugin-name", weight=0.5),
    Flaw("plugin-version", fault=5, lenient="plugin-version", weight=0.5),
    Flaw("null-fields", fault=6, lenient="null-fields", weight=0.5),
    Flaw("null-clone", fault=7, lenient="null-clone", weight=0.3),
    Flaw("division-by-zero", lenient="division-by-zero", weight=0.5),
    Flaw("negative-at-min", "", ("plain", "chain"), dynamic=True, lenient="negative-dimension", weight=0.5),
    Flaw("negative-at-max", "", ("plain", "chain"), dynamic=True, lenient="negative-dimension", weight=0.5),
    Flaw("branches-of-other-shapes", "", ("cond",), lenient="branch-shapes", weight=0.5),
    Flaw("int8-across-if", "", ("cond",), lenient="int8-across-if", weight=0.5),
)
"""What is drawn. What the two refuse of these is known beforehand."""

WILD = Flaw("wild")
"""Everything by chance, so nothing is known beforehand: NVIDIA says whether it is right."""

LENIENT = {
    "branch-shapes": r"output \d+ is (\w+) \[[^]]*\] in then_branch and \1 \[",
    "negative-dimension": r"is -\d+ for inputs of the shapes",
    # States of other types and ranks are refused by both.
    "constant-state": r"state \d+ is (\w+) \[[^]]*\] before a trip and \1 \[",
    "neighbour-shapes": r"binary operator 'Add'",
}
"""Rows of the leniencies that a wild case belongs to by the host's words; `int8-scalar` is seen by the inputs."""
