"""Lists the creators of a library: each host that is installed loads it in a worker process."""

from __future__ import annotations

from pluginkit.creators.loading import CreatorFacts, FieldFacts, Loaded, load

__all__ = ["CreatorFacts", "FieldFacts", "Loaded", "load"]
