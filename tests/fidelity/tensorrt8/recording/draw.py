"""Writes cases to a file, for the Python that has TensorRT 8.5.

python -m tests.fidelity.tensorrt8.recording.draw OUT CASES SEED        # drawn networks
python -m tests.fidelity.tensorrt8.recording.draw OUT                   # those for calibrators
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from tests.fidelity.tensorrt8.drawing import calibrating
from tests.fidelity.tensorrt8.drawing.networks import case

if __name__ == "__main__":
    _out, *_numbers = sys.argv[1:]
    if _numbers:
        _count, _seed = map(int, _numbers)
        _cases = [case(_seed, number) for number in range(_count)]
    else:
        _cases = calibrating.cases()
    Path(_out).write_bytes(pickle.dumps([(one.digest, one) for one in _cases], protocol=4))
