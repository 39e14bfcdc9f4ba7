"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from pluginkit.errors import unwritable


def write(path: Path, content: str | bytes) -> None:
    """Write a file that the user has named.

    Raises:
        UsageError: it can't be written.
    """
    data = content.encode() if isinstance(content, str) else content
    path = path.resolve()
    if path.exists() and not (path.is_file() and os.access(path.parent, os.W_OK)):
        # Nothing can be replaced by renaming: it is /dev/stdout, for one, or in somebody else's folder.
        try:
            path.write_bytes(data)
        except OSError as error:
            raise unwritable(path, error) from None
        return
    with replacing(path) as new:
        new.write_bytes(data)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file next to `path` to write to, which takes its place at the end unless there was an exception.

    Raises:
        UsageError: it can't be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
