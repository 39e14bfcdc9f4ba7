"""Which values a project's kernels take, and which sets of them are measured."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.manifest.tuning.section import Values

MOST = 24
"""Each is compiled for every type of the plugin."""
STANDARD: dict[str, list[Values]] = {
    "Elementwise": [{"threads": t, "packs": p} for t in (128, 256, 512, 1024) for p in (1, 2, 4)],
    "GatherRows": [{"threads": t, "packs": p} for t in (128, 256, 512) for p in (1, 2, 4, 8)],
    # 512 packs are 8 KiB, and no block makes more.
    "Pad": [{"threads": t, "packs": p} for t in (64, 128, 256, 512) for p in (1, 2, 4) if 128 <= t * p <= 512],
    # Short rows have the threads, several rows a block; long ones have the packs.
    "Rows": [{"threads": 64}, {"threads": 128}, {"threads": 512}, {"packs": 1}, {"packs": 2}, {"packs": 4}],
    "Scan": [{"threads": t} for t in (64, 128, 256, 512)],
    "Select": [{"threads": t} for t in (256, 512)],
    # As rows; by themselves short ones have 128 threads.
    "TopK": [{"threads": 64}, {"threads": 256}, {"threads": 512}, {"packs": 1}, {"packs": 2}, {"packs": 4}],
    "Transpose": [{"threads": t} for t in (64, 128, 512)],
    "Pooling": [{"threads": t, "packs": p} for t in (128, 256, 512) for p in (1, 2, 4)],
}
"""Of each launch of the device headers, by its name."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAUNCH = re.compile(r"\blaunch(\w+)\s*(?:<[^;{}()]*>)?\(\s*(?:(?:::)?pluginkit::)?(?:kernels::)?tuned\s*\(")


def launches(project: Path) -> list[str]:
    """The launches in the project's .cu sources that take tuned values, by their names behind `launch`; `With` is of a
    kernel of its own."""
    found: list[str] = []
    for source in sorted(project.glob("src/**/*.cu")) or sorted(project.glob("*.cu")):
        text = _COMMENT.sub(" ", source.read_text(encoding="utf-8", errors="replace"))
        found += _LAUNCH.findall(text)
    return list(dict.fromkeys(found))


def candidates(project: Path, manifest: Manifest) -> list[Values]:
    """The sets of values to measure; the first, `{}`, is the usual one. What pluginkit.toml has already is among them.

    Raises:
        UsageError: no launch takes any, or there are too many sets.
    """
    names = launches(project)
    parameters = manifest.tuning.parameters
    own = [dict(zip(parameters, chosen, strict=True)) for chosen in itertools.product(*parameters.values())]
    found: list[Values] = [{}]
    asked = own if parameters else [values for name in names for values in STANDARD.get(name, [])]
    kept = [values for one in manifest.tuning.kept.values() for values in (one.values, *one.also)]
    if not names or len(asked) < 2:
        raise UsageError(_untuned(manifest, names), hint=_HINT)
    for values in (*asked, *kept):
        plain = manifest.tuning.plain(values)
        if plain not in found and not (not parameters and _is_usual(names, values)):
            found.append(plain)
    if len(found) > MOST:
        raise UsageError(
            f"[tuning.parameters] of {manifest.plugin.name} make {len(found)} sets of values, and each is compiled for "
            f"every type: {MOST} at most.",
            hint="Give fewer values, or tune one parameter after another.",
        )
    return found


_HINT = (
    "All kernels of pluginkit new --kernel but loop take them. For a kernel of your own, see 'A kernel of your own' in "
    "docs/tuning.md."
)
_USUAL = {
    "Elementwise": {"threads": 256, "packs": 1},
    "GatherRows": {"threads": 256, "packs": 2},
}


def _is_usual(names: list[str], values: Values) -> bool:
    """Whether the values are what a launch has by itself: they would be measured twice."""
    return len(names) == 1 and _USUAL.get(names[0]) == values


def _untuned(manifest: Manifest, names: list[str]) -> str:
    name = manifest.plugin.name
    if not names:
        return (
            f"{name} has nothing to tune: no launch in its .cu files has the form kernels::launchName(kernels::tuned("
            "stream), ...). An alias, a variable in between, and a launch in a .cuh aren't seen."
        )
    if manifest.tuning.parameters:
        return f"{name} has nothing to tune: in [tuning.parameters] of pluginkit.toml each parameter has one value."
    return f"{name} has nothing to tune: pluginkit.toml has no [tuning.parameters] for the kernels of its own."
