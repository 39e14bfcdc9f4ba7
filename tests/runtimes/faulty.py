"""Plugins that NVIDIA must refuse, in a network of every family: each a named control with its expected reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pluginkit.dtypes import DType
from pluginkit.evaluators.rtx.negative_controls import Control
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network
from pluginkit.testing.families import FAMILIES
from pluginkit.testing.families.api import forms
from pluginkit.testing.families.base import Setting
from pluginkit.testing.plan import field_values, plan
from pluginkit.testing.reference import Reference

TOML = """
[plugin]
name = "Refused"

[[inputs]]
name = "x"
types = ["float32", "float16", "int8"]
shape = ["n", "c"]

[[outputs]]
name = "y"
types = ["float32", "float16", "int8"]
shape = ["n", "c"]

[[fields]]
name = "fault"
type = "int32"
default = {fault}

[[profiles]]
name = "default"
symbols = {{ n = [1, 2, 4], c = [1, 3, 8] }}
"""

ONE_EACH = ("plain", "loop-count", "cond-then")
"""Of these each fault concerns one at least."""
LOOPS = (
    "loop-count", "loop-while", "loop-zero-trips", "loop-in-if", "loop-in-loop",
    "api-loop-count", "api-loop-while", "api-loop-count-while",
)  # fmt: skip
"""The networks of a family or form in which the plugin stands in a recurrence."""
BRANCHES = ("cond-then", "cond-else", "if-in-loop", "if-in-if", "api-cond-empty")
"""Those in which it stands in one branch of a conditional: if it grows, the branches have different shapes."""


@dataclass(frozen=True)
class Fault:
    """A value of the field `fault`.

    Attributes:
        name: what is wrong.
        library: `refused` or `refused_v3`.
        value: the field's value.
        reason: a regular expression that NVIDIA's message matches.
        precision: in which it shows.
        only: the families and forms in which it is wrong; none: in all.
    """

    name: str
    library: str
    value: int
    reason: str
    precision: DType = DType.FLOAT32
    only: tuple[str, ...] = ()


NO_FORMAT = "supported plugin/custom tactic format"
INT32 = (
    "(?i)type is int32 which does not match|implicitly convertible types"
    r"|must have (inputs of same type|same input types)\..* int32"
)
"""What the plugin's output meets: the network's output, a recurrence, a branch of a conditional, an operator."""
UNEQUAL_BRANCHES = r"graphScope\.cpp::analyze::396|MyelinCheckException: utils\.cpp:3613"
"""RTX has no message for branches of different shapes: one of two assertions of its own ends the build."""
FAULTS = (
    Fault("no-format", "refused", 1, NO_FORMAT),
    Fault("formats-look-ahead", "refused", 2, NO_FORMAT),
    Fault("wrong-output-type", "refused", 3, INT32),
    Fault("null-in-a-shape", "refused", 4, r"output shape computation failed with a non-zero return code: -1"),
    Fault("null-from-createPlugin", "refused", 5, "Could not create the plugin"),
    Fault("huge-workspace", "refused", 6, "Failed to create any myelin custom layer tactic"),
    Fault("int8-into-fp32-only", "refused", 7, NO_FORMAT, DType.INT8),
    Fault("plugin-grows-in-a-recurrence", "refused", 8, "IRecurrenceLayer have different shapes", only=LOOPS),
    Fault("plugin-grows-in-a-branch", "refused", 8, UNEQUAL_BRANCHES, only=BRANCHES),
    Fault("error-from-configure", "refused_v3", 1, "configurePluginV3 reported a non-zero return code: 1"),
    Fault("error-from-shapes", "refused_v3", 2, "output shape computation failed with a non-zero return code: 1"),
    Fault("error-from-types", "refused_v3", 3, "getOutputDataTypes reported a non-zero return code: 1"),
)


def manifest(fault: int = 0) -> Manifest:
    """The signature, with that fault."""
    return Manifest.parse(TOML.format(fault=fault))


def networks(signature: Manifest, families: Sequence[str] = ("plain", "loop-count", "cond-both")) -> dict[str, Network]:
    """The ONNX networks by their ids."""

    def reference(x: Any, *, fault: int) -> Any:
        return x * 1.0

    made = plan(signature, Reference(signature, reference, __file__), families=families, random=0)
    return {one.id: one for one in made.usual}


def setting(signature: Manifest, precision: DType = DType.FLOAT32) -> Setting:
    return Setting(signature, precision, field_values(signature), {"x": 0.125, "y": 0.125})


def of(fault: Fault, families: Sequence[str] = ONE_EACH) -> Iterator[Control]:
    """The fault in every family that it concerns."""
    signature = manifest(fault.value)
    kind = fault.precision
    concerned = [name for name in families if not fault.only or name in fault.only]
    onnx = [name for name in concerned if not FAMILIES[name].BY_API]
    made = networks(signature, onnx) if onnx else {}
    found: list[Any] = [one for one in made.values() if one.precision is kind]
    found += [forms.make(setting(signature, kind), name) for name in concerned if FAMILIES[name].BY_API]
    for network in found:
        yield Control(f"{network.id}/{fault.name}", fault.name, fault.reason, network)
