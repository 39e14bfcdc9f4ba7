"""What a check asks: a creator in this process, and the plugins that it makes of the values that are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from mmap import mmap
from typing import Any

from pluginkit import host
from pluginkit.adoption.answers import PluginAnswers, TakenInputs
from pluginkit.bases import BASES
from pluginkit.dtypes import DType
from pluginkit.host import TensorSpec
from pluginkit.host.bases.batched_plugin import BatchedPlugin
from pluginkit.host.bases.dynamic.plugin import DynamicPlugin
from pluginkit.host.bases.ioext.plugin import IOExtPlugin
from pluginkit.host.bases.static_plugin import StaticPlugin
from pluginkit.host.bases.v2_plugin import Serialized, V2Plugin
from pluginkit.host.bases.v3.lifecycle import BUILD, RUNTIME
from pluginkit.host.bases.v3.plugin import PluginV3
from pluginkit.host.descriptors import Desc, DynamicDesc
from pluginkit.host.expressions import ShapeProgram
from pluginkit.validation.catalog import NothingToCheck

SIZE = 32
"""A dimension where nothing better is known: a whole number of vectors of every format."""
BATCH = 2
"""The largest batch of a plugin that gets it apart from the shapes."""
LAYER = "check"
MOST_OF_AN_ATTEMPT = 1024
"""Bytes."""

AnyPlugin = V2Plugin[Any] | PluginV3


@dataclass(frozen=True)
class Known:
    """What is known of a plugin: the attributes of `Subject` but for its creator."""

    answers: PluginAnswers
    sizes: tuple[tuple[int, ...], ...] = ()
    types: tuple[DType, ...] = ()
    network: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Subject:
    """A creator, and what was found out about its plugin.

    Attributes:
        creator: of a library that is loaded.
        answers: how its plugin is made, and what it takes; with an empty `made` there is none.
        sizes: of each input the dimensions, where a model has them.
        types_given: of each input its type, where a model has them.
        model_network: of each input the dimensions with -1 where the model leaves them open.
        library: the creator's.
        attempts: memory that the process which asked shares: what is written there it finds when this one has ended.
        configured_first: whether `plugin` gives plugins that are configured.
    """

    creator: host.Creator
    answers: PluginAnswers
    sizes: tuple[tuple[int, ...], ...] = ()
    types_given: tuple[DType, ...] = ()
    model_network: tuple[tuple[int, ...], ...] = ()
    library: host.Library | None = None
    attempts: mmap | None = None
    configured_first: bool = False

    def attempt(self, what: str) -> None:
        """Notes what the plugin is about to be given, for the report of a process that ends by it."""
        if self.attempts is not None:
            self.attempts.seek(0)
            self.attempts.write(what.encode(errors="replace")[:MOST_OF_AN_ATTEMPT].ljust(MOST_OF_AN_ATTEMPT, b"\0"))

    def plugin(self) -> AnyPlugin:
        """A new plugin."""
        if not self.answers.made:
            raise NothingToCheck("no plugin could be made")
        if self.creator.kind == "v3":
            plugin = self.creator.create_v3_of(LAYER, self.answers.given)
            plugin.check_capabilities(BUILD)
            return plugin
        made = self.creator.create_of(LAYER, self.answers.given)
        if self.configured_first:
            self.configure(made)
        return made

    def v2(self) -> V2Plugin[Any]:
        """A new plugin of the second generation."""
        plugin = self.plugin()
        assert isinstance(plugin, V2Plugin)
        return plugin

    def v3(self) -> PluginV3:
        """A new IPluginV3."""
        plugin = self.plugin()
        assert isinstance(plugin, PluginV3)
        return plugin

    @cached_property
    def taken(self) -> TakenInputs:
        """The inputs that the plugin takes, of the fewest of them."""
        if not self.answers.taken:
            why = f": asked for the shapes of guessed ones, {'; '.join(self.answers.problems)}"
            hint = "; --model MODEL.onnx gives them"
            unknown = "it is not known which inputs the plugin takes"
            raise NothingToCheck(f"{unknown}{why if self.answers.problems else ''}{hint}")
        return self.answers.taken[0]

    @cached_property
    def row(self) -> tuple[DType, ...]:
        """A combination of types that it takes, of all inputs and outputs; of those that this host knows the first."""
        known = {kind.code: kind for kind in DType}
        for row in self.taken.rows:
            if all(code in known for code in row):
                return tuple(known[code] for code in row)
        raise NothingToCheck("the plugin takes no combination of types that this host has memory of")

    @property
    def _batch_apart(self) -> bool:
        """Whether its class sees shapes without their first dimension."""
        return any(one.batch_apart for one in BASES.values() if one.interface == self.answers.base)

    @cached_property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Its inputs in a network whose dimensions are all constant."""
        kinds: Sequence[DType] = self.types_given
        if not kinds or not self.sizes:
            kinds = self.row[: len(self.taken.ranks)]
        dims = self.sizes or tuple((SIZE,) * rank for rank in self.taken.ranks)
        if self._batch_apart:
            if not all(dims):
                raise NothingToCheck("an input has no batch, which the plugin's class gets apart from the shapes")
            dims = tuple(one[1:] for one in dims)
        return tuple(TensorSpec(kind, one, one, one, one) for kind, one in zip(kinds, dims, strict=True))

    @cached_property
    def network(self) -> tuple[tuple[int, ...], ...]:
        """The inputs' dimensions, -1 where they may change: where the model leaves them open, else the first one."""
        found = self.model_network or tuple((-1, *spec.dims[1:]) if spec.dims else () for spec in self.inputs)
        if all(dim >= 0 for shape in found for dim in shape):
            raise NothingToCheck("no dimension of the inputs is open")
        return found

    @cached_property
    def count(self) -> int:
        """How many outputs it has."""
        return replace(self, configured_first=False).plugin().nb_outputs()

    @property
    def has_inputs(self) -> bool:
        """Whether it is known which inputs the plugin takes."""
        return bool(self.answers.taken or (self.sizes and self.types_given))

    def types(self, plugin: AnyPlugin) -> tuple[DType, ...]:
        """What the plugin answers for its outputs' types."""
        given = tuple(spec.dtype for spec in self.inputs)
        if isinstance(plugin, PluginV3):
            return plugin.output_data_types(self.count, given)
        return tuple(plugin.output_data_type(index, given) for index in range(self.count))

    def shapes(self, plugin: AnyPlugin, dims: Sequence[tuple[int, ...]]) -> tuple[ShapeProgram | tuple[int, ...], ...]:
        """What the plugin answers for its outputs' shapes; only dynamic ones are expressions."""
        if isinstance(plugin, PluginV3):
            return plugin.output_shapes(dims, (), self.count)
        if isinstance(plugin, StaticPlugin):
            return tuple(plugin.output_dimensions(index, dims) for index in range(self.count))
        assert isinstance(plugin, DynamicPlugin)
        return tuple(plugin.output_dimensions(index, dims) for index in range(self.count))

    def outputs(self, plugin: AnyPlugin) -> tuple[TensorSpec, ...]:
        """Its outputs in that network."""
        dims = [spec.dims for spec in self.inputs]
        found = []
        for kind, shape in zip(self.types(plugin), self.shapes(plugin, dims), strict=True):
            own = shape.at(dims, dims) if isinstance(shape, ShapeProgram) else shape
            found.append(TensorSpec(kind, own, own, own, own))
        return tuple(found)

    def descs(self, plugin: AnyPlugin) -> tuple[list[Desc], list[Desc]]:
        """Descriptors of inputs and outputs."""
        return [spec.desc() for spec in self.inputs], [spec.desc() for spec in self.outputs(plugin)]

    def doubled(self) -> Subject:
        """The same with dimensions of twice the size where they may change; itself for a class of static shapes."""
        if self.answers.base not in (DynamicPlugin.INTERFACE, "IPluginV3"):
            return self
        sizes = [spec.dims for spec in self.inputs]
        twice = [
            tuple(2 * size if dim < 0 else size for dim, size in zip(network, dims, strict=True))
            for network, dims in zip(self.network, sizes, strict=True)
        ]
        kinds = tuple(spec.dtype for spec in self.inputs)
        return replace(self, sizes=tuple(twice), types_given=kinds)

    def context(self) -> PluginV3:
        """The plugin of a context, as an engine makes it: of the serialized fields, and attached."""
        restored = self.creator.restore_v3(LAYER, self.v3().fields_to_serialize())
        return restored.attach_to_context(RUNTIME)

    def configured(self) -> AnyPlugin:
        """A new plugin, configured and, of the second generation, initialized."""
        plugin = self.plugin()
        self.configure(plugin)
        if isinstance(plugin, V2Plugin):
            plugin.initialize()
        return plugin

    def configure(self, plugin: AnyPlugin) -> None:
        """Configures a plugin for that network."""
        inputs, outputs = self.descs(plugin)
        if isinstance(plugin, IOExtPlugin):
            plugin.configure_plugin(inputs, outputs)
        elif isinstance(plugin, BatchedPlugin):
            plugin.configure(inputs, outputs, BATCH)
        else:
            given = [[DynamicDesc(one, one.dims, one.dims, one.dims) for one in part] for part in (inputs, outputs)]
            assert isinstance(plugin, (DynamicPlugin, PluginV3))
            plugin.configure_plugin(*given)


def serialized(plugin: AnyPlugin) -> Serialized | tuple[Any, ...]:
    """What an engine would keep of it."""
    return plugin.fields_to_serialize() if isinstance(plugin, PluginV3) else plugin.serialize()
