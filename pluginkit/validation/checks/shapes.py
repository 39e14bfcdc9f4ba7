"""Checks of the outputs that a plugin promises: how many, of which types and shapes."""

from __future__ import annotations

from pluginkit.demands import take_warnings
from pluginkit.host import Finding, ShapeProgram
from pluginkit.host.bases.ioext.plugin import IOExtPlugin
from pluginkit.host.bases.v2_plugin import V2Plugin
from pluginkit.validation.catalog import NothingToCheck, check
from pluginkit.validation.subject import AnyPlugin, Subject

_GROUP = "shapes"
_RUNTIME = "NvInferRuntime.h"


def name_of(plugin: AnyPlugin, v2: str, v3: str) -> str:
    """A method's C++ name, which differs between the generations."""
    return plugin.name_of(v2) if isinstance(plugin, V2Plugin) else f"IPluginV3OneBuild::{v3}"


@check(
    "T1",
    group=_GROUP,
    level=1,
    fix="Return a constant, or what createPlugin's fields say.",
)
def _count(subject: Subject) -> None:
    plugin = subject.plugin()
    before = plugin.nb_outputs()
    if subject.has_inputs:
        subject.configure(plugin)
        after = plugin.nb_outputs()
        if after != before:
            message = f"answered {before} before configurePlugin and {after} after it"
            raise Finding(name_of(plugin, "getNbOutputs", "getNbOutputs"), message, rule="T1")


@check(
    "T6",
    group=_GROUP,
    level=1,
    fix="Answer a type for each index, as a rule that of an input.",
)
def _types(subject: Subject) -> None:
    subject.types(subject.plugin())


@check(
    "T9",
    group=_GROUP,
    level=1,
    fix="Write nbDims and every d[i], by exprBuilder.constant and exprBuilder.operation.",
)
def _shapes(subject: Subject) -> None:
    subject.outputs(subject.plugin())


@check(
    "T10",
    group=_GROUP,
    level=3,
    of=("dynamic", "v3"),
    fix="Compute with expressions alone; a constant read off one input shape is not an expression.",
)
def _both_ways(subject: Subject) -> None:
    plugin = subject.plugin()
    sizes = [spec.dims for spec in subject.inputs]
    open_ = subject.network
    try:
        dynamic = subject.shapes(plugin, open_)
    except Finding as error:
        raise NothingToCheck(f"no shape for dynamic dimensions: {error.message}") from None
    for index, (one, other) in enumerate(zip(dynamic, subject.shapes(plugin, sizes), strict=True)):
        assert isinstance(one, ShapeProgram)
        assert isinstance(other, ShapeProgram)
        symbolic, constant = one.at(open_, sizes), other.at(sizes, sizes)
        if symbolic != constant:
            raise Finding(
                name_of(plugin, "getOutputDimensions", "getOutputShapes"),
                f"output {index} for inputs of {sizes}: {list(constant)} where the network's dimensions are constant, "
                f"{list(symbolic)} where some of them are dynamic",
                rule="T10",
            )


@check(
    "T11",
    group=_GROUP,
    level=3,
    of=("dynamic", "v3"),
    fix="Ask isConstant() first.",
)
def _constants(subject: Subject) -> None:
    plugin = subject.plugin()
    subject.shapes(plugin, subject.network)


@check(
    "T12",
    group=_GROUP,
    level=3,
    of=("dynamic", "v3"),
    fix="Keep numbers, not expressions.",
)
def _expressions(subject: Subject) -> None:
    plugin = subject.plugin()
    for _ in range(2):
        subject.shapes(plugin, [spec.dims for spec in subject.inputs])
    plugin.destroy()


@check(
    "T18",
    group=_GROUP,
    level=3,
    fix="Answer by the arguments and the creation state alone.",
)
def _ask_shapes_again(subject: Subject) -> None:
    plugin = subject.plugin()
    first, second = subject.outputs(plugin), subject.outputs(plugin)
    if first != second:
        method = name_of(plugin, "getOutputDimensions", "getOutputShapes")
        raise Finding(method, f"answered {[one.dims for one in first]}, and then otherwise", rule="T18")


@check(
    "C17",
    group=_GROUP,
    level=3,
    of=("ioext",),
    fix="Return false.",
)
def _broadcast(subject: Subject) -> None:
    plugin = subject.plugin()
    assert isinstance(plugin, IOExtPlugin)
    take_warnings()
    plugin.check_broadcast(len(subject.inputs), subject.count)
