"""From a project's sources to plugin libraries: tools found, CMake driven, the result looked at before it is used."""

from __future__ import annotations

from pluginkit.build.artifact import Artifact, find_artifact
from pluginkit.build.builder import build
from pluginkit.build.sanitizers import PLAIN, SANITIZERS, Flavour, flavours

__all__ = ["PLAIN", "SANITIZERS", "Artifact", "Flavour", "build", "find_artifact", "flavours"]
