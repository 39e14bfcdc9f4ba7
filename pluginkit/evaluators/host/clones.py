"""Whether a case fails because clones lack what `initialize` made (L2).

An experiment shows it: the case runs again with initialize() called on the clones too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pluginkit.host.bases.v2_lifecycle import SHARE, UNREADY
from pluginkit.runtimes.host.session import HostSession
from pluginkit.testing.report import CaseResult, Outcome

OF_MEMORY = {"address", "bad-copy", "bad-free", "host-access", "host-pointer", "invalid-address"}
"""Kinds of defects that memory of another object, or none, can be the cause of."""
ANSWER = "E1"
"""The demand that enqueue answers 0."""


@dataclass
class Clones:
    """The question, asked of a session's failing cases until the answer is that it is something else."""

    session: HostSession
    open: bool = True

    def evaluate(self, result: CaseResult, again: Callable[..., CaseResult]) -> CaseResult:
        """The result, with what it comes from if it is that.

        Args:
            result: of a case that has failed.
            again: runs the case once more; with `initialize_clones=True` these are initialized too.
        """
        suspect = result.outcome is Outcome.CRASHED or result.demand == ANSWER
        suspect = suspect or any(one.kind in OF_MEMORY for one in result.defects)
        if not suspect or not self.open:
            return result
        self.session.renew()
        self.open = not again(initialize_clones=True).outcome.bad
        if not self.open:
            return result
        # What failed by chance, or by the runs before it, passes now.
        self.session.renew()
        if not again().outcome.bad:
            return result
        cause = f"[L2] {UNREADY.format('this case passes')}\n  fix: {SHARE}"
        return replace(result, message=f"{cause}\n{result.message}", demand="L2")
