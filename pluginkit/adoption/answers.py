"""What the questions to a plugin find out, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    """A creator, by its place in what getCreators answers. `kind` is `v2` or `v3`."""

    index: int
    name: str
    version: str
    namespace: str
    kind: str
    fields: tuple[ListedField, ...]


@dataclass(frozen=True)
class TakenInputs:
    """A number of inputs and their ranks that a plugin takes.

    Attributes:
        ranks: of each input.
        shapes: of each output its dimensions, as expressions of `d0_1` (dimension 1 of input 0); empty text where
            it depends on what the plugin computes or has no form in a pluginkit.toml.
        rows: combinations of types that it takes, of all inputs and then all outputs, as numbers of
            `nvinfer1::DataType`; all tensors are linear.
    """

    ranks: tuple[int, ...]
    shapes: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class PluginAnswers:
    """What is known of the plugin of one creator.

    Attributes:
        base: the C++ class; empty where no plugin could be made.
        given: the fields that the plugin was made of.
        made: how its fields were found: `nothing` (it needs none), `model`, `ones`, `zeros`; empty: no plugin was made.
        defaults: the values of fields that the creator takes where they are not given, as far as they show.
        needed: the fields without which it makes no plugin, of those that were given.
        outputs: how many; 0 where it is not known.
        taken: for each number of inputs that it takes one row.
        other_ranks: for each input of the least number of them, which ranks it takes while the others stay.
        formats: names of tensor formats that go with a row of types, by the row.
        shape_fields: the int32 fields that an output's shape depends on.
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
    problems: tuple[str, ...] = ()
