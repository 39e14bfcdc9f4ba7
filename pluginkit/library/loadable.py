"""The layouts in which a library can give its creators."""

from __future__ import annotations

from pathlib import Path

from pluginkit import elf, layouts
from pluginkit.elf import Elf
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.library.origin import built_for, registration

_OF_TENSORRT, _SINCE_10 = b"N8nvinfer1", b"N8nvinfer15v_1_0"
"""How the names of TensorRT's classes begin in those of types, and those with a version, which there are since 10."""


def loadable(library: Path) -> tuple[layouts.Layout, ...]:
    """The layouts in which a library gives its creators, the newest first.

    They are those whose registry finds the function that gives them, and of a library that registers itself, those
    that it can be compiled for; of both only the one that it is linked against. Where nothing says which, or the file
    is not a library: the layouts that `build` makes, since loading it there says what it lacks.

    Raises:
        CheckFailed: it is linked against a TensorRT whose classes pluginkit doesn't know.
    """
    try:
        facts = elf.read(library)
    except (OSError, UsageError):
        return tuple(map(layouts.layout, layouts.DEFAULT))
    linked = built_for(facts)
    if linked is not None and linked.major is not None:
        if linked.layout is None:
            raise CheckFailed(
                f"{library} is linked against {linked.library}: pluginkit knows the classes of TensorRT "
                f"{layouts.majors()}, not those of {linked.name}."
            )
        return (linked.layout,)
    names = {one.name for one in facts.exports}
    found = tuple(one for one in layouts.LAYOUTS if one.creators_by in names)
    return found or _by_names(library, facts) or tuple(map(layouts.layout, layouts.DEFAULT))


def _by_names(library: Path, facts: Elf) -> tuple[layouts.Layout, ...]:
    """Of a library that registers itself: it has the names of the classes that its own are derived from."""
    if registration(facts) is None:
        return ()
    data = library.read_bytes()
    if _SINCE_10 in data:
        return tuple(one for one in layouts.LAYOUTS if one is not layouts.BEFORE_V3)
    return (layouts.BEFORE_V3,) if _OF_TENSORRT in data else layouts.LAYOUTS
