"""Checks the exports of a built library before it is loaded."""

from __future__ import annotations

from pathlib import Path

from pluginkit import elf
from pluginkit.errors import BuildFailed, UsageError


def check_exports(library: Path, name: str) -> list[str]:
    """Look for what TensorRT's loadLibrary looks for, and for the init function; return all that is exported.

    Raises:
        BuildFailed: an entry symbol is missing; with the likely cause.
    """
    found = exported(library)
    init = f"init{name}Plugins"
    missing = sorted({"getCreators", "setLoggerFinder", init} - set(found))
    if not missing:
        return found
    if missing == [init]:
        cause = f"Its PLUGINKIT_PLUGINS(...) has another name than {name} as its first argument."
    else:
        cause = f"Does a source of pluginkit_add_plugin have PLUGINKIT_PLUGINS({name}, YourCreator)?"
    raise BuildFailed(f"{library.name} does not export {', '.join(missing)}, so hosts cannot load it.", hint=cause)


def exported(library: Path) -> list[str]:
    """The names that a library exports.

    Raises:
        BuildFailed: it is not a shared library, or cannot be read.
    """
    try:
        # A cross compiler's library too.
        return sorted(symbol.name for symbol in elf.exports(library, any_machine=True))
    except UsageError as error:
        raise BuildFailed(error.message, hint=error.hint) from None
