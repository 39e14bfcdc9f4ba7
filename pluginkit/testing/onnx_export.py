"""Writes a signature's networks as ONNX models."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import onnx

from pluginkit.errors import unwritable
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network
from pluginkit.testing.families import Family
from pluginkit.testing.families.base import Setting
from pluginkit.testing.plan import field_values

ANY_SCALE = 0.0625
"""The INT8 scale of every tensor in networks that are not run."""


def save(manifest: Manifest, families: Sequence[Family], folder: Path) -> list[Path]:
    """Write a model for each family that ONNX can say, in each precision: `loop-count-float16.onnx`.

    The plugin's nodes stand in the domain `pluginkit`; INT8 models have `ANY_SCALE`, since nothing is calibrated.

    Raises:
        UsageError: the folder cannot be written to.
    """
    scales = {tensor.name: ANY_SCALE for tensor in (*manifest.inputs, *manifest.outputs)}
    setting = Setting(manifest, manifest.precisions()[0], field_values(manifest), scales)
    made = [
        network
        for family in families
        for kind in manifest.precisions()
        if isinstance(network := family.build(replace(setting, precision=kind)), Network)
    ]
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            for network in made:
                part = Path(scratch) / "model.onnx"
                part.write_bytes(network.model)
                # From the file, as the user's tools will read it.
                onnx.checker.check_model(str(part))
                written.append(part.rename(folder / f"{network.id.replace('/', '-')}.onnx"))
    except OSError as error:
        raise unwritable(folder, error) from None
    return written
