"""Loads and calls a project's `reference.py`; its errors name that file."""

from __future__ import annotations

import sys
import traceback
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.field_types import Value, shown
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Array
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
        """The outputs for real-valued inputs (float64; int64 for integers), in manifest order; 0 where masked.

        Raises:
            CheckFailed: as `masked`.
        """
        return tuple(np.ma.filled(output, 0) for output in self.masked(inputs, fields))

    def masked(self, inputs: Sequence[Array], fields: Mapping[str, Value]) -> tuple[Array, ...]:
        """As a call, but for elements that mean nothing: where there are any, the output is a masked array (numpy.ma).

        Raises:
            CheckFailed: it raises, or returns the wrong number of outputs, a wrong shape, something
                non-numeric, fractions for an output of integers, or NaN where the inputs are finite. The message names
                the inputs' shapes and the fields.
        """
        try:
            return self._masked(inputs, fields)
        except CheckFailed as error:
            given = [f"{t.name} {list(np.shape(x))}" for t, x in zip(self._manifest.inputs, inputs, strict=True)]
            given += [f"{name} = {shown(value)}" for name, value in fields.items()]
            raise CheckFailed(f"{error.message}\nThat is for {', '.join(given)}.", hint=error.hint) from error

    def _masked(self, inputs: Sequence[Array], fields: Mapping[str, Value]) -> tuple[Array, ...]:
        try:
            with np.errstate(all="ignore"):
                answer = self._function(*[np.array(value) for value in inputs], **self._arguments(fields))
        except MemoryError as error:
            raise self._too_large() from error
        except (Exception, SystemExit) as error:
            raise self._raised(error) from error
        outputs = answer if isinstance(answer, (tuple, list)) else (answer,)
        names = [tensor.name for tensor in self._manifest.outputs]
        if len(outputs) != len(names):
            raise self._wrong(f"returned {len(outputs)} output(s); the manifest has {len(names)}: {', '.join(names)}")
        manifest = self._manifest.like([np.ndim(value) for value in inputs])
        env = bind(manifest, {t.name: np.asarray(v) for t, v in zip(manifest.inputs, inputs, strict=True)})
        shaped = manifest.with_fields(fields)
        shapes = shaped.output_shapes({**env, **self._sizes(shaped, outputs, env)})
        finite = all(bool(np.isfinite(value).all()) for value in inputs)
        by_name = dict(zip(names, outputs, strict=True))
        return tuple(
            self._checked(index, self._whole(index, value, shapes[name], by_name), shapes[name], finite)
            for index, (name, value) in enumerate(by_name.items())
        )

    def _sizes(self, shaped: Manifest, outputs: Sequence[Any], env: Mapping[str, int]) -> dict[str, int]:
        """What the size tensors carry.

        Raises:
            CheckFailed: one isn't a whole number from 0 to its upper bound.
        """
        bounds, found = shaped.upper_bounds(env), {}
        for tensor, value in zip(shaped.outputs, outputs, strict=True):
            if tensor.name in bounds:
                found[tensor.name] = self._number(tensor.name, value)
                if not 0 <= found[tensor.name] <= bounds[tensor.name]:
                    raise self._wrong(
                        f"returned {found[tensor.name]} for the size tensor '{tensor.name}'; expected 0 to its upper "
                        f"bound {tensor.upper}, which is {bounds[tensor.name]}"
                    )
        return found

    def _number(self, name: str, value: Any) -> int:
        array = np.asarray(value)
        if array.size != 1 or array.dtype.kind not in "fiub" or array.item() != np.rint(array.item()):
            raise self._wrong(f"returned {value!r} for output '{name}'; expected one whole number")
        return int(array.item())

    def _whole(self, index: int, value: Any, shape: tuple[int, ...], outputs: Mapping[str, Any]) -> Any:
        """An output with all its rows: those behind the valid ones are masked, whether they were returned or not."""
        tensor = self._manifest.outputs[index]
        if tensor.valid is None or not np.ndim(value) or np.ndim(value) != len(shape):
            return value
        count = self._number(tensor.valid, outputs[tensor.valid])
        given = np.ma.asarray(value)
        if not 0 <= count <= shape[0]:
            raise self._wrong(
                f"returned {count} for output '{tensor.valid}', which says how many of the {shape[0]} rows of "
                f"'{tensor.name}' are valid"
            )
        if not count <= len(given) <= shape[0] or given.shape[1:] != shape[1:]:
            raise self._wrong(
                f"returned shape {list(given.shape)} for output '{tensor.name}'; expected {list(shape)}, or fewer "
                f"rows, but the {count} that are valid by '{tensor.valid}'"
            )
        whole = np.ma.MaskedArray(np.zeros(shape, given.dtype), mask=True)
        whole[:count] = given[:count]
        return whole

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
        if len(tensor.types) == 1 and tensor.types[0].is_integer:
            if array.dtype.kind == "f" and not np.array_equal(array, np.rint(array)):
                raise self._wrong(f"returned fractions for {name}, which is {tensor.types[0].value}")
            array = array.astype(np.int64)
        else:
            array = array.astype(np.float64)
        return np.ma.MaskedArray(array, np.ma.getmaskarray(value)) if np.ma.is_masked(value) else array

    def _too_large(self) -> CheckFailed:
        """There is not as much memory as the tensors take."""
        return CheckFailed(
            f"{self.where}: reference() needs more memory than there is.",
            hint="Take smaller numbers for the symbols in [[profiles]], or in the fields that shapes depend on.",
        )

    def _raised(self, error: BaseException) -> CheckFailed:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == self.where]
        line = f", line {frames[-1].lineno}" if frames else ""
        found = self._wrong(f"raised {type(error).__name__}: {error}", line)
        if isinstance(error, NotImplementedError):
            return CheckFailed(found.message, hint="Write in reference(), in NumPy, what the layer computes.")
        return found

    def _wrong(self, what: str, line: str = "") -> CheckFailed:
        return CheckFailed(f"{self.where}{line}: reference() {what}.", hint=_form(self._manifest))


def _form(manifest: Manifest) -> str:
    named = [field.name for field in manifest.plain_fields()]
    return _FORM.format(
        inputs=", ".join(tensor.name for tensor in manifest.inputs),
        fields=", *, " + ", ".join(named) if named else "",
        outputs=", ".join(tensor.name for tensor in manifest.outputs),
    )
