"""NumPy's archives of named arrays, as people give them."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pluginkit.errors import UsageError


def read(
    file: Path, hint: str = "numpy.savez writes one; arrays of objects are not read."
) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an .npz, by name.

    Args:
        file: the archive.
        hint: what to do where it can't be read.

    Raises:
        UsageError: no such file, no .npz, cut off or damaged, or with arrays of objects, which only unpickling reads.
    """
    try:
        # numpy.load leaves a file open that it opened itself and could not read.
        with file.open("rb") as stream:
            if not zipfile.is_zipfile(stream):
                raise UsageError(f"{file} cannot be read as .npz: it is not an archive of named arrays.", hint=hint)
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as loaded:
                return {name: loaded[name] for name in loaded.files}
    except FileNotFoundError:
        raise UsageError(f"{file} cannot be read as .npz: there is no such file.", hint=hint) from None
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise UsageError(f"{file} cannot be read as .npz: {error}.", hint=hint) from None
