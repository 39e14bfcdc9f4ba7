"""Runs in a process with tensorrt_lean: `python in_lean.py JOB LIBRARY`. Prints what it saw as JSON."""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

import numpy as np
import tensorrt_lean as trt


def listed(registry: Any) -> list[list[str]]:
    return [
        [type(creator).__name__, creator.name, creator.plugin_version, creator.plugin_namespace]
        for creator in registry.all_creators
        if creator.name in ("Echo", "Old")
    ]


def lifecycle(creator: Any, fields: list[Any]) -> dict[str, Any]:
    """Creates, serializes, restores and clones, as a registry's user can."""
    plugin = creator.create_plugin("one", trt.PluginFieldCollection(fields))
    if plugin is None:
        return {"created": False}
    plugin.plugin_namespace = "somewhere"
    data = bytes(plugin.serialize())
    clone = plugin.clone()
    restored = creator.deserialize_plugin("one", data)
    return {
        "created": True,
        "type": [plugin.plugin_type, plugin.plugin_version, plugin.num_outputs],
        "version": plugin.tensorrt_version,
        "size": plugin.serialization_size,
        "alpha": float(np.frombuffer(data[8:], np.float32)[0]),
        "restored": bytes(restored.serialize()) == data,
        "cloned": [bytes(clone.serialize()) == data, clone.plugin_namespace],
        "damaged": creator.deserialize_plugin("one", data[:-1]) is None,
    }


def load(library: str) -> dict[str, Any]:
    registry = trt.get_plugin_registry()
    handle = registry.load_library(library)
    seen = listed(registry)
    creator = registry.get_creator("Echo", "1", "")
    alpha = trt.PluginField("alpha", np.array([0.25], np.float32), trt.PluginFieldType.FLOAT32)
    wrong = trt.PluginField("alpha", np.array([7], np.int32), trt.PluginFieldType.INT32)
    made = [lifecycle(creator, fields) for fields in ([alpha], [], [wrong])]
    names = [(field.name, str(field.type)) for field in creator.field_names]
    del creator
    registry.deregister_library(handle)
    gone = listed(registry)
    again = registry.load_library(library) is not None and listed(registry)
    return {"listed": seen, "made": made, "fields": names, "gone": gone, "again": again}


def init(library: str) -> dict[str, Any]:
    """The init function, by another name of the file than the registry would open, before and after loading."""
    registry = trt.get_plugin_registry()
    loaded = ctypes.CDLL(library)
    function = loaded.initEchoPlugins
    function.restype = ctypes.c_bool
    function.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    calls = [function(None, name) for name in (b"acme", b"acme", b"other", None)]
    seen = listed(registry)
    creator = registry.get_creator("Echo", "1", "acme")
    made = creator.create_plugin("one", trt.PluginFieldCollection([]))
    version = made.tensorrt_version
    creator = made = None
    # The library stays where the registry's pointers point, when its only handle is closed.
    ctypes.CDLL(None).dlclose(ctypes.c_void_p(loaded._handle))
    alive = registry.get_creator("Echo", "1", "other").create_plugin("two", trt.PluginFieldCollection([]))
    # The creators of the init function are others than those of getCreators: both work in one process.
    registry.deregister_creator(registry.get_creator("Echo", "1", ""))
    registry.load_library(library)
    return {
        "calls": calls, "listed": seen, "version": version, "then": listed(registry), "alive": alive.plugin_type,
    }  # fmt: skip


def refused(library: str) -> dict[str, Any]:
    """A name that another library has taken: nothing of this one stays behind."""
    function = ctypes.CDLL(library).initEchoPlugins
    function.restype = ctypes.c_bool
    other = ctypes.CDLL(sys.argv[3]).initEchoPlugins
    other.restype = ctypes.c_bool
    registry = trt.get_plugin_registry()
    return {"calls": [function(None, b"acme"), other(None, b"acme")], "listed": listed(registry)}


def found(library: str) -> dict[str, Any]:
    """Which of several creators of one name a registry finds, and whether the init function can register them."""
    registry = trt.get_plugin_registry()
    registry.load_library(library)
    function = ctypes.CDLL(library).initEchoPlugins
    function.restype = ctypes.c_bool
    kind = type(registry.get_creator("Echo", "1", "")).__name__
    return {"listed": listed(registry), "found": kind, "init": function(None, b"acme"), "then": listed(registry)}


def only_load(library: str) -> dict[str, Any]:
    registry = trt.get_plugin_registry()
    registry.load_library(library)
    return {"listed": listed(registry)}


JOBS = {"load": load, "init": init, "refused": refused, "found": found, "only_load": only_load}
print(json.dumps(JOBS[sys.argv[1]](sys.argv[2])))
