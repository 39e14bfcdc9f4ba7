"""What is on this machine: tools, headers, runtimes and GPUs, where, in which version, and which of them is used."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pluginkit import installation, layouts
from pluginkit.build import python_module, toolchain
from pluginkit.build.gpus import find_driver
from pluginkit.errors import ToolMissing
from pluginkit.evaluators import evaluators
from pluginkit.installation import foreign
from pluginkit.paths import __version__, include_dir


@dataclass(frozen=True)
class SurveyItem:
    """One thing that was looked for.

    Attributes:
        group: `tools`, `headers`, `runtimes`, `packages` or `gpus`.
        name: what it is.
        found: whether it is here.
        version: as it reports it.
        where: its file or folder.
        used: whether pluginkit uses this one: of several candidates, one.
        note: why it can't be used, or what it is for.
        remedy: how to get it, where it is missing.
    """

    group: str
    name: str
    found: bool
    version: str = ""
    where: str = ""
    used: bool = False
    note: str = ""
    remedy: str = ""


EXTRAS = {
    "rtx": "tensorrt-rtx: NVIDIA's builder, ONNX parser and plugin registry; `test` asks it. From PyPI, needs no GPU.",
    "lean": "tensorrt-lean: NVIDIA's plugin registry of TensorRT 10 or 11, one of them in an environment. From PyPI.",
    "tensorrt": "tensorrt: the full TensorRT. Its libraries come from NVIDIA's own package index, and need a GPU.",
    "tensorrt8": "tensorrt 8.5: the full TensorRT of PyPI, libraries and all, for Python 3.10 and older. "
    "PLUGINKIT_TENSORRT8_PYTHON names that Python where it is another one than this.",
    "farm": "Dask: test, check and bench on many machines (--farm).",
    "trust": "cryptography: signatures of bundles, `registry sign`, and what trust.toml says of them.",
    "sigstore": "sigstore: signatures of bundles without a key, by sigstore's identities in trust.toml.",
    "wheel": "auditwheel and wheel: `pluginkit wheel`.",
    "cuda": "nvcc and CUDA's libraries from PyPI: target gpu without a CUDA toolkit on the machine.",
    "html": "jinja2, matplotlib and networkx: the page of `pluginkit test --html`.",
    "model": "onnxruntime: runs the operators of a model that are not plugins, in `pluginkit import`.",
    "graft": "onnxscript and onnxruntime: subgraphs become a plugin's nodes, `pluginkit graft`.",
    "pytest": "pytest and pytest-xdist: the cases of `pluginkit test` as a project's tests.",
    "docs": "Sphinx: the site, by `make docs` in a checkout of pluginkit.",
    "pycuda": "PyCUDA: for your own GPU code in Python. Builds from source and needs a CUDA toolkit.",
}
"""What each optional part of pluginkit brings; `installation.extra` has the command."""


def survey() -> list[SurveyItem]:
    """Look for everything. Loads none of the runtimes."""
    python = SurveyItem("tools", "Python", True, platform.python_version(), sys.executable, used=True)
    ours = SurveyItem("tools", "pluginkit", True, __version__, str(Path(__file__).parent), used=True)
    return [ours, *_foreign(), python, *_tools(), *_headers(), *_runtimes(), *_packages(), *_gpus()]


def as_json(items: list[SurveyItem]) -> dict[str, Any]:
    """The survey as plain data."""
    return {"items": [asdict(item) for item in items], "extras": EXTRAS}


def _foreign() -> Iterator[SurveyItem]:
    """PyPI's other `pluginkit`, where it is installed in this environment."""
    if place := foreign.found():
        yield SurveyItem("tools", "another pluginkit", True, where=place, remedy=foreign.message(place))


