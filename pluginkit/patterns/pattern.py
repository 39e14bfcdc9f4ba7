"""What a pattern says."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

ZERO = 1e-12
"""What a constant that must be 0 may differ by."""
TEXTS = "OSU"
"""NumPy's kinds of what is not a number."""
Number = int | float


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ConstantRule(_Strict):
    """What a value must be that the pattern takes for a constant.

    Attributes:
        equals: a number, which each of its elements is; or a list of its elements.
        rtol: the relative tolerance of that.
        min, max: the least and the greatest value of its elements.
    """

    equals: Number | list[Number] | None = None
    rtol: float = 1e-4
    min: Number | None = None
    max: Number | None = None

    def broken_by(self, array: np.ndarray[Any, Any]) -> str:
        """What a constant is instead of what it must be; empty if it is that."""
        if array.dtype.kind in TEXTS:
            asked = any(one is not None for one in (self.equals, self.min, self.max))
            return f"{_shown(array)}, no number" if asked else ""
        if self.equals is not None:
            expected = np.asarray(self.equals, np.float64)
            same_size = array.size == expected.size if isinstance(self.equals, list) else array.size > 0
            if not same_size or not np.allclose(array.reshape(-1).astype(np.float64), expected, self.rtol, ZERO):
                return f"{_shown(array)}, not {self.equals}"
        if self.min is not None and array.size and array.min() < self.min:
            return f"{_shown(array)}, less than {self.min}"
        if self.max is not None and array.size and array.max() > self.max:
            return f"{_shown(array)}, more than {self.max}"
        return ""


def _shown(array: np.ndarray[Any, Any]) -> str:
    listed = array.reshape(-1)[:4].tolist()
    return str(listed[0]) if array.size == 1 else f"{listed}{' ...' if array.size > 4 else ''}"


class Operator(_Strict):
    """A node of the pattern.

    Attributes:
        op: its type, or `domain::type`.
        inputs: names of values; an empty one is an input that isn't there.
        outputs: names of values.
        attributes: a name that the attribute is bound to; a number or list that it must be; `{equals = "text"}`.
    """

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, str | Number | list[Number] | dict[Literal["equals"], str]] = Field(default_factory=dict)


class Pattern(_Strict):
    """A pattern of exactly one kind.

    Attributes:
        plugin: which plugin's node it becomes, where the library has several.
        inputs: the node's inputs: of `node`, names of its values; else names of the model's values, with `*` and `?`.
            Without them: of `node`, the values called as the plugin's inputs; else those that are not constants, and
            then those that are, in the order in which they are used.
        outputs: of `node`, names of its values; none: what no node of the pattern uses.
        node: operators by what they are given and make.
        chain: types of operators, each of which is given what the one before makes.
        names: names of nodes.
        values: `{from = [...], to = [...]}`: all nodes between these values.
        scope: a module, with `*` and `?`: a part of the nodes' names, or the exporter's metadata.
        constants: values of `node` that are constants; of the other kinds, values of the model by a name of their own.
        bind: of other kinds than `node`: a name for an attribute or a constant, `TYPE.attribute` or the value's name,
            with `*` and `?`.
        attributes: the node's attributes, by expressions of what is bound. Without them: fields that are called as
            what is bound.
    """

    plugin: str = ""
    inputs: list[str] | None = None
    outputs: list[str] | None = None
    node: list[Operator] = Field(default_factory=list)
    chain: list[str] = Field(default_factory=list)
    names: list[str] = Field(default_factory=list)
    values: dict[Literal["from", "to"], list[str]] = Field(default_factory=dict)
    scope: str = ""
    constants: dict[str, ConstantRule | Number | list[Number]] = Field(default_factory=dict)
    bind: dict[str, str] = Field(default_factory=dict)
    attributes: dict[str, str | Number] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_kind(self) -> Pattern:
        kinds = [name for name in ("node", "chain", "names", "values", "scope") if getattr(self, name)]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none of them"
            raise ValueError(f"a pattern has one of node, chain, names, values and scope; this has {found}")
        if self.values and set(self.values) != {"from", "to"}:
            raise ValueError("values has from and to")
        if self.bind and self.node:
            raise ValueError("bind is not for node, whose values and attributes have names of their own")
        return self

    def rule(self, name: str) -> ConstantRule:
        """What a constant must be."""
        found = self.constants[name]
        return found if isinstance(found, ConstantRule) else ConstantRule(equals=found)
