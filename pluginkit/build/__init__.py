"""From a project's sources to plugin libraries: tools found, CMake driven, the result looked at before it is used."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from pluginkit.build.artifact import Artifact, find_artifact
from pluginkit.build.builder import build
from pluginkit.build.sanitizers import PLAIN, SANITIZERS, Instrumentation, instrumentations

__all__ = ["PLAIN", "SANITIZERS", "Artifact", "Instrumentation", "build", "find_artifact", "instrumentations"]


class _CallablePackage(ModuleType):
    """Once this package is imported it is what `pluginkit.build` names, so it is called as the public function is."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        from pluginkit.api.builds import build as public

        return public(*args, **options)


sys.modules[__name__].__class__ = _CallablePackage
