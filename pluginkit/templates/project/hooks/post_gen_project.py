"""What `pluginkit new` does after rendering, for those who call cookiecutter themselves."""

from __future__ import annotations

from pathlib import Path

from pluginkit.scaffold.template import finish

finish(Path.cwd(), "@{ cookiecutter.__slug }@")
