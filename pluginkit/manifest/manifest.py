"""`pluginkit.toml`: the one place where a plugin's signature is written.

The test networks, their shapes, the tolerances and the generated code all come from what stands here.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic import ValidationError, model_validator

from pluginkit.errors import UsageError
from pluginkit.manifest import field_rules, open_ranks, rules
from pluginkit.manifest.mistakes import explain, unfilled
from pluginkit.manifest.signature import ManifestModel

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE_NAME = "pluginkit.toml"


class Manifest(ManifestModel):
    """A plugin's signature. Made by `Manifest.load` or `Manifest.parse`."""

    @classmethod
    def load(cls, path: Path) -> Manifest:
        """Read a `pluginkit.toml`, or the one in the folder `path`.

        Raises:
            UsageError: no such file, no TOML, or a signature that makes no sense; it names the line or the key.
        """
        file = path if path.is_file() or path.name == FILE_NAME else path / FILE_NAME
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise UsageError(
                f"There is no {FILE_NAME} in {file.parent.resolve()}.",
                hint="Go to a plugin project's folder, or make one: pluginkit new MyPlugin",
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from None
        return cls.parse(text, str(file))

    @classmethod
    def parse(cls, text: str, where: str = FILE_NAME) -> Manifest:
        """Read the text of a `pluginkit.toml`; `where` names it in errors.

        Raises:
            UsageError: as `load`.
        """
        if open_lines := unfilled(text):
            raise UsageError(
                f"{where} has {len(open_lines)} line{'s' * (len(open_lines) > 1)} to fill in:\n"
                + "\n".join(f"  line {number}: {what}" for number, what in open_lines),
                hint="Correct what each mark '# FILL IN' is about, on its line or below it, and remove the mark.",
            )
        try:
            content = tomllib.loads(text)
            ranked = [cls.model_validate(one) for one in open_ranks.expand(content)]
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{where} is not valid TOML: {error}.") from None
        except ValidationError as error:
            raise UsageError(f"{where}:\n" + "\n".join(f"  {line}" for line in explain(error, cls))) from None
        except open_ranks.RankError as error:
            raise UsageError(f"{where}:\n  {error}") from None
        manifest = ranked[0].of_ranks(content, ranked[1:])
        if problems := field_rules.rank_problems(manifest):
            raise UsageError(f"{where}:\n" + "\n".join(f"  {line}" for line in problems))
        return manifest

    @model_validator(mode="after")
    def _consistent(self) -> Manifest:
        for problem in rules.problems(self):
            raise ValueError(problem)
        return self
