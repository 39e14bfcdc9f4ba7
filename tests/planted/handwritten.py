"""Faults of classes that are written out, as projects made before layers have them: the signature stands in them again.

Layers have none of these places. `tests/validation/run_animals.py` has such a class for `pluginkit check`.
"""

from __future__ import annotations

from pathlib import Path

from tests import classes
from tests.planted import CRASH, FIRST, Fault

CLASS = "src/my_plugin.cpp"
_READER = "    pluginkit::FieldReader const reader{fields};"
_RESTORE = "        return plugin->restore(data, length) ?"
FAULTS = {
    "another default than the manifest's": Fault(
        CLASS,
        "    MyPluginParameters parameters;",
        "    MyPluginParameters parameters;\n    parameters.alpha = FAULT ? 0.25F : parameters.alpha;",
        "plain/float32-no-fields/opt",
        says="the plugin's own defaults must be those of pluginkit.toml",
    ),
    "a field of another name than the manifest's": Fault(
        CLASS,
        'mFields[0] = {"alpha", nullptr, PluginFieldType::kFLOAT32, 1};',
        'mFields[0] = {FAULT ? "alfa" : "alpha", nullptr, PluginFieldType::kFLOAT32, 1};',
        says="getFieldNames: does not list the field 'alpha'",
    ),
    "a field of another type than the manifest's": Fault(
        CLASS,
        'mFields[1] = {"x_scale", nullptr, PluginFieldType::kFLOAT32, 1};',
        'mFields[1] = {"x_scale", nullptr, FAULT ? PluginFieldType::kINT32 : PluginFieldType::kFLOAT32, 1};',
        says="[F9] IPluginCreator::getFieldNames: lists the field 'x_scale' as kINT32, expected kFLOAT32",
    ),
    "a reader of its own, which follows a field without data": Fault(
        CLASS,
        _READER,
        "    for (int32_t i = 0; FAULT && i < fields->nbFields; ++i)\n    {\n"
        "        static_cast<void>(*static_cast<volatile char const*>(fields->fields[i].data));\n    }\n"
        f"{_READER}",
        FIRST,
        says="[F7] IPluginCreator::createPlugin: ended the process with SIGSEGV of the field 'alpha' without data",
    ),
    "serialized bytes that are trusted": Fault(
        CLASS,
        _RESTORE,
        f"        if (FAULT && length < 5)\n        {{\n            {CRASH}\n        }}\n{_RESTORE}",
        says="[S5] IPluginCreator::deserializePlugin: ended the process with SIGSEGV of 0 of its 28 bytes, and 1 more",
    ),
}


def write(folder: Path) -> Path:
    """A class of base dynamic, without them."""
    return classes.project(folder)
