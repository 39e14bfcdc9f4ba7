"""What a failed compilation lacks of NVIDIA's: a header or a name that pluginkit's own headers don't have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pluginkit import layouts
from pluginkit.paths import include_dir

_QUOTED = r"['‘`]([^'’]+)['’]"
_ERROR = re.compile(r"^(.*?)(?::\d+)*: (?:fatal )?error: (.*)(?:\n(.*))?", re.MULTILINE)
"""Of a compiler: the file, what it says, and the line that it shows."""
_HEADER = re.compile(rf"(?:([\w./+-]+): No such file or directory|{_QUOTED} file not found)")
_MEMBER = (
    re.compile(rf"{_QUOTED} is not a member of {_QUOTED}"),
    re.compile(rf"{_QUOTED} in (?:namespace|class|struct|enum) {_QUOTED} does not name a"),
    re.compile(rf"no (?:member|type|template) named {_QUOTED} in (?:namespace )?{_QUOTED}"),
)
_OF_CLASS = re.compile(rf"{_QUOTED} has no (?:non-static data )?member named {_QUOTED}")
_UNKNOWN = re.compile(
    rf"{_QUOTED} (?:was not declared|does not name a|has not been declared)|"
    rf"(?:use of undeclared identifier|unknown type name|unknown class name) {_QUOTED}"
)
_BASES = re.compile(r"expected class name|expected class-name")
_BASE = re.compile(r"(?:public|private|protected|virtual|,)\s+(?:nvinfer1::)?(I[A-Z]\w+)")
_OVERRIDE = re.compile(rf"{_QUOTED} marked .override.,? but does not override")
_ABSTRACT = re.compile(r"abstract (?:class|type)\b")
_PURE = re.compile(r"virtual .*?nvinfer1::(?:\w+::)*?(\w+)\(|unimplemented pure virtual method ['‘](\w+)")

_LOOSER = re.compile(
    rf"(?:looser exception specification on overriding virtual function {_QUOTED}|"
    r"exception specification of overriding function is more lax)"
)
_NARROW = re.compile(r"from ['‘`]?(?:const )?int64_t ?(?:const )?\*|const int64_t\*|int64_t \*")
_OF_7 = re.compile(r"Dims(?:CHW|NCHW|NHWC|NACHW)|DimensionType|IPluginExt|IPluginLayer|IPluginFactory")
"""Names that ended with TensorRT 7."""

_TENSORRT_HEADER = re.compile(r"(?:.*/)?Nv(?:Infer|Onnx|Uff|Caffe|Utils)\w*\.h")
_LIBRARY_HEADER = re.compile(
    r"(?:cublas|cudnn|cufft|cusparse|cusolver|curand|nccl|nvrtc|nvml|nvToolsExt|nvtx3/|cutlass/|cute/)[\w./]*"
)
_TENSORRT_NAME = re.compile(
    r"IPlugin\w+|I[A-Z]\w*(?:Layer|Builder\w*|Network\w*|Engine|Runtime|Context|Config|Parser|Recorder|Registry)|"
    r"create(?:Infer|NvOnnx)\w+|(?:TRT|NV_TENSORRT|NVINFER)_\w+|getInferLibVersion"
)
_CUDA_NAME = re.compile(
    r"(?:cuda|cublas|cudnn|cufft|curand|cusparse|cusolver|nccl|nvrtc|nvtx)[A-Z]\w+|cu[A-Z]\w+|CU_\w+"
)

_SDK = (
    "Give the folder of a TensorRT SDK's headers: target_include_directories, --include of pluginkit build --sources, "
    "or $TENSORRT_ROOT. They are taken in place of pluginkit's."
)
_CPU = (
    "Leave its use out by #ifndef PLUGINKIT_TARGET_CPU, with C++ instead, or build gpu only; docs/cpu-target.md lists "
    "what target cpu has."
)
_LIBRARIES = "Of NVIDIA's libraries there are cublas_v2.h, cublasLt.h and cudnn.h."


@dataclass(frozen=True)
class MissingName:
    """What is lacking, as a sentence, and what to do."""

    message: str
    hint: str


def find(output: str, layout: int | None) -> MissingName | None:
    """What the first error of a compiler's output lacks of NVIDIA's; None where it is an error of another kind.

    Args:
        output: what g++ or clang++ wrote.
        layout: of TensorRT's plugin classes; None: a TensorRT SDK's headers, of which nothing is known here.
    """
    error = _ERROR.search(output)
    if error is None:
        return None
    file, text, shown = error.groups()
    if header := _HEADER.search(text):
        return _header(header[1] or header[2], file)
    if not layout:
        return None
    return (
        _of_class(text, output[error.start() :], layout)
        or _of_older(text, shown or "")
        or _undeclared(text, shown or "", layout)
    )


def _of_older(text: str, shown: str) -> MissingName | None:
    """What was right for a TensorRT before 10."""
    if looser := _LOOSER.search(text):
        method = re.search(r"(\w+)\(", looser[1] or shown)
        # A class of the sources' own may have such a method, too.
        if method is None or not _in_headers(method[1]):
            return None
        return MissingName(
            f"{method[1]} is not noexcept: since TensorRT 8 plugins' methods are, so these "
            "sources are written for TensorRT 7 or an older one.",
            "Write noexcept behind each of the class's methods; NVIDIA's own headers refuse them too.",
        )
    if old := next((name for pair in _UNKNOWN.findall(text) for name in pair if _OF_7.fullmatch(name)), None):
        return MissingName(
            f"{old} ended with TensorRT 7: these sources are written for it or an older one.",
            "nvinfer1::Dims3 and Dims4 are what there is; NVIDIA's own headers refuse the sources too.",
        )
    if "cannot convert" in text and _NARROW.search(text) and re.search(r"\bdims?\b|\.d\[|\.d\b", shown):
        return MissingName(
            "Dims::d holds int64_t since TensorRT 10: these sources are written for TensorRT 8 or an older one.",
            "Let the pointer be int64_t const*; NVIDIA's own headers of TensorRT 10 and 11 refuse it too.",
        )
    return None


def _of_class(text: str, output: str, layout: int) -> MissingName | None:
    """A method that a class has too many, or lacks."""
    if (override := _OVERRIDE.search(text)) and (method := re.search(r"(\w+)(?:\(|$)", override[1])):
        return _other_layout(f"{method[1]} overrides nothing", method[1], layout)
    if _ABSTRACT.search(text) and (pure := _PURE.search(output)):
        method_name = pure[1] or pure[2]
        return _other_layout(f"the class lacks {method_name}", method_name, layout)
    return None


def _undeclared(text: str, shown: str, layout: int) -> MissingName | None:
    """A name that nothing declares."""
    names: list[tuple[str, str]] = []
    for pattern in _MEMBER:
        names += pattern.findall(text)
    names += [(name, scope) for scope, name in _OF_CLASS.findall(text)]
    if not names:
        names += [(first or second, "") for first, second in _UNKNOWN.findall(text)]
    if _BASES.search(text):
        names += [(one, "") for one in _BASE.findall(shown) if _TENSORRT_NAME.fullmatch(one)]
    return next(filter(None, (_name(name, scope, layout) for name, scope in names)), None)


def _header(name: str, file: str) -> MissingName | None:
    if _TENSORRT_HEADER.fullmatch(name):
        have = ", ".join(sorted(path.name for path in include_dir().glob("Nv*.h")))
        return MissingName(f"pluginkit's headers lack {name}, which is TensorRT's. They are {have}.", _SDK)
    if _LIBRARY_HEADER.fullmatch(name):
        message = f"{file} includes {name}: NVIDIA's library is not there on the CPU (target cpu)."
        return MissingName(message, f"{_CPU} {_LIBRARIES}")
    return None


def _name(name: str, scope: str, layout: int) -> MissingName | None:
    scope = re.sub(r"^(?:const )?(?:class|struct|enum|enum class) ", "", scope)
    inside = re.match(r"(?:::)?nvinfer1\b", scope)
    if (inside or not scope) and _in_headers(name):
        return _other_layout(f"TensorRT {layout} has no {name}", name, layout)
    if inside or (not scope and _TENSORRT_NAME.fullmatch(name)):
        full = f"{scope}::{name}" if inside else name
        return MissingName(f"pluginkit's headers of TensorRT {layout} lack {full}.", _SDK)
    if not scope and _CUDA_NAME.fullmatch(name):
        return MissingName(f"CUDA on the CPU (target cpu) lacks {name}.", _CPU)
    return None


def _other_layout(what: str, name: str, layout: int) -> MissingName | None:
    if not _in_headers(name):
        return None
    # What TensorRT 8 has, 10 has as well, and its classes fit sources of either.
    other = 10 if layout == layouts.NUMBERS[0] else layouts.NUMBERS[0]
    return MissingName(
        f"{what}: these sources may be written for TensorRT {other}, and are compiled for TensorRT {layout}.",
        f"If they are: LAYOUTS {other} in pluginkit_test_plugin, --layout {other} of pluginkit build --sources.",
    )


def _in_headers(name: str) -> bool:
    """Whether a name stands in pluginkit's headers at all: then it is missing in one layout only."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    return any(word.search(_code(path)) for path in include_dir().glob("Nv*.h"))


def _code(path: Path) -> str:
    return re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
