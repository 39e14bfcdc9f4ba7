"""pluginkit/layer/fields.h: what is said of a field's value."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pluginkit.paths import include_dir
from tests.compilers import default_cxx

PROGRAM = r"""
#include <pluginkit/layer/fields.h>
int main()
{
    std::string const damaged{"a\xd4\n\0\\~", 6};
    std::puts(pluginkit::wrongValue("mode", damaged, "tanh or sigmoid").c_str());
    std::puts(pluginkit::wrongValue("alpha", -0.5, "at least 0").c_str());
    std::puts(pluginkit::wrongValue("k", int64_t{-1}, 0, 9).c_str());
}
"""


@pytest.mark.compile
def test_a_wrong_value_is_text_whatever_its_bytes_are(tmp_path: Path) -> None:
    """Of a damaged engine any bytes come: a logger in Python that takes a `str` would end the process."""
    source, program = tmp_path / "words.cpp", tmp_path / "words"
    source.write_text(PROGRAM)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{include_dir()}"]
    subprocess.run([default_cxx(), *flags, source, "-o", program], check=True)
    said = subprocess.run([program], check=True, capture_output=True).stdout.decode("utf-8")
    assert said.splitlines() == [
        r'mode is "a\xd4\x0a\x00\~", must be tanh or sigmoid',
        "alpha is -0.5, must be at least 0",
        "k is -1, must be from 0 to 9",
    ]
