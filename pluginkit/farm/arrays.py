"""Arrays travel by their digests: a pickle refers to them, and a worker is sent each that it hasn't got, once."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from pluginkit.evaluators.protocol import RunWork

FEW = 64
"""Elements that an array has at most to travel within a pickle: a digest is as long."""

Array: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Packed:
    """Plain data of pluginkit's as it travels: only pluginkit of the same version reads it.

    Attributes:
        data: a pickle, in which arrays of more than `FEW` elements are their digests, shapes and types.
        arrays: their bytes, by digest.
    """

    data: bytes
    arrays: Mapping[str, bytes]

    @classmethod
    def of(cls, value: object, whole: WorkPayload | None = None) -> Packed:
        """From the data itself. The digests of arrays that are in the `whole` work are known."""
        file = io.BytesIO()
        pickler = _Pickler(file, whole)
        pickler.dump(value)
        return cls(file.getvalue(), pickler.arrays)

    def without(self, there: Collection[str]) -> Packed:
        """Without the bytes of arrays that are there already."""
        return replace(self, arrays={name: data for name, data in self.arrays.items() if name not in there})


def unpack(data: bytes, find: Callable[[str], bytes | None]) -> Any:
    """What was packed.

    Args:
        data: as of `Packed`.
        find: gives an array's bytes; where it gives None, the array has its shape and its type, and zeros for values.
    """
    return _Unpickler(io.BytesIO(data), find).load()


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, whole: WorkPayload | None = None) -> None:
        super().__init__(file, protocol=5)
        self.arrays: dict[str, bytes] = {}
        self.seen: dict[int, tuple[Array, str]] = {}
        self._whole = whole

    def persistent_id(self, obj: object) -> Any:
        """An array's digest in its stead."""
        if not isinstance(obj, np.ndarray) or obj.size <= FEW or obj.dtype.hasobject:
            return None
        known = self._whole.seen.get(id(obj)) if self._whole else None
        if self._whole and known:
            name = known[1]
            data = self._whole.arrays[name]
        else:
            data = obj.tobytes()
            name = digest(data)
        self.arrays[name] = data
        self.seen[id(obj)] = obj, name
        return name, obj.shape, obj.dtype


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, find: Callable[[str], bytes | None]) -> None:
        super().__init__(file)
        self._find = find

    def persistent_load(self, pid: Any) -> Array:
        """The array of a digest."""
        name, shape, dtype = pid
        data = self._find(name)
        if data is None:
            return np.broadcast_to(np.zeros((), dtype), shape)  # it takes no memory
        found: Array = np.frombuffer(bytearray(data), dtype).reshape(shape)
        return found


def digest(data: bytes) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class WorkPayload:
    """A run's work as it travels.

    All arrays of a plan's cases are some hundred megabytes. An item has those of its own case; builders ask of the
    others their shapes alone, and evaluators that run every case themselves (`Item.whole`) are sent all.

    Attributes:
        data: as of `Packed`.
        own: the digests of what isn't the cases' alone: whoever reads the work must have those arrays.
        arrays: the bytes of arrays, by digest.
        seen: where they were packed, each array by its id, and its digest. It has the arrays, so that no other gets
            that id meanwhile.
    """

    data: bytes
    own: frozenset[str]
    arrays: Mapping[str, bytes]
    seen: Mapping[int, tuple[Array, str]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, work: RunWork, before: WorkPayload | None = None) -> WorkPayload:
        """From a run's work, with all arrays; the digests of those that were in the work `before` are known."""
        file = io.BytesIO()
        whole = _Pickler(file, before)
        whole.dump(work)
        plan, rest = replace(work.plan, cases=()), replace(work.whole, cases=())
        own = frozenset(Packed.of(replace(work, plan=plan, whole=rest), before).arrays)
        return cls(file.getvalue(), own, whole.arrays, whole.seen)

    def sent(self, there: Collection[str] = ()) -> WorkPayload:
        """As it is sent to who has some arrays already: with its own others."""
        return replace(self, arrays={name: self.arrays[name] for name in self.own if name not in there}, seen={})

    def read(self) -> RunWork:
        """The work, with its own arrays, and zeros for the cases'."""
        work: RunWork = unpack(self.data, lambda name: self.arrays[name] if name in self.own else None)
        return work


def pickled(value: object) -> bytes:
    """Plain data of pluginkit's without large arrays, as it travels."""
    return pickle.dumps(value, protocol=5)
