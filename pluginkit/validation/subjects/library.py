"""A library's creators, held against a `pluginkit.toml`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pluginkit.adoption.answers import ListedCreator
from pluginkit.bases import BASES
from pluginkit.host import Finding
from pluginkit.manifest import Manifest
from pluginkit.validation.catalog import NothingToCheck


@dataclass(frozen=True)
class ListedLibrary:
    """A library's creators, held against a manifest.

    Attributes:
        manifest: the plugin's.
        creators: what the library has.
        base: the class of the plugin that was made; empty where none was.
    """

    manifest: Manifest
    creators: Sequence[ListedCreator]
    base: str = ""

    @property
    def creator(self) -> ListedCreator | None:
        """The manifest's plugin's."""
        return next((one for one in self.creators if one.identity == identity(self.manifest)), None)

    def check_base(self) -> None:
        """Whether the plugin has the class that the manifest names.

        Raises:
            Finding: it hasn't (I11).
            NothingToCheck: no plugin could be made.
        """
        if not self.base:
            raise NothingToCheck("no plugin could be made")
        expected = BASES[self.manifest.plugin.base].interface
        if self.base != expected:
            message = f"made an {self.base}; pluginkit.toml says base = '{self.manifest.plugin.base}' ({expected})"
            raise Finding("IPluginCreator::createPlugin", message, rule="I11")


def identity(manifest: Manifest) -> tuple[str, str, str]:
    """What a registry knows the plugin by."""
    return manifest.plugin.name, manifest.plugin.version, manifest.plugin.namespace
