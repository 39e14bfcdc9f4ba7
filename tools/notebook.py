"""Run a notebook's code cells here: `python tools/notebook.py docs/notebook.ipynb` writes their outputs into it.

nbclient would start a Jupyter kernel, 20 packages for what these lines do: the cells are plain Python.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def run(notebook: dict[str, Any], names: dict[str, Any]) -> list[dict[str, Any] | None]:
    """What each code cell shows, as the notebook format has it: the value of its last expression.

    Args:
        notebook: as JSON.
        names: what the cells share; filled.
    """
    return [_shown(_last("".join(cell["source"]), names)) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _last(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of its last line if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def _shown(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    data = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        data = {"text/plain": value.summary(), "text/html": value._repr_html_()}
    return {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}


def main(path: Path) -> None:
    """Run it in a temporary folder and keep what it shows."""
    path = path.resolve()
    notebook = json.loads(path.read_text(encoding="utf-8"))
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        stack.callback(os.chdir, before)
        os.chdir(folder)
        shown = iter(run(notebook, {}))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                output = next(shown)
                cell["outputs"] = [output] if output else []
        text = json.dumps(notebook, indent=1).replace(folder, "/work")
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
