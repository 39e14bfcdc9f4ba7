"""A plugin's run on a farm: the report is a local one's but for where and how long."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import trustme

from pluginkit import cli, farm
from pluginkit.build.gpus import DriverInfo, Gpu
from pluginkit.errors import PluginkitError, ToolMissing
from pluginkit.run import libraries, on_gpu, runner
from pluginkit.run.options import Options
from pluginkit.run.project_checks import ProjectOptions, check_project
from pluginkit.testing.report import Report
from pluginkit.validation import Ending, check_library, choose
from pluginkit.validation.catalog import DEFAULT_LEVEL
from tests.farm.cluster import PATIENT, Cluster, cluster

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("farm")]
FAMILIES = ("plain",)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("farm")) as made:
        made.add("--nworkers", "2")
        made.ready(2)
        yield made


def compared(report: Report) -> dict[str, Any]:
    """A report without where and how long."""
    plain = report.to_json()
    for section in ("cases", "verdicts", "controls", "registries"):
        for one in plain[section]:
            del one["seconds"], one["place"]
    plain["runtimes"]["host"] = plain["runtimes"]["host"].partition("; by ")[0]
    return plain


def test_the_report_is_the_local_one(two: Cluster, bar: Path) -> None:
    options = Options(project=bar, target="cpu", families=FAMILIES, only=("*/float32*",))
    local = compared(runner.run(options))
    with farm.open_executor(two.address) as executor:
        report = runner.run(options, executor=executor)
    evaluators = {name for name, status in report.runtimes.items() if not status.startswith("took no part")}
    remote = compared(report)
    for name in remote["runtimes"].keys() - evaluators:
        # Why an evaluator is on no worker is said of the workers.
        del remote["runtimes"][name], local["runtimes"][name]
    assert remote == local
    # Which worker takes how many is chance: one may be done before the other's first plugin process stands.
    assert {one.place.partition("/")[2] for one in report.cases} <= {"w0-0", "w0-1"}


def test_ctrl_c_leaves_no_process(two: Cluster, bar: Path) -> None:
    before = children(two)
    # What runs in the background ignores the signal, and its children do.
    heard = "import signal, sys, pluginkit.cli as c; signal.signal(2, signal.default_int_handler); sys.exit(c.main())"
    command = [
        sys.executable,
        "-c",
        heard,
        "test",
        str(bar),
        "--network",
        "plain",
        "--target",
        "cpu",
        "--farm",
        two.address,
    ]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + PATIENT
    while children(two) <= before:
        assert run.poll() is None, run.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.1)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=PATIENT)
    deadline = time.monotonic() + PATIENT
    while children(two) - before:
        assert time.monotonic() < deadline, children(two) - before
        time.sleep(0.1)
    with farm.open_fleet(two.address) as fleet:
        assert len(fleet.ready) == 2, "the workers are still there"


def children(made: Cluster) -> set[int]:
    """The plugin processes below the workers. The servers that they are forked from stay, for the next run."""
    below = [one for nanny in made.workers for one in psutil.Process(nanny.pid).children(recursive=True)]
    return {one.pid for one in below if is_forked(one)}


def is_forked(process: psutil.Process) -> bool:
    try:
        parent = process.parent()
        return parent is not None and any("fork_server" in word for word in parent.cmdline())
    except psutil.NoSuchProcess:
        return False


def test_a_library_that_cannot_be_loaded_ends_the_run_as_it_does_here(two: Cluster, bar: Path, tmp_path: Path) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(b"no library")
    options = Options(project=bar, target="cpu", library=library, only=("plain/float32/opt",))
    with pytest.raises(PluginkitError) as here:
        runner.run(options)
    with farm.open_executor(two.address) as executor, pytest.raises(PluginkitError) as there:
        runner.run(options, executor=executor)
    assert type(there.value) is type(here.value)


@pytest.mark.parametrize(("option", "message"), [("--watch", "--watch"), ("--jobs=2", "--jobs")])
def test_what_does_not_go_with_a_farm(
    option: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["test", str(tmp_path), "--farm", "tcp://127.0.0.1:9", option]) == 2
    assert f"--farm and {message} don't go together" in capsys.readouterr().err


def test_a_gpu_of_this_machine_is_none_of_the_farms(
    bar: Path, two: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Workers without one would be given what is built for it."""
    driver = DriverInfo("13.0", (Gpu("NVIDIA H100", "9.0"),))
    monkeypatch.setattr(on_gpu, "find_driver", lambda: driver)
    monkeypatch.setattr(on_gpu, "obstacle", lambda: "")
    with farm.open_executor(two.address) as executor:
        asked = Options(project=bar, target="auto")
        assert libraries.targets(asked, executor.gpus) == (
            ("cpu",), "target gpu took no part: no worker of the farm has a GPU",
        )  # fmt: skip
    assert cli.run(["test", str(bar), "--farm", two.address, "--target", "gpu"]) == 4
    assert "No worker of the farm has a GPU." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("on", "code", "message"),
    [
        ("sm>=80", 4, "No worker of the farm has a GPU of sm>=80"),
        ("each-gpu", 4, "No worker of the farm has a GPU."),
        ("cores>=3", 2, "--on cores>=3: that is not a condition on a GPU"),
    ],
)
def test_gpus_that_nobody_has_are_said_at_once(
    on: str, code: int, message: str, bar: Path, two: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["test", str(bar), "--farm", two.address, "--on", on]) == code
    assert message in capsys.readouterr().err


