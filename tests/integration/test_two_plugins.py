"""A library with two plugins of different bases, from `pluginkit add` to what every host lists and runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import build, cli, scaffold
from pluginkit.creators import loading
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.host.errors import Finding
from pluginkit.importing import ImportOptions
from pluginkit.importing import run as run_import
from pluginkit.process.programs import run as run_process
from pluginkit.run import several_plugins as several
from pluginkit.run.options import Options
from pluginkit.testing.report import Outcome, Report
from tests.judged_networks import judged_networks

pytestmark = [pytest.mark.compile, pytest.mark.rtx, pytest.mark.xdist_group("two-plugins")]

PLAIN = ("plain",)
IDENTITIES = [("Scale", "1", ""), ("Shift", "2", "acme")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scale, an IPluginV2DynamicExt, with Shift, an IPluginV3, in its library."""
    made = scaffold.new("Scale", directory=tmp_path_factory.mktemp("two"), inputs=["x:float32,float16:n,c"])
    scaffold.add("Shift", project=made, base="v3", inputs=["a:float32:n,c", "b:float32:n,c"], namespace="acme",
                 version="2")  # fmt: skip
    build.build(made, "cpu")
    return made


@pytest.fixture
def broken(project: Path, tmp_path: Path) -> Path:
    """A copy that is not built again: Shift's reference doubles what the kernel does."""
    copy = tmp_path / "scale"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("build"))
    reference = copy / "plugins" / "shift" / "reference.py"
    text = reference.read_text()
    reference.write_text(text.replace("return total", "return 2 * total"))
    assert reference.read_text() != text
    return copy


def library(project: Path) -> Path:
    return project / "build" / "cpu" / "libscale.so"


def test_both_are_tested_in_every_runtime(project: Path) -> None:
    runs = several.run(Options(project=project, families=PLAIN))
    assert [report.plugin for report in runs.reports] == ["Scale", "Shift"]
    assert runs.error is None
    for report, kind in zip(runs.reports, ("through the V3 adapter", "as it is"), strict=True):
        every = [*report.cases, *report.verdicts, *report.controls, *report.registries]
        assert {item.outcome for item in every} == {Outcome.PASSED}
        assert len(report.verdicts) == len(judged_networks(report))
        assert report.registries, "NVIDIA's registries of TensorRT 10 and 11"
        assert kind in report.runtimes["tensorrt-rtx"]
        assert all(case.id.startswith(f"{report.plugin}/plain/") for case in report.cases)
    joined = runs.joined
    assert joined.exit_code == 0
    assert joined.plugin == "Scale, Shift"
    assert {case["id"].partition("/")[0] for case in joined.to_json()["cases"]} == {"Scale", "Shift"}


def test_each_host_lists_one_creator_a_plugin(project: Path) -> None:
    output = {f"{one.runtime} {one.version}": one for one in loading.load(library(project))}
    listed = {host: one for host, one in output.items() if one.status == "loaded"}
    assert {host.split()[0] for host in listed} == {"host", "tensorrt-lean", "tensorrt-rtx"}
    for host, one in listed.items():
        found = sorted((creator.name, creator.version, creator.namespace) for creator in one.creators)
        assert found == IDENTITIES, host
        kinds = {creator.name: creator.kind for creator in one.creators}
        assert kinds == {"Scale": "V3" if "rtx" in host else "V2", "Shift": "V3"}, host


def test_only_and_precisions_leave_out_whom_they_are_not_for(project: Path) -> None:
    one = several.run(Options(project=project, families=PLAIN, only=("Shift/plain/float32/opt",)))
    assert [case.id for case in one.joined.cases] == ["Shift/plain/float32/opt"]
    both = several.run(Options(project=project, families=PLAIN, only=("plain/float32/opt",)))
    assert [case.id for case in both.joined.cases] == ["Scale/plain/float32/opt", "Shift/plain/float32/opt"]
    half = several.run(
        Options(project=project, precisions=(DType.FLOAT16,), families=PLAIN, only=("plain/float16/opt",))
    )
    assert [case.id for case in half.joined.cases] == ["Scale/plain/float16/opt"]
    added = several.run(Options(project=project / "plugins" / "shift", families=PLAIN, only=("plain/float32/opt",)))
    assert [case.id for case in added.joined.cases] == ["plain/float32/opt"]
    assert added.joined.library == str(library(project))


