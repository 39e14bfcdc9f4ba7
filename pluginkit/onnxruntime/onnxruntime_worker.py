"""The worker's side of `session`: onnxruntime and pluginkit's host in one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx

from pluginkit.errors import PluginkitError
from pluginkit.importing import hosted_worker
from pluginkit.importing.cut_model import CutModel
from pluginkit.importing.hosted_worker import Creators, HostedPlugins
from pluginkit.network.networks import Array
from pluginkit.process.worker_main import CallFile


def open(  # noqa: A001
    call_file: CallFile, *, model: bytes, creators: Creators, names: Sequence[str], findings: Path
) -> HostedModel:
    """Load the libraries; the other arguments are as of `hosted_worker.open`.

    Args:
        call_file: where native calls are noted.
        model: the nodes of the domain `plugin_node.DOMAIN` are the plugins'.
        creators: those that the model's nodes name.
        names: the plugins' nodes.
        findings: a folder for what the device finds.
    """
    hosted = hosted_worker.open(call_file, creators=creators, names=names, findings=findings)
    return HostedModel(onnx.load_from_string(model), hosted)


class HostedModel(CutModel):
    """A model whose layers and sessions stay from one run to the next."""

    def __init__(self, model: onnx.ModelProto, plugins: HostedPlugins) -> None:
        super().__init__(model)
        self._plugins = plugins

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The graph's outputs.

        Raises:
            Finding: a plugin does something wrong.
            UsageError: the model can't be run on these inputs.

        An error's attribute `log` is what the plugins gave their logger.
        """
        try:
            return self.outputs(feeds)
        except PluginkitError as error:
            error.__dict__["log"] = hosted_worker.logged()
            raise

    def finish(self) -> None:
        """As of `HostedPlugins.close`."""
        self._plugins.close()

    def _plugin(self, node: onnx.NodeProto, inputs: Sequence[Array]) -> Sequence[Array]:
        return self._plugins.call(node, inputs)
