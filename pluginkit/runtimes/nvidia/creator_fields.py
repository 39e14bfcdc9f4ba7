"""Which fields a creator takes, asked before it makes a plugin.

createPlugin of NVIDIA's plugins gives null for a field that it doesn't take, and their library of TensorRT 8.5 writes
the reason to the logger that a builder or a runtime brings (getLogger). While there is none, that ends the process by
SIGSEGV, and nothing is left to catch. So make a builder or a runtime first, and compare names with getFieldNames.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import partial
from typing import Any

from pluginkit.errors import CheckFailed
from pluginkit.runtimes.nvidia.creator_names import identity, text


def listed(creator: Any) -> list[str]:
    """The names that getFieldNames lists; none where it gives null."""
    return [text(partial(getattr, field, "name")) for field in creator.field_names or ()]


def check(creator: Any, given: Iterable[str]) -> None:
    """Looks for each name among those that a creator lists.

    A creator may answer null for other reasons too: a listed field that isn't given, a value that it doesn't take.

    Args:
        creator: an IPluginCreator of the Python bindings of TensorRT 8, 10 or 11.
        given: names of the fields that createPlugin is about to get.

    Raises:
        CheckFailed: one is not listed; it names those that are.
    """
    known = listed(creator)
    unknown = [name for name in given if name not in known]
    if not unknown:
        return
    name, version, _ = identity(creator)
    fields = "field" if len(unknown) == 1 else "fields"
    message = (
        f"{name} {version} lists no {fields} {', '.join(map(repr, unknown))}; it lists {', '.join(known) or 'none'}"
    )
    # negSlope for neg_slope: NVIDIA's documents and its library differ in such things.
    plain = {one.replace("_", "").lower(): one for one in known}
    near = [difflib.get_close_matches(one.replace("_", "").lower(), plain, 1) for one in unknown]
    meant = [f"{plain[match[0]]} for {one}" for one, match in zip(unknown, near, strict=True) if match]
    hint = f"Give {', '.join(meant)}." if meant else "Give only fields that are listed."
    raise CheckFailed(message, hint=hint)
