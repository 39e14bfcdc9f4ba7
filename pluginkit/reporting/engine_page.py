"""The page of `pluginkit bench --engine`: times as bars, layer by layer."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from pluginkit import installation
from pluginkit.errors import ToolMissing
from pluginkit.importing.engines.measured import EngineBench
from pluginkit.process import files
from pluginkit.process.escapes import shown


def check() -> None:
    """Whether a page can be made.

    Raises:
        ToolMissing: jinja2 isn't installed.
    """
    if importlib.util.find_spec("jinja2") is None:
        raise ToolMissing("--html needs jinja2, which is not installed.", hint=installation.extra("html"))


def write(found: EngineBench, file: Path) -> None:
    """Write the page.

    Raises:
        UsageError: the file can't be written.
    """
    files.write(file, page(found))


def page(found: EngineBench) -> str:
    """The page's text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pluginkit.reporting", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        # What a model's author wrote, without control characters, which HTML has none of.
        finalize=lambda value: shown(value, "\n\t") if isinstance(value, str) else value,
    )
    return environment.get_template("engine_page.html.jinja").render(found=found)
