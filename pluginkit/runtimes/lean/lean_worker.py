"""The worker's side of `pluginkit.runtimes.lean`; `pluginkit.library` imports NVIDIA's tensorrt_lean too, to list."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from pluginkit.errors import CheckFailed
from pluginkit.field_types import FieldType, Value, encode
from pluginkit.process.worker_main import CallFile
from pluginkit.runtimes.lean.log_lines import explain
from pluginkit.runtimes.nvidia import creator_names

_NUMPY = {0: np.float16, 1: np.float32, 2: np.float64, 4: np.int16, 5: np.int32, 10: np.int64}
"""The element type of a field by its `nvinfer1::PluginFieldType`; all others are bytes."""

SPACE = "pluginkit.test"
"""A namespace that is not a plugin's own."""


def open(  # noqa: A001
    call_file: CallFile, *, library: str, identity: tuple[str, str, str], v3: bool, folder: str
) -> LeanChild:
    """Imports the library from `folder` ('' = as Python finds it) and loads the plugin library.

    Raises:
        CheckFailed: the registry doesn't load it, or doesn't list the plugin.
    """
    if folder:
        sys.path.insert(0, folder)
    return LeanChild(call_file, importlib.import_module("tensorrt_lean"), library, identity, v3)


def recorder(trt: Any) -> Any:
    """An error recorder; without one NVIDIA's messages go to a logger that only a GPU machine can have."""

    class Recorder(trt.IErrorRecorder):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.messages: list[tuple[Any, str]] = []

        def clear(self) -> None:
            self.messages.clear()

        def get_error_code(self, index: int) -> Any:
            return self.messages[index][0]

        def get_error_desc(self, index: int) -> str:
            return self.messages[index][1]

        def has_overflowed(self) -> bool:
            return False

        def num_errors(self) -> int:
            return len(self.messages)

        def report_error(self, code: Any, text: str) -> bool:
            # Every message is followed by one that there is no GPU.
            if "catchCudaError" not in text:
                self.messages.append((code, text))
            return True

    return Recorder()


