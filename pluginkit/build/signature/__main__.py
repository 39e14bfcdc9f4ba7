"""`python -m pluginkit.build.signature FOLDER PLUGINKIT.TOML...` writes the headers into a folder: CMake calls it.

Where a pluginkit.toml makes no layer, the header says so to the compiler: a plugin of another kind doesn't include it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pluginkit.build.cmake import put_changed
from pluginkit.build.signature import file_name, header
from pluginkit.errors import PluginkitError, UsageError
from pluginkit.manifest import Manifest


def main() -> int:
    """The command line; the exit code."""
    folder = Path(sys.argv[1])
    try:
        manifests = [Manifest.load(Path(path)) for path in sys.argv[2:]]
    except PluginkitError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    try:
        for manifest in manifests:
            put_changed(folder / file_name(manifest), _text(manifest))
    except OSError as error:
        sys.stderr.write(f"{folder} can't be written: {error.strerror or error}.\n")
        return UsageError.exit_code
    return 0


def _text(manifest: Manifest) -> str:
    try:
        return header(manifest)
    except PluginkitError as error:
        return f"#error {' '.join(str(error).split())}\n"


if __name__ == "__main__":
    sys.exit(main())
