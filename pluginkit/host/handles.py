"""The handles of cuDNN and cuBLAS that attachToContext is given.

TensorRT 11 always gives null. TensorRT 10 gives a context's own where the builder has the tactic sources kCUDNN and
kCUBLAS, which are off by default (NvInferRuntimePlugin.h, IPluginV2Ext::attachToContext).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Handles:
    """A context's: addresses of a cudnnContext and a cublasContext; 0 is null."""

    cudnn: int = 0
    cublas: int = 0


NONE = Handles()
