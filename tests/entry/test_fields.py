"""Fields and serialized bytes that can't be trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import building

HERE = Path(__file__).parent


@pytest.mark.compile
@pytest.mark.parametrize("cxx", ["g++", "clang++"])
def test_fields_and_bytes(tmp_path: Path, cxx: str) -> None:
    flags = ["-std=c++17", "-g", *building.WARNINGS, f"-I{building.INCLUDE}"]
    if cxx == "g++":  # clang's sanitizers come in a package of their own
        flags += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = tmp_path / "fields"
    building.run(*building.compiler(cxx), *flags, HERE / "fields.cpp", "-o", program)
    building.run(program)
