"""One call with an input, and what came of it: a text that is the same for inputs that a plugin treats alike."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pluginkit import _native
from pluginkit.host import Finding
from pluginkit.host.bases.dynamic.plugin import DynamicPlugin
from pluginkit.host.bases.static_plugin import StaticPlugin
from pluginkit.host.bases.v3.plugin import PluginV3
from pluginkit.host.descriptors import Desc, DynamicDesc
from pluginkit.host.formats import POISON
from pluginkit.host.library import BUILD, RUNTIME
from pluginkit.validation.fuzzing.inputs import FuzzInput, Target
from pluginkit.validation.fuzzing.mutation import WIDEST
from pluginkit.validation.subject import LAYER, Subject

MOST_SERIALIZED = 1 << 20
"""Bytes of a plugin's serialized form that are written."""
_OTHER = Desc((7,) * 8, 0, 0, 1.0)
"""What stands behind the tensor that is asked about, instead of `POISON`."""
_VALUES = re.compile(r'".*"|-?\d[\w.+-]*')


def without_values(text: str) -> str:
    """A logged message without its numbers and quoted texts: what it says of one value it says of the next."""
    return _VALUES.sub("#", text)


def good_input(subject: Subject, target: Target) -> FuzzInput:
    """An input of a target that the plugin takes.

    Raises:
        NothingToCheck: the target isn't there, or not enough is known of the plugin.
    """
    if target is Target.FIELDS:
        given = {one[0]: one for one in subject.answers.given}
        # Of a field that the plugin was made without there is a value of the type that its creator lists.
        for one in subject.creator.fields:
            length = max(one.length, 1)
            given.setdefault(one.name, (one.name, one.type, bytes(WIDEST * length), length))
        return FuzzInput(target, fields=tuple(given.values()))
    plugin = subject.configured() if subject.has_inputs else subject.plugin()
    if target is Target.SERIALIZED:
        if isinstance(plugin, PluginV3):
            return FuzzInput(target, fields=tuple(one.native() for one in plugin.fields_to_serialize()))
        return FuzzInput(target, data=plugin.serialize().data)
    descs = subject.inputs if target is Target.SHAPES else (*subject.inputs, *subject.outputs(plugin))
    return FuzzInput(target, tensors=tuple((one.dtype.code, 0, one.dims) for one in descs))


class Calls:
    """Calls of a plugin's methods with inputs.

    Args:
        subject: the plugin. Of formats and shapes one plugin is asked again and again, as a builder does.
        closed: whether serialized bytes end where a page begins that can't be accessed.
    """

    def __init__(self, subject: Subject, *, closed: bool = True) -> None:
        self._subject = subject
        self._closed = closed
        self._plugin: Any = None

    def __call__(self, given: FuzzInput) -> str:
        """What came of it.

        Raises:
            Finding: a promise of TensorRT's documents is broken.
        """
        _native.take_log()
        call: Callable[[FuzzInput], str] = {
            Target.FIELDS: self._fields,
            Target.SERIALIZED: self._serialized,
            Target.FORMATS: self._formats,
            Target.SHAPES: self._shapes,
        }[given.target]
        try:
            found = call(given)
        except ValueError:
            found = "a plugin that this host can't call"
        texts = dict.fromkeys(without_values(text) for _, text in _native.take_log())
        return "\n".join((found, *texts))

    def _fields(self, given: FuzzInput) -> str:
        creator = self._subject.creator.native
        if self._subject.creator.kind == "v3":
            return _ended(creator.create_v3(LAYER, list(given.fields), BUILD), None)
        return _ended(creator.create(LAYER, list(given.fields)), None)

    def _serialized(self, given: FuzzInput) -> str:
        creator = self._subject.creator.native
        if self._subject.creator.kind == "v3":
            return _ended(creator.create_v3(LAYER, list(given.fields), RUNTIME), None)
        restore = creator.deserialize_closed if self._closed else creator.deserialize
        return _ended(restore(LAYER, given.data), given.data)

    def _formats(self, given: FuzzInput) -> str:
        plugin = self._made()
        count = len(self._subject.inputs)
        descs = [Desc(dims, kind, form, 0.0) for kind, form, dims in given.tensors]
        answers = []
        for behind in (POISON, _OTHER, POISON):
            asked = [one if at <= given.position else behind for at, one in enumerate(descs)]
            answers.append(_supports(plugin, given.position, asked, count))
        if answers[0] == answers[2] != answers[1]:
            message = f"the answer for {given} depends on tensors behind it; only inOut[0..pos] may be read"
            interface = "IPluginV3OneBuild" if isinstance(plugin, PluginV3) else plugin.INTERFACE
            raise Finding(f"{interface}::supportsFormatCombination", message, rule="C1")
        return f"{given.position}: {answers[0]}"

    def _shapes(self, given: FuzzInput) -> str:
        plugin = self._made()
        dims = [one for _, _, one in given.tensors]
        native = plugin.native
        if isinstance(plugin, PluginV3):
            answer, shapes, *_ = native.output_shapes(dims, (), self._subject.count)
            return f"{answer} {[count for count, _ in shapes]}"
        answers = [native.output_dimensions(index, dims) for index in range(self._subject.count)]
        assert isinstance(plugin, (DynamicPlugin, StaticPlugin))
        return str([one[0] for one in answers])

    def _made(self) -> Any:
        if self._plugin is None:
            self._plugin = self._subject.plugin()
        return self._plugin


def _supports(plugin: Any, position: int, asked: list[Desc], inputs: int) -> bool:
    if isinstance(plugin, PluginV3):
        dynamic = [DynamicDesc(one, one.dims, one.dims, one.dims).native() for one in asked]
        return bool(plugin.native.supports_format_combination(position, dynamic, inputs, len(asked) - inputs))
    natives = [one.native() for one in asked]
    return bool(plugin.native.supports_format_combination(position, natives, inputs, len(asked) - inputs))


def _ended(plugin: _native.Plugin | _native.PluginV3 | None, data: bytes | None) -> str:
    """What is to be seen of a plugin that was made, which then ends."""
    if plugin is None:
        return "null"
    if isinstance(plugin, _native.PluginV3):
        core = plugin.capability(0)
        found = f"made, {plugin.nb_outputs() if plugin.capability(1) else core} outputs"
        if plugin.capability(2):
            plugin.fields_to_serialize()
    else:
        size = plugin.serialization_size()
        found = f"made, {plugin.nb_outputs()} outputs, {'same' if data and size == len(data) else 'other'} size"
        if size <= MOST_SERIALIZED:
            buffer = _native.Buffer(size)
            plugin.serialize(buffer.address)
            if data is not None:
                found += f", {'same' if bytes(memoryview(buffer)) == data else 'other'} bytes"
    copy = plugin.clone()
    if copy is not None:
        copy.destroy()
    plugin.destroy()
    return found
