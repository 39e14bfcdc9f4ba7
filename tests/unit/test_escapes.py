"""Control characters in names and paths: on one line, and as a shell reads them."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.process.escapes import quoted, shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("conv1/weight:0", "conv1/weight:0"),
        ("größe 大", "größe 大"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\u2028\u202e\x85", r"\u2028\u202e\x85"),
        ("\udcff", r"\xff"),
    ],
)
def test_one_line(text: str, expected: str) -> None:
    assert shown(text) == expected
    assert shown(f"{text}\n", "\n\t") == expected.replace(r"\n", "\n").replace(r"\t", "\t") + "\n"


def test_words_without_control_characters_are_quoted_as_everywhere() -> None:
    assert [quoted(one) for one in ("model.onnx", "my model", "it's")] == ["model.onnx", "'my model'", "'it'\"'\"'s'"]


def test_a_shell_reads_what_was_meant() -> None:
    words = ["a\nb", "it's\ta \\n $x `y`", "\x1b1f", "\u2028é", "\x07", "a\x85b", "plain"]
    command = f"printf '%s\\0' {' '.join(map(quoted, words))}"
    assert "\n" not in command
    environment = {"LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", command], capture_output=True, env=environment, check=True)
    assert done.stdout.decode().split("\0")[:-1] == words


@given(st.text())
def test_any_text(text: str) -> None:
    assert len(f"{shown(text)}{quoted(text)}".splitlines()) <= 1
