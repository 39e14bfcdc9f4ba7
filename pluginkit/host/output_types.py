"""The types that a plugin gives its outputs, by their numbers."""

from __future__ import annotations

from pluginkit.dtypes import DType
from pluginkit.host.errors import Finding

_NAMES = {
    4: "kBOOL",
    5: "kUINT8",
    9: "kINT4",
    10: "kFP4",
    11: "kE8M0",
    **{kind.code: kind.trt for kind in DType},
}
"""`nvinfer1::DataType`, by number."""
_NOT_FOR_PLUGINS = {"kBOOL", "kUINT8"}


def type_name(code: int) -> str:
    """What nvinfer1::DataType calls that number; the number itself where it is none."""
    return _NAMES.get(code, str(code))


def output_type(method: str, index: int, code: int) -> DType:
    """The type of that number for output `index`.

    Raises:
        Finding: there is none, plugins may not have it (T6), or the host doesn't (T7).
    """
    name = _NAMES.get(code, "")
    if not name or name in _NOT_FOR_PLUGINS:
        message = (
            f"{name}, which TensorRT doesn't support in plugins" if name else f"{code}, which is not nvinfer1::DataType"
        )
        raise Finding(method, f"wrong type for output {index}: {message}", rule="T6")
    try:
        return DType.from_code(code)
    except ValueError:
        raise Finding(
            method, f"output {index} is {name}, and pluginkit's host has no tensors of that type", rule="T7"
        ) from None
