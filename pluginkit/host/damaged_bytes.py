"""What a creator makes of damaged bytes and fields: cut ones, longer ones, fields without data.

No header promises a refusal (IPluginCreator's deserializePlugin and createPlugin say what comes of an error, not what
is one), so what is found is a warning. But engines are files, cut by full disks and read by newer libraries, and
an attribute that is an empty list comes to createPlugin without data. Each question is asked in a forked child, which
may die of it. So nothing that belongs to threads of this process may be needed: it must be one that only builds.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

from pluginkit.demands import warn
from pluginkit.host.bases.v3.plugin import KeptField
from pluginkit.host.call_file import set_backtrace_file, set_call_file
from pluginkit.host.library import BUILD, RUNTIME, Creator, field_of
from pluginkit.host.spec import BuiltPlugin

SECONDS = 2
"""So long may a creator think about a question: a few bytes at most."""
LONGER = 8
"""Bytes that are put behind serialized ones."""

_MADE, _REFUSED = 121, 122
"""Exit codes of a child; a plugin's own exit() has hardly these."""
TAKEN = "made a plugin"
_DESERIALIZE, _CREATE, _CREATE_V3 = (
    "IPluginCreator::deserializePlugin",
    "IPluginCreator::createPlugin",
    "IPluginCreatorV3One::createPlugin",
)


def check(creator: Creator, built: BuiltPlugin) -> None:
    """Asks for plugins of the damaged bytes of a layer, or of its damaged fields (S5)."""
    if creator.kind == "v3":
        # Of a list or a text nobody says how long it is.
        open_ended = {name for name, (_, value) in built.fields.items() if isinstance(value, (str, tuple))}
        check_kept(creator, built.layer, built.v3.kept if built.v3 is not None else (), open_ended)
    else:
        check_bytes(creator, built.layer, built.serialized.data)


def check_bytes(creator: Creator, layer: str, data: bytes) -> None:
    """Asks a V2 creator for plugins of damaged bytes (S5)."""
    _check(_DESERIALIZE, _damaged(creator, layer, data))


def check_kept(creator: Creator, layer: str, fields: Sequence[KeptField], open_ended: Collection[str]) -> None:
    """Asks a V3 creator for plugins of serialized fields, one of another length, which isn't in `open_ended` (S5)."""
    _check(_CREATE_V3, _of_other_length(creator, layer, fields, open_ended))


def _check(method: str, asked: Iterable[tuple[str, Callable[[], object]]]) -> None:
    if problems := _summary([(what, ask_apart(ask)) for what, ask in asked]):
        warn("S5", method, problems)


def check_fields(creator: Creator, built: BuiltPlugin) -> None:
    """Asks for plugins of the fields of a layer, one of which has no data (F7)."""
    method = _CREATE_V3 if creator.kind == "v3" else _CREATE
    found = [
        (f"the field '{name}' without data", ask_apart(_without_data(creator, built, name))) for name in built.fields
    ]
    # What a plugin makes of an empty list is its own choice; it should only survive the call.
    if problems := _summary([(what, answer) for what, answer in found if answer != TAKEN]):
        warn("F7", method, problems)


def _summary(found: list[tuple[str, str]]) -> str:
    """What is wrong, the first of it in full; empty where nothing is."""
    bad = [(what, answer) for what, answer in found if answer]
    if not bad:
        return ""
    more = f", and {len(bad) - 1} more like that" if len(bad) > 1 else ""
    return f"{bad[0][1]} of {bad[0][0]}{more}; null is the answer for an error"


def _damaged(creator: Creator, layer: str, data: bytes) -> Iterator[tuple[str, Callable[[], object]]]:
    size = len(data)
    for length in sorted({0, 1, size // 2, size - 1} & set(range(size))):
        yield f"{length} of its {size} bytes", partial(creator.native.deserialize, layer, data[:length])
    longer = data + bytes(LONGER)
    yield f"its {size} bytes and {LONGER} more", partial(creator.native.deserialize, layer, longer)


def _of_other_length(
    creator: Creator, layer: str, fields: Sequence[KeptField], open_ended: Collection[str]
) -> Iterator[tuple[str, Callable[[], object]]]:
    def with_(index: int, other: KeptField) -> Callable[[], object]:
        given = [one.native() for one in (*fields[:index], other, *fields[index + 1 :])]
        return partial(creator.native.create_v3, layer, given, RUNTIME)

    for index, one in enumerate(fields):
        if one.length > 0 and one.name not in open_ended:
            yield f"the field '{one.name}' with length 0", with_(index, KeptField(one.name, one.type, 0, b""))
            twice = KeptField(one.name, one.type, 2 * one.length, 2 * one.data)
            yield f"the field '{one.name}' twice as long", with_(index, twice)


def _without_data(creator: Creator, built: BuiltPlugin, name: str) -> Callable[[], object]:
    given = [
        field_of(key, dtype, value) if key != name else (key, field_of(key, dtype, value)[1], None, 0)
        for key, (dtype, value) in built.fields.items()
    ]
    if creator.kind == "v3":
        return partial(creator.native.create_v3, built.layer, given, BUILD)
    return partial(creator.native.create, built.layer, given)


def ask_apart(question: Callable[[], object]) -> str:
    """Asks in a child process: a description of what it did; empty where it answered null."""
    child = os.fork()
    if child == 0:
        code = _REFUSED
        try:
            set_call_file("")
            set_backtrace_file("")
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(SECONDS)
            code = _REFUSED if question() is None else _MADE
        except ValueError:
            code = _MADE  # something of another layout
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        ended = signal.Signals(number).name
        return f"did not come back in {SECONDS} s" if number == signal.SIGALRM else f"ended the process with {ended}"
    code = os.WEXITSTATUS(status)
    if code == _REFUSED:
        return ""
    return TAKEN if code == _MADE else f"ended the process with exit code {code}"
