"""Debian's docker-registry on this machine's loopback: a real registry, started for tests."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_CONFIG = """
version: 0.1
log: {{level: info, accesslog: {{disabled: true}}}}
http: {{addr: "127.0.0.1:0", secret: only-for-tests}}
storage:
  filesystem: {{rootdirectory: {folder}}}
  delete: {{enabled: true}}
  maintenance: {{readonly: {{enabled: {read_only}}}, uploadpurging: {{enabled: false}}}}
{auth}
"""


@contextmanager
def running(folder: Path, *, read_only: bool = False, password_file: Path | None = None) -> Iterator[str]:
    """A registry that keeps its files in a folder; its host and port.

    The test is skipped where the program isn't.
    """
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("docker-registry is not on this machine")
    folder.mkdir(parents=True, exist_ok=True)
    auth = f"auth: {{htpasswd: {{realm: tests, path: {password_file}}}}}" if password_file else ""
    config = folder / "config.yml"
    config.write_text(_CONFIG.format(folder=folder / "files", read_only=str(read_only).lower(), auth=auth))
    log = folder / "log"
    with (
        log.open("wb") as out,
        log.open("rb") as lines,
        subprocess.Popen([program, "serve", str(config)], stdout=out, stderr=subprocess.STDOUT) as process,
    ):
        try:
            text = ""
            while not (found := re.search(r"listening on (127\.0\.0\.1:\d+)", text)):
                text += lines.read().decode()
                if process.poll() is not None:
                    raise AssertionError(f"docker-registry ended: {text}{lines.read().decode()}")
            yield found[1]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
