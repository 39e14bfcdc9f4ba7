"""Directives that make the reference of the code, and links of the source tree that are not pages of the site."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from pluginkit import cli, errors
from pluginkit.api import json_schema

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "pluginkit" / "include" / "pluginkit"
WIDTH = 78
"""Columns of a page."""
LINK = re.compile(r"\]\(((?:\.\./)+[^)\s]+)\)")


class Generated(SphinxDirective):
    """A directive whose text is made by `text`, as MyST."""

    def text(self) -> str:
        """The text."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(self.text(), allow_section_headings=True)


class ExitCodes(Generated):
    """The exit codes of `pluginkit.errors`, with the exceptions that end a command with each."""

    def text(self) -> str:
        kinds = [
            one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, errors.PluginkitError)
        ]
        rows = ["| code | meaning | exceptions |", "| --- | --- | --- |"]
        listed = inspect.cleandoc(errors.__doc__ or "").partition("Exit codes: ")[2]
        for part in " ".join(listed.split()).rstrip(".").split("; "):
            code, _, meaning = part.partition(" ")
            names = ", ".join(f"`{one.__name__}`" for one in kinds if str(one.exit_code) == code)
            rows.append(f"| {code} | {meaning} | {names} |")
        return "\n".join(rows)


class Commands(Generated):
    """Each command's `--help`, word for word: its texts are not markup."""

    def text(self) -> str:
        top = click.Context(cli.command, info_name="pluginkit", max_content_width=WIDTH, terminal_width=WIDTH)
        return "\n\n".join(self._of(cli.command, top))

    def _of(self, command: click.Command, context: click.Context, depth: int = 1) -> Iterator[str]:
        yield f"{'#' * max(depth, 2)} `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```"
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                below = click.Context(
                    found, info_name=name, parent=context, max_content_width=WIDTH, terminal_width=WIDTH
                )
                yield from self._of(found, below, depth + 1)


class JsonSchemas(Generated):
    """Each report's schema: its keys, and the whole."""

    def text(self) -> str:
        return "\n\n".join(self._of(name) for name in json_schema.SHAPES)

    def _of(self, name: str) -> str:
        schema = json.loads((json_schema.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        shape = next(iter(schema["$defs"].values())) if schema.get("type") == "array" else schema
        rows = [f"| `{key}` | {_type(one)} |" for key, one in shape["properties"].items()]
        head = "A list; each element has:" if schema.get("type") == "array" else "An object:"
        table = "\n".join(["| key | type |", "| --- | --- |", *rows])
        whole = json.dumps(schema, indent=1)
        folded = f"<details><summary>The schema</summary>\n\n```json\n{whole}\n```\n\n</details>"
        return f"## {name}\n\n{head}\n\n{table}\n\n{folded}"


def _type(one: dict[str, object]) -> str:
    if "$ref" in one:
        return f"`{str(one['$ref']).rpartition('/')[2]}`"
    if isinstance(one.get("anyOf"), list):
        return " or ".join(_type(part) for part in one["anyOf"])  # type: ignore[attr-defined]
    if isinstance(one.get("enum"), list):
        return " or ".join(f"`{value}`" for value in one["enum"])  # type: ignore[attr-defined]
    if one.get("type") == "array":
        items = one.get("items")
        return f"array of {_type(items)}" if isinstance(items, dict) and items else "array"
    return str(one.get("type", "any"))


class Headers(Generated):
    """The `//!` comments of the headers for plugin authors, each with the declaration below it."""

    has_content = False
    required_arguments = 1

    def text(self) -> str:
        files = sorted(INCLUDE.glob(self.arguments[0]))
        assert files, self.arguments[0]
        for file in files:
            self.env.note_dependency(str(file))
        return "\n\n".join(filter(None, (_header(file) for file in files)))


def _header(file: Path) -> str:
    lines = file.read_text(encoding="utf-8").splitlines()
    first, *found = [*_blocks(lines), ([], "")][:-1] or [([], "")]
    if first[1]:
        found.insert(0, first)
        first = ([], "")
    parts = [f"## `pluginkit/{file.relative_to(INCLUDE)}`", _prose(first[0])]
    for comment, declaration in found:
        parts.append(f"```cpp\n{declaration}\n```\n\n{_prose(comment)}")
    return "\n\n".join(filter(None, parts)) if found or first[0] else ""


def _blocks(lines: list[str]) -> Iterator[tuple[list[str], str]]:
    """Comments outside `namespace detail`, each with its declaration; the file's own has none."""
    at, inside = 0, False
    while at < len(lines):
        line = lines[at]
        if line.startswith("namespace detail"):
            inside = True
        elif line.startswith("} // namespace detail"):
            inside = False
        if not line.lstrip().startswith("//!"):
            at += 1
            continue
        comment = []
        while at < len(lines) and lines[at].lstrip().startswith("//!"):
            comment.append(lines[at].lstrip()[3:].removeprefix(" "))
            at += 1
        declared = []
        while at < len(lines) and lines[at].strip() and not lines[at].lstrip().startswith(("#", "//!", "{", "}")):
            declared.append(lines[at])
            at += 1
            if declared[-1].rstrip().endswith((";", "{")):
                break
        if not inside:
            yield comment, inspect.cleandoc("\n".join(declared)).rstrip(" {")


def _prose(comment: list[str]) -> str:
    """A comment as MyST: what is indented by four is code, the rest is text with C++ in it."""
    return "\n".join(line if line.startswith("    ") else re.sub(r"([<>*_\[\]])", r"\\\1", line) for line in comment)


def outside(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Links to files of the source tree that are not pages: their paths, as code.

    Raises:
        FileNotFoundError: there is no such file.
    """
    folder = (ROOT / "docs" / docname).parent

    def path(found: re.Match[str]) -> str:
        name, _, anchor = found[1].partition("#")
        target = (folder / name).resolve()
        if not target.exists():
            raise FileNotFoundError(f"docs/{docname}.md: {found[1]}")
        if target == ROOT / "README.md":
            up = "../" * docname.count("/")
            return f"]({up}install.md)" if anchor == "install" else f"]({up}index.md)"
        if target.is_relative_to(ROOT / "docs"):
            return found[0]
        return f"] (`{target.relative_to(ROOT)}`)"

    source[0] = re.sub(r"\[([^\]]+)(\]) (\(`[^)]*`\))", r"\1 \3", LINK.sub(path, source[0]))


def included(_app: Sphinx, relative: Path, _parent: str, content: list[str]) -> None:
    """The same for a text of the source tree's root that a page includes: there links to docs/ are pages."""
    if (ROOT / "docs" / relative).resolve().parent == ROOT:
        rooted = re.sub(r"\]\((?!https?:|docs/|#)([^)\s]+)\)", r"](../\1)", content[0])
        source = [rooted.replace("](docs/", "](")]
        outside(_app, "index", source)
        content[0] = source[0]


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entry."""
    app.add_directive("commands", Commands)
    app.add_directive("exit-codes", ExitCodes)
    app.add_directive("json-schemas", JsonSchemas)
    app.add_directive("headers", Headers)
    app.connect("source-read", outside)
    app.connect("include-read", included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
