"""clang's libFuzzer, in this process: it goes on with the inputs that reach new edges of the plugin's own code."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from pathlib import Path

MOST = 1 << 16
"""Bytes of an input."""
SOURCE = Path(__file__).with_name("libfuzzer.cpp")
"""What is compiled and linked with libFuzzer for `LibFuzzer`."""

_OPTIONS = (
    # Who ends the process is the host's to find out, and how long an input takes: libFuzzer's own ways would hide it.
    *(f"-handle_{one}=0" for one in ("segv", "bus", "abrt", "ill", "fpe", "int", "term", "xfsz", "usr1", "usr2")),
    *("-timeout=0", "-rss_limit_mb=0", "-malloc_limit_mb=0", "-detect_leaks=0"),
    # Inputs are packed, so halves of two are none; and a smaller text is no smaller input.
    *("-cross_over=0", "-reduce_inputs=0", "-len_control=0", f"-max_len={MOST}"),
    # A number that is nearer to one that it is compared with is something new, too.
    "-use_value_profile=1",
    # Nobody else writes to its folder.
    "-reload=0",
)
_DATA = ctypes.POINTER(ctypes.c_uint8)
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, _DATA, ctypes.c_size_t)
_MUTATOR = ctypes.CFUNCTYPE(ctypes.c_size_t, _DATA, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint)
_REACHED = re.compile(r"\bcov: (\d+)")
_ALL = re.compile(r"\((\d+) inline 8-bit counters\)")


class LibFuzzer:
    """libFuzzer for a plugin's library that is loaded after it.

    Args:
        library: of `libfuzzer.cpp` and libFuzzer.
    """

    def __init__(self, library: Path) -> None:
        # The plugin's library finds in it what its counters are announced to.
        self._library = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self._library.pluginkit_mutate.restype = ctypes.c_size_t

    def run(
        self, folder: Path, seed: int, call: Callable[[bytes], bool], mutate: Callable[[bytes, int], bytes]
    ) -> tuple[int, int]:
        """Give inputs until `call` says that it was the last. Once in a process, which should end behind it.

        Args:
            folder: holds the first inputs, a file each, and gets those that reach something new.
            seed: of libFuzzer's random numbers.
            call: gives the plugin an input.
            mutate: another input, made of one and a number; of at most `MOST` bytes, or it is left out.

        Returns:
            Edges of the plugin's library that the inputs have reached, and all that it has.
        """
        errors: list[BaseException] = []

        def called(data: object, size: int) -> int:
            try:
                return int(call(_bytes(data, size)))
            except BaseException as error:  # noqa: BLE001 - ctypes would print it and go on
                errors.append(error)
                return 1

        def mutated(data: object, size: int, most: int, number: int) -> int:
            try:
                made = mutate(_bytes(data, size), number)
            except BaseException as error:  # noqa: BLE001 - as above; the next call ends it
                errors.append(error)
                return size
            if len(made) > most:
                return size
            ctypes.memmove(data, made, len(made))  # type: ignore[arg-type]
            return len(made)

        log = folder.with_suffix(".log")
        words = ["pluginkit", f"-seed={seed % 2**31 + 1}", *_OPTIONS, f"-artifact_prefix={folder.parent}/", str(folder)]
        before = os.dup(2)
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
            arguments = (ctypes.c_char_p * (len(words) + 1))(*(one.encode() for one in words), None)
            self._library.pluginkit_fuzz(
                len(words), arguments, _CALLBACK(lambda *one: 1 if errors else called(*one)), _MUTATOR(mutated)
            )
        os.dup2(before, 2)
        os.close(before)
        if errors:
            raise errors[0]
        text = log.read_text(errors="replace")
        return max(map(int, _REACHED.findall(text)), default=0), sum(map(int, _ALL.findall(text)))

    def mutated(self, data: bytes, most: int) -> bytes:
        """What one of libFuzzer's own mutations makes of the first `most` bytes; only inside `run`."""
        room = max(most, 1)
        buffer = ctypes.create_string_buffer(data[:room], room)
        size = self._library.pluginkit_mutate(buffer, ctypes.c_size_t(min(len(data), room)), ctypes.c_size_t(room))
        return buffer.raw[:size]


def _bytes(data: object, size: int) -> bytes:
    return ctypes.string_at(data, size) if size else b""  # type: ignore[arg-type]
