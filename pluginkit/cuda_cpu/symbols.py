"""The CUDA functions that an object calls: renamed to our runtime's, or refused by name."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from pluginkit.cuda_cpu import PREFIX, RUNTIME_DIR
from pluginkit.errors import BuildFailed
from pluginkit.process import run

_CUDA = re.compile(r"(?:cuda|cu|cublas|cublasLt|cudnn|curand|cusparse|cufft|nvrtc)[A-Z]\w*\Z")


@cache
def provided() -> frozenset[str]:
    """The CUDA functions that the runtime has, read from its sources."""
    text = "".join(file.read_text(encoding="utf-8") for file in sorted(RUNTIME_DIR.glob("*.cpp")))
    return frozenset(re.findall(rf"\b{PREFIX}(cuda\w+)\(", text))


def rename(obj: Path, source: str) -> None:
    """Give every CUDA function that `obj` calls the runtime's name, in place.

    Raises:
        BuildFailed: it calls one that target cpu does not have; all of them are named.
    """
    listing = run(["nm", "-u", "-P", str(obj)]).stdout
    called = {name for name in re.findall(r"^(\w+)", listing, re.MULTILINE) if _CUDA.match(name)}
    missing = sorted(called - provided())
    if missing:
        obj.unlink()
        raise BuildFailed(
            f"{source} calls {', '.join(missing)}, which CUDA on the CPU (target cpu) does not have.",
            hint="docs/cpu-target.md lists what it has. Build target gpu only, or leave this call out of target cpu.",
        )
    if called:
        run(["objcopy", *[f"--redefine-sym={name}={PREFIX}{name}" for name in sorted(called)], str(obj)])
