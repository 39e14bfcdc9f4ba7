"""The command `pluginkit`, and `python -m pluginkit`."""

from __future__ import annotations

import os
import sys

try:
    import signal
except KeyboardInterrupt:
    os.write(2, b"stopped: Stopped.\n")
    os._exit(130)


def _stop(_number: int, _frame: object) -> None:
    os.write(2, b"stopped: Stopped.\n")
    os._exit(130)


def _stop_at_once() -> None:
    """Ctrl-C ends the process without another word: nothing is begun yet, or all is done.

    KeyboardInterrupt would leave a traceback where nothing above can catch it.
    """
    if callable(signal.getsignal(signal.SIGINT)):  # else it is ignored, as in a shell's background jobs
        signal.signal(signal.SIGINT, _stop)


_stop_at_once()


def main() -> None:
    """Run the command line, and end the process."""
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
    finally:
        _stop_at_once()


if __name__ == "__main__":
    main()
