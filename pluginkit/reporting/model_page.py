"""The page of `pluginkit doctor` and `pluginkit import`: one section a model."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from pluginkit import installation
from pluginkit.errors import ToolMissing
from pluginkit.importing import Imported
from pluginkit.importing.building import advice
from pluginkit.importing.missing_operators import labels
from pluginkit.process import files
from pluginkit.process.escapes import shown

SHOWN = 12
"""So many nodes of an operator are named."""


def check() -> None:
    """Whether a page can be made.

    Raises:
        ToolMissing: jinja2 isn't installed.
    """
    if importlib.util.find_spec("jinja2") is None:
        raise ToolMissing("--html needs jinja2, which is not installed.", hint=installation.extra("html"))


def write(found: Sequence[Imported], file: Path) -> None:
    """Write the page.

    Raises:
        UsageError: the file can't be written.
    """
    files.write(file, page(found))


def _shown(value: object) -> object:
    """What a model's author wrote, without control characters, which HTML has none of."""
    return shown(str(value), "\n\t") if isinstance(value, (str, Path)) else value


def page(found: Sequence[Imported]) -> str:
    """The page's text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pluginkit.reporting", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_shown,
    )
    return environment.get_template("model_page.html.jinja").render(
        models=found, advice=advice, labels=labels, shown=SHOWN, wrong=any(one.exit_code for one in found)
    )