def test_a_failure_of_one_is_told_from_the_other_and_repeated_alone(
    broken: Path, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built = str(library(project))
    report, page = tmp_path / "report.json", tmp_path / "report.html"
    arguments = ["test", str(broken), "--library", built, "--network", "plain", "--only", "plain/float32/opt"]
    assert cli.run([*arguments, "--json", str(report), "--html", str(page)]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "Scale: 1 passed of 1 cases" in out
    assert "Shift: FAILED: 1 failed of 1 cases" in out
    assert "Scale, Shift: FAILED: 1 passed, 1 failed of 2 cases" in out
    assert f"again: pluginkit test {broken} --library {built} --only Shift/plain/float32/opt --seed 0" in out
    ends = {case["id"]: case["outcome"] for case in json.loads(report.read_text())["cases"]}
    assert ends == {"Scale/plain/float32/opt": "passed", "Shift/plain/float32/opt": "failed"}
    assert "Shift/plain/float32/opt: failed" in page.read_text()
    assert cli.run([*arguments[:-1], "Shift/plain/float32/opt"]) == 1
    assert cli.run([*arguments[:-1], "Scale/plain/float32/opt"]) == 0
    assert cli.run([*arguments[:-1], "Scale/nothing"]) == 3


def test_one_that_cannot_be_planned_does_not_keep_the_other_from_running(
    broken: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (broken / "plugins" / "shift" / "reference.py").write_text("def reference(a, b, *, alpha):\n    return [a, b]\n")
    built = str(library(project))
    assert cli.run(["test", str(broken), "--library", built, "--network", "plain", "--only", "plain/float32/opt"]) == 1
    captured = capsys.readouterr()
    assert "Scale: 1 passed of 1 cases" in captured.out
    assert "Shift: " in captured.err
    assert "returned 2 output(s)" in captured.err


def test_a_finding_of_one_that_ends_its_run_is_told_with_its_name(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(options: Options, *_: object) -> Report:
        if options.project.name == "shift":
            raise Finding("getCreators", "gave no creator", rule="B4", hint="look there")
        return Report("Scale", "", "", 0, (), ())

    monkeypatch.setattr(several.runner, "run", found)
    runs = several.run(Options(project=project))
    assert [report.plugin for report in runs.reports] == ["Scale"]
    for error in (*runs.errors, runs.error):
        assert isinstance(error, Finding)
        assert (error.message, error.rule, error.hint) == ("Shift: getCreators: gave no creator", "B4", "look there")


def test_ones_own_data_are_one_plugins(project: Path) -> None:
    with pytest.raises(UsageError, match="--data holds the inputs of one plugin, and this library has 2") as caught:
        several.run(Options(project=project, data=Path("data.npz")))
    assert caught.value.hint == "Test one of them: --only 'Scale/*'"


def test_pytest_has_the_items_of_both(project: Path) -> None:
    own = dict.fromkeys([name for name in os.environ if name.startswith(("PYTEST_", "PLUGINKIT_LEAN"))])
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(project), "-v"]
    wanted = "worked_out_by_hand or Shift/plain/float32/opt or Scale/plain/float16/opt"
    done = run_process([*command, "-k", wanted], cwd=project, env=own, timeout=300)
    assert done.ok, done.stdout
    ends = re.findall(r"^(\S+)::test_in_networks\[(.+)\] PASSED", done.stdout, re.MULTILINE)
    # Not in the added plugin's folder once more.
    assert ends == [
        ("tests/test_scale.py", "Scale/plain/float16/opt"),
        ("tests/test_scale.py", "Shift/plain/float32/opt"),
    ]
    assert "4 passed" in done.stdout


def test_a_model_with_both_nodes(project: Path, tmp_path: Path) -> None:
    shape = ["n", 3]
    nodes = [
        helper.make_node("Scale", ["x"], ["scaled"], "first", domain="pluginkit", plugin_version="1", alpha=0.25),
        helper.make_node("Shift", ["scaled", "x"], ["y"], "second", domain="pluginkit", plugin_version="2",
                         plugin_namespace="acme", alpha=0.5),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "both",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("pluginkit", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "both.onnx")
    found = run_import(ImportOptions(tmp_path / "both.onnx", (project,)))
    assert [one.who for one in found.implementations] == [
        "plugin Scale 1 of libscale.so",
        "plugin Shift 2 of libscale.so",
    ]
    assert [one.member and one.member.name for one in found.implementations] == ["Scale", "Shift"]
    assert found.verdict is not None
    assert found.verdict.status == "built", found.verdict.message
    assert {record.node for record in found.verdict.configured} == {"first", "second"}
    assert not [problem for problem in found.problems if problem.level == "error"]


def test_building_from_an_added_plugins_folder_builds_the_library(project: Path) -> None:
    (made,) = build.build(project / "plugins" / "shift", "cpu")
    assert made.library == library(project)
    assert not made.fresh
    assert build.find_artifact(project / "plugins" / "shift").library.resolve() == library(project)
    assert not (project / "plugins" / "shift" / "build").exists()
