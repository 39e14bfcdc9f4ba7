"""Which authority's certificates a registry may have: those that docker and podman take for it."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from pluginkit.errors import UsageError
from pluginkit.paths import user_folder

VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Authorities for all hosts, by requests; where one is set, no folder is asked."""
FOLDERS = (Path("/etc/docker/certs.d"), Path("/etc/containers/certs.d"))


def authority(url: str) -> Path | None:
    """The file with the authority of an https URL's host: `HOST[:PORT]/ca.crt` in a folder `certs.d`, the user's own
    before the machine's (docs.docker.com/engine/security/certificates; containers-certs.d(5)). None: those of this
    machine.

    Raises:
        UsageError: a variable names a file that isn't there.
    """
    parts = urlsplit(url)
    if parts.scheme != "https":
        return None
    for name in VARIABLES:
        if file := os.environ.get(name):
            if not Path(file).exists():
                raise UsageError(f"{name} is {file}, which is not there.", hint=f"Correct it, or unset {name}.")
            return None
    folders = (own_folder(), own_folder().parents[1] / "containers" / "certs.d", *FOLDERS)
    return next((path for one in folders if (path := one / parts.netloc / "ca.crt").is_file()), None)


def own_folder() -> Path:
    """The user's folder `certs.d`, as of a docker that runs without root."""
    return user_folder("XDG_CONFIG_HOME", ".config").parent / "docker" / "certs.d"
