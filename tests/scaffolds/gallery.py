"""The commands of samples/gallery/README.md and what they make: the gallery's projects, and what `new` writes."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

from click.testing import CliRunner

from pluginkit.cli.project import new
from pluginkit.manifest.signature import slug

GALLERY = Path(__file__).resolve().parents[2] / "samples" / "gallery"
PAGE = (GALLERY / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(pluginkit new .+?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = {
    slug(command.split()[2]): command
    for block in BLOCKS
    for command in re.split(r"\n(?=pluginkit )", block.replace("\\\n", " ").strip())
}
"""By the project's name."""
PROJECTS = sorted(path.parent.name for path in GALLERY.glob("*/pluginkit.toml"))
MADE = ("build", "__pycache__", ".pytest_cache")
"""What commands make in a project."""


def written(name: str, folder: Path) -> Path:
    """What a command of the page writes, in a folder."""
    program, command, *arguments = shlex.split(COMMANDS[name])
    assert (program, command) == ("pluginkit", "new")
    done = CliRunner().invoke(new.command, [*arguments, "--dir", str(folder)])
    assert done.exit_code == 0, done.output
    return folder / name


def project(name: str, folder: Path) -> Path:
    """A copy of the gallery's project, or what its command writes where it is not one of the gallery's."""
    if name in PROJECTS:
        return Path(shutil.copytree(GALLERY / name, folder / name, ignore=shutil.ignore_patterns(*MADE)))
    return written(name, folder)
