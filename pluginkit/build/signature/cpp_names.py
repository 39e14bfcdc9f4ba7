"""Names that no plugin, tensor or field of a layer can have: those of C++, and those of the generated header."""

from __future__ import annotations

import re

from pluginkit.errors import UsageError

HEADER_NAMES = frozenset(["Fields", "Inputs", "Outputs", "Precision", "Run", "Signature", "launch"])
"""What the header declares in the plugin's namespace: no class there can be called so. Members can."""
# fmt: off
KEYWORDS = frozenset([
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
    "char", "char8_t", "char16_t", "char32_t", "class", "co_await", "co_return", "co_yield", "compl", "concept",
    "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete",
    "do", "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for",
    "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
    "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
    "requires", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct",
    "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename",
    "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
])
# fmt: on
"""C++20's keywords and alternative tokens: C++17's and those that a project would stumble over later."""

# fmt: off
MACROS = frozenset([
    "NULL", "EOF", "assert", "errno", "stdin", "stdout", "stderr", "linux", "unix", "i386", "major", "minor",
    "makedev", "signbit", "isnan", "isinf",
])
# fmt: on


def check_cpp(name: str, what: str, hint: str) -> None:
    """Refuse what no C++ class, struct or member can be called.

    Raises:
        UsageError: with the reason.
    """
    if name in KEYWORDS:
        raise UsageError(f"'{name}' cannot be {what}: it is a C++ keyword.", hint=hint)
    if "__" in name or re.match(r"_[A-Z]", name):
        raise UsageError(
            f"'{name}' cannot be {what}: C++ reserves names with '__', or '_' before a capital.", hint=hint
        )
    if name in MACROS:
        raise UsageError(f"'{name}' cannot be {what}: it is a macro in C or C++ headers.", hint=hint)
