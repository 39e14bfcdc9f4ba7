"""`polygraphy run --pluginkit` and `--pluginkit-reference`: the command line, and the script that it makes."""

from __future__ import annotations

from typing import Any

from polygraphy.tools.args import ModelArgs, TrtLoadPluginsArgs
from polygraphy.tools.args.base import BaseRunnerArgs
from polygraphy.tools.script import make_invocable


class KernelRunnerArgs(BaseRunnerArgs):  # type: ignore[misc]
    """
    pluginkit Inference: running inference on the CPU, with the kernels of the plugins given by --plugins.

    Depends on:

        - ModelArgs
        - TrtLoadPluginsArgs
    """

    def get_name_opt_impl(self) -> tuple[str, str]:
        """What the runner is called, and its option."""
        return "pluginkit", "pluginkit"

    def get_extra_help_text_impl(self) -> str:
        """For `polygraphy run --help`."""
        return "Plugins of --plugins (libraries of target cpu, or projects) run on the CPU; no GPU is needed."

    def add_to_script_impl(self, script: Any) -> None:
        """The runner, in the script that `polygraphy run` executes."""
        _add(self, script, "KernelRunner")


class ReferenceRunnerArgs(BaseRunnerArgs):  # type: ignore[misc]
    """
    pluginkit Reference Inference: running inference with the reference.py of the plugins given by --plugins.

    Depends on:

        - ModelArgs
        - TrtLoadPluginsArgs
    """

    def get_name_opt_impl(self) -> tuple[str, str]:
        """What the runner is called, and its option."""
        return "pluginkit reference", "pluginkit-reference"

    def get_extra_help_text_impl(self) -> str:
        """For `polygraphy run --help`."""
        return "Plugins of --plugins are computed by their projects' reference.py."

    def add_to_script_impl(self, script: Any) -> None:
        """The runner, in the script that `polygraphy run` executes."""
        _add(self, script, "ReferenceRunner")


def _add(group: Any, script: Any, runner: str) -> None:
    script.add_import(imports=[runner], frm="pluginkit.polygraphy.runners")
    model, plugins = group.arg_groups[ModelArgs].path, group.arg_groups[TrtLoadPluginsArgs].plugins or []
    script.add_runner(make_invocable(runner, model, plugins))
