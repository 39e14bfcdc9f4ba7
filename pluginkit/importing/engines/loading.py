"""A serialized engine of TensorRT 8, deserialized by the TensorRT 8 that is here with a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pluginkit import elf
from pluginkit.build.gpus import find_driver
from pluginkit.errors import CheckFailed
from pluginkit.installation import tensorrt8
from pluginkit.library.origin import INIT_FUNCTION
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerError, WorkerTimeout
from pluginkit.runtimes.tensorrt.session import worker_of

CHILD = "pluginkit.runtimes.tensorrt.model_worker"
TIMEOUT = 60.0


@dataclass(frozen=True)
class Deserialized:
    """What TensorRT answered: whether it takes the engine, its version, and its words or the engine's tensors."""

    ok: bool
    version: str
    message: str


def deserialize(engine: Path, libraries: Sequence[tuple[Path, str]]) -> Deserialized | None:
    """Has TensorRT deserialize an engine, in a process of its own with the plugins loaded.

    Args:
        engine: the file.
        libraries: the plugins' libraries of target gpu, each with the namespace of its plugins.

    Returns:
        None where no TensorRT 8 is here, or no GPU.
    """
    eight = tensorrt8.find()
    if eight is None or eight.problem or not find_driver().gpus:
        return None
    loaded = [
        (str(path), tuple(one.name for one in elf.exports(path) if INIT_FUNCTION.fullmatch(one.name)), namespace)
        for path, namespace in libraries
    ]
    try:
        with Worker(CHILD, {"libraries": loaded}, timeout=TIMEOUT, **worker_of(eight)) as worker:
            return Deserialized(True, eight.version, worker.call("tensors", file=str(engine)))
    except WorkerTimeout as error:
        return Deserialized(False, eight.version, f"it did not end within {error.seconds:g} s")
    except WorkerCrashed as error:
        return Deserialized(False, eight.version, f"its process ended: {error.message}")
    except (CheckFailed, WorkerError) as error:
        return Deserialized(False, eight.version, error.message)
