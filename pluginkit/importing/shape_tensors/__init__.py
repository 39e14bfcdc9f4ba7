"""Which tensors of a model are shape tensors, execution tensors or both, and the rule that made them so."""

from __future__ import annotations

from pluginkit.importing.shape_tensors.inference import TensorClass, classify

__all__ = ["TensorClass", "classify"]
