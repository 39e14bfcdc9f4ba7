"""Which plugins a serialized engine (a plan) needs, by its bytes. NVIDIA documents no such form.

What is read here was seen in plans of TensorRT-RTX 1.7.1 and of TensorRT 8.5.3.1 (built on an H200): records of three
strings, the plugin's type, version and namespace; in RTX's a text that names the buffers of each plugin layer, in those
of 8.5.3.1 its version at the beginning. So it is a guess, and is called one; a plan in which layers are named and
records are not found gives no answer.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path

from pluginkit.errors import UsageError
from pluginkit.registry.resolving import Identity

_LAYER = re.compile(rb'buffer=\{ name="([^"\n]*)_pluginType"')
_ACCELERATORS = re.compile(rb"accelerators=\{((?:sm\d+ ?)+)\}")
_VERSION = re.compile(rb"ptrt.{20}" + rb"\x02\x80\x01\x00(.)" * 4, re.DOTALL)
"""How a plan of 8.5.3.1 begins: a header of 24 bytes, and four numbers of a byte each."""
_BETWEEN = b"\x01\x80\x0c\x80\x01\x00"
_FORMS = ((b"\x13\x80\x01\x00", b"\x07\x80\x01\x00"), (b"\x18\x80\x01\x00", b"\x01\x80\x03\x80\x01\x00"))
"""What is before a string, and what follows the three, of RTX and of 8.5.3.1. A string: its length in eight bytes,
`_BETWEEN`, its length again, its bytes."""
_LENGTH = struct.Struct("<Q")
_LONGEST = 1023


@dataclass(frozen=True)
class Guess:
    """What a plan's bytes show.

    Attributes:
        plugins: in the order of the plan, each once; None: there are plugin layers, but what they are is unknown.
        layers: how many plugin layers the text names.
        sms: compute capabilities that it was built for, as 80.
        tensorrt: the version that built it; empty where the bytes don't tell.
    """

    plugins: tuple[Identity, ...] | None
    layers: int
    sms: tuple[int, ...]
    tensorrt: str = ""


def read(path: Path) -> Guess:
    """Look into a plan.

    Raises:
        UsageError: it can't be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    return guess(data)


def guess(data: bytes) -> Guess:
    """What a plan's bytes show; nothing for bytes that are not a plan."""
    layers = set(_LAYER.findall(data))
    sms = {int(one[2:]) for found in _ACCELERATORS.findall(data) for one in found.decode().split()}
    plugins: list[Identity] = []
    for before, behind in _FORMS:
        at = data.find(before)
        while at >= 0:
            if identity := _identity(data, at, before, behind):
                plugins.append(identity)
            at = data.find(before, at + 1)
    known = tuple(dict.fromkeys(plugins)) if plugins or not layers else None
    version = _VERSION.match(data)
    tensorrt = ".".join(str(part[0]) for part in version.groups()) if version else ""
    return Guess(known, len(layers), tuple(sorted(sms)), tensorrt)


def _identity(data: bytes, at: int, before: bytes, behind: bytes) -> Identity | None:
    texts = []
    for _ in range(3):
        found = _string(data, at, before)
        if found is None:
            return None
        text, at = found
        texts.append(text)
    if not data.startswith(behind, at) or not texts[0] or not texts[1]:
        return None
    return texts[0], texts[1], texts[2]


def _string(data: bytes, at: int, before: bytes) -> tuple[str, int] | None:
    """A string's record at a place, and where it ends."""
    head = len(before) + _LENGTH.size + len(_BETWEEN) + _LENGTH.size
    if not data.startswith(before, at) or at + head > len(data):
        return None
    (length,) = _LENGTH.unpack_from(data, at + len(before))
    (again,) = _LENGTH.unpack_from(data, at + head - _LENGTH.size)
    if not data.startswith(_BETWEEN, at + len(before) + _LENGTH.size) or length != again or length > _LONGEST:
        return None
    raw = data[at + head : at + head + length]
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    return (text, at + head + length) if len(raw) == length and (text.isprintable() or not text) else None
