"""Write several files of a project, all or none of them."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pluginkit.errors import UsageError


@contextmanager
def scratch(parent: Path, prefix: str) -> Iterator[Path]:
    """A folder in `parent` that is gone afterwards, also where Ctrl-C comes while it is being removed.

    Raises:
        OSError: it can't be made.
    """
    folder = parent / f"{prefix}{secrets.token_hex(4)}"
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        try:
            shutil.rmtree(folder, ignore_errors=not folder.exists())
        except KeyboardInterrupt:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def write(project: Path, files: Mapping[Path, str | None]) -> None:
    """Write temporary files, then rename them into place; what was renamed is undone where one fails.

    A link is written through, and a file keeps its mode.

    Args:
        project: the folder in which they lie.
        files: their new texts, line ends as they are to be; None: the file is removed.

    Raises:
        UsageError: one of them can't be written; the project is as it was then.
    """
    before = {path: path.read_bytes() if path.exists() else None for path in files}
    done: list[Path] = []
    made: list[Path] = []
    try:
        with scratch(project, ".pluginkit-") as folder:
            temporary = {path: folder / str(number) for number, path in enumerate(files)}
            for path, text in files.items():
                if text is not None:
                    temporary[path].write_bytes(text.encode())
                    temporary[path].chmod(path.stat().st_mode if path.exists() else 0o644)
            for path, text in files.items():
                made += [folder for folder in reversed(path.parents) if not folder.exists()]
                path.parent.mkdir(parents=True, exist_ok=True)
                done.append(path)
                if text is None:
                    path.unlink()
                else:
                    temporary[path].replace(path.resolve())
    except BaseException as error:
        for path in done:
            old = before[path]
            path.unlink(missing_ok=True) if old is None else path.write_bytes(old)
        for folder in reversed(made):
            with suppress(FileNotFoundError):
                folder.rmdir()
        if not isinstance(error, OSError):
            raise
        raise UsageError(
            f"{project} cannot be written: {error.strerror or error}; nothing was changed.",
            hint="Are the files yours, and is there room?",
        ) from None
