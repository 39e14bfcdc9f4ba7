"""Libraries that register their plugins themselves, linked against a libnvinfer that isn't here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pluginkit
from tests.compilers import default_cxx

SOURCE = Path(__file__).with_name("registering.cpp")
THEIRS = 'extern "C" void* {name}() {{ return nullptr; }}'


def compiled(folder: Path, layout: int, *flags: str, needs: tuple[str, ...] = ()) -> Path:
    """The library `libshifting.so` of a layout in `folder`, linked against libraries of the names in `needs`, which are
    gone afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "libshifting.so"
    theirs = []
    for place, soname in enumerate(needs):
        stub = folder / f"libtheirs{place}.so"
        command = [default_cxx(), "-x", "c++", "-", "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", str(stub)]
        name = "cudaMalloc" if "cuda" in soname else "getPluginRegistry"
        subprocess.run(command, input=THEIRS.format(name=name), text=True, check=True)
        theirs.append(stub)
    command = [
        default_cxx(),
        "-std=c++17",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        f"-DPLUGINKIT_TRT_LAYOUT={layout}",
    ]
    command += [f"-I{pluginkit.include_dir()}", *flags, str(SOURCE), "-Wl,--no-as-needed", *map(str, theirs)]
    subprocess.run([*command, "-o", str(library)], check=True)
    for one in theirs:
        one.unlink()
    return library
