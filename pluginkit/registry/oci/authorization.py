"""Lets a client in: answers a registry's challenges with what docker's configuration has, by basic or bearer tokens
(distribution.github.io/distribution/spec/auth/token)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeGuard
from urllib.parse import urlencode

import requests

from pluginkit.errors import UsageError
from pluginkit.registry.oci import addresses, challenges, credentials
from pluginkit.registry.oci.challenges import Challenge
from pluginkit.registry.oci.credentials import Credentials
from pluginkit.registry.oci.reference import RegistryReference, is_loopback

Ask = Callable[[str, str, Mapping[str, str], "bytes | None"], requests.Response]
"""Sends a request without anyone's credentials: method, URL, headers, body."""


class Authorizer:
    """The headers `Authorization` for one registry. Credentials are read when it first asks for them."""

    def __init__(self, reference: RegistryReference, ask: Ask) -> None:
        self._reference = reference
        self._ask = ask
        self._headers: dict[str, str] = {}
        self._credentials: Credentials | None = None
        self._read = False
        self._lock = threading.Lock()

    def header(self, actions: str) -> str:
        """What to send for actions (`pull` or `pull,push`); empty before the registry has asked for anything."""
        return self._headers.get(actions, "")

    def answer(self, response: requests.Response, actions: str, before: str) -> bool:
        """Find what answers a 401; whether there is something new to try.

        Args:
            response: with the status 401.
            actions: what was to be done.
            before: the header that was sent, and refused.

        Raises:
            UsageError: there are no credentials, or they are wrong.
            RegistryUnavailable: the server that gives tokens doesn't answer.
        """
        with self._lock:
            if self.header(actions) not in {"", before}:
                return True  # another thread has answered meanwhile
            found = {one.scheme: one for one in challenges.parse(response.headers.get("WWW-Authenticate", ""))}
            if "bearer" in found:
                new = self._bearer(found["bearer"], actions)
            elif "basic" in found and (known := self._known()) is not None and known.user:
                new = known.basic
            else:
                return False
            self._headers[actions] = new
            # A token that has expired is replaced; a password that was refused once is not tried again.
            return new != before

    def logged_in(self) -> bool:
        """Whether there are credentials for this registry."""
        return self._known() is not None

    def _known(self) -> Credentials | None:
        if not self._read:
            self._credentials = credentials.find(self._reference.host)
            self._read = True
        return self._credentials

    def _bearer(self, challenge: Challenge, actions: str) -> str:
        realm = challenge.parameters.get("realm", "")
        parts = addresses.parse(realm)
        plain = parts is not None and (self._reference.scheme == "http" or is_loopback(parts.netloc))
        if parts is None or (parts.scheme != "https" and not (parts.scheme == "http" and plain)):
            raise UsageError(
                f"{self._reference.host} sends for a token to {realm[:100]!r}, which is not an https address.",
                hint="Its administrator must give an https address.",
            )
        scope = challenge.parameters.get("scope") or f"repository:{self._reference.repository}:{actions}"
        asked = {"service": challenge.parameters.get("service", ""), "scope": scope}
        known = self._known()
        if known is not None and known.identity_token:
            form = {**asked, "grant_type": "refresh_token", "client_id": "pluginkit",
                    "refresh_token": known.identity_token}  # fmt: skip
            kind = {"Content-Type": "application/x-www-form-urlencoded"}
            response = self._ask("POST", realm, kind, urlencode(form).encode())
        else:
            query = urlencode({key: value for key, value in asked.items() if value})
            headers = {"Authorization": known.basic} if known is not None else {}
            response = self._ask("GET", f"{realm}{'&' if parts.query else '?'}{query}", headers, None)
        return "Bearer " + self._token(response)

    def _token(self, response: requests.Response) -> str:
        with response:
            host = self._reference.host
            if response.status_code in {400, 401, 403}:
                why = "refuses the user and password" if self._known() else "gives no token without a login"
                raise UsageError(f"{host} {why}.", hint=f"docker login {host}, or oras login {host}")
            try:
                plain = response.json()
                token = plain.get("token") or plain.get("access_token")
            except (ValueError, AttributeError):
                token = None
            if response.status_code != 200 or not _is_token(token):
                raise UsageError(f"{host}'s token server answers {response.status_code}, without a token.")
            return token


def _is_token(found: object) -> TypeGuard[str]:
    """Whether it can stand in a header."""
    return isinstance(found, str) and found.isascii() and found.isprintable()
