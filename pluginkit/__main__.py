"""The command `pluginkit`, and `python -m pluginkit`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, and end the process.

    Nothing is imported above: Ctrl-C while it is, which is the first quarter of a second, ends with one line too.
    """
    try:
        try:
            from pluginkit.cli import main as run
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "pluginkit":
                raise
            from pluginkit import installation

            sys.stderr.write(
                f"error: {sys.executable} has no {error.name}, which pluginkit needs: pluginkit is not installed "
                f"there.\n  fix: {installation.again()}\n"
            )
            sys.exit(4)  # as for every missing tool
        run()
    except KeyboardInterrupt:
        sys.stderr.write("stopped: Stopped.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
