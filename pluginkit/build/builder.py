"""Runs CMake and Ninja, checks the result, and renames it into place."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pluginkit import bases, layouts
from pluginkit.build import cache, existing, gpus, python_module, toolchain
from pluginkit.build.artifact import ASKED, TARGETS, Artifact, library_path
from pluginkit.build.cmake import Progress, configure, install, put, run_tool, tools
from pluginkit.build.exports import exported
from pluginkit.build.sanitizers import PLAIN, Instrumentation
from pluginkit.errors import FULL, BuildFailed, UsageError, from_os
from pluginkit.installation import tensorrt8
from pluginkit.manifest import FILE_NAME, Manifest, type_rules
from pluginkit.manifest.project import members, root
from pluginkit.process import early_build


def build(
    project: Path,
    target: str = "",
    *,
    archs: Sequence[str] = (),
    werror: bool = False,
    instrumentation: Instrumentation = PLAIN,
    python: bool = False,
    tuning: tuple[Path, Path] | None = None,
    chosen: Sequence[layouts.LayoutNumber] = (),
    progress: Progress = lambda _: None,
) -> list[Artifact]:
    """Build a project's library for each target; what has not changed is not compiled again.

    Args:
        project: the folder with `pluginkit.toml` and `CMakeLists.txt`, or that of a plugin added to its library.
        target: `cpu`, `gpu`, `all` for both, or `auto`: cpu always, and gpu where nvcc and a GPU are found, or where
            `archs` are given. Empty: that of `[build]` in `pluginkit.toml`, which is `auto` unless it says another.
        archs: GPU architectures, as of `toolchain.architectures`.
        werror: whether warnings in the project's sources are errors.
        instrumentation: the checks that are compiled into the library of target cpu, which then has its own folder.
        tuning: a pluginkit.toml, and a header in the place of what its `[tuning]` makes; the library has then a folder
            of its own.
        chosen: the layouts of TensorRT's plugin classes that the library holds besides the usual ones. None: those of
            `[build]`, and without them TensorRT 8's where an SDK of it is found and the plugins fit it.
        python: whether the project's Python module is built too, where it has one and Python.h is there.
        progress: called with each line that the user may want to see.

    Raises:
        UsageError: no project, an unknown target, or a folder that may not be written.
        ToolMissing: a tool is missing or too old.
        BuildFailed: CMake, a compiler or the linker failed. The library of an earlier build stays as it is.

    A library that `[library]` names is made by its own command, and is the only one whatever the target.
    """
    project = root(project.resolve())
    manifest = members(project)[0].manifest
    target = target or manifest.build.target
    if manifest.library is not None:
        return [existing.for_target(project, manifest.library, target, progress)]
    if not (project / "CMakeLists.txt").exists():
        raise UsageError(
            f"There is no CMakeLists.txt in {project}.", hint="pluginkit new shows what a project looks like."
        )
    if target not in ("auto", *ASKED):
        raise UsageError(f"There is no target '{target}'.", hint=f"The targets are auto, {', '.join(ASKED)}.")
    targets = ASKED[target] if target in ASKED else _for_this_machine(archs, progress)
    if archs and "gpu" not in targets:
        raise UsageError(
            f"GPU architecture {', '.join(archs)} was requested, but target gpu is not built here.",
            hint="Say --target gpu." if target == "cpu" else "No nvcc was found: see pluginkit info.",
        )
    if instrumentation.sanitizers and targets != ("cpu",):
        raise UsageError("Sanitizers are for target cpu alone.", hint="Say --target cpu, or leave them out.")

    held = _layouts(project, tuple(chosen) or manifest.build.layouts, progress)

    def one(name: str) -> Artifact:
        place = instrumentation.folder if name == "cpu" else name
        library = library_path(project, manifest.slug, "tune" if tuning else place)
        settings = cache.settings(name, archs=archs, werror=werror, sanitize=instrumentation.compiled, chosen=held)
        if tuning:
            given = zip(("PLUGINKIT_TUNING_MANIFEST", "PLUGINKIT_TUNING_HEADER"), map(str, tuning), strict=True)
            settings |= dict(given)
        return _build_one(library, manifest, name, settings, python and not instrumentation.compiled, progress)

    try:
        return [one(name) for name in targets]
    except OSError as error:
        known = from_os(error, project)
        if known is None:
            raise
        hint = known.hint if error.errno in FULL else _ELSEWHERE
        raise UsageError(f"{project} cannot be built there: {known.message}", hint=hint) from None


_ELSEWHERE = (
    "Build a copy of it in a folder that you may write to. A library that is there already needs no build: "
    "pluginkit test --library LIB.so, pluginkit import --plugins LIB.so"
)


def _found() -> set[int]:
    """TensorRT's major versions whose headers, or whose runtime of TensorRT 8, are on this machine."""
    eight = tensorrt8.find()
    return {*toolchain.sdk_headers(), *([layouts.BEFORE_V3.number] if eight and not eight.problem else [])}