def _tools() -> Iterator[SurveyItem]:
    for find in toolchain.ALL:
        try:
            tool = find()
            found = tool.found()
        except ToolMissing as error:
            yield SurveyItem("tools", "C++ compiler", False, note=error.message, remedy=error.hint)
            continue
        first = next((one for one in found if one.usable), None)
        if first is None:
            yield SurveyItem("tools", tool.name, False, note=f"needed is {tool.needs}", remedy=tool.remedy)
        for one in found:
            version = f"{one.note} {one.version or ''}".strip()
            yield SurveyItem(
                "tools", tool.name, one.usable, version, str(one.path), used=one is first, note=one.why_not
            )


def _headers() -> Iterator[SurveyItem]:
    yield from _cuda_headers()
    yield from _tensorrt_headers()
    folder = python_module.headers()
    remedy = "" if folder else "apt install python3-dev; without it projects get no Python module"
    version = platform.python_version() if folder else ""
    yield SurveyItem(
        "headers", "Python.h", folder is not None, version, str(folder or ""), folder is not None, remedy=remedy
    )


def _cuda_headers() -> Iterator[SurveyItem]:
    """Target cpu's headers, and those of the nvcc of target gpu where they are others."""
    chosen: dict[Path, str] = {}
    for target, find in (("cpu", toolchain.cuda_include_dirs), ("gpu", _headers_of_nvcc)):
        try:
            folder = find()[0]
        except ToolMissing as error:
            if target == "cpu":
                yield SurveyItem("headers", "CUDA", False, note=error.message, remedy=error.hint)
            continue
        chosen[folder] = f"{chosen[folder]} and {target}" if folder in chosen else f"target {target}"
    for folder, note in chosen.items():
        version = str(toolchain.cuda_headers_version(folder) or "")
        yield SurveyItem("headers", "CUDA", True, version, str(folder), used=True, note=note)


def _headers_of_nvcc() -> list[Path]:
    return toolchain.headers_of(toolchain.nvcc().best().path)


def _tensorrt_headers() -> Iterator[SurveyItem]:
    chosen = toolchain.sdk_headers()
    for sdk in toolchain.tensorrt_sdks():
        used = sdk.path in chosen.values()
        note = sdk.why_not or ("" if used else "another one of this major is used")
        yield SurveyItem("headers", "TensorRT SDK", sdk.usable, str(sdk.version or ""), str(sdk.path), used, note)
    own = [str(layout) for layout in sorted(layouts.NUMBERS) if layout not in chosen]
    note = f"for layout {', '.join(own)}" if own else "the SDKs' are used for all layouts"
    yield SurveyItem(
        "headers", "TensorRT, pluginkit's own", True, __version__, str(include_dir()), used=bool(own), note=note
    )


def _runtimes() -> Iterator[SurveyItem]:
    for evaluator in evaluators():
        found = evaluator.probe()
        yield SurveyItem(
            "runtimes", evaluator.NAME, found.found, found.version, found.where, found.found, found.reason, found.remedy
        )


def _packages() -> Iterator[SurveyItem]:
    for name in ("polygraphy", "onnx", "numpy"):
        yield _package("packages", name, installation.pip(name))
    yield _package("packages", "onnxruntime", f"{installation.extra('model')}  # for pluginkit import")
    yield _package("packages", "pycuda", f"{installation.extra('pycuda')}  # nothing of pluginkit needs it")


def _package(group: str, name: str, remedy: str) -> SurveyItem:
    """A Python package, by what is written about it on disk: importing some of them takes seconds or a GPU."""
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return SurveyItem(group, name, False, remedy=remedy)
    where = str(distribution.locate_file(name))
    return SurveyItem(group, name, True, distribution.version, where, used=group == "packages")


def _gpus() -> Iterator[SurveyItem]:
    driver = find_driver()
    if not driver.gpus:
        reason = driver.problem or "the driver lists no GPU"
        note = f"{reason}\nBuilding for GPUs, and testing on the CPU, need none."
        yield SurveyItem("gpus", "NVIDIA GPU", False, note=note)
    for gpu in driver.gpus:
        note = f"compute capability {gpu.capability}; the driver takes CUDA up to {driver.cuda}"
        yield SurveyItem("gpus", gpu.name, True, f"SM {gpu.arch}", "", used=True, note=note)
