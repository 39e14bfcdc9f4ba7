"""The plugin host: loads a plugin library in this process and calls its plugins as TensorRT does.

Call it in a process that may die: what a plugin does wrong in C++ ends it, and the breadcrumb file names the method.
"""

from __future__ import annotations

import pluginkit.host.native_interface  # noqa: F401 - before anything is asked of the native module
from pluginkit._native import take_log
from pluginkit.demands import Doubt, take_doubts
from pluginkit.host import damaged_bytes
from pluginkit.host.bases.v2_plugin import V2Plugin
from pluginkit.host.bases.v3.lifecycle import with_tactic
from pluginkit.host.breadcrumb import read_breadcrumb, set_backtrace_file, set_breadcrumb_file
from pluginkit.host.building import build
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
    "Desc",
    "Device",
    "Doubt",
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
    "read_breadcrumb",
    "set_backtrace_file",
    "set_breadcrumb_file",
    "take_doubts",
    "take_log",
    "with_tactic",
]
