"""Polygraphy's runner for onnxruntime, on models with plugin nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from polygraphy import util
from polygraphy.backend.onnxrt import OnnxrtRunner

from pluginkit.errors import PluginkitError
from pluginkit.importing import onnx_graph, profiles, running
from pluginkit.importing.files import libraries
from pluginkit.importing.implementations import find_implementations
from pluginkit.network.networks import Array
from pluginkit.onnxruntime import PluginSession, TensorInfo, session

SECONDS = 600.0
"""What a run may take: of a user who waits for it."""


class KernelRunner(OnnxrtRunner):  # type: ignore[misc]
    """The plugins by their kernels on the CPU, all else by onnxruntime."""

    def __init__(self, model: str, plugins: Sequence[str], name: str | None = None) -> None:
        """Nothing is loaded before `activate`.

        Args:
            model: the ONNX file.
            plugins: libraries of target cpu, and folders of projects.
            name: the runner's, for reports.
        """
        super().__init__(lambda: _session(model, plugins), name=name or "pluginkit")

    @util.check_called_by("deactivate")  # type: ignore[untyped-decorator]
    def deactivate_impl(self) -> None:
        """End the worker."""
        self.sess.close()
        del self.sess


class ReferenceRunner(OnnxrtRunner):  # type: ignore[misc]
    """The plugins by their projects' reference.py, all else by onnxruntime."""

    def __init__(self, model: str, plugins: Sequence[str], name: str | None = None) -> None:
        """As of `KernelRunner`; each plugin belongs to a project."""
        super().__init__(lambda: ReferenceSession(model, plugins), name=name or "pluginkit-reference")


class ReferenceSession:
    """What `OnnxrtRunner` asks of a session."""

    def __init__(self, model: str, plugins: Sequence[str]) -> None:
        self._model = onnx_graph.load(Path(model))
        found = libraries.read([Path(one) for one in plugins], (), SECONDS, lambda _: None)
        self._implementations = find_implementations(self._model, found, onnx.defs.has)
        self._inputs = [TensorInfo.of(one) for one in profiles.given(self._model)]

    def get_inputs(self) -> list[TensorInfo]:
        """What `run` is fed."""
        return self._inputs

    def get_outputs(self) -> list[TensorInfo]:
        """What `run` returns."""
        return [TensorInfo.of(one) for one in self._model.graph.output]

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Array]) -> list[Array]:
        """The outputs; elements that reference() masks are in them."""
        outputs = running.expected(self._model, self._implementations, dict(input_feed), SECONDS).outputs
        # Polygraphy takes views of outputs, which must lie in one piece.
        return [np.ascontiguousarray(outputs[name]) for name in output_names or outputs]


def _session(model: str, plugins: Sequence[str]) -> PluginSession:
    try:
        return session(Path(model), list(plugins), timeout=SECONDS)
    except PluginkitError as error:
        # Polygraphy prints an exception's text alone.
        error.message = f"{error.message} {error.hint}".strip()
        raise
