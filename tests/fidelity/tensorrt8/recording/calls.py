"""The calls that a chameleon kept, told shortly: what lives its objects had, and what their tensors were."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

LETTERS = {
    "getNbOutputs": "N",
    "getOutputDataType": "T",
    "getOutputDimensions": "D",
    "isOutputBroadcastAcrossBatch": "b",
    "canBroadcastInputAcrossBatch": "B",
    "supportsFormat": "F",
    "supportsFormatCombination": "F",
    "configurePlugin": "C",
    "configureWithFormat": "C",
    "getWorkspaceSize": "W",
    "initialize": "I",
    "enqueue": "E",
    "getSerializationSize": "S",
    "serialize": "s",
    "clone": "c",
    "setPluginNamespace": "n",
    "attachToContext": "A",
    "detachFromContext": "a",
    "terminate": "t",
    "destroy": "x",
}
MOST = 3
"""So many calls of one method in a row are counted; more are many, `*`."""
MADE = re.compile(r"(\d+) (.*)")


@dataclass
class Life:
    """An object: what made it, its layer, and the calls of it in order.

    Attributes:
        origin: `create`, `deserialize`, or `clone of ...`.
        node: the layer's name.
        calls: method and the rest of its line.
    """

    origin: str
    node: str
    calls: list[tuple[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """As `clone of create: TDxx`; a method that is called oftener than MOST in a row has a `*` behind it."""
        shown, last, count = "", "", 0
        for method, _ in [*self.calls, ("", "")]:
            letter = LETTERS.get(method, "")
            if letter == last:
                count += 1
                continue
            shown += last * min(count, MOST) if last not in ("F", "E") or count <= 1 else last
            shown += "*" if count > MOST or (last in ("F", "E") and count > 1) else ""
            last, count = letter, 1
        return f"{self.origin}: {shown}"


class Lives:
    """The objects of a process, since it began to keep calls."""

    def __init__(self) -> None:
        self.objects: dict[int, Life] = {}

    def add(self, text: str) -> list[tuple[Life, str, str]]:
        """Takes more calls; gives those of objects that are known: the object, the method, the rest."""
        found = []
        for number, method, rest in parsed(text):
            if number == 0 and (made := MADE.fullmatch(rest)):
                origin = "create" if method == "createPlugin" else "deserialize"
                self.objects[int(made[1])] = Life(origin, made[2].partition(" [")[0])
                continue
            life = self.objects.get(number)
            if life is None:
                continue
            if method == "clone" and rest != "0":
                self.objects[int(rest)] = Life(f"clone of {life.origin}", life.node)
            life.calls.append((method, rest))
            found.append((life, method, rest))
        return found

    def texts(self, *, engine: bool) -> list[str]:
        """Each life that there was, with how many objects had it: of an engine's objects, or of those before it."""
        lives = (life for life in self.objects.values() if life.origin.endswith("deserialize") is engine)
        counts = Counter(life.text for life in lives)
        return [f"{count} {text}" for text, count in sorted(counts.items())]

    def configured(self) -> dict[str, list[str]]:
        """Layer -> what those of its objects that were serialized were configured with last."""
        found: dict[str, list[str]] = {}
        for life in self.objects.values():
            if life.origin == "deserialize":
                continue
            last = ""
            for method, rest in life.calls:
                if method.startswith("configure"):
                    last = rest
                elif method == "serialize" and last and last not in found.setdefault(life.node, []):
                    found[life.node].append(last)
        return found


def parsed(text: str) -> Iterator[tuple[int, str, str]]:
    """Object, method, rest of each line."""
    for line in text.splitlines():
        number, method, *rest = line.split(" ", 2)
        yield int(number), method, rest[0] if rest else ""


def ran(calls: Sequence[tuple[Life, str, str]]) -> dict[str, list[object]]:
    """Of the calls of a run, layer -> how often enqueue was called, what it was given first, and what the plugin was
    configured with."""
    found: dict[str, list[object]] = {}
    for life, method, rest in calls:
        if method == "enqueue":
            one = found.setdefault(life.node, [0, rest, ""])
            one[0] = int(str(one[0])) + 1
    for life, method, rest in calls:
        if method.startswith("configure") and life.node in found and not found[life.node][2]:
            found[life.node][2] = rest
    return found


class Kept:
    """The calls that a library in this process keeps."""

    def __init__(self, library: str) -> None:
        self._take = ctypes.CDLL(library).chameleonCalls
        self._take.restype = ctypes.c_size_t
        self._take.argtypes = [ctypes.c_void_p]

    def take(self) -> str:
        """Those since the last time."""
        buffer = ctypes.create_string_buffer(self._take(None) + (1 << 16))
        size = self._take(ctypes.addressof(buffer))
        return buffer.raw[:size].decode()
