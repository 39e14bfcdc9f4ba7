"""What has other programs load plugin libraries: a form for each, to be pasted.

Polygraphy, onnxruntime and Triton only open a library and expect it to register its creators meanwhile. They are given
pluginkit's `libpluginkit_register.so` (native/register_on_load.cpp), which has TensorRT's registry load the libraries
that PLUGINKIT_PLUGINS names. No engine can use a library of target cpu, whose kernels take the CPU's memory: it is for
what runs models on the CPU.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pluginkit.paths import built_dir

VARIABLE = "PLUGINKIT_PLUGINS"
REGISTER = "libpluginkit_register.so"


@dataclass(frozen=True)
class LoadingForm:
    """How a program comes to load plugin libraries.

    Attributes:
        program: its name.
        text: lines of a shell, or of the program's language.
        source: the document that says so.
        page: what the documentation has on it, in docs/deploying/.
        shell: whether the text is for a shell.
    """

    program: str
    text: str
    source: str
    page: str
    shell: bool = True


def forms(libraries: Sequence[Path], target: str) -> tuple[LoadingForm, ...]:
    """The forms for libraries, in the order in which they are loaded.

    Args:
        libraries: files without a colon or a semicolon in their names, as in every store.
        target: what they are built for, `cpu` or `gpu`.
    """
    paths = [str(one) for one in libraries]
    return _on_gpu(paths) if target == "gpu" else _on_cpu(paths)


def all_forms(libraries: Mapping[str, Sequence[Path]]) -> list[LoadingForm]:
    """The forms for the libraries of each target."""
    return [form for target, those in libraries.items() for form in forms(those, target)]


def _on_cpu(paths: list[str]) -> tuple[LoadingForm, ...]:
    return (
        LoadingForm(
            "Polygraphy, on the CPU",
            f"polygraphy run MODEL.onnx --pluginkit --plugins {shlex.join(paths)}",
            "pluginkit, polygraphy/runner.py",
            "polygraphy.md",
        ),
        LoadingForm(
            "onnxruntime, on the CPU",
            f"from pluginkit.onnxruntime import session\n\nopened = session('MODEL.onnx', plugins={paths!r})",
            "pluginkit, onnxruntime/session.py",
            "onnxruntime.md",
            shell=False,
        ),
    )


def _on_gpu(paths: list[str]) -> tuple[LoadingForm, ...]:
    named = f"{VARIABLE}={shlex.quote(':'.join(paths))}"
    register = shlex.quote(str(built_dir() / REGISTER))
    return (
        LoadingForm(
            "trtexec",
            f"trtexec --onnx=MODEL.onnx {' '.join(f'--dynamicPlugins={shlex.quote(path)}' for path in paths)}",
            "NVIDIA/TensorRT 11.1, samples/common/sampleOptions.cpp",
            "trtexec.md",
        ),
        LoadingForm(
            "Polygraphy",
            f"LD_PRELOAD=libnvinfer.so.10 {named} \\\n    polygraphy run MODEL.onnx --trt --plugins {register}",
            "Polygraphy 0.53.6, polygraphy/backend/trt/loader.py, LoadPlugins",
            "polygraphy.md",
        ),
        LoadingForm(
            "onnxruntime",
            f"export {named}\nexport ORT_TENSORRT_EXTRA_PLUGIN_LIB_PATHS={register}",
            "onnxruntime.ai/docs/execution-providers/TensorRT-ExecutionProvider.html, trt_extra_plugin_lib_paths",
            "onnxruntime.md",
        ),
        LoadingForm(
            "Triton",
            f"{named} \\\n    tritonserver --model-repository=MODELS --backend-config=tensorrt,plugins={register}",
            "triton-inference-server/tensorrt_backend, README.md, Command-line Options",
            "triton.md",
        ),
        LoadingForm(
            "C++",
            "\n".join(f'runtime->getPluginRegistry().loadLibrary("{_escaped(path)}");' for path in paths),
            "NvInferRuntimeCommon.h, IPluginRegistry::loadLibrary",
            "cpp.md",
            shell=False,
        ),
        LoadingForm(
            "Python",
            "\n".join(f"runtime.get_plugin_registry().load_library({path!r})" for path in paths),
            "docs.nvidia.com/deeplearning/tensorrt, Python API, IPluginRegistry.load_library",
            "python.md",
            shell=False,
        ),
    )


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace('"', '\\"')


def shell_lines(libraries: Mapping[str, Sequence[Path]]) -> list[str]:
    """All forms of each target's libraries as lines for a shell: what exports variables as it is, all others as
    comments."""
    lines: list[str] = []
    for one in all_forms(libraries):
        exports = one.text.startswith("export ")
        lines.append(f"# {one.program} (docs/deploying/{one.page}):")
        lines += [line if exports else f"#     {line}".rstrip() for line in one.text.splitlines()]
    return lines
