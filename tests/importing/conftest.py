"""One process of NVIDIA's for the models of a test file: to start one costs as much as to build a small model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import pytest

from pluginkit.importing import importer
from pluginkit.importing.building import ModelSession
from pluginkit.network.networks import NetworkProfile
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.verdict import BuildVerdict, ModelInput


class Kept(ModelSession):
    """`with` neither begins its process nor ends it; `close` does."""

    def native(self, operators: Sequence[str]) -> set[str]:
        """As of `ModelSession`, for one model after the other: it has no libraries."""
        return set(self._loaded().call("supported", operators=list(operators)))

    def inputs(
        self, model: Path, marked: Sequence[str] = (), names: Sequence[str] = ()
    ) -> tuple[list[ModelInput], BuildVerdict | None]:
        """As of `ModelSession`: its process may have begun in another folder than that of the test."""
        return super().inputs(model.resolve(), marked, names)

    def build(self, model: Path, profile: NetworkProfile) -> BuildVerdict:
        """As `inputs`."""
        return super().build(model.resolve(), profile)

    def __exit__(self, *exc_info: object) -> None:
        """It goes on."""


@pytest.fixture(scope="module")
def session() -> Iterator[ModelSession]:
    """TensorRT-RTX without libraries."""
    kept = Kept([], 300)
    yield kept
    kept.close()


@pytest.fixture(scope="module")
def one_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """`import` and `doctor` take `session` for models without plugins."""
    if not tensorrt_rtx.probe().found:
        yield
        return
    kept = request.getfixturevalue("session")

    def opened(libraries: Sequence[Path], timeout: float) -> ModelSession:
        return ModelSession(libraries, timeout) if libraries else kept

    with mock.patch.object(importer, "ModelSession", opened):
        yield
