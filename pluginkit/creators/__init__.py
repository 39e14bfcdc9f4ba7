"""The creators of a library, as each host that is here lists them: the library is loaded, in workers."""

from __future__ import annotations

from pluginkit.creators.loading import CreatorFacts, FieldFacts, Loaded, load

__all__ = ["CreatorFacts", "FieldFacts", "Loaded", "load"]
