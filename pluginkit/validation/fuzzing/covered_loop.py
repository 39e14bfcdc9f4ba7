"""The fuzzer's loop over a library that counts its edges: libFuzzer chooses which inputs to go on with."""

from __future__ import annotations

import json
import mmap
import random
import struct
import tempfile
import zlib
from dataclasses import replace
from functools import partial
from pathlib import Path

from pluginkit import host
from pluginkit.process import isolated
from pluginkit.validation.fuzzing.calls import Calls
from pluginkit.validation.fuzzing.inputs import FuzzInput, Target
from pluginkit.validation.fuzzing.libfuzzer import MOST, LibFuzzer
from pluginkit.validation.fuzzing.loop import FuzzLimits, FuzzLoop, FuzzPart, FuzzState
from pluginkit.validation.fuzzing.mutation import TAG, Parent
from pluginkit.validation.subject import Subject

AT_ONCE = 8000
"""Inputs of one fork: what libFuzzer has learnt besides inputs ends with it."""
DEEPEST = 32
"""Steps of a seed: libFuzzer makes small ones."""
NUMBERS = 1_000_000
"""Different mutations of an input."""
LONGEST = 4096
"""Bytes that libFuzzer's own mutations make of some."""
_SIZE = struct.Struct("<I")


class CoveredLoop(FuzzLoop):
    """Gives inputs to the plugin of a subject: the systematic ones, then those of libFuzzer.

    Args:
        subject, crumb, limits: as of `FuzzLoop`.
        libfuzzer: loaded before the plugin's library.
    """

    at_once = AT_ONCE

    def __init__(self, subject: Subject, crumb: Path, limits: FuzzLimits, libfuzzer: LibFuzzer) -> None:
        super().__init__(subject, crumb, limits)
        self._libfuzzer = libfuzzer
        # Shared with the forks: the input that is under way.
        self._packed = mmap.mmap(-1, _SIZE.size + MOST)

    def _some(self, state: FuzzState, part: FuzzPart, count: int) -> None:
        systematic = state.draw.first - state.step
        if systematic > 0:
            super()._some(state, part, min(count, systematic))
            return
        # In the worker's own folder, which goes with it when Ctrl-C ends it.
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=self._crumb.parent) as folder:
            self._by_libfuzzer(state, part, count, Path(folder) / "inputs")

    def _by_libfuzzer(self, state: FuzzState, part: FuzzPart, count: int, folder: Path) -> None:
        folder.mkdir()
        for steps, given in (((), state.draw.good), *state.parents):
            if len(packed := _pack(steps, given)) <= MOST:
                (folder / given.digest).write_bytes(packed)
        before = {one.name for one in folder.iterdir()}
        # It gives them all again, each time.
        count += len(before)
        ending = self._forked(partial(self._inside_libfuzzer, state, count, folder), state, part, count)
        # Those of a fork that has ended are there too.
        known = {given for _, given in state.parents}
        for file in sorted(one for one in folder.iterdir() if one.name not in before):
            steps, given = _unpack(file.read_bytes(), state)
            if given not in known:
                part.fresh.append((steps if len(steps) < DEEPEST else (), given))
        if ending:
            (size,) = _SIZE.unpack(self._packed[: _SIZE.size])
            steps, given = _unpack(self._packed[_SIZE.size : _SIZE.size + size], state)
            finding = self.ended(ending, steps, given)
            # Alone it has its own ending, and no frames of libFuzzer's; what hangs would take its time again.
            alone = self.repeat(given) if finding.ending != isolated.HUNG else None
            part.findings.append(replace(alone, steps=steps) if alone else finding)

    def _inside_libfuzzer(self, state: FuzzState, count: int, folder: Path) -> FuzzPart:
        """In the fork."""
        host.set_backtrace_file(self._trace)
        calls = Calls(self._subject)
        part = FuzzPart(state.step)

        def call(data: bytes) -> bool:
            self._packed[: _SIZE.size + len(data)] = _SIZE.pack(len(data)) + data
            self._give(calls, state, part, *_unpack(data, state))
            return part.done >= count

        def mutate(data: bytes, number: int) -> bytes:
            steps, given = _unpack(data, state)
            if number % 2 == 0:
                return _pack((), self._rewritten(given, random.Random(number)))
            step = state.draw.first + number // 2 % NUMBERS
            # What comes from a file, or from libFuzzer's own mutations, has no seed.
            seeded = steps or given == state.draw.good
            return _pack((*steps, step) if seeded else (), state.draw.next(given, step))

        part.edges = self._libfuzzer.run(folder, zlib.crc32(repr((state.draw.seed, state.step)).encode()), call, mutate)
        return part

    def _rewritten(self, given: FuzzInput, drawn: random.Random) -> FuzzInput:
        """With bytes that libFuzzer makes of some: it knows the numbers that the code has compared."""
        if given.fields:
            at = drawn.randrange(len(given.fields))
            name, kind, data, length = given.fields[at]
            if not data:
                return given
            # As many bytes as type and length say, or it would be the caller's fault.
            now = (name, kind, self._overwritten(data), length)
            return replace(given, fields=(*given.fields[:at], now, *given.fields[at + 1 :]))
        if given.tensors or given.target is Target.FIELDS:
            return given
        if len(given.data) > TAG and drawn.random() < 0.5:
            return replace(given, data=given.data[:TAG] + self._overwritten(given.data[TAG:]))
        return replace(given, data=self._libfuzzer.mutated(given.data, LONGEST))

    def _overwritten(self, data: bytes) -> bytes:
        """As many bytes as there are."""
        return self._libfuzzer.mutated(data, len(data)).ljust(len(data), b"\0")


def _pack(steps: tuple[int, ...], given: FuzzInput) -> bytes:
    return json.dumps([steps, given.to_json()], separators=(",", ":")).encode()


def _unpack(data: bytes, state: FuzzState) -> Parent:
    """Of no bytes, with which libFuzzer begins, the good input."""
    if not data:
        return (), state.draw.good
    steps, given = json.loads(data)
    return tuple(steps), FuzzInput.from_json(given)
