"""docs/ci.md: what is in it parses, and its commands have the options that they use."""

from __future__ import annotations

import importlib
import re
import subprocess
from pathlib import Path

import click
import pytest

yaml = pytest.importorskip("yaml")  # cookiecutter brings it
PAGE = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
YAML = [yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml"]
(SCRIPT,) = [text for kind, text in BLOCKS if kind == "bash"]


def commands(program: str) -> list[list[str]]:
    """Each call of a program on the page, as words."""
    joined = re.sub(r"\n +(?=--)", " ", PAGE).replace("$CPUS", "")
    found = re.findall(rf"(?<![\w/.-]){program} ((?:test|farm|scheduler|worker)\b[^\n&;|`']*)", joined)
    return [line.split() for line in found]


def test_the_matrix_has_all_shards() -> None:
    (workflow,) = [one for one in YAML if "jobs" in one]
    job = workflow["jobs"]["test"]
    shards = job["strategy"]["matrix"]["shard"]
    assert shards == list(range(1, len(shards) + 1))
    tests = [step["run"] for step in job["steps"] if "pluginkit test" in step.get("run", "")]
    assert len(tests) == 2
    assert all(f"--shard ${{{{ matrix.shard }}}}/{len(shards)}" in one for one in tests)
    assert job["steps"][0]["with"]["fetch-depth"] == 0, "--changed-since needs the history"


def test_the_farms_ports_and_names_agree() -> None:
    (cluster,) = [one for one in YAML if one.get("kind") == "DaskCluster"]
    spec = cluster["spec"]
    (container,) = spec["scheduler"]["spec"]["containers"]
    (worker,) = spec["worker"]["spec"]["containers"]
    (port,) = spec["scheduler"]["service"]["ports"]
    assert container["ports"][0]["name"] == port["targetPort"] == container["readinessProbe"]["tcpSocket"]["port"]
    assert f"--farm tcp://{cluster['metadata']['name']}-scheduler:{port['port']}`" in PAGE
    assert spec["scheduler"]["service"]["selector"]["dask.org/cluster-name"] == cluster["metadata"]["name"]
    assert worker["image"] == container["image"]


def test_the_slurm_script_is_bash() -> None:
    ran = subprocess.run(["bash", "-n"], input=SCRIPT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert all(line.startswith("#SBATCH --") for line in SCRIPT.splitlines() if line.startswith("#S"))


COMMANDS = {"test": "pluginkit.cli.testing.test", "farm": "pluginkit.cli.inspection.farm"}


@pytest.mark.parametrize("name", COMMANDS)
def test_pluginkits_commands_have_these_options(name: str) -> None:
    command = importlib.import_module(COMMANDS[name]).command
    known = {option for one in command.params if isinstance(one, click.Option) for option in one.opts}
    called = [words for words in commands("pluginkit") if words[0] == name and len(words) > 1]
    assert called
    for words in called:
        assert {word for word in words if word.startswith("--")} <= known, words


def test_dasks_commands_have_these_options() -> None:
    pytest.importorskip("distributed")
    from distributed.cli import dask_scheduler, dask_worker

    for name, command in {"scheduler": dask_scheduler.main, "worker": dask_worker.main}.items():
        known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        called = [words for words in commands("dask") if words[0] == name and len(words) > 1]
        assert called
        for words in called:
            assert {word for word in words if word.startswith("--")} <= known, words
