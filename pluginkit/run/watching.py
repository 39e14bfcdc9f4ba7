"""`pluginkit test --watch`: what an edit concerns is run each time a file is saved, the last failures first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pluginkit.errors import NothingSelected, PluginkitError, from_os
from pluginkit.manifest import FILE_NAME
from pluginkit.manifest.project import members, root
from pluginkit.run.options import Options
from pluginkit.testing.report import CaseResult, Report

_SOURCES = frozenset(
    {".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hh", ".hxx", ".inl", ".in", ".cmake", ".py"}
)
_BUILDS = ("build", "dist")
_PATIENCE_MS = 200
_QUIET_MS = 10
"""Without a further file for so long, a save is over: a verdict comes later by that."""


@dataclass(frozen=True)
class Screen:
    """Where a watched run is shown.

    Attributes:
        run: runs the tests and shows the report.
        line: shows what happens between two runs.
        error: shows why there is no report.
    """

    run: Callable[[Options], Report]
    line: Callable[[str], None]
    error: Callable[[PluginkitError], None]


def saved_files(options: Options) -> Iterator[Collection[Path]]:
    """Nothing once it watches, then the files that were saved since, each time that there are some.

    Files in folders for builds are left out, and what editors put beside a file. Ends by KeyboardInterrupt.
    """
    import watchfiles

    folders = {root(options.project).resolve(), *(file.absolute().parent for file in _given(options))}
    ignored = watchfiles.DefaultFilter(ignore_dirs=(*watchfiles.DefaultFilter.ignore_dirs, *_BUILDS))
    watched = False
    for changes in watchfiles.watch(
        *folders, watch_filter=ignored, step=_QUIET_MS, rust_timeout=_PATIENCE_MS, yield_on_timeout=True
    ):
        if changes or not watched:
            watched = True
            yield sorted({Path(name) for _, name in changes})


def watch(options: Options, saved: Iterable[Collection[Path]], screen: Screen) -> None:
    """Run everything, then again what the files of each round of `saved` concern, until there is no further round.

    What failed last is run first and alone, and once it passes the rest. A manifest or sources that are wrong are
    shown, and waited for.
    """
    failed: tuple[str, ...] = ()
    due: Options | None = None
    first = True
    for files in saved:
        concerned = options if first else _concerned(options, files, screen)
        first = False
        if concerned is None:
            continue
        due = concerned if due is None else _merged(due, concerned, options)
        failed, passed = _round(due, failed, screen)
        due = None if passed else due
        screen.line(f"Waiting for a file to be saved in {root(options.project).resolve()}; Ctrl-C ends.")


def _round(options: Options, failed: tuple[str, ...], screen: Screen) -> tuple[tuple[str, ...], bool]:
    """What fails now, and whether all of it has passed."""
    if failed:
        still = _run(replace(options, only=failed), screen)
        if still is None or still:
            return still or failed, False
        screen.line("What failed passes now. The rest:")
    failing = _run(options, screen)
    return failing or (), failing == ()


def _run(options: Options, screen: Screen) -> tuple[str, ...] | None:
    """What fails; None where an error came instead of a report, which is shown."""
    try:
        return _failures(screen.run(options))
    except NothingSelected as error:
        screen.error(error)
        return ()  # what failed is no more
    except PluginkitError as error:
        screen.error(error)
    except OSError as error:
        known = from_os(error)
        if known is None:
            raise
        screen.error(known)
    return None


def _failures(report: Report) -> tuple[str, ...]:
    """Patterns for `--only` of what a run failed in."""
    found: list[str] = []
    for item in report.bad:
        if isinstance(item, CaseResult):
            found += [*item.after, item.id]
        elif item not in report.checks:  # a whole run asks them
            alone = item in report.controls or item in report.registries
            found.append(item.network if alone else f"{item.network}/*")
    return tuple(dict.fromkeys(found))


def _concerned(options: Options, files: Collection[Path], screen: Screen) -> Options | None:
    """The run that these files concern: of all plugins, of the added ones whose folders they are in, or none (None)."""
    concerning = [file for file in files if _concerns(file, options)]
    if not concerning:
        return None
    home = root(options.project).resolve()
    shown = ", ".join(str(file.relative_to(home) if file.is_relative_to(home) else file) for file in concerning)
    screen.line(f"Saved: {shown}")
    try:
        plugins = members(options.project)
    except PluginkitError:
        return options  # the run shows it
    owners = [
        next((one for one in plugins[1:] if file.is_relative_to(one.folder.resolve())), None) for file in concerning
    ]
    if options.only or None in owners:
        return options
    return replace(options, only=tuple(dict.fromkeys(f"{one.name}/*" for one in owners if one)))


def _concerns(file: Path, options: Options) -> bool:
    if any(file == one.absolute() for one in _given(options)):
        return True
    if options.library is not None and file.suffix != ".py":
        return file.name == FILE_NAME  # nothing is built
    return file.suffix in _SOURCES or file.name in {FILE_NAME, "CMakeLists.txt"}


def _given(options: Options) -> list[Path]:
    """Files that the command line names."""
    return [file for file in (options.library, options.data, options.calibration.data) if file is not None]


def _merged(one: Options, other: Options, whole: Options) -> Options:
    """Two runs of parts of `whole` as one."""
    if whole in {one, other}:
        return whole
    return replace(whole, only=tuple(dict.fromkeys((*one.only, *other.only))))
