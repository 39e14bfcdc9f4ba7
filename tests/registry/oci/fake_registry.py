"""A small OCI registry in memory that can be told to fail: a wrong byte, a cut, a lie, a status, a redirect.

It has what Debian's docker-registry lacks: the referrers interface, pages of tags, bearer tokens, Retry-After.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

Fault = Callable[["Handler"], bool]
"""Given a request: True if it has answered it."""


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


@dataclass
class FakeRegistry:
    """What the registry has, what it was asked, and how it fails.

    Attributes:
        host: with the port.
        blobs: by digest.
        manifests: (media type, bytes) by tag and by digest.
        requests: method and path of each, in order; `headers` of each likewise.
        fault: looks at each request before it is answered.
        page: tags of a page; 0: as many as are asked for.
        referrers: whether it has the interface.
    """

    host: str = ""
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    uploads: dict[str, bytearray] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    fault: Fault | None = None
    page: int = 0
    referrers: bool = True
    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def asked(self, pattern: str) -> int:
        """How many requests were like that."""
        return sum(re.search(pattern, one) is not None for one in self.requests)


class Handler(BaseHTTPRequestHandler):
    """Answers for the FakeRegistry of its server."""

    protocol_version = "HTTP/1.1"
    fake: FakeRegistry

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def answer(self, status: int, data: bytes = b"", **headers: str) -> None:
        """Send an answer; `Content_Type` becomes Content-Type."""
        self.send_response(status)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        given.setdefault("Content-Length", str(len(data)))
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def error(self, status: int, code: str = "UNKNOWN", **headers: str) -> None:
        """Send an error as the specification has it."""
        body = {"errors": [{"code": code, "message": "so it is"}]}
        self.answer(status, json.dumps(body).encode(), Content_Type="application/json", **headers)

    def body(self) -> bytes:
        if not hasattr(self, "_body"):
            self._body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return self._body

    def handle_any(self) -> object:
        self.__dict__.pop("_body", None)
        with self.fake.lock:
            self.fake.requests.append(f"{self.command} {self.path}")
            self.fake.headers.append(dict(self.headers.items()))
        self.body()
        if self.fake.fault is not None and self.fake.fault(self):
            return None
        parts = urlsplit(self.path)
        found = re.fullmatch(r"/v2/([a-z0-9/_.-]+?)/(blobs/uploads|blobs|manifests|tags|referrers)/(.*)", parts.path)
        if not found:
            return self.error(404)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        with self.fake.lock:
            getattr(self, "_" + found[2].replace("/", "_"))(found[1], found[3], query)
        return None

    do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = handle_any

    def _blobs(self, _name: str, digest: str, _query: dict[str, str]) -> None:
        data = self.fake.blobs.get(digest)
        if data is None:
            return self.error(404, "BLOB_UNKNOWN")
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted:
            start = int(wanted[1])
            if start >= len(data):
                return self.error(416)
            return self.answer(206, data[start:], Content_Range=f"bytes {start}-{len(data) - 1}/{len(data)}")
        return self.answer(200, data)

    def _blobs_uploads(self, name: str, key: str, query: dict[str, str]) -> None:
        fake = self.fake
        if self.command == "POST":
            fake.count += 1
            key = str(fake.count)
            fake.uploads[key] = bytearray()
            return self.answer(202, Location=f"/v2/{name}/blobs/uploads/{key}")
        if key not in fake.uploads:
            return self.error(404, "BLOB_UPLOAD_UNKNOWN")
        there = fake.uploads[key]
        place = {"Location": f"/v2/{name}/blobs/uploads/{key}"}
        if self.command == "GET":
            return self.answer(204, Range=f"0-{len(there) - 1}", **place)
        start = re.match(r"(\d+)-", self.headers.get("Content-Range", ""))
        if start and int(start[1]) != len(there):
            return self.error(416, "BLOB_UPLOAD_INVALID")
        there += self.body()
        if self.command == "PATCH":
            return self.answer(202, Range=f"0-{len(there) - 1}", **place)
        data = bytes(fake.uploads.pop(key))
        if digest_of(data) != query.get("digest"):
            return self.error(400, "DIGEST_INVALID")
        fake.blobs[digest_of(data)] = data
        return self.answer(201, Docker_Content_Digest=digest_of(data))

    def _manifests(self, name: str, reference: str, _query: dict[str, str]) -> None:
        fake = self.fake
        if self.command == "PUT":
            data, more = self.body(), {}
            kind = self.headers["Content-Type"]
            fake.manifests[reference] = fake.manifests[digest_of(data)] = kind, data
            subject = json.loads(data).get("subject")
            if subject and fake.referrers:
                more = {"OCI-Subject": subject["digest"]}
            return self.answer(201, Docker_Content_Digest=digest_of(data), **more)
        if reference not in fake.manifests:
            return self.error(404, "MANIFEST_UNKNOWN")
        kind, data = fake.manifests[reference]
        return self.answer(200, data, Content_Type=kind, Docker_Content_Digest=digest_of(data))

    def _tags(self, name: str, _list: str, query: dict[str, str]) -> None:
        tags = sorted(one for one in self.fake.manifests if not one.startswith("sha256:"))
        after = [one for one in tags if one > query.get("last", "")]
        count = self.fake.page or int(query.get("n", "100"))
        more = {}
        if len(after) > count:
            more = {"Link": f'</v2/{name}/tags/list?n={count}&last={after[count - 1]}>; rel="next"'}
        self.answer(200, json.dumps({"name": name, "tags": after[:count] or None}).encode(), **more)

    def _referrers(self, _name: str, digest: str, query: dict[str, str]) -> None:
        if not self.fake.referrers:
            return self.error(404)
        found = []
        for key, (kind, data) in self.fake.manifests.items():
            plain = json.loads(data)
            if key.startswith("sha256:") and plain.get("subject", {}).get("digest") == digest:
                found.append({"mediaType": kind, "digest": key, "size": len(data),
                              "artifactType": plain.get("artifactType", "")})  # fmt: skip
        index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": found}
        return self.answer(200, json.dumps(index).encode())


@contextmanager
def serving(fake: FakeRegistry, tls: ssl.SSLContext | None = None) -> Iterator[FakeRegistry]:
    """The registry on a port of this machine's, until the end of the context; by https with `tls`."""

    class Own(Handler):
        pass

    Own.fake = fake

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that goes away is not news."""

    with Server(("127.0.0.1", 0), Own) as server:
        fake.host = f"127.0.0.1:{server.server_address[1]}"
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()


def times(count: int, pattern: str, fault: Fault) -> Fault:
    """A fault for the first so many requests that are like that."""
    left = [count]

    def once(handler: Handler) -> bool:
        if left[0] and re.search(pattern, f"{handler.command} {handler.path}"):
            left[0] -= 1
            return fault(handler)
        return False

    return once


def status(code: int, **headers: str) -> Fault:
    """Answers by an error."""

    def fail(handler: Handler) -> bool:
        handler.error(code, **headers)
        return True

    return fail


def cut(after: int) -> Fault:
    """Sends so many bytes of a blob, and drops the connection."""

    def fail(handler: Handler) -> bool:
        data = handler.fake.blobs[handler.path.rpartition("/")[2]]
        wanted = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        start = int(wanted[1]) if wanted else 0
        handler.send_response(206 if wanted else 200)
        if wanted:
            handler.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        handler.send_header("Content-Length", str(len(data) - start))
        handler.end_headers()
        handler.wfile.write(data[start : start + after])
        handler.wfile.flush()
        handler.close_connection = True
        handler.connection.shutdown(2)
        return True

    return fail


def drop(handler: Handler) -> bool:
    """Drops the connection without an answer."""
    handler.close_connection = True
    handler.connection.shutdown(2)
    return True


def basic(user: str, password: str) -> str:
    """The value of a header `Authorization`."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
