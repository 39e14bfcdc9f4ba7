"""Faults planted in plugins, each where it can be made, and how a run ends with it.

- `layers.py`: what the user can get wrong in a layer: its kernel, its launch, its overrides.
- `bases.py`: what nobody can get wrong in a layer, because `pluginkit/layer/*.h` does it: mutants of those headers.
- `handwritten.py`: what needs a class of one's own, in which the signature stands a second time.

Each is chosen when the library is loaded, by the variable FAULT: a library has all that are planted in its project.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pluginkit.paths import include_dir
from pluginkit.testing.report import Outcome

CHOSEN = "FAULT"
FIRST = "plain/float32/opt"
PAGES = "plain/float32/max"
"""Where a tensor ends with a page, so that the access itself is found; at opt it is what stands behind the tensor."""
CRASH = "*static_cast<volatile int*>(nullptr) = 0;"
_FIND, _PYTHON = "find_package(pluginkit REQUIRED)\n", "\npluginkit_add_python_module"
_OWN = "own"
_SWITCH = """#pragma once

#include <cstdlib>

// A fault of the tests, by number; 0 is none.
inline int fault()
{
    static int const chosen = std::getenv("FAULT") != nullptr ? std::atoi(std::getenv("FAULT")) : 0;
    return chosen;
}
"""


@dataclass(frozen=True)
class Fault:
    """A change that is made of a file if this one is chosen.

    Attributes:
        file: a source of the project, or a header as `#include` names it.
        right: what is there.
        wrong: what stands in its place; FAULT is the question whether this one is chosen.
        only: the cases that are run, as `pluginkit test --only` takes them; one case, where it has no star.
        outcome: how they end.
        says: what the message has; LINE is where the comment `// LINE FAULT` is.
    """

    file: str
    right: str
    wrong: str
    only: str = FIRST
    outcome: Outcome = Outcome.FAILED
    says: str = ""


def before(line: str, wrong: str) -> str:
    """The line, with a statement before it that only the faulty plugin comes to."""
    return f"    if (FAULT)\n    {{\n        {wrong}\n    }}\n{line}"


def numbers(faults: Mapping[str, Fault]) -> dict[str, int]:
    """What FAULT is for each."""
    return {name: number for number, name in enumerate(faults, 1)}


def plant(project: Path, faults: Mapping[str, Fault], layouts: str = "11") -> Path:
    """Write the faults into a project's sources, and into copies of pluginkit's headers that it is built with.

    The library has only the `layouts` of TensorRT's classes that the faults are about, and no Python module.
    """
    own = project / _OWN
    own.mkdir()
    (own / "planted.h").write_text(_SWITCH)
    for file in dict.fromkeys(fault.file for fault in faults.values()):
        if not (project / file).exists():
            (own / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(include_dir() / file, own / file)
        path = path_of(project, file)
        text = path.read_text()
        for name, number in numbers(faults).items():
            fault = faults[name]
            if fault.file == file:
                assert fault.right in text, name
                text = text.replace(fault.right, fault.wrong.replace("FAULT", f"fault() == {number}"), 1)
        path.write_text(text.replace("#include", "#include <planted.h>\n#include", 1))
    cmake = project / "CMakeLists.txt"
    text, _, _ = cmake.read_text().partition(_PYTHON)
    assert _FIND in text
    folders = f"target_include_directories({project.name} PRIVATE {_OWN})\n"
    cmake.write_text(text.replace(_FIND, f"{_FIND}set(PLUGINKIT_LAYOUTS {layouts})\n") + folders)
    return project


def path_of(project: Path, file: str) -> Path:
    """Where a fault's file is in a project that has it."""
    return project / file if (project / file).exists() else project / _OWN / file
