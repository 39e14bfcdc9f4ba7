"""Trains the weights again: an LSTM that learns the text by heart. NumPy, backpropagation through time, Adam; a minute.

    python train.py

It writes data/weights.npz. The committed weights are what it wrote.
"""

from __future__ import annotations

import itertools

import lstm
import numpy as np

HIDDEN, EMBEDDED, STEPS = 32, 12, 1600
ENOUGH = 0.01
"""The mean loss of a letter, in nats, at which the text is known by heart."""


def initial(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Small random weights; the forget gate is open at first."""
    letters = len(lstm.LETTERS)
    bias = np.zeros(4 * HIDDEN)
    bias[2 * HIDDEN : 3 * HIDDEN] = 1
    return {
        "embedding": rng.normal(0, 0.5, (letters, EMBEDDED)),
        "W": rng.normal(0, 0.2, (4 * HIDDEN, EMBEDDED)),
        "R": rng.normal(0, 0.2, (4 * HIDDEN, HIDDEN)),
        "bias": bias,
        "out": rng.normal(0, 0.2, (letters, HIDDEN)),
        "out_bias": np.zeros(letters),
    }


def forward(w: dict[str, np.ndarray], ids: np.ndarray) -> tuple[float, list[tuple[np.ndarray, ...]]]:
    """The mean loss of predicting each letter from those before it, and what the way back needs of each step."""
    h = c = np.zeros(HIDDEN)
    kept, loss = [], 0.0
    for now, following in itertools.pairwise(ids):
        x = w["embedding"][now]
        i, o, f, g = np.split(w["W"] @ x + w["R"] @ h + w["bias"], 4)
        i, o, f, g = lstm.sigmoid(i), lstm.sigmoid(o), lstm.sigmoid(f), np.tanh(g)
        c_next = f * c + i * g
        bent = np.tanh(c_next)
        h_next = o * bent
        scores = w["out"] @ h_next + w["out_bias"]
        likely = np.exp(scores - scores.max())
        likely /= likely.sum()
        loss -= np.log(likely[following])
        kept.append((x, h, c, i, o, f, g, bent, h_next, likely))
        h, c = h_next, c_next
    return loss / len(kept), kept


def gradients(w: dict[str, np.ndarray], ids: np.ndarray, kept: list[tuple[np.ndarray, ...]]) -> dict[str, np.ndarray]:
    """Of the summed loss, by each weight."""
    found = {name: np.zeros_like(array) for name, array in w.items()}
    dh = dc = np.zeros(HIDDEN)
    for step in reversed(range(len(kept))):
        x, h, c, i, o, f, g, bent, h_next, likely = kept[step]
        wrong = likely.copy()
        wrong[ids[step + 1]] -= 1
        found["out"] += np.outer(wrong, h_next)
        found["out_bias"] += wrong
        dh = dh + w["out"].T @ wrong
        dc = dc + dh * o * (1 - bent**2)
        sums = np.concatenate(
            [dc * g * i * (1 - i), dh * bent * o * (1 - o), dc * c * f * (1 - f), dc * i * (1 - g**2)]
        )
        found["W"] += np.outer(sums, x)
        found["R"] += np.outer(sums, h)
        found["bias"] += sums
        found["embedding"][ids[step]] += w["W"].T @ sums
        dh, dc = w["R"].T @ sums, dc * f
    return found


def main() -> None:
    """Adam, with gradients clipped at a norm of 5."""
    w = initial(np.random.default_rng(0))
    ids = lstm.numbers(lstm.TEXT)
    mean = {name: np.zeros_like(array) for name, array in w.items()}
    square = {name: np.zeros_like(array) for name, array in w.items()}
    for step in range(1, STEPS + 1):
        loss, kept = forward(w, ids)
        if step % 50 == 0 or loss < ENOUGH:
            print(f"step {step}: {loss:.4f} nats a letter")
        if loss < ENOUGH:
            break
        found = gradients(w, ids, kept)
        shrunk = min(1, 5 / np.sqrt(sum((one**2).sum() for one in found.values())))
        for name, gradient in found.items():
            mean[name] = 0.9 * mean[name] + 0.1 * shrunk * gradient
            square[name] = 0.999 * square[name] + 0.001 * (shrunk * gradient) ** 2
            rate = 0.01 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            w[name] -= rate * mean[name] / (np.sqrt(square[name]) + 1e-8)
    np.savez(lstm.HERE / "data" / "weights.npz", **{name: array.astype(np.float32) for name, array in w.items()})


if __name__ == "__main__":
    main()
