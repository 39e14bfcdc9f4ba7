"""Requests to one registry: retries, logins, redirects, and its refusals as sentences.

requests doesn't follow redirects here, keeps no cookies and reads no .netrc: a header `Authorization` goes to the
registry itself and nowhere else.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http.cookiejar import DefaultCookiePolicy
from urllib.parse import urljoin, urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from typing_extensions import Self

from pluginkit.errors import CheckFailed, PluginkitError, UsageError
from pluginkit.paths import __version__
from pluginkit.registry.oci import addresses, certificates
from pluginkit.registry.oci.authorization import Authorizer
from pluginkit.registry.oci.reference import RegistryReference

CONNECT, READ = 10.0, 60.0
"""Seconds until a registry must have taken the connection, and sent something more."""
ATTEMPTS = 5
LONGEST_WAIT = 120.0
"""Seconds; a registry that wants a client to wait for longer is taken to be unavailable."""
CONNECTIONS = 8
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_NOT_TAKEN = frozenset({429, 503})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TIMES = 5
BROKEN = (requests.RequestException, urllib3.exceptions.HTTPError, OSError)
"""What a connection that breaks raises, at a request or while its answer is read."""


class RegistryUnavailable(PluginkitError):
    """A registry doesn't answer, or only by errors of its own."""

    exit_code = 4


class NotInRegistry(UsageError):
    """A tag, manifest or blob that a registry doesn't have."""


class _HttpSession(requests.Session):
    def get_redirect_target(self, resp: requests.Response) -> None:  # noqa: ARG002
        """None: else requests reads a redirect's whole body and its address, though it isn't to follow it."""
        return


class Transport:
    """The connections to one registry. Use it as a context, or close it.

    Attributes:
        reference: of the repository.
        wait: called with seconds to wait before the next attempt.
    """

    def __init__(self, reference: RegistryReference, wait: Callable[[float], None] = time.sleep) -> None:
        self.reference = reference
        self.wait = wait
        host = "registry-1.docker.io" if reference.host == "docker.io" else reference.host
        self.base = f"{reference.scheme}://{host}"
        self._authorizer = Authorizer(reference, self._persistent)
        self._session = _HttpSession()
        self._session.auth = lambda request: request  # else requests looks into .netrc
        self._session.headers["User-Agent"] = f"pluginkit/{__version__}"
        self._session.headers["Accept-Encoding"] = "identity"
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        adapter = HTTPAdapter(pool_connections=CONNECTIONS, pool_maxsize=CONNECTIONS)
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def send(
        self,
        method: str,
        url: str,
        expected: Collection[int],
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        actions: str = "pull",
        about: str = "",
        repeatable: bool = True,
    ) -> requests.Response:
        """Send a request until it is answered; its body is yet to be read, and the response to be closed.

        Args:
            method, url, headers, body: of the request; the URL may be a path on the registry.
            expected: statuses that are answers; 3xx ones are followed unless they are here.
            actions: what a token must allow.
            about: what was asked for, in errors.
            repeatable: False where a part of it may have been taken in: then it is sent again only after 429 and 503.

        Raises:
            NotInRegistry: 404.
            UsageError: it isn't allowed.
            RegistryUnavailable: there is no answer, or an error of the registry's own.
            CheckFailed: an answer that no registry gives.
        """
        url = urljoin(self.base, url)
        given, answered = dict(headers or {}), False
        while True:
            own = addresses.origin(url) == addresses.origin(self.base)
            before = self._authorizer.header(actions) if own else ""
            sent = {**given, "Authorization": before} if before else given
            response = self._persistent(method, url, sent, body, repeatable=repeatable)
            try:
                response = self._followed(method, response, given, expected)
            except BaseException:
                response.close()
                raise
            if response.status_code in expected:
                return response
            with response:
                refused = response.status_code == 401 and addresses.origin(response.url) == addresses.origin(self.base)
                if refused and not answered and self._authorizer.answer(response, actions, before):
                    answered = True
                    continue
                raise self._refusal(response, about or url)

    def pause(self, attempt: int, response: requests.Response | None = None) -> None:
        """Wait before the next attempt: as long as the registry says, else 0.5, 1, 2, ... seconds.

        Raises:
            RegistryUnavailable: it wants a wait of minutes.
        """
        asked = _retry_after(response.headers.get("Retry-After", "")) if response is not None else None
        if asked is not None and asked > LONGEST_WAIT:
            raise RegistryUnavailable(
                f"{self.reference.host} wants no request for the next {asked:.0f} s.", hint="Try again after that."
            )
        self.wait(asked if asked is not None else 0.5 * 2**attempt * random.uniform(0.8, 1.2))

    def location(self, response: requests.Response, default: str = "") -> str:
        """Where an upload goes on, by an answer's header `Location`.

        Raises:
            CheckFailed: it is not an address, or would send the upload unencrypted.
        """
        text = response.headers.get("Location", default)
        if found := addresses.following(response.url, text):
            return found
        raise CheckFailed(
            f"{self.reference.host} wants an upload at {printable(text)}, where it is not sent.",
            hint="Its administrator must give an https address: a proxy before it may hide that it is asked by https.",
        )

    def lost(self, error: Exception) -> RegistryUnavailable:
        """The error for a connection that broke once too often."""
        # A redirect, or the registry's server of tokens, may be at another host.
        request = getattr(error, "request", None)
        host = printable(urlsplit(request.url).netloc.rpartition("@")[2]) if request else self.reference.host
        if isinstance(error, requests.exceptions.SSLError):
            return RegistryUnavailable(
                f"{host} cannot be reached by https: {_root(error)}.",
                hint=f"Another authority: its certificate in {certificates.own_folder() / host}/ca.crt, or "
                "REQUESTS_CA_BUNDLE=FILE.",
            )
        hint = "Check the name, whether the registry runs, and whether a proxy is needed (HTTPS_PROXY)."
        if isinstance(error, requests.exceptions.ReadTimeout):
            return RegistryUnavailable(f"{host} was silent for {READ:.0f} s.", hint="Try again; what came is kept.")
        return RegistryUnavailable(f"{host} cannot be reached: {_root(error)}.", hint=hint)

    def _persistent(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, *, repeatable: bool = True
    ) -> requests.Response:
        again = _AGAIN if repeatable else _NOT_TAKEN
        authority = certificates.authority(url)
        attempt = 0
        while True:
            attempt += 1
            try:
                response = self._session.request(
                    method,
                    url,
                    headers=dict(headers),
                    data=body,
                    timeout=(CONNECT, READ),
                    stream=True,
                    allow_redirects=False,
                    verify=str(authority) if authority else None,
                )
            except requests.exceptions.SSLError as error:
                raise self.lost(error) from None
            except BROKEN as error:
                if attempt >= ATTEMPTS or not repeatable:
                    raise self.lost(error) from None
                self.pause(attempt - 1)
                continue
            if response.status_code not in again or attempt >= ATTEMPTS:
                return response
            with response:
                self.pause(attempt - 1, response)

    def _followed(
        self, method: str, response: requests.Response, headers: Mapping[str, str], expected: Collection[int]
    ) -> requests.Response:
        """Where redirects lead; no credentials go there unless it is the registry itself."""
        for _ in range(_TIMES):
            if response.status_code not in _REDIRECTS or response.status_code in expected:
                return response
            location = response.headers.get("Location", "")
            target = addresses.following(response.url, location)
            if method not in {"GET", "HEAD"} or not target:
                raise CheckFailed(
                    f"{self.reference.host} redirects {method} to {printable(location)}, where it is not followed.",
                    hint="Name the registry by the address that it has now.",
                )
            response.close()
            own = addresses.origin(target) == addresses.origin(self.base)
            header = self._authorizer.header("pull") if own else ""
            response = self._persistent(
                method, target, {**headers, **({"Authorization": header} if header else {})}, None
            )
        raise CheckFailed(f"{self.reference.host} redirects more than {_TIMES} times.")

    def _refusal(self, response: requests.Response, about: str) -> PluginkitError:
        status, host = response.status_code, self.reference.host
        said = _said(response)
        if status == 404:
            hint = f"pluginkit registry tags {self.reference.place} shows what there is."
            return NotInRegistry(f"{about}: {host} doesn't have it{said}.", hint=hint)
        if status in {401, 403}:
            why = "this login may not" if self._authorizer.logged_in() else "it wants a login"
            return UsageError(f"{about}: {host}: {why}{said}.", hint=f"docker login {host}, or oras login {host}")
        if status in _REFUSED:
            what, hint = _REFUSED[status]
            return UsageError(f"{about}: {host} {what}{said}.", hint=hint)
        if status in _AGAIN or status >= 500:
            return RegistryUnavailable(f"{about}: {host} answers {status} each time{said}.", hint="Try again later.")
        return CheckFailed(f"{about}: {host} answers {status}{said}.", hint="Is it a registry of OCI 1.0 or 1.1?")


