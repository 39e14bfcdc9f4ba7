"""docs/checks.md, made of the catalogue: `python -m pluginkit.validation.page docs/checks.md` writes it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from pluginkit.demands import NAMES
from pluginkit.validation import CHECKS
from pluginkit.validation.catalog import NEEDS, Check

_HEAD = """\
# The checks of `pluginkit check`

This page is made by `python -m pluginkit.validation.page docs/checks.md`.

`pluginkit check LIB.so` asks all checks up to `--level` (5 if none is given); `--include` and `--exclude` take ids,
patterns of them (`S*`) and groups. A *contract* check cites TensorRT's or CUDA's documents, or NVIDIA's own code, and
fails. So does *declared*, which `pluginkit.toml` or `reference.py` says. *robustness* is a warning: no document
promises it; `--strict` makes it a failure. A check with an id of [demands.md](demands.md) asks what `pluginkit test`
asks under it.

`pluginkit check` in a project's folder, or of a folder with a `pluginkit.toml`, builds the library (with `--library
LIB.so` it takes that one, and a `pluginkit.toml` next to LIB.so counts as well). Then fields, types, ranks and sizes
are the manifest's, the library is held against it, and from level 5 the plugin is run. Without a manifest fields are
guessed (none, all ones, all zeros, then sizes as layers have them), or those of the model that `--model` names; sizes
are guessed too (32 in each
dimension), or the model's: what a plugin refuses of guessed ones is not a finding. Where no plugin can be made, or it
isn't known which inputs it takes, a check is skipped and says so.

| levels | what is run |
| --- | --- |
| 1 to 4 | the library's methods, each check in a process of its own |
| 5, 6 | kernels on target cpu: the network `plain` in each precision, at each point |
| 7 | the same, with streams deferred and blocks and threads in reverse and in two random orders |
| 8 | builds with the sanitizers: min, opt and a random point of `plain` |
| 9 | NVIDIA's builder (TensorRT-RTX), its registries (tensorrt-lean 10 and 11), a GPU |
| 10 | compute-sanitizer on a GPU, and NVIDIA's engines |

In `pluginkit.toml` a check can be switched off by its name or id, with a reason, which all reports show:

```toml
[checks]
damaged-bytes-refused = "engines are signed: damaged ones are never deserialized"
```

"""


def page() -> str:
    """The page."""
    return "\n".join([_HEAD, *_groups()]).rstrip("\n") + "\n"


def _groups() -> Iterator[str]:
    ordered = sorted(CHECKS.values(), key=lambda one: one.group)
    yield "| needs | what that is |"
    yield "| --- | --- |"
    yield from (f"| {name} | {what} |" for name, what in NEEDS.items())
    yield ""
    for group, found in groupby(ordered, key=lambda one: one.group):
        yield f"## {group}\n"
        yield "| id | name | level | kind | needs | of | what is asked | source | likely fix |"
        yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        yield from map(_row, found)
        yield ""


def _row(one: Check) -> str:
    cells = (
        one.id,
        NAMES[one.id],
        str(one.level),
        one.kind,
        one.need,
        ", ".join(one.of) or "all",
        one.title,
        one.source,
        one.fix,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
