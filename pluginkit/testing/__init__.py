"""The test networks made from a signature, their oracles, and the comparison."""

from __future__ import annotations
