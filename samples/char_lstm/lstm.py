"""A character LSTM in NumPy: the text, the weights, and what the networks must give."""

from __future__ import annotations

from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
TEXT = """'Twas brillig, and the slithy toves
Did gyre and gimble in the wabe:
All mimsy were the borogoves,
And the mome raths outgrabe.

"Beware the Jabberwock, my son!
The jaws that bite, the claws that catch!
Beware the Jubjub bird, and shun
The frumious Bandersnatch!"
"""
LETTERS = sorted(set(TEXT))
GATES = ("input", "output", "forget", "cell")
"""ONNX's order."""


def load() -> dict[str, np.ndarray]:
    """The weights, float32.

    `embedding` [letters, e]; `W` [4 * h, e], `R` [4 * h, h] and `bias` [4 * h], a gate after the other as in `GATES`;
    `out` [letters, h] and `out_bias` [letters].
    """
    with np.load(HERE / "data" / "weights.npz") as file:
        return {name: file[name] for name in file.files}


def numbers(text: str) -> np.ndarray:
    """Each letter's number, int32."""
    return np.array([LETTERS.index(letter) for letter in text], np.int32)


def letters(ids: np.ndarray) -> str:
    """The text of numbers."""
    return "".join(LETTERS[number] for number in ids)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), without overflow."""
    return 0.5 * np.tanh(0.5 * x) + 0.5


def cell(w: dict[str, np.ndarray], ids: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, ...]:
    """One step: ids [batch]; h and c [batch, h] -> the next h and c, and a score for each letter [batch, letters]."""
    sums = w["embedding"][ids] @ w["W"].T + h @ w["R"].T + w["bias"]
    i, o, f, g = np.split(sums, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, c, h @ w["out"].T + w["out_bias"]


def scores(w: dict[str, np.ndarray], ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sequences ids [steps, batch] -> scores [steps, batch, letters], and the last h and c [batch, h]; in float64."""
    wide = {name: array.astype(np.float64) for name, array in w.items()}
    h = c = np.zeros((ids.shape[1], wide["R"].shape[1]))
    found = np.zeros((*ids.shape, len(LETTERS)))
    for step, now in enumerate(ids):
        h, c, found[step] = cell(wide, now, h, c)
    return found, h, c


def recite(w: dict[str, np.ndarray], first: int, length: int) -> np.ndarray:
    """So many letters after the first, each the likeliest after those before it: int32."""
    wide = {name: array.astype(np.float64) for name, array in w.items()}
    h = c = np.zeros((1, wide["R"].shape[1]))
    now, found = np.array([first]), []
    for _ in range(length):
        h, c, score = cell(wide, now, h, c)
        now = score.argmax(axis=1)
        found.append(now[0])
    return np.array(found, np.int32)
