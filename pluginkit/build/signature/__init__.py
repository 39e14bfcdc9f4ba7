"""`pluginkit.toml` as a C++ header, which a layer's sources include: `pluginkit/layer.h` makes the plugin of it."""

from __future__ import annotations

from pluginkit.build.signature.header import cpp_namespace, file_name, header

__all__ = ["cpp_namespace", "file_name", "header"]
