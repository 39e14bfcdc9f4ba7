"""Recorded answers in a file: JSON lines, compressed; the first one says of what."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pluginkit.errors import UsageError

FORM = 1
NO_ANSWER = ("hung", "failed")
"""Of a machine that was too busy, or of the recorder itself: these say nothing of TensorRT."""
LEFT_OUT = ("seconds", "id")
SHORT = {"message": 220}
"""Of a text so many characters are kept."""


@dataclass(frozen=True)
class Recording:
    """What a file holds.

    Attributes:
        tensorrt: its version.
        gpu: what it ran on.
        seed: of the cases.
        answers: a case's number -> `trt_worker.Recorder.answer`.
    """

    tensorrt: str
    gpu: str
    seed: int
    answers: Mapping[int, dict[str, Any]]

    def write(self, path: Path) -> None:
        """Writes the file."""
        head = {"form": FORM, "tensorrt": self.tensorrt, "gpu": self.gpu, "seed": self.seed}
        lines = [head, *({"n": number, **self.answers[number]} for number in sorted(self.answers))]
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def read(path: Path) -> Recording:
    """A file that `Recording.write` wrote.

    Raises:
        UsageError: it is another file, or of another form.
    """
    try:
        head, *lines = map(json.loads, lzma.decompress(path.read_bytes()).decode().splitlines())
    except (lzma.LZMAError, ValueError) as error:
        raise UsageError(
            f"{path} holds no recorded answers: {error}", hint="Name a file that `gather` wrote."
        ) from None
    if head.get("form") != FORM:
        raise UsageError(f"{path} is of form {head.get('form')}; this reads form {FORM}.", hint="Record it again.")
    answers = {line.pop("n"): line for line in lines}
    return Recording(head["tensorrt"], head["gpu"], head["seed"], answers)


def gathered(files: Iterable[Path], tensorrt: str, gpu: str, seed: int) -> Recording:
    """Of what recorders wrote, a line an answer; where a case was asked twice, the last one."""
    answers = {}
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            answer = json.loads(line)
            if answer["verdict"] in NO_ANSWER:
                continue
            number = int(answer["id"].rpartition("/")[2])
            kept = {name: value for name, value in answer.items() if name not in LEFT_OUT}
            answers[number] = kept | {name: kept[name][:most] for name, most in SHORT.items() if name in kept}
    return Recording(tensorrt, gpu, seed, answers)
