"""The worker's side of `adopting`: a library in the host, its creators, and what their plugins answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pluginkit import host
from pluginkit.adoption import questions
from pluginkit.adoption.answers import FieldValue, ListedCreator, ListedField, PluginAnswers
from pluginkit.process import backtrace
from pluginkit.process.worker_main import CallFile


def open(call_file: CallFile, *, library: Path, version: int) -> AdoptedLibrary:  # noqa: A001
    """Load the library in a host that says it is TensorRT `version`.

    Raises:
        UsageError, CheckFailed: it can't be loaded, or has no creators.
    """
    host.set_call_file(call_file.path)
    # It says what a plugin has read beyond.
    host.set_backtrace_file(backtrace.beside(call_file.path))
    return AdoptedLibrary(host.Library(library, version), call_file.path)


class AdoptedLibrary:
    """A plugin library in this process, which asks its questions in forks."""

    def __init__(self, library: host.Library, crumb: Path) -> None:
        # Never closed: what a library does on unloading is not part of the question.
        self._library = library
        self._crumb = crumb

    def creators(self) -> list[ListedCreator]:
        """What getCreators answers."""
        return [
            ListedCreator(
                index,
                one.name,
                one.version,
                one.namespace,
                one.kind,
                tuple(ListedField(field.name, field.type, field.length) for field in one.fields),
            )
            for index, one in enumerate(self._library.creators)
        ]

    def base(self, index: int, given: Sequence[FieldValue]) -> str:
        """The class of the plugin that a creator makes of these fields; empty where the host can't drive it."""
        return questions.base(self._library.creators[index], given, self._crumb)

    def answers(
        self,
        index: int,
        given: Sequence[FieldValue] | None,
        ranks: Sequence[int] | None,
        sizes: Sequence[Sequence[int]] = (),
    ) -> PluginAnswers:
        """What the plugin of a creator answers; the arguments are those of `questions.ask`."""
        listed = self.creators()[index].fields
        return questions.ask(self._library.creators[index], listed, given, ranks, self._crumb, sizes)