def test_the_fleet_is_shown(two: Cluster) -> None:
    command = [sys.executable, "-m", "pluginkit", "farm", two.address, "--json", "-"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "120"})
    assert ran.returncode == 0, ran.stderr
    workers = json.loads(ran.stdout)
    assert {one["name"] for one in workers} == {"w0-0", "w0-1"}
    assert listening(two) == {"127.0.0.1"}, "what --host and --dashboard-address say"
    assert "2 workers" in ran.stderr
    assert "tensorrt-rtx engines: on no worker" in ran.stderr


def listening(made: Cluster) -> set[str]:
    """The addresses on which the workers and their nannies listen."""
    nannies = [psutil.Process(one.pid) for one in made.workers]
    processes = [*nannies, *(below for one in nannies for below in one.children(recursive=True))]
    found = [one for process in processes for one in process.net_connections("tcp")]
    return {one.laddr.ip for one in found if one.status == psutil.CONN_LISTEN}


@pytest.mark.slow
def test_tls(tmp_path: Path) -> None:
    authority = trustme.CA()
    mine = authority.issue_cert("127.0.0.1")
    pem = tmp_path / "mine.pem"
    mine.private_key_and_cert_chain_pem.write_to_path(str(pem))
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    files = ("--tls-ca-file", str(tmp_path / "ca.pem"), "--tls-cert", str(pem), "--tls-key", str(pem))
    variables = {
        "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(tmp_path / "ca.pem"),
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT": str(pem),
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY": str(pem),
    }
    with cluster(tmp_path / "farm", ("--protocol", "tls", *files)) as own:
        own.add()
        with pytest.raises(ToolMissing, match="TLS"), farm.open_fleet(own.address):
            pytest.fail("without a certificate")
        deadline = time.monotonic() + PATIENT
        while (ran := run_farm(own, variables)).returncode:
            assert "has no workers" in ran.stderr, ran.stderr
            assert time.monotonic() < deadline
    assert "1 worker" in ran.stdout


def run_farm(made: Cluster, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pluginkit", "farm", made.address]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})


QUICK = ("L1", "I*", "F1", "F2", "B1", "B22", "S1")
"""Of the file, of its loading, and of the plugin."""


@pytest.mark.parametrize("include", [QUICK, pytest.param((), marks=pytest.mark.slow)])
def test_checks_are_the_local_ones(include: tuple[str, ...], two: Cluster, bar: Path) -> None:
    """Without a choice with test runs of the plugin, too."""
    asked, chosen = ProjectOptions(bar), choose(DEFAULT_LEVEL, include)
    here = check_project(asked, chosen)
    with farm.open_executor(two.address) as executor:
        there = check_project(asked, chosen, executor=executor)
    assert there == here
    assert len(here.results) == len(chosen)
    assert any(one.ending is Ending.PASSED for one in here.results)


def test_a_check_that_crashes_is_the_local_finding(two: Cluster, tmp_path: Path) -> None:
    source, library = tmp_path / "a.cpp", tmp_path / "liba.so"
    source.write_text("__attribute__((constructor)) static void first() { __builtin_trap(); }\n")
    subprocess.run(["g++", "-shared", "-fPIC", "-o", library, source], check=True)
    chosen = choose(DEFAULT_LEVEL, QUICK)
    here = check_library(library, chosen)
    with farm.open_executor(two.address) as executor:
        there = check_library(library, chosen, asker=executor.asker(library))
    assert there == here
    assert here.exit_code == 6
