"""The part `[tuning]` of a `pluginkit.toml`: values of kernel launches that were measured, by GPU architecture."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Number = Annotated[int, Field(strict=True)]
Values = dict[str, Number]

STANDARD = ("threads", "packs")
"""What the device headers' launches take (pluginkit/kernels/tuning.cuh): threads of a block, and packs of 16 bytes of a
thread."""


def constant(name: str) -> str:
    """The C++ name of a value: `unroll_by` is `kUnrollBy`."""
    return "k" + "".join(part[:1].upper() + part[1:] for part in name.split("_"))


class Kept(BaseModel):
    """What `pluginkit tune` found on GPUs of one architecture.

    Attributes:
        values: what launches take there; what isn't named is as usual.
        also: further ones, each the fastest of some case: tactics of an IPluginV3.
        gpu: the name of the GPU that was measured.
        gain: how many times faster than the usual values, the geometric mean of the cases.
        noise: how far the usual values' own rounds were from their median at most, in parts of it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    values: Values
    also: tuple[Values, ...] = ()
    gpu: str = ""
    gain: float = 1.0
    noise: float = 0.0


class TuningSection(BaseModel):
    """`parameters` are those of a kernel of one's own, each with the values to try, the usual one first; every other
    key is an architecture, as `sm_90`.
    """

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, Kept]

    parameters: dict[str, tuple[Number, ...]] = {}

    @property
    def kept(self) -> dict[str, Kept]:
        """By architecture, as `sm_90`."""
        return dict(self.__pydantic_extra__)

    def sets(self) -> list[Values]:
        """All that a library can launch with, each once: the usual values, which are {}, then each architecture's."""
        found: list[Values] = [{}]
        for one in self.kept.values():
            for values in (one.values, *one.also):
                if self.plain(values) not in found:
                    found.append(self.plain(values))
        return found

    def plain(self, values: Values) -> Values:
        """The values that are not as usual, in the order of their names."""
        usual = {name: numbers[0] for name, numbers in self.parameters.items() if numbers}
        return {name: values[name] for name in sorted(values) if values[name] != usual.get(name)}