def _layouts(
    project: Path, asked: Sequence[layouts.LayoutNumber], progress: Progress
) -> tuple[layouts.LayoutNumber, ...]:
    """The layouts of a project's library, the newest first.

    A layer that is more than one interface asks for the layout of each, and a target of `[targets]` for its own.

    Raises:
        UsageError: one is asked for that a plugin of the library doesn't fit.
    """
    manifests = [member.manifest for member in members(project)]
    both = any(len(one.plugin.interfaces) > 1 for one in manifests)
    given = bool(asked or both)
    named = [layouts.TARGETS[name].layout.number for one in manifests for name in one.targets.tensorrt]
    asked = [*asked, *named, *([layouts.BEFORE_V3.number] if both else [])]
    wanted = {*asked, *(() if given else _found())}
    held = []
    for one in layouts.LAYOUTS:
        if one.by_default:
            held.append(one.number)
            continue
        if one.number not in wanted:
            continue
        lacks = [what for manifest in manifests for what in type_rules.lacking(manifest, one)]
        if lacks and one.number in asked:
            raise UsageError(
                f"The library can't be for TensorRT {one.number}.\n" + "\n".join(lacks),
                hint=f"Leave {one.number} out of --layout, and of [build] layouts and [targets] tensorrt in {FILE_NAME}"
                + (f", and write one base instead of {bases.written(bases.BOTH)}." if both else "."),
            )
        if lacks:
            progress(f"TensorRT {one.number} is left out. {lacks[0]}.")
        else:
            held.append(one.number)
    return tuple(held)


def _for_this_machine(archs: Sequence[str], progress: Progress) -> tuple[str, ...]:
    """The targets of `auto`: code for GPUs takes a minute or more, for nothing where there is none to run it."""
    if not _has_nvcc():
        return ("cpu",)
    if archs or gpus.find_driver().gpus:
        return TARGETS
    progress(
        "GPU code is left out, for there is no GPU here: pluginkit build --target all builds it, and so does "
        f'target = "all" of [build] in {FILE_NAME}.'
    )
    return ("cpu",)


def _has_nvcc() -> bool:
    return any(one.usable for one in toolchain.nvcc().found())


def _build_one(
    library: Path, manifest: Manifest, target: str, settings: dict[str, str], python: bool, progress: Progress
) -> Artifact:
    project, folder = library.parent.parent.parent, library.parent / "cmake"
    cmake, ninja, settings = tools(settings)
    library.parent.mkdir(parents=True, exist_ok=True)
    waiting = f"Another pluginkit builds in {library.parent}: this one waits for it."
    with early_build.locked(library.parent, lambda: progress(waiting)) as begun:
        try:
            if configure(project, folder, cmake, settings, progress, begun):
                _show_to_editors(project / "build", folder)
            module = _module(folder, manifest, progress) if python else {}
            run_tool([ninja, "-C", folder, "all", *([module["target"]] if module else [])], folder, progress, begun)
            made = install(_described(folder, manifest), library, manifest.plugin.name)
            return replace(made, module=_install_module(module, library.parent)) if module else made
        except BuildFailed as error:
            raise _with_place(error, target, library) from None


def _with_place(error: BuildFailed, target: str, library: Path) -> BuildFailed:
    """The error, with what was built and what is left of the build before."""
    kept = f"{library} is still that of the last good build." if library.exists() else ""
    return BuildFailed(
        f"Target {target} did not build.\n{error.message}", hint="\n  ".join(filter(None, (error.hint, kept)))
    )


def _show_to_editors(build: Path, folder: Path) -> None:
    """Editors look for compile_commands.json in the project's build folder; target cpu's is the one to show."""
    link = build / "compile_commands.json"
    if "cpu" in folder.relative_to(build).parts or not link.exists():
        link.unlink(missing_ok=True)
        link.symlink_to((folder / link.name).relative_to(build))


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
            f"{built.name} is not a Python module {module['module']}.",
            hint=f"Write PYBIND11_MODULE({module['module']}, module) in its source, as in pluginkit_add_python_module.",
        )
    path = place / built.name
    if not path.exists() or path.read_bytes() != built.read_bytes():
        put(path, built.read_bytes(), 0o755)
    return path
