"""Sessions of what builds and runs plugins: pluginkit's own host, and NVIDIA's libraries. A folder each.

Whatever loads a plugin or a library of NVIDIA's does it in a worker process: see `pluginkit.process.worker`.
"""

from __future__ import annotations

from pluginkit.runtimes.verdict import Availability, BuildVerdict, Configured, Ran, SeenTensor, Target, Way

__all__ = [
    "Availability",
    "BuildVerdict",
    "Configured",
    "Ran",
    "SeenTensor",
    "Target",
    "Way",
]
