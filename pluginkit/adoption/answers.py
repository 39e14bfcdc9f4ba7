"""What the questions to a plugin find out, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pluginkit.errors import UsageError

FieldValue = tuple[str, int, bytes | None, int]
"""A field as a creator gets it: its name, `nvinfer1::PluginFieldType`, data and length in elements."""


@dataclass(frozen=True)
class ListedField:
    """A field that a creator lists. `type` is the number of `nvinfer1::PluginFieldType`, `length` is in elements."""

    name: str
    type: int
    length: int


@dataclass(frozen=True)
class ListedCreator:
    """A creator, by its place in what getCreators answers. `kind` is `v2` or `v3`; `where` tells it from that of its
    name in other layouts, where the two are of different kinds."""

    index: int
    name: str
    version: str
    namespace: str
    kind: str
    fields: tuple[ListedField, ...]
    where: str = ""

    @property
    def label(self) -> str:
        """As results name it."""
        return f"{self.name} {self.version}" + (f" ({self.where})" if self.where else "")

    @property
    def identity(self) -> tuple[str, str, str]:
        """What a registry knows it by. Its place may be another one in the other layout."""
        return self.name, self.version, self.namespace

    @property
    def full_name(self) -> str:
        """As people name it in options."""
        return f"{self.name}:{self.version}"


@dataclass(frozen=True)
class SizeTensor:
    """An output that carries a dimension which only enqueue knows: `upper` and `opt` are what a plugin declares of it,
    as expressions of the inputs' dimensions; empty text where there is none."""

    output: int
    upper: str
    opt: str


@dataclass(frozen=True)
class OutputShapes:
    """The outputs' dimensions as expressions, and the size tensors that they may name."""

    dims: tuple[tuple[str, ...], ...]
    sizes: tuple[SizeTensor, ...] = ()


@dataclass(frozen=True)
class TakenInputs:
    """A number of inputs and their ranks that a plugin takes.

    Attributes:
        ranks: of each input.
        shapes: of each output its dimensions, as expressions of `d0_1` (dimension 1 of input 0) and
            `size_of_output_1` (what that size tensor carries); empty text where it has no form in a pluginkit.toml.
        rows: combinations of types that it takes, of all inputs and then all outputs, as numbers of
            `nvinfer1::DataType`; all tensors are linear.
        sizes: the outputs that are size tensors.
    """

    ranks: tuple[int, ...]
    shapes: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[int, ...], ...]
    sizes: tuple[SizeTensor, ...] = ()


@dataclass(frozen=True)
class PluginAnswers:
    """What is known of the plugin of one creator.

    Attributes:
        base: the C++ class; empty where no plugin could be made.
        given: the fields that the plugin was made of.
        made: how its fields were found: `nothing` (it needs none), `model`, `ones`, `zeros`, `draws`; empty: no plugin
            was made.
        defaults: the values of fields that the creator takes where they are not given, as far as they show.
        needed: the fields without which it makes no plugin, of those that were given.
        outputs: how many; 0 where it is not known.
        taken: for each number of inputs that it takes one row.
        other_ranks: for each input of the least number of them, which ranks it takes while the others stay.
        formats: names of tensor formats that go with a row of types, by the row.
        shape_fields: the int32 fields that an output's shape depends on.
        every_rank: whether it takes its inputs in each rank from 1 to 5, and its outputs have the first one's
            dimensions.
        aliases: of each output the input whose memory it is written into, None for its own; empty where none is.
        problems: a sentence for each question that ended its process, once each.
    """

    base: str = ""
    given: tuple[FieldValue, ...] = ()
    made: str = ""
    defaults: dict[str, float | int] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    outputs: int = 0
    taken: tuple[TakenInputs, ...] = ()
    other_ranks: tuple[tuple[int, ...], ...] = ()
    formats: dict[tuple[int, ...], tuple[str, ...]] = field(default_factory=dict)
    shape_fields: tuple[str, ...] = ()
    every_rank: bool = False
    aliases: tuple[int | None, ...] = ()
    problems: tuple[str, ...] = ()


def selected(creators: Sequence[ListedCreator], wanted: Sequence[str]) -> list[ListedCreator]:
    """The creators that the user has named, as `Name` or `Name:version`; all where he has named none.

    Raises:
        UsageError: there is no such creator.
    """
    names = {name for one in creators for name in (one.name, one.full_name)}
    for name in wanted:
        if name not in names:
            listed = ", ".join(one.full_name for one in creators)
            raise UsageError(f"The library has no creator {name}.", hint=f"It has {listed}.")
    return [one for one in creators if not wanted or {one.name, one.full_name} & set(wanted)]