class LeanChild:
    """NVIDIA's registry with the plugin library in it."""

    def __init__(self, call_file: CallFile, trt: Any, library: str, identity: tuple[str, str, str], v3: bool) -> None:
        self._crumb = call_file
        self._trt = trt
        self._library = library
        self._identity = identity
        self._wanted = "IPluginCreatorV3One" if v3 else "IPluginCreator"
        self._registry = trt.get_plugin_registry()
        self._recorder = recorder(trt)
        self._registry.error_recorder = self._recorder
        self._before = [creator_names.identity(creator) for creator in self._registry.all_creators]
        self._handle = self._load(library)
        self._creator = self._find()
        self._held: list[Any] = []

    def creators(self) -> list[tuple[str, str, str]]:
        """The name, version and namespace of each creator that came with the library."""
        return [one for one in map(creator_names.identity, self._registry.all_creators) if one not in self._before]

    def _load(self, library: str) -> Any:
        """Loads it: the handle. In some versions a capsule of a null pointer, so what is listed decides."""
        self._recorder.clear()
        self._crumb.enter("IPluginRegistry::loadLibrary")
        handle = self._registry.load_library(library)
        self._crumb.leave()
        return handle

    def _find(self) -> Any:
        found = [one for one in self._registry.all_creators if creator_names.identity(one) == self._identity]
        name, version, namespace = self._identity
        if not found:
            known = explain(self._messages())
            cause = f"the library {known.what}" if known else "the library was loaded without that one"
            raise CheckFailed(
                f"{self._who()} lists no creator {name} {version} in namespace {namespace!r} after loading "
                f"{self._library}: {cause}{self._messages()}",
                hint=known.hint if known else "",
            )
        if not isinstance(found[0], getattr(self._trt, self._wanted)):
            raise CheckFailed(f"{self._who()} lists {name} as {type(found[0]).__name__}, not as {self._wanted}")
        return found[0]

    def registry(self, copy: str) -> bool:
        """Namespaces, duplicates, unloading and loading again; whether it was unloaded.

        A library with two versions of one plugin stays loaded: tensorrt-lean 10.16 and 11.4 forget one of them when it
        goes, and end the process when they meet its memory at the next loading.

        Args:
            copy: a copy of the library's file, under another name.

        Raises:
            CheckFailed: the registry or the library does otherwise than they should.
        """
        self._check_namespaces()
        mine = self.creators()
        for again in (self._library, copy):
            self._load(again)
            if "exists already" not in self._messages() or self.creators() != mine:
                raise CheckFailed(
                    f"{self._who()}: loading {again} after {self._library} gives {self.creators()} instead of a "
                    f"refusal and {mine}{self._messages()}"
                )
        if len({(name, namespace) for name, _, namespace in mine}) < len(mine):
            return False
        # Creators are objects of the library: none may be held when it goes.
        self._creator = None
        self._crumb.enter("IPluginRegistry::deregisterLibrary")
        self._registry.deregister_library(self._handle)
        self._crumb.leave()
        if self.creators():
            raise CheckFailed(
                f"{self._who()} lists {self.creators()} after unloading {self._library}{self._messages()}"
            )
        self._handle = self._load(self._library)
        if self.creators() != mine:
            raise CheckFailed(
                f"{self._who()} lists {self.creators()} after loading {self._library} again, {mine} the first time"
                f"{self._messages()}"
            )
        self._creator = self._find()
        return True

    def _check_namespaces(self) -> None:
        name, version, namespace = self._identity
        if self._registry.get_creator(name, version, namespace) is None:
            raise CheckFailed(f"{self._who()} lists {name} {version} and does not find it in {namespace!r}")
        if self._registry.get_creator(name, version, f"{namespace}.other") is not None:
            raise CheckFailed(f"{self._who()} finds {name} {version} in a namespace that it is not in")

    def check(self, node: str, fields: dict[str, tuple[FieldType, Value]]) -> None:
        """Makes a plugin, serializes it, makes another of the bytes, and clones both.

        Raises:
            CheckFailed: what went wrong, with NVIDIA's message.
        """
        self._recorder.clear()
        space = SPACE
        plugin = self._do("IPluginCreator::createPlugin", lambda: self._creator.create_plugin(node, self._made(fields)))
        plugin.plugin_namespace = space
        data = self._serialized(plugin)
        restored = self._do("IPluginCreator::deserializePlugin", lambda: self._creator.deserialize_plugin(node, data))
        restored.plugin_namespace = space
        clones = [self._do("IPluginV2::clone", one.clone) for one in (plugin, restored)]
        for what, other in zip(("the restored plugin", "the clone", "the restored one's clone"), [restored, *clones],
                               strict=True):  # fmt: skip
            again = self._serialized(other)
            # Which of the bytes count, only the host knows: no document promises that all of them are written.
            if len(again) != len(data):
                raise CheckFailed(f"{self._who()}: {what} serializes to {len(again)} bytes, the plugin to {len(data)}")
            if (other.plugin_type, other.plugin_version) != self._identity[:2]:
                raise CheckFailed(
                    f"{self._who()}: {what} is a {other.plugin_type} {other.plugin_version}, its creator's "
                    f"{' '.join(self._identity[:2])}"
                )
            if other.plugin_namespace != space:
                raise CheckFailed(
                    f"{self._who()}: {what} is in namespace {other.plugin_namespace!r}, and was put into {space!r}",
                    hint="clone() has to copy the namespace, and setPluginNamespace() to keep it.",
                )
            if other.num_outputs != plugin.num_outputs:
                raise CheckFailed(f"{self._who()}: {what} has {other.num_outputs} outputs, not {plugin.num_outputs}")

    def check_v3(
        self, node: str, fields: dict[str, tuple[FieldType, Value]], kept: list[tuple[str, int, bytes]]
    ) -> None:
        """Makes an IPluginV3 for the build and, of the fields `kept` (name, type, data), for the run.

        NVIDIA's module can't call getFieldsToSerialize or clone of a plugin written in C++.

        Raises:
            CheckFailed: what went wrong, with NVIDIA's message.
        """
        self._recorder.clear()
        trt, creator = self._trt, self._creator
        kinds = {int(kind): kind for kind in trt.PluginFieldType.__members__.values()}
        phases = {
            "kBUILD": (trt.TensorRTPhase.BUILD, self._made(fields)),
            "kRUNTIME": (
                trt.TensorRTPhase.RUNTIME,
                trt.PluginFieldCollection(
                    [
                        trt.PluginField(name, np.frombuffer(data, _NUMPY.get(kind, np.int8)), kinds[kind])
                        for name, kind, data in kept
                    ]
                ),
            ),
        }
        for phase, (number, given) in phases.items():
            plugin = self._do(
                f"IPluginCreatorV3One::createPlugin({phase})",
                lambda number=number, given=given: creator.create_plugin(node, given, number),
            )
            core = self._do(
                "IPluginV3::getCapabilityInterface(kCORE)",
                lambda plugin=plugin: plugin.get_capability_interface(trt.PluginCapabilityType.CORE),
            )
            found = (core.plugin_name, core.plugin_version, core.plugin_namespace)
            if found != self._identity:
                raise CheckFailed(f"{self._who()}: createPlugin({phase}) made {found}, its creator is {self._identity}")

    def _made(self, fields: dict[str, tuple[FieldType, Value]]) -> Any:
        kinds = {int(kind): kind for kind in self._trt.PluginFieldType.__members__.values()}
        # The collection copies pointers, and keeps neither the fields nor their arrays.
        self._held = [
            self._trt.PluginField(name, encode(kind, value), kinds[kind.code]) for name, (kind, value) in fields.items()
        ]
        return self._trt.PluginFieldCollection(self._held)

    def _serialized(self, plugin: Any) -> bytes:
        return bytes(self._do("IPluginV2::serialize", plugin.serialize))

    def _do(self, call: str, function: Any) -> Any:
        self._crumb.enter(call)
        result = function()
        self._crumb.leave()
        if result is None:
            raise CheckFailed(f"{self._who()}: {call} gave nothing{self._messages()}")
        return result

    def _who(self) -> str:
        return f"TensorRT {self._trt.__version__}'s registry"

    def _messages(self) -> str:
        return "".join(f"\n{text}" for _, text in self._recorder.messages)
