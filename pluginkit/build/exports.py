"""What a built library must export before anybody tries to load it."""

from __future__ import annotations

from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from pluginkit.errors import BuildFailed


def check_exports(library: Path, name: str) -> list[str]:
    """Look for what TensorRT's loadLibrary looks for, and for the init function; return all that is exported.

    Raises:
        BuildFailed: an entry symbol is missing; it says the likely cause.
    """
    found = exported(library)
    init = f"init{name}Plugins"
    missing = sorted({"getCreators", "setLoggerFinder", init} - set(found))
    if not missing:
        return found
    if missing == [init]:
        cause = f"Its PLUGINKIT_PLUGINS(...) has another name than {name} as its first argument."
    else:
        cause = f"Does a source of pluginkit_add_plugin say PLUGINKIT_PLUGINS({name}, YourCreator)?"
    raise BuildFailed(f"{library.name} does not export {', '.join(missing)}, so hosts cannot load it.", hint=cause)


def exported(library: Path) -> list[str]:
    """The names that a library exports.

    Raises:
        BuildFailed: it is no library.
    """
    try:
        with library.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".dynsym")
            if not isinstance(table, SymbolTableSection):
                return []
            return sorted(one.name for one in table.iter_symbols() if one.name and one["st_shndx"] != "SHN_UNDEF")
    except (OSError, ELFError) as error:
        raise BuildFailed(f"{library} cannot be read as a library: {error}") from None
