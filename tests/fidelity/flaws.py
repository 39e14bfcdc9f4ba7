"""What a case of the generator can have wrong, and by which words NVIDIA's refusal is known to be for that."""

from __future__ import annotations

from dataclasses import dataclass

BASES = ("v2", "v3")
"""IPluginV2DynamicExt, which NVIDIA gets through pluginkit's adapter, and IPluginV3."""
FAMILIES = ("plain", "chain", "neighbour", "loop", "cond")


@dataclass(frozen=True)
class Flaw:
    """One thing that is wrong.

    Attributes:
        name: its name.
        reason: a regular expression that NVIDIA's message matches; empty for leniencies.
        families: of the networks that can have it.
        fault: the number of chameleon.h's `Fault`, if it is one of the plugin.
        dynamic: whether a dimension must be open for it.
        lenient: the row of pluginkit.runtimes.rtx.leniencies that it belongs to.
        weight: how often it is drawn, compared with others.
        bases: of the plugins that can have it.
    """

    name: str
    reason: str = ""
    families: tuple[str, ...] = FAMILIES
    fault: int = 0
    dynamic: bool = False
    lenient: str = ""
    weight: float = 1.0
    bases: tuple[str, ...] = BASES


NO_FORMAT = "supported plugin/custom tactic format"
SHAPE = "output shape computation failed with a non-zero return code"
NOT_FOUND = "Plugin not found, are the plugin name, version, and namespace correct"
OUTPUTS = "Node has more output tensors than TRT expected"
FLAWS: tuple[Flaw, ...] = (
    Flaw("no-format", NO_FORMAT, weight=2),
    Flaw("look-ahead", NO_FORMAT, fault=11),
    Flaw("wrong-output-type", NO_FORMAT),
    Flaw("never-linear", NO_FORMAT, fault=13, weight=0.5),
    Flaw("unknown-output-type", "Unlisted DataType 42", fault=10),
    Flaw("null-plugin", "Could not create the plugin", fault=1),
    Flaw("null-in-a-shape", SHAPE, fault=2, bases=("v2",)),
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
    Flaw("types-fail", "getOutputDataTypes reported a non-zero return code", fault=14, bases=("v3",)),
    Flaw("shapes-fail", SHAPE, fault=15, bases=("v3",)),
    Flaw("configure-fails", "configurePlugin(V3)? reported a non-zero return code", fault=16, bases=("v3",)),
    Flaw("alias-beyond", "Aliased input index for output at index 0 is invalid", fault=17, bases=("v3",)),
    Flaw("alias-twice", "is already aliased to input at index 0", ("plain", "chain", "neighbour"), bases=("v3",)),
    Flaw("no-build", "kBUILD must be supported by plugin", fault=18, bases=("v3",)),
    Flaw("size-not-scalar", "declare0DSizeTensor", ("plain",), bases=("v3",)),
    Flaw("size-of-float", "canBeSizeTensor", ("plain",), bases=("v3",)),
    Flaw("plugin-name", fault=4, lenient="plugin-name", weight=0.5),
    Flaw("plugin-version", fault=5, lenient="plugin-version", weight=0.5),
    Flaw("null-fields", fault=6, lenient="null-fields", weight=0.5, bases=("v2",)),
    Flaw("null-clone", fault=7, lenient="null-clone", weight=0.3),
    Flaw("null-dimension", fault=2, lenient="null-dimension", weight=0.3, bases=("v3",)),
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