_REFUSED = {
    405: ("can only be read", "Name a registry that can be written."),
    413: ("takes nothing that large", "Its administrator can raise the limit."),
}


def printable(text: str, longest: int = 200) -> str:
    """A foreign text for a terminal: without control characters, and not too long."""
    return "".join(one if one.isprintable() else "?" for one in text[:longest])


def number(text: str) -> int | None:
    """A number in a header; None if it is none, or larger than any size."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def read(response: requests.Response, longest: int, about: str) -> bytes:
    """The whole body of a response.

    Raises:
        CheckFailed: it is longer than `longest` bytes.
        requests.RequestException, urllib3.exceptions.HTTPError: the connection broke.
    """
    data = bytearray()
    for chunk in response.raw.stream(1 << 16, decode_content=False):
        data += chunk
        if len(data) > longest:
            raise CheckFailed(f"{about} is longer than {longest} bytes.", hint="No bundle has such a thing.")
    return bytes(data)


def _said(response: requests.Response) -> str:
    """The registry's own words in an error (OCI distribution specification, 'Error codes'), or nothing."""
    try:
        first = json.loads(read(response, 1 << 16, "the error"))["errors"][0]
        words = " ".join(filter(None, (str(first.get("code") or ""), str(first.get("message") or ""))))
        return f" ({printable(words)})"
    except (CheckFailed, *BROKEN, ValueError, KeyError, IndexError, TypeError, AttributeError):
        return ""


def _retry_after(text: str) -> float | None:
    """Seconds (RFC 9110, 10.2.3: a number, or a date)."""
    if text.isascii() and text.strip().isdigit():
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())


def _root(error: BaseException) -> str:
    """The innermost reason, which says most: `Connection refused`."""
    inner: BaseException | None = error
    for _ in range(10):
        reason = getattr(inner, "reason", None)
        nested = (
            reason
            if isinstance(reason, BaseException)
            else next((one for one in getattr(inner, "args", ()) if isinstance(one, BaseException)), None)
        )
        if nested is None:
            break
        inner = nested
    text = str(inner).rpartition("] ")[2] or type(inner).__name__
    text = text.rpartition(": ")[2] if text.startswith("<") or "Failed to" in text else text
    return printable(text.rstrip("."))
