"""`--on`: on which of a farm's GPUs the cases of target gpu run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from packaging.specifiers import InvalidSpecifier, Specifier
from packaging.version import InvalidVersion, Version

from pluginkit.build.gpus import Gpu
from pluginkit.errors import UsageError
from pluginkit.farm.facts import Facts

EACH_GPU = "each-gpu"
HINT = f"--on 'sm>=80', --on 'memory>=40' (GiB), --on 'cuda>=13', --on 'name==*H200*', or --on {EACH_GPU}."
NO_GPU = "no worker of the farm has a GPU"
"""Why target gpu takes no part."""
_TERM = re.compile(r"\s*(\w+)\s*(>=|<=|==|!=|>|<)\s*(.+?)\s*")


@dataclass(frozen=True)
class GpuCondition:
    """What a GPU must be: `sm>=80`, of its architecture, memory (GiB), CUDA or driver version, or name."""

    fact: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.fact}{self.operator}{self.value}"

    def holds(self, gpu: Gpu, facts: Facts) -> bool:
        """Whether it is true of a worker's GPU."""
        found = _FACTS[self.fact](gpu, facts)
        if self.fact == "name":
            return fnmatchcase(found.lower(), self.value.lower()) is (self.operator == "==")
        try:
            return Specifier(f"{self.operator}{self.value}").contains(Version(found))
        except InvalidVersion:
            return False  # the driver doesn't say


@dataclass(frozen=True)
class GpuChoice:
    """What `--on` says.

    Attributes:
        each: whether each GPU is a place of its own; otherwise each architecture is one.
        conditions: what a GPU must be; all of them.
    """

    each: bool = False
    conditions: tuple[GpuCondition, ...] = ()

    def __str__(self) -> str:
        return ", ".join(map(str, self.conditions))

    @classmethod
    def parse(cls, texts: Sequence[str]) -> GpuChoice:
        """From what `--on` was given: conditions by commas, or `each-gpu`.

        Raises:
            UsageError: it is not one of these.
        """
        terms = [term.strip() for text in texts for term in text.split(",")]
        return cls(EACH_GPU in terms, tuple(_condition(term) for term in terms if term != EACH_GPU))

    def takes(self, gpu: Gpu, facts: Facts) -> bool:
        """Whether a worker's GPU is one of those."""
        return all(one.holds(gpu, facts) for one in self.conditions)


def _condition(term: str) -> GpuCondition:
    matched = _TERM.fullmatch(term)
    if matched is None or matched[1] not in _FACTS:
        raise UsageError(f"--on {term}: that is not a condition on a GPU.", hint=HINT)
    fact, operator, value = matched.groups()
    if fact == "sm":
        value = value.removeprefix("sm_").replace(".", "")
    if fact == "name":
        if operator not in ("==", "!="):
            raise UsageError(f"--on {term}: a name has no order.", hint=HINT)
        return GpuCondition(fact, operator, value)
    try:
        Specifier(f"{operator}{value}")
    except InvalidSpecifier:
        raise UsageError(f"--on {term}: {value} is not a number.", hint=HINT) from None
    return GpuCondition(fact, operator, value)


_FACTS: Mapping[str, Callable[[Gpu, Facts], str]] = {
    "sm": lambda gpu, _: gpu.arch,
    "memory": lambda gpu, _: f"{gpu.memory / 2**30:.2f}",
    "cuda": lambda _, facts: facts.cuda,
    "driver": lambda _, facts: facts.driver,
    "name": lambda gpu, _: gpu.name,
}
