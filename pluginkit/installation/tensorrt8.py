"""Finds a TensorRT 8 from PyPI: the tensorrt package of this Python, or of one that PLUGINKIT_TENSORRT8_PYTHON names.

Its bindings exist for CPython up to 3.10, so that Python is mostly another one: it is asked by running this file as a
script. Hence nothing of pluginkit may be imported at its top. No library of NVIDIA's is loaded.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import os
import shlex
import subprocess
import sys
import sysconfig
from dataclasses import asdict, dataclass, replace
from pathlib import Path

PYTHON = "PLUGINKIT_TENSORRT8_PYTHON"
NEEDED = ("numpy", "onnx", "polygraphy", "tomli", "typing_extensions")
"""What pluginkit's worker imports there besides tensorrt."""
TIMEOUT = 30.0
"""Seconds in which that Python must answer."""
FIRST_NUMPY = 2
"""NumPy 1.24 to 1.26 lack the numpy.bool that tensorrt.nptype of 8.5 asks for."""


@dataclass(frozen=True)
class TensorRT8:
    """A TensorRT 8 and the Python that it works in.

    Attributes:
        python: the interpreter.
        version: TensorRT's; empty where there is none.
        where: the package's folder.
        libraries: the folders where its loader must search, for LD_LIBRARY_PATH.
        problem: why it can't be used; empty if it can.
        lacks: the packages to install against that.
        remedy: what to do about it.
    """

    python: str
    version: str = ""
    where: str = ""
    libraries: tuple[str, ...] = ()
    problem: str = ""
    lacks: tuple[str, ...] = ()
    remedy: str = ""

    @property
    def foreign(self) -> bool:
        """Whether its Python is another one than this."""
        return self.python != sys.executable


def named() -> str:
    """The Python that the environment names for it; empty if it names none."""
    return os.environ.get(PYTHON, "")


def find() -> TensorRT8 | None:
    """The one that the environment names, usable or not; else the one of this Python; None if there is none."""
    if python := named():
        return _ask(python)
    found = _look()
    return _with_remedy(found) if found.version.startswith("8.") else None


@functools.cache
def _ask(python: str) -> TensorRT8:
    name = f"{PYTHON}={python}"
    remedy = f"Set {PYTHON} to the path of a Python 3.10 (or older) that has tensorrt 8.5 or 8.6, or unset it."
    if not os.access(python, os.X_OK) or Path(python).is_dir():
        return TensorRT8(python, problem=f"{name}: it is not a program", remedy=remedy)
    # A Python that was moved finds its own library by that alone. Without -E it would search this one's PYTHONPATH.
    environment = {**os.environ, "LD_LIBRARY_PATH": str(Path(python).absolute().parents[1] / "lib")}
    try:
        answer = subprocess.run(
            [python, "-E", __file__], env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return TensorRT8(python, problem=f"{name}: {error}", remedy=remedy)
    if answer.returncode:
        said = answer.stderr.strip()[-200:]
        return TensorRT8(python, problem=f"{name}: it ended with {answer.returncode}: {said}", remedy=remedy)
    found = json.loads(answer.stdout)
    found |= {key: tuple(found[key]) for key in ("libraries", "lacks")}
    if found["problem"]:
        found["problem"] = f"{name}: {found['problem']}"
    return _with_remedy(TensorRT8(**{**found, "python": python}))


def _with_remedy(found: TensorRT8) -> TensorRT8:
    """With the command that installs what is lacking; in which versions, pluginkit's extra tensorrt8 says."""
    if not found.lacks:
        return found
    from packaging.requirements import Requirement

    from pluginkit import installation

    extra = installation.requirements(("tensorrt8",), installation.OLDEST)
    if "tensorrt" in found.lacks:
        words = extra or ["--editable", f"{installation.package().parent}[tensorrt8]"]
    else:
        named = {Requirement(one).name: one for one in extra}
        words = [named.get(one, one) for one in found.lacks]
    return replace(found, remedy=shlex.join([found.python, "-m", "pip", "install", *words]))


def _look() -> TensorRT8:
    """What this Python has; without a remedy."""
    here = sys.executable
    spec = importlib.util.find_spec("tensorrt")
    if spec is None or not spec.origin:
        return TensorRT8(here, problem="it has no package tensorrt", lacks=("tensorrt",))
    folder = Path(spec.origin).parent
    try:
        version = importlib.metadata.version("tensorrt")
    except importlib.metadata.PackageNotFoundError:
        version = ""
    # The wheels of NVIDIA's other libraries lie beside it.
    beside = sorted(folder.parent.glob("nvidia/*/lib"))
    libraries = [folder, *beside, Path(sysconfig.get_config_var("LIBDIR") or ""), Path(sys.prefix) / "lib"]
    found = TensorRT8(here, version, str(folder), tuple(dict.fromkeys(str(one) for one in libraries if one.is_dir())))
    number = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if number[:1] != (8,) or number < (8, 5):
        problem = f"its tensorrt is {version or 'of no known version'}; needed is 8.5 or 8.6"
        return replace(found, problem=problem, lacks=("tensorrt",))
    lacking = tuple(name for name in NEEDED if importlib.util.find_spec(name) is None)
    if lacking:
        return replace(found, problem=f"it lacks {', '.join(lacking)}", lacks=lacking)
    numpy = importlib.metadata.version("numpy")
    if int(numpy.partition(".")[0]) < FIRST_NUMPY:
        problem = f"its numpy is {numpy}; tensorrt {version} needs the numpy.bool of 2.0"
        return replace(found, problem=problem, lacks=("numpy",))
    return found


if __name__ == "__main__":
    json.dump(asdict(_look()), sys.stdout)
