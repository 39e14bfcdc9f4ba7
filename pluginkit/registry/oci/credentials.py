"""User names and passwords of registries, where docker and oras keep them.

`config.json` in `DOCKER_CONFIG` or `~/.docker` (docker, oras), then `REGISTRY_AUTH_FILE` or
`$XDG_RUNTIME_DIR/containers/auth.json` (podman, skopeo). In each: `credHelpers` for the host, then `credsStore`, then
`auths`. Helpers are the programs `docker-credential-NAME` (github.com/docker/docker-credential-helpers).
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pluginkit.errors import ToolMissing, UsageError

_TIMEOUT = 60.0
_HELPER = re.compile(r"[A-Za-z0-9_.-]+")
_HUB = "https://index.docker.io/v1/"
"""What docker calls docker.io in its configuration, and helpers are asked for."""
_TOKEN_USER = "<token>"
"""What helpers give as the user name where the secret is an identity token."""


@dataclass(frozen=True)
class Credentials:
    """Who asks: a user with a password, or an identity token that an authorization server gives access tokens for."""

    user: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)

    @property
    def basic(self) -> str:
        """The value of a header `Authorization` for a user with a password."""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


def files() -> tuple[Path, ...]:
    """Where credentials may be kept, in the order in which they are looked for."""
    home = Path(os.environ.get("HOME") or "~").expanduser()
    found = [Path(os.environ.get("DOCKER_CONFIG") or home / ".docker") / "config.json"]
    if named := os.environ.get("REGISTRY_AUTH_FILE"):
        found.append(Path(named))
    elif runtime := os.environ.get("XDG_RUNTIME_DIR"):
        found.append(Path(runtime) / "containers" / "auth.json")
    return tuple(found)


def find(host: str) -> Credentials | None:
    """What is kept for a registry, by its host with port; None if there is nothing.

    Raises:
        UsageError: a file isn't what it should be, or a helper failed.
        ToolMissing: a helper that a file names isn't installed.
    """
    for path in files():
        config = _read(path)
        if config is not None and (found := _of_config(config, host, path)):
            return found
    return None


def _read(path: Path) -> dict[str, Any] | None:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", hint="docker login or oras login writes it.") from None
    if not isinstance(plain, dict):
        raise UsageError(f"{path} is not a configuration of docker's.", hint="docker login or oras login writes it.")
    return plain


def _of_config(config: dict[str, Any], host: str, path: Path) -> Credentials | None:
    names = (host, _HUB) if host == "docker.io" else (host,)
    helpers, auths = config.get("credHelpers"), config.get("auths")
    helper = _first(helpers, names) if isinstance(helpers, dict) else None
    # A host by itself comes before its old form, and before podman's keys for a part of its repositories.
    entry = (
        _first({**{_host_of(key): auths[key] for key in auths}, **auths}, names) if isinstance(auths, dict) else None
    )
    if helper or (config.get("credsStore") and not _inline(entry)):
        return _ask(str(helper or config["credsStore"]), names[-1], path)
    return _of_entry(entry, host, path)


def _first(found: dict[str, Any], names: Sequence[str]) -> Any:
    return next((found[one] for one in names if found.get(one)), None)


def _host_of(key: str) -> str:
    """The host of a key of `auths`: older docker wrote `https://host/v1/`."""
    return key.partition("://")[2].partition("/")[0] if "://" in key else key.partition("/")[0]


def _inline(entry: object) -> bool:
    return isinstance(entry, dict) and any(entry.get(key) for key in ("auth", "username", "identitytoken"))


def _of_entry(entry: object, host: str, path: Path) -> Credentials | None:
    if not isinstance(entry, dict):
        return None
    user, password = str(entry.get("username") or ""), str(entry.get("password") or "")
    if entry.get("auth"):
        try:
            user, _, password = base64.b64decode(str(entry["auth"]), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise UsageError(
                f"{path}: auths of {host}: auth is not base64 of user:password.", hint=f"docker login {host}"
            ) from None
    token = str(entry.get("identitytoken") or "")
    return Credentials(user, password.rstrip("\0"), token) if user or token else None


def _ask(helper: str, host: str, path: Path) -> Credentials | None:
    if not _HELPER.fullmatch(helper):
        raise UsageError(f"{path} names the credential helper {helper!r}, which is not a program's name.")
    program = f"docker-credential-{helper}"
    try:
        done = subprocess.run(
            [program, "get"], input=host, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except FileNotFoundError:
        raise ToolMissing(
            f"{path} has the credentials of {host} kept by {program}, which is not installed.",
            hint=f"Install it, or take it out of {path} and log in again.",
        ) from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{program} doesn't answer.", hint="Does it wait for a keyring to be unlocked?") from None
    if done.returncode:
        if "credentials not found" in done.stdout + done.stderr:
            return None
        what = (done.stderr.strip() or done.stdout.strip())[:200]
        raise UsageError(
            f"{program} has failed: {what or f'exit code {done.returncode}'}.", hint=f"docker login {host}"
        )
    try:
        plain = json.loads(done.stdout)
        user, secret = str(plain["Username"]), str(plain["Secret"])
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{program} printed no Username and Secret.", hint=f"docker login {host}") from None
    return Credentials(identity_token=secret) if user == _TOKEN_USER else Credentials(user, secret)
