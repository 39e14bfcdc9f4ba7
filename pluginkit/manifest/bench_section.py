"""The part `[bench]` of a `pluginkit.toml`: what `pluginkit bench` measures, and the baselines."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from pluginkit.manifest.fields import FieldValue

TORCH = "torch:"


class _BenchModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Allowed(_BenchModel):
    """How far an output may be off in a precision, instead of `[tolerances]`: INT8 in `steps`, others by the rest."""

    rtol: float = 0.0
    atol: float = 0.0
    steps: int = 0


class BenchShape(_BenchModel):
    """A shape to measure: a number for each symbol. `fields` are other values than the defaults.

    `baseline` takes the place of the section's; `allowed` is by precision, as `{ float32 = { rtol = 1e-6 } }`.
    """

    name: str
    symbols: dict[str, int]
    fields: dict[str, FieldValue] = {}
    baseline: str | None = None
    allowed: dict[str, Allowed] = {}


class BenchSection(_BenchModel):
    """`baseline` is `torch: EXPRESSION`, in which inputs and fields have their names; empty for none."""

    baseline: str = ""
    shapes: tuple[BenchShape, ...] = ()


def expression(baseline: str) -> str:
    """The Python expression of a baseline."""
    return baseline.removeprefix(TORCH).strip()
