"""Takes a test plugin through its whole life; run as a program in the tests that expect it to die."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.host import BuiltPlugin, Context, Library, TensorSpec, build, set_backtrace_file, set_call_file

SPECS = {
    dtype: TensorSpec(dtype, (-1, 5), (1, 5), (2, 5), (4, 5), scale=0.5 if dtype is DType.INT8 else 1.0)
    for dtype in (DType.FLOAT32, DType.INT8)
}
FIELDS = {"factor": (DType.FLOAT32, 2.0)}


def build_layer(library: Library, dtype: DType = DType.FLOAT32) -> BuiltPlugin:
    """Two profiles, the second one a part of the first."""
    wide = SPECS[dtype]
    narrow = TensorSpec(dtype, wide.dims, (1, 5), (1, 5), (2, 5), wide.scale)
    rows = [(kind,) * 3 for kind in SPECS]
    creator = library.creator("Probe", "1", "tests")
    return build(creator, "layer", FIELDS, [[wide], [narrow]], declared_types=rows)


def drive(path: Path, version: int = 110100, dtype: DType = DType.FLOAT32) -> list[np.ndarray]:
    """Load, build, run at two shapes, end; returns the outputs of the second run."""
    with Library(path, version) as library:
        built = pickle.loads(pickle.dumps(build_layer(library, dtype)))
        with Context(library.creators[0], built, [SPECS[dtype]]) as context:
            for n in (4, 3):
                outputs = context.run([np.arange(n * 5).reshape(n, 5).astype(dtype.numpy)])
            assert context.enqueues == 2
    return outputs


if __name__ == "__main__":
    set_call_file(sys.argv[2])
    set_backtrace_file(f"{sys.argv[2]}.frames")
    drive(Path(sys.argv[1]), *map(int, sys.argv[3:]))
