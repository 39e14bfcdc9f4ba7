"""Runs CMake and Ninja, checks the result, and renames it into place."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pluginkit.build import cache, existing, python_module, toolchain
from pluginkit.build.artifact import TARGETS, Artifact, library_path
from pluginkit.build.exports import check_exports, exported
from pluginkit.build.output import BuildOutput, hint_for
from pluginkit.build.sanitizers import PLAIN, Flavour
from pluginkit.errors import BuildFailed, UsageError, from_os
from pluginkit.library import build_record
from pluginkit.manifest import Manifest
from pluginkit.manifest.project import members, root
from pluginkit.paths import __version__
from pluginkit.process.programs import run

Progress = Callable[[str], None]
"""Called with a line of Ninja's progress (`[3/7] ...`), a compiler's output, and why all is compiled anew."""


def build(
    project: Path,
    target: str = "auto",
    *,
    archs: Sequence[str] = (),
    werror: bool = False,
    flavour: Flavour = PLAIN,
    python: bool = False,
    progress: Progress = lambda _: None,
) -> list[Artifact]:
    """Build a project's library for each target; what has not changed is not compiled again.

    Args:
        project: the folder with `pluginkit.toml` and `CMakeLists.txt`, or that of a plugin added to its library.
        target: `cpu`, `gpu`, or `auto`: cpu always, and gpu where nvcc is found.
        archs: GPU architectures, as of `toolchain.architectures`.
        werror: whether warnings in the project's sources are errors.
        flavour: the checks that are compiled into the library of target cpu, which then has a folder of its own.
        python: whether the project's Python module is built too, where it has one and Python.h is there.
        progress: called with each line that a person may want to see.

    Raises:
        UsageError: no project, an unknown target, or a folder that may not be written.
        ToolMissing: a tool is missing or too old.
        BuildFailed: CMake, a compiler or the linker failed. The library of an earlier build stays as it is.

    A library that `[library]` names is made by its own command, and is the only one whatever the target.
    """
    project = root(project.resolve())
    manifest = members(project)[0].manifest
    if manifest.library is not None:
        return [existing.for_target(project, manifest.library, target, progress)]
    if not (project / "CMakeLists.txt").exists():
        raise UsageError(
            f"There is no CMakeLists.txt in {project}.", hint="pluginkit new shows what a project looks like."
        )
    if target not in (*TARGETS, "auto"):
        raise UsageError(f"There is no target '{target}'.", hint="The targets are cpu, gpu and auto.")
    targets = [target] if target != "auto" else ["cpu", *(["gpu"] if _has_nvcc() else [])]
    if archs and "gpu" not in targets:
        raise UsageError(
            f"GPU architecture {', '.join(archs)} is asked for, and target gpu is not built here.",
            hint="Say --target gpu." if target == "cpu" else "No nvcc was found: see pluginkit info.",
        )
    if flavour.sanitizers and targets != ["cpu"]:
        raise UsageError("Sanitizers are for target cpu alone.", hint="Say --target cpu, or leave them out.")

    def one(name: str) -> Artifact:
        library = library_path(project, manifest.slug, flavour.folder if name == "cpu" else name)
        settings = cache.settings(name, archs=archs, werror=werror, sanitize=flavour.compiled)
        return _build_one(library, manifest, name, settings, python and not flavour.compiled, progress)

    try:
        return [one(name) for name in targets]
    except OSError as error:
        known = from_os(error)
        if known is None:
            raise
        raise UsageError(f"{project} cannot be built there: {known.message}", hint=_ELSEWHERE) from None


_ELSEWHERE = (
    "Build a copy of it in a folder that you may write to. A library that is there already needs no build: "
    "pluginkit test --library LIB.so, pluginkit import --plugins LIB.so"
)


def _has_nvcc() -> bool:
    return any(one.usable for one in toolchain.nvcc().found())


def _build_one(
    library: Path, manifest: Manifest, target: str, settings: dict[str, str], python: bool, progress: Progress
) -> Artifact:
    project, folder = library.parent.parent.parent, library.parent / "cmake"
    cmake, ninja = toolchain.cmake().best(), toolchain.ninja().best()
    settings = {**settings, "CMAKE_MAKE_PROGRAM": str(ninja.path)}
    settings["PLUGINKIT_TOOLS"] += f", CMake {cmake.version}, Ninja {ninja.version}"
    library.parent.mkdir(parents=True, exist_ok=True)
    with (library.parent / ".lock").open("w", encoding="utf-8") as lock:
        # Two builds at once would write the same objects; the second waits, and then finds all done.
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            _configure(project, folder, cmake.path, settings, progress)
            module = _module(folder, manifest, progress) if python else {}
            _run([ninja.path, "-C", folder, "all", *([module["target"]] if module else [])], folder, progress)
            made = _install(_described(folder, manifest), library, manifest.plugin.name)
            return replace(made, module=_install_module(module, library.parent)) if module else made
        except BuildFailed as error:
            raise _with_place(error, target, library) from None


def _with_place(error: BuildFailed, target: str, library: Path) -> BuildFailed:
    """The error, with what was built and what is left of the build before."""
    kept = f"{library} is still that of the last good build." if library.exists() else ""
    return BuildFailed(
        f"Target {target} did not build.\n{error.message}", hint="\n  ".join(filter(None, (error.hint, kept)))
    )


def _configure(project: Path, folder: Path, cmake: Path, settings: dict[str, str], progress: Progress) -> None:
    """Configure once, and anew when a setting has changed: a stale cache would keep the old compiler or headers."""
    script = cache.script({**settings, "PLUGINKIT_PROJECT": str(project)})
    init = folder / "pluginkit-init.cmake"
    before = init.read_text(encoding="utf-8") if init.exists() else ""
    if (folder / "build.ninja").exists() and before == script:
        return
    if (folder / "build.ninja").exists():
        progress(f"Everything is compiled anew: {cache.difference(before, script)}.")
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    init.write_text(script, encoding="utf-8")
    _run([cmake, "-G", "Ninja", "-C", init, "-S", project, "-B", folder], folder, progress)
    _show_to_editors(project / "build", folder)


def _show_to_editors(build: Path, folder: Path) -> None:
    """Editors look for compile_commands.json in the project's build folder; target cpu's is the one to show."""
    link = build / "compile_commands.json"
    if "cpu" in folder.relative_to(build).parts or not link.exists():
        link.unlink(missing_ok=True)
        link.symlink_to((folder / link.name).relative_to(build))


def _run(command: Sequence[str | Path], folder: Path, progress: Progress) -> None:
    """Run CMake or Ninja, and write all its output to pluginkit.log.

    Raises:
        BuildFailed: with the errors of the compiler, the linker or CMake.
    """
    log = folder / "pluginkit.log"
    # Ninja's progress distinguishes its own lines from the compilers', so NINJA_STATUS may not change it.
    env = {"NINJA_STATUS": "[%f/%t] ", "CLICOLOR_FORCE": None}
    output = BuildOutput(progress)
    with log.open("w", encoding="utf-8") as file:

        def on_line(line: str) -> None:
            file.write(line + "\n")
            output.take(line)

        result = run(command, env=env, on_line=on_line)
    if not result.ok:
        tail = result.stdout.splitlines()[-20:]
        message = "\n".join(output.errors or tail or [f"{command[0]} ended with {result.status}."])
        raise BuildFailed(
            message, hint="\n  ".join(filter(None, (hint_for(message), f"The whole output is in {log}.")))
        )


def _described(folder: Path, manifest: Manifest) -> dict[str, object]:
    """What pluginkit_add_plugin wrote on the plugin of the manifest.

    Raises:
        BuildFailed: CMakeLists.txt makes no such plugin.
    """
    path = folder / f"pluginkit-{manifest.slug}.json"
    call = f"pluginkit_add_plugin({manifest.slug} NAME {manifest.plugin.name} ...)"
    if not path.exists():
        others = sorted(other.stem.removeprefix("pluginkit-") for other in folder.glob("pluginkit-*.json"))
        made = f"makes {', '.join(others)}" if others else "makes no plugin"
        raise BuildFailed(f"CMakeLists.txt {made}; pluginkit.toml is about {manifest.slug}.", hint=f"Write {call}.")
    described: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    if described["name"] != manifest.plugin.name:
        raise BuildFailed(
            f"CMakeLists.txt says NAME {described['name']}, and pluginkit.toml says {manifest.plugin.name}.",
            hint=f"Write {call}.",
        )
    return described


def _module(folder: Path, manifest: Manifest, progress: Progress) -> dict[str, str]:
    """What pluginkit_add_python_module wrote on the library's Python module; empty where there is none to build."""
    path = folder / f"python-{manifest.slug}.json"
    if path.exists():
        found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
        return found
    if python_module.headers() is None:
        progress(f"No Python module: Python.h is not in {sysconfig.get_path('include')}. apt install python3-dev")
    return {}


