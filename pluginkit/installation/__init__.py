"""How this pluginkit was installed: its distribution, and the commands that install what it lacks, or install it again.

The distribution is called what pyproject.toml says, and the package `pluginkit`: the metadata of what is installed is
where the name comes from. Imports nothing of pluginkit and, but in functions, nothing that takes time: the command's
first line comes after `import pluginkit`, and until then Ctrl-C has a traceback.
"""

from __future__ import annotations

import sys
from functools import lru_cache

TYPE_CHECKING = False  # of its own: typing takes longer than all else here
if TYPE_CHECKING:
    from importlib.metadata import Distribution
    from pathlib import Path

OLDEST = "3.10"
"""The oldest Python that pluginkit runs in."""


def package() -> Path:
    """The folder of the package."""
    from pathlib import Path

    return Path(__file__).resolve().parents[1]


@lru_cache(maxsize=1)
def distribution() -> Distribution | None:
    """What is installed, as pip knows it; None for a source tree that is only on the path.

    PyPI has another project's distribution of the package's name (see `foreign`): the command tells them apart.
    """
    from importlib.metadata import entry_points

    found = (one.dist for one in entry_points(group="console_scripts", name="pluginkit") if one.dist is not None)
    return next((one for one in found if one.name != "pluginkit"), None)


def version() -> str:
    """The version of what is installed."""
    found = distribution()
    return found.version if found else "0+not.installed"


def pip(*words: str) -> str:
    """The command that installs for the Python that runs this: `/venv/bin/python -m pip install 'torch>=2'`."""
    import shlex
    from importlib.util import find_spec

    if find_spec("pip"):
        return shlex.join([sys.executable, "-m", "pip", "install", *words])
    return shlex.join(["uv", "pip", "install", "--python", sys.executable, *words])  # as in an environment of uv's


def extra(*names: str) -> str:
    """The command that installs what optional parts need, as `extra("rtx", "html")`.

    It names their packages and not pluginkit: so it neither builds pluginkit again nor needs the wheel or the network
    that pluginkit came from. What this Python is too new for, as `tensorrt8`, is installed for an older one.
    """
    import shlex

    if needed := requirements(names):
        return pip(*needed)
    if needed := requirements(names, OLDEST):
        return shlex.join([f"python{OLDEST}", "-m", "pip", "install", *needed])
    return pip("--editable", f"{package().parent}[{','.join(names)}]")


def requirements(names: tuple[str, ...], python: str = "") -> list[str]:
    """What optional parts need, as pip takes it; empty where pluginkit is not installed.

    Args:
        names: of the optional parts.
        python: the version of the Python that they are for, as "3.10"; this one's without it.
    """
    from packaging.requirements import Requirement

    found = distribution()
    version = {"python_version": python} if python else {}
    needed = []
    for one in map(Requirement, (found.requires if found else None) or ()):
        marker, one.marker = one.marker, None
        if not marker or marker.evaluate({"extra": "", **version}):
            continue
        if any(marker.evaluate({"extra": name, **version}) for name in names):
            needed.append(str(one))
    return needed


def again() -> str:
    """How to install pluginkit once more from where it came from: a command, or a sentence where nothing says that."""
    import json
    import shlex
    from pathlib import Path
    from urllib.parse import unquote, urlsplit

    found = distribution()
    origin = json.loads((found.read_text("direct_url.json") if found else None) or "{}")
    url = str(origin.get("url", ""))
    folder = Path(unquote(urlsplit(url).path)) if url else package().parent
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return pip("--force-reinstall", "--no-deps", f"{vcs['vcs']}+{url}@{vcs['commit_id']}")
    if "archive_info" in origin:
        return pip("--force-reinstall", "--no-deps", str(folder) if url.startswith("file:") else url)
    if not (folder / "pyproject.toml").is_file():
        return "Install it from the wheel, the index or the checkout that it came from."
    if found and Path(sys.prefix).parent != folder:
        return pip("--force-reinstall", "--no-deps", "--editable", str(folder))
    setup = shlex.join(["make", "-C", str(folder), "setup"])
    return setup if found else f"{setup}, then {folder / '.venv/bin/pluginkit'}"
