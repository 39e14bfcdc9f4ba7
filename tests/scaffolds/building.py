"""How tests build what `pluginkit new` writes."""

from __future__ import annotations

import re
from pathlib import Path


def in_two_sources(project: Path) -> None:
    """Has all C++ and all CUDA of a project compiled as one source each, which takes a sixth of the time."""
    lists = project / "CMakeLists.txt"
    sources = re.findall(r"^ +(\S+\.(?:cpp|cu))\b", lists.read_text(), re.MULTILINE)
    named = {suffix: [name for name in sources if name.endswith(suffix)] for suffix in (".cpp", ".cu")}
    for suffix, names in named.items():
        (project / f"all{suffix}").write_text("".join(f'#include "{name}"\n' for name in names))
    text = lists.read_text()
    begin, end = text.index(sources[0]), text.index(sources[-1]) + len(sources[-1])
    lists.write_text(f"{text[:begin]}all.cpp all.cu{text[end:]}")
