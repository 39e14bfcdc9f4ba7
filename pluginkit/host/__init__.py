"""The plugin host: loads a plugin library in this process and calls its plugins as TensorRT does.

Call it in a process that may die: what a plugin does wrong in C++ ends it, and the call_file file names the method.
"""

from __future__ import annotations

import pluginkit.host.native_interface  # noqa: F401 - before anything is asked of the native module
from pluginkit._native import take_log
from pluginkit.demands import DemandWarning, take_warnings
from pluginkit.host import damaged_bytes, stand_ins
from pluginkit.host.bases.v2_plugin import V2Plugin
from pluginkit.host.bases.v3.lifecycle import with_tactic
from pluginkit.host.building import build
from pluginkit.host.call_file import read_call_file, set_backtrace_file, set_call_file
from pluginkit.host.context import Context
from pluginkit.host.descriptors import Desc, DynamicDesc
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.expressions import ShapeProgram
from pluginkit.host.library import Creator, Field, Library
from pluginkit.host.memory.device import AnyDevice, Device
from pluginkit.host.memory.gpu_device import GpuDevice
from pluginkit.host.spec import NO_SCALE, BuiltPlugin, TensorSpec

__all__ = [
    "NO_SCALE",
    "AnyDevice",
    "BuiltPlugin",
    "Context",
    "Creator",
    "DemandWarning",
    "Desc",
    "Device",
    "DynamicDesc",
    "Field",
    "Finding",
    "GpuDevice",
    "HostBug",
    "Library",
    "ShapeProgram",
    "TensorSpec",
    "V2Plugin",
    "build",
    "damaged_bytes",
    "read_call_file",
    "set_backtrace_file",
    "set_call_file",
    "stand_ins",
    "take_log",
    "take_warnings",
    "with_tactic",
]
