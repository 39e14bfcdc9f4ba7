"""Loads and calls a project's `reference.py`; its errors name that file."""

from __future__ import annotations

import sys
import traceback
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.field_types import Value
from pluginkit.manifest import Manifest
from pluginkit.network.model import Array
from pluginkit.testing.points import bind

FILE_NAME = "reference.py"
_FORM = "def reference({inputs}{fields}): ... takes float64 arrays and returns one array per output ({outputs})."


class Reference:
    """The function `reference(*inputs, **fields)` of a project, checked at every call."""

    def __init__(self, manifest: Manifest, function: Any, where: str = FILE_NAME) -> None:
        self._manifest = manifest
        self._function = function
        self.where = where

    @classmethod
    def load(cls, path: Path, manifest: Manifest) -> Reference:
        """Load `reference.py`, or the one in the folder `path`.

        Raises:
            UsageError: no such file, it cannot be imported, or it has no function `reference`.
        """
        file = path / FILE_NAME if path.is_dir() else path
        try:
            source = file.read_bytes()
        except OSError as error:
            raise UsageError(f"{file} cannot be read: {error.strerror}.", hint=_form(manifest)) from None
        module = types.ModuleType("_pluginkit_reference")
        module.__file__ = str(file)
        sys.modules[module.__name__] = module  # dataclasses and pickle look a class's module up there
        try:
            # Executed from its text: importing would leave a __pycache__ in the project.
            exec(compile(source, str(file), "exec"), module.__dict__)
        except (Exception, SystemExit) as error:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(file)]
            line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
            where = f"{file}, line {line}" if line else str(file)
            raise UsageError(
                f"{where}: {type(error).__name__}: {error}.", hint="It must import without errors."
            ) from error
        function = module.__dict__.get("reference")
        if not callable(function):
            raise UsageError(f"{file} has no function 'reference'.", hint=_form(manifest))
        return cls(manifest, function, str(file))

    def __call__(self, inputs: Sequence[Array], fields: Mapping[str, Value]) -> tuple[Array, ...]:
        """The outputs for real-valued inputs (float64; int64 for INT32 tensors), in manifest order; 0 where masked.

        Raises:
            CheckFailed: as `masked`.
        """
        return tuple(np.ma.filled(output, 0) for output in self.masked(inputs, fields))

    def masked(self, inputs: Sequence[Array], fields: Mapping[str, Value]) -> tuple[Array, ...]:
        """As a call, but for elements that mean nothing: where there are any, the output is a masked array (numpy.ma).

        Raises:
            CheckFailed: it raises, or returns the wrong number of outputs, a wrong shape, something
                non-numeric, fractions for an INT32 output, or NaN where the inputs are finite.
        """
        try:
            with np.errstate(all="ignore"):
                answer = self._function(*[np.array(value) for value in inputs], **self._arguments(fields))
        except (Exception, SystemExit) as error:
            raise self._raised(error) from error
        outputs = answer if isinstance(answer, (tuple, list)) else (answer,)
        names = [tensor.name for tensor in self._manifest.outputs]
        if len(outputs) != len(names):
            raise self._wrong(f"returned {len(outputs)} output(s); the manifest has {len(names)}: {', '.join(names)}")
        manifest = self._manifest.like([np.ndim(value) for value in inputs])
        env = bind(manifest, {t.name: np.shape(v) for t, v in zip(manifest.inputs, inputs, strict=True)})
        shapes = manifest.with_fields(fields).output_shapes(env)
        finite = all(bool(np.isfinite(value).all()) for value in inputs)
        return tuple(
            self._checked(index, value, shapes[name], finite)
            for index, (name, value) in enumerate(zip(names, outputs, strict=True))
        )

    def _arguments(self, fields: Mapping[str, Value]) -> dict[str, Any]:
        """The fields as keyword arguments: a list is an array, of int64 or float64."""
        whole = {field.name for field in self._manifest.fields if field.type.is_integer}
        return {
            name: np.array(value, np.int64 if name in whole else np.float64) if isinstance(value, tuple) else value
            for name, value in fields.items()
        }

    def _checked(self, index: int, value: Any, shape: tuple[int, ...], finite: bool) -> Array:
        tensor = self._manifest.outputs[index]
        name = f"output '{tensor.name}'"
        try:
            array = np.ma.filled(value, 0)
        except ValueError as error:
            raise self._wrong(f"returned a ragged sequence for {name}: {error}") from error
        if array.dtype.kind not in "fiub":
            raise self._wrong(f"returned {array.dtype} for {name}; expected real numbers")
        if array.shape != shape:
            raise self._wrong(
                f"returned shape {list(array.shape)} for {name}; "
                f"expected {list(shape)}, which is ({', '.join(tensor.shape)})"
            )
        bad = np.argwhere(np.isnan(array)) if finite else np.empty((0, array.ndim))
        if len(bad):
            raise self._wrong(f"returned NaN for {name} at index {bad[0].tolist()}, though the inputs are finite")
        if DType.INT32 in tensor.types and len(tensor.types) == 1:
            if array.dtype.kind == "f" and not np.array_equal(array, np.rint(array)):
                raise self._wrong(f"returned fractions for {name}, which is int32")
            array = array.astype(np.int64)
        else:
            array = array.astype(np.float64)
        return np.ma.MaskedArray(array, np.ma.getmaskarray(value)) if np.ma.is_masked(value) else array

    def _raised(self, error: BaseException) -> CheckFailed:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == self.where]
        line = f", line {frames[-1].lineno}" if frames else ""
        return self._wrong(f"raised {type(error).__name__}: {error}", line)

    def _wrong(self, what: str, line: str = "") -> CheckFailed:
        return CheckFailed(f"{self.where}{line}: reference() {what}.", hint=_form(self._manifest))


def _form(manifest: Manifest) -> str:
    named = [field.name for field in manifest.plain_fields()]
    return _FORM.format(
        inputs=", ".join(tensor.name for tensor in manifest.inputs),
        fields=", *, " + ", ".join(named) if named else "",
        outputs=", ".join(tensor.name for tensor in manifest.outputs),
    )
