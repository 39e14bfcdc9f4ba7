"""Draw docs/_static/run.svg, the picture in README: the commands and outputs of docs/first-plugin.md.

`python tools/picture.py` after the page's outputs have changed; a test holds the two together.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "first-plugin.md"
PICTURE = ROOT / "docs" / "_static" / "run.svg"
WIDTH = 100
STYLES = ((r"^\$ .*", "bold white"), (r"FAILED: .*|: failed$", "bold red"), (r"^MyPlugin: (?!FAILED).*", "green"))


def shown() -> str:
    """The session: the build, the test, the change of the kernel, and what the test says of it."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(sh|text|diff)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (_, new), _, (_, build), (_, built), (_, test), (_, tested), (_, change), (_, again), (_, failed) = blocks[:9]
    changed = [line for line in change.splitlines() if re.match(r"[-+] ", line)]
    parts = [
        *(f"$ {line}" for line in new.splitlines()),
        f"$ {build}{built}",
        f"$ {test}{tested}",
        "# the kernel is changed, the reference is not:",
        *changed,
        f"\n$ {again}{failed}",
    ]
    return "\n".join(parts)


def draw() -> str:
    """The picture, as SVG without fonts from elsewhere."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), color_system="truecolor")
    text = Text(shown())
    for pattern, style in STYLES:
        text.highlight_regex(re.compile(pattern, re.MULTILINE), style)
    console.print(text)
    svg = console.export_svg(title="pluginkit", unique_id="run")
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return svg.replace("<!-- Generated with Rich https://www.textualize.io -->", "").rstrip() + "\n"


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
