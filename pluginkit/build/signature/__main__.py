"""`python -m pluginkit.build.signature PLUGINKIT.TOML FOLDER` writes the header into a folder: CMake calls it.

Where pluginkit.toml makes no layer, the header says so to the compiler: a plugin of another kind doesn't include it.
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
    try:
        manifest = Manifest.load(Path(sys.argv[1]))
    except PluginkitError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    try:
        text = header(manifest)
    except PluginkitError as error:
        text = f"#error {' '.join(str(error).split())}\n"
    path = Path(sys.argv[2]) / file_name(manifest)
    try:
        put_changed(path, text)
    except OSError as error:
        sys.stderr.write(f"{path} can't be written: {error.strerror or error}.\n")
        return UsageError.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
