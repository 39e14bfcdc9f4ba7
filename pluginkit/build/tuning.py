"""The header by which a build hands `[tuning]` of pluginkit.toml to the kernels (pluginkit/kernels/tuning.cuh).

`python -m pluginkit.build.tuning PLUGINKIT.TOML HEADER` writes it; CMake calls that for each manifest with the section.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pluginkit.build.cmake import put_changed
from pluginkit.errors import PluginkitError, UsageError
from pluginkit.manifest import Manifest
from pluginkit.manifest.tuning.section import TuningSection, Values, constant


def header(tuning: TuningSection) -> str:
    """Of what was measured: every set of values, and which one an architecture has."""
    sets = tuning.sets()
    by_arch = {arch: sets.index(tuning.plain(kept.values)) for arch, kept in tuning.kept.items()}
    return _text(tuning, sets, by_arch)


def measuring_header(tuning: TuningSection, candidates: Sequence[Values]) -> str:
    """Of candidates to measure, the usual values among them: a variable of the environment says which one is next."""
    return _text(tuning, candidates, {}, measured=True)


def _text(tuning: TuningSection, sets: Sequence[Values], by_arch: Mapping[str, int], *, measured: bool = False) -> str:
    usual = {name: numbers[0] for name, numbers in tuning.parameters.items()}
    lines = ["// Of [tuning] in pluginkit.toml, by `python -m pluginkit.build.tuning`.", ""]
    if measured:
        lines += ["#define PLUGINKIT_TUNING_MEASURED", ""]
    lines += ["namespace pluginkit::kernels", "{", "namespace", "{", ""]
    for number, values in enumerate(sets):
        lines += [f"struct TuningSet{number} : UsualValues", "{"]
        lines += [
            f"    static constexpr int32_t {constant(name)} = {value};" for name, value in {**usual, **values}.items()
        ]
        lines += ["};", ""]
    names = ", ".join(f"TuningSet{number}" for number in range(len(sets)))
    lines += [f"using TuningSets = Tuned<{names}>;", ""]
    capability = "capability" if by_arch else "/*capability*/"
    lines += [f"[[maybe_unused]] constexpr int32_t setFor(int32_t {capability}) noexcept", "{"]
    if by_arch:
        lines += ["    switch (capability)", "    {"]
        for arch, number in by_arch.items():
            lines += [f"    case {arch.removeprefix('sm_')}:", f"        return {number};"]
        lines += ["    default:", "        return 0;", "    }"]
    else:
        lines += ["    return 0;"]
    return "\n".join([*lines, "}", "", "} // namespace", "} // namespace pluginkit::kernels", ""])


def main() -> int:
    """The command line; the exit code."""
    try:
        put_changed(Path(sys.argv[2]), header(Manifest.load(Path(sys.argv[1])).tuning))
    except PluginkitError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except OSError as error:
        sys.stderr.write(f"{sys.argv[2]} can't be written: {error.strerror or error}.\n")
        return UsageError.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
