"""Drive CMake and Ninja, look at what came out, and put it in place by renaming."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from pluginkit import __version__
from pluginkit.build import cache, toolchain
from pluginkit.build.artifact import TARGETS, Artifact, library_path
from pluginkit.errors import BuildFailed, UsageError
from pluginkit.manifest import Manifest
from pluginkit.process import run

Told = Callable[[str], None]
"""Called with each line that CMake, Ninja and the compilers say."""


def build(
    project: Path,
    target: str = "auto",
    *,
    archs: Sequence[str] = (),
    werror: bool = False,
    told: Told = lambda _: None,
) -> list[Artifact]:
    """Build a project's library for each target; what has not changed is not compiled again.

    Args:
        project: the folder with `pluginkit.toml` and `CMakeLists.txt`.
        target: `cpu`, `gpu`, or `auto`: cpu always, and gpu where nvcc is found.
        archs: GPU architectures such as `80` or `90`; none means those of this machine's GPUs, else a default set.
        werror: whether warnings in the project's sources are errors.
        told: called with each line of the tools' output.

    Raises:
        UsageError: no project, or an unknown target.
        ToolMissing: a tool is missing or too old.
        BuildFailed: CMake, a compiler or the linker said no. The library of an earlier build stays as it is.
    """
    project = project.resolve()
    manifest = Manifest.load(project)
    if not (project / "CMakeLists.txt").exists():
        raise UsageError(
            f"There is no CMakeLists.txt in {project}.", hint="pluginkit new shows what a project looks like."
        )
    if target not in (*TARGETS, "auto"):
        raise UsageError(f"There is no target '{target}'.", hint="The targets are cpu, gpu and auto.")
    has_nvcc = any(one.usable for one in toolchain.nvcc().found())
    targets = [target] if target != "auto" else ["cpu", *(["gpu"] if has_nvcc else [])]
    return [_build_one(project, manifest.slug, one, archs, werror, told) for one in targets]


def _build_one(project: Path, slug: str, target: str, archs: Sequence[str], werror: bool, told: Told) -> Artifact:
    folder = project / "build" / target / "cmake"
    cmake, ninja = toolchain.cmake().best().path, toolchain.ninja().best().path
    settings = {**cache.settings(target, archs=archs, werror=werror), "CMAKE_MAKE_PROGRAM": str(ninja)}
    _configure(project, folder, cmake, settings, told)
    _run([str(cmake), "--build", str(folder)], folder, told, "building")
    described = json.loads((folder / f"pluginkit-{slug}.json").read_text(encoding="utf-8"))
    return _install(Path(described["library"]), library_path(project, slug, target), described)


def _configure(project: Path, folder: Path, cmake: Path, settings: dict[str, str], told: Told) -> None:
    """Configure once, and anew when a setting has changed: a stale cache would keep the old compiler or headers."""
    script = cache.script(settings) + f"# {project}\n"
    init = folder / "pluginkit-init.cmake"
    if (folder / "build.ninja").exists() and init.exists() and init.read_text(encoding="utf-8") == script:
        return
    if init.exists():
        told("A tool or setting has changed since the last build: everything is compiled anew.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    init.write_text(script, encoding="utf-8")
    _run(
        [str(cmake), "-G", "Ninja", "-C", str(init), "-S", str(project), "-B", str(folder)], folder, told, "configuring"
    )


def _run(command: list[str], folder: Path, told: Told, what: str) -> None:
    lines: list[str] = []

    def on_line(line: str) -> None:
        lines.append(line.rstrip("\n"))
        told(lines[-1])

    result = run(command, on_line=on_line)
    log = folder / "pluginkit.log"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if not result.ok:
        raise BuildFailed(f"{what} failed:\n" + "\n".join(_errors(lines)), hint=f"The whole output is in {log}.")


def _errors(lines: list[str]) -> list[str]:
    """What the compiler said, without Ninja's progress and its long command lines."""
    begins = [i for i, line in enumerate(lines) if line.startswith(("FAILED:", "CMake Error"))]
    kept = lines[begins[0] :] if begins else lines
    noise = ("FAILED:", "ninja: build stopped", "[", "cd ", ":")
    return [line for line in kept if line.strip() and not line.startswith(noise) and not _is_command(line)]


def _is_command(line: str) -> bool:
    """Whether Ninja shows here what it ran."""
    return " -o " in line and (" -c " in line or "pluginkit.cuda_cpu.compile" in line or " -shared " in line)


def _install(built: Path, library: Path, described: dict[str, object]) -> Artifact:
    """Check the library and put it in place by renaming, so that a process that has the old one open keeps it."""
    _check_exports(built, str(described["name"]))
    data = built.read_bytes()
    info = {
        **{key: value for key, value in described.items() if key != "library"},
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
        "pluginkit": __version__,
    }
    beside = library.with_suffix(".json")
    text = json.dumps(info, indent=2) + "\n"
    artifact = Artifact(library, info)
    if library.exists() and library.read_bytes() == data and beside.exists() and beside.read_text() == text:
        return artifact
    for path, content in ((library, data), (beside, text.encode())):
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.write_bytes(content)
        new.chmod(0o755 if path is library else 0o644)
        new.replace(path)
    return replace(artifact, fresh=True)


def _check_exports(library: Path, name: str) -> None:
    """Look for what TensorRT's loadLibrary looks for.

    Raises:
        BuildFailed: an entry symbol is missing; it says the likely cause.
    """
    wanted = {"getCreators", "setLoggerFinder", f"init{name}Plugins"}
    try:
        with library.open("rb") as file:
            symbols = ELFFile(file).get_section_by_name(".dynsym")
            assert isinstance(symbols, SymbolTableSection)
            exported = {s.name for s in symbols.iter_symbols() if s["st_shndx"] != "SHN_UNDEF"}
    except (OSError, ELFError) as error:
        raise BuildFailed(f"{library} cannot be read as a library: {error}") from None
    missing = sorted(wanted - exported)
    if missing:
        raise BuildFailed(
            f"{library.name} does not export {', '.join(missing)}, so TensorRT cannot load it.",
            hint=f"Does a source of pluginkit_add_plugin say PLUGINKIT_PLUGINS({name}, YourCreator)?",
        )