def _install_module(module: dict[str, str], place: Path) -> Path:
    """Check the Python module and install it next to the library.

    Raises:
        BuildFailed: it is a module of another name, which Python could not import.
    """
    built = Path(module["file"])
    if f"PyInit_{module['module']}" not in exported(built):
        raise BuildFailed(
            f"{built.name} is no Python module {module['module']}.",
            hint=f"Write PYBIND11_MODULE({module['module']}, module) in its source, as in pluginkit_add_python_module.",
        )
    path = place / built.name
    if not path.exists() or path.read_bytes() != built.read_bytes():
        _put(path, built.read_bytes(), 0o755)
    return path


def _put(path: Path, content: bytes, mode: int) -> None:
    """Write a new file and rename it."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_bytes(content)
    new.chmod(mode)
    new.replace(path)


def _install(described: dict[str, object], library: Path, name: str) -> Artifact:
    """Check the library and put it in place by renaming, so that a process that has the old one open keeps it."""
    built = Path(str(described["library"]))
    exports = check_exports(built, name)
    data = built.read_bytes()
    info = build_record.make(described, exports, data, __version__)
    record, text = build_record.path(library), build_record.text(info)
    artifact = Artifact(library, info)
    if library.exists() and library.read_bytes() == data and record.exists() and record.read_text() == text:
        return artifact
    _put(library, data, 0o755)
    _put(record, text.encode(), 0o644)
    return replace(artifact, fresh=True)
