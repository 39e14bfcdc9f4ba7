from __future__ import annotations

import pickle

import pytest

from pluginkit import errors
from pluginkit.gpu.driver import CudaError
from pluginkit.host.errors import Finding
from pluginkit.process.worker import WorkerCrashed, WorkerError, WorkerTimeout
from pluginkit.registry.storage.store import NotFoundError

OWN_ARGUMENTS = [
    Finding("IPluginV2::clone", "answered null", rule="L1", hint="look there", contained=True),
    WorkerCrashed("SIGSEGV", "enqueue", inside=True, log_tail="last words"),
    WorkerTimeout(3.0, "enqueue", inside=False, log_tail=""),
    WorkerError("KeyError", "'x'", "a traceback"),
    CudaError(700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access", "cuStreamSynchronize"),
    NotFoundError("no such bundle", hint="pluginkit registry list"),
]
"""Errors whose classes take other arguments than a message."""


@pytest.mark.parametrize("error", OWN_ARGUMENTS, ids=lambda error: type(error).__name__)
def test_errors_of_every_class_cross_between_processes(error: errors.PluginkitError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert vars(again) == vars(error)
    assert str(again) == str(error)


@pytest.mark.parametrize("error", OWN_ARGUMENTS, ids=lambda error: type(error).__name__)
def test_errors_of_every_class_can_be_worded_otherwise(error: errors.PluginkitError) -> None:
    before = str(error)
    other = error.worded("Scale: " + error.message)
    assert type(other) is type(error)
    assert vars(other) == {**vars(error), "message": f"Scale: {error.message}"}
    assert str(other).startswith("Scale: ")
    assert other.args == (other.message,)
    assert str(error) == before


def test_exit_codes_are_unique_and_documented() -> None:
    kinds = errors.PluginkitError.__subclasses__()
    codes = [kind.exit_code for kind in kinds if kind.__module__ == "pluginkit.errors"]
    assert sorted(codes) == [1, 2, 3, 4, 5, 6]
    for code in codes:
        assert f"{code} " in str(errors.__doc__)


def test_an_error_crosses_between_processes_whole() -> None:
    error = errors.UsageError("what", hint="do this")
    error.extra = 3  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is errors.UsageError
    assert (again.message, again.hint, again.extra) == ("what", "do this", 3)
    assert str(again) == "what\ndo this"
