"""The plugin host: plays TensorRT's part around a plugin library, in this process.

Call it in a process that may die: what a plugin does wrong in C++ ends it, and the breadcrumb file names the method.
"""

from __future__ import annotations

from pluginkit._native import take_log
from pluginkit.host.breadcrumb import read_breadcrumb, set_breadcrumb_file
from pluginkit.host.context import Context
from pluginkit.host.device import Device
from pluginkit.host.dynamic import build
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.expressions import ShapeProgram
from pluginkit.host.library import FIELD_TYPES, Creator, Field, Library
from pluginkit.host.plugin import LINEAR, Desc, DynamicDesc, Plugin
from pluginkit.host.spec import NO_SCALE, BuiltPlugin, TensorSpec

__all__ = [
    "FIELD_TYPES",
    "LINEAR",
    "NO_SCALE",
    "BuiltPlugin",
    "Context",
    "Creator",
    "Desc",
    "Device",
    "DynamicDesc",
    "Field",
    "Finding",
    "HostBug",
    "Library",
    "Plugin",
    "ShapeProgram",
    "TensorSpec",
    "build",
    "read_breadcrumb",
    "set_breadcrumb_file",
    "take_log",
]
