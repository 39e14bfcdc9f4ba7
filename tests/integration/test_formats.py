"""A generated plugin with every format; and faults planted in it, which the formats' networks must find."""

from __future__ import annotations

import itertools
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pluginkit import scaffold
from pluginkit.build import PLAIN, build
from pluginkit.dtypes import DType
from pluginkit.evaluators.host import outside_profile
from pluginkit.evaluators.host.cases import Hosted
from pluginkit.evaluators.host.schedules import schedules
from pluginkit.evaluators.rtx import participation
from pluginkit.formats import Format
from pluginkit.manifest import Manifest
from pluginkit.network.plan import Plan
from pluginkit.run.selection import select
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.verdict import Configured, SeenTensor
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference
from pluginkit.testing.report import CaseResult, Outcome, Verdict

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("formats")]

SWITCH = """
// A fault of the tests, by number; 0 is none.
int fault()
{
    char const* const chosen = std::getenv("FAULT");
    return chosen != nullptr ? std::atoi(chosen) : 0;
}

"""

INCLUDE = ("#include <cmath>", "#include <cmath>\n#include <cstdlib>")
THREADS = "constexpr uint32_t kThreads"
CLASS = "Layer<MyPlugin, Signature>\n{\n"
ANY_FORMAT = """public:
    bool supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        if (std::getenv("ANY_FORMAT") != nullptr)
        {
            return findRow(pos + 1, [inOut](int32_t i) { return inOut[i].type; }) != pluginkit::detail::kNoRow;
        }
        return DynamicLayer::supportsFormatCombination(pos, inOut, nbInputs, nbOutputs);
    }
"""

PLACE = "    int64_t const vector = outer * vectors + channel / layout.lanes;"
WRONG_PLACES = """
    if (fault() == 1) // a vector's channels backwards
    {
        int64_t const back = layout.lanes - 1 - channel % layout.lanes;
        return ((outer * vectors + channel / layout.lanes) * layout.inner + inside) * layout.lanes + back;
    }
    if (fault() == 2) // as if no channels were padded
    {
        return (outer * layout.inner + inside) * layout.channels + channel;
    }
    if (fault() == 3) // the next vector
    {
        return ((outer * vectors + vectors) * layout.inner + inside) * layout.lanes + channel % layout.lanes;
    }
"""

SUM = "        float sum = 0.0F;"
PADDING_READ = """
        auto const& layout = in.x.layout;
        if (fault() == 4 && layout.lanes > layout.channels) // a maximum that takes all lanes for channels
        {
            T const last = static_cast<T const*>(in.x.data)[layout.lanes - 1];
            sum += fmaxf(0.0F, 1e-30F * toNumber(last, in.x.scale));
        }
"""

STORE = "    element = static_cast<int8_t>(fminf(fmaxf(rintf(number / scale), -128.0F), 127.0F));"
WRONG_STEPS = """
    if (fault() == 5) // no saturation
    {
        element = static_cast<int8_t>(static_cast<int32_t>(rintf(number / scale)) & 0xFF);
    }
    if (fault() == 6) // the wrong scale
    {
        element = static_cast<int8_t>(fminf(fmaxf(rintf(number / (2.0F * scale)), -128.0F), 127.0F));
    }
    if (fault() == 7) // the lower end is one step short
    {
        element = static_cast<int8_t>(fmaxf(static_cast<float>(element), -127.0F));
    }
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = scaffold.new(
        "MyPlugin",
        directory=tmp_path_factory.mktemp("formats"),
        inputs=["x:float32,float16,bfloat16,int8:n,3,5,h,w"],
        formats=[form.value for form in Format if form is not Format.LINEAR],
    )
    # Exact: what the reference rounds in float64 and the kernel in float32 is the same for these values.
    toml = made / "pluginkit.toml"
    toml.write_text(toml.read_text() + "\n[tolerances]\nint8 = { steps = 0 }\n")
    kernel = made / "src/my_plugin.cu"
    text = kernel.read_text()
    for line, changed in ((PLACE, WRONG_PLACES + PLACE), (SUM, SUM + PADDING_READ), (STORE, STORE + WRONG_STEPS)):
        assert text.count(line) == 1, line
        text = text.replace(line, changed)
    plugin = made / "src/my_plugin.cpp"
    source = plugin.read_text()
    assert source.count(CLASS) == 1
    include = "#include <pluginkit/layer.h>\n"
    plugin.write_text(source.replace(CLASS, CLASS + ANY_FORMAT).replace(include, f"{include}\n#include <cstdlib>\n"))
    kernel.write_text(text.replace(*INCLUDE).replace(THREADS, SWITCH + THREADS))
    return made


@pytest.fixture(scope="module")
def library(project: Path) -> Path:
    return build(project, "cpu")[0].library


@pytest.fixture(scope="module")
def whole(project: Path) -> Plan:
    manifest = Manifest.load(project)
    return plan(manifest, Reference.load(project, manifest), families=["plain"])


@dataclass(frozen=True)
class Found:
    """What the host found."""

    cases: list[CaseResult]
    controls: list[Verdict]


def run(project: Path, library: Path, made: Plan, *only: str) -> Found:
    manifest = Manifest.load(project)
    chosen = select(made, only)
    controls = outside_profile.cases(manifest, chosen)
    hosting = Hosted(library, PLAIN, manifest, project, 60.0, schedules(0, 0, deferred=False)).open()
    try:
        cases = [hosting.case(chosen.network(case), case) for case in chosen.cases]
        return Found(cases, [verdict for case in controls if (verdict := hosting.refused(chosen.network(case), case))])
    finally:
        hosting.close()


def test_every_declared_format_runs_with_padded_lanes(project: Path, library: Path, whole: Plan) -> None:
    found = run(project, library, whole)
    assert [result.id for result in found.cases if result.outcome is not Outcome.PASSED] == []
    ran = {(call.formats, call.types) for network in whole.networks for call in network.calls}
    assert {(form, kind) for forms, kinds in ran for form, kind in zip(forms, kinds, strict=True)} == {
        # A plugin has not INT8 and FP8 at once.
        (form, kind)
        for form in Format
        for kind in form.types
        if kind not in (DType.INT32, DType.INT64, DType.FLOAT8)
    }
    for network in whole.networks:
        (form,) = network.calls[0].formats
        cases = [case for case in whole.cases if case.network_id == network.id]
        assert form.lanes == 1 or any(form.pads(case.feeds["x"].shape) for case in cases)


def test_one_step_outside_is_refused_and_the_profile_named(project: Path, library: Path, whole: Plan) -> None:
    found = run(project, library, whole, "plain/float32/*")
    names = [verdict.network for verdict in found.controls]
    ends = ("n-below", "n-above", "h-below", "h-above", "w-below", "w-above")
    assert names == [f"plain/float32/outside/default/{end}" for end in ends]
    assert all(verdict.outcome is Outcome.PASSED for verdict in found.controls)


@pytest.mark.parametrize(
    ("fault", "only", "output"),
    [
        (1, "plain/float16-chw2/*", "unwritten"),
        (2, "plain/float16-hwc8/max", "output 'y' is|unwritten|written beyond"),
        (3, "plain/int8-chw4/opt", "written beyond|unwritten|memory that is not there"),
        (4, "plain/float32-chw32/opt", "padding read|output 'y' is"),
        (5, "plain/int8/opt", "off by"),
        (6, "plain/int8/opt", "off by"),
        (6, "plain/int8-implicit-max/opt", "off by"),
        (7, "plain/int8/opt", "off by 1 step"),
    ],
)
def test_planted_faults_are_found(
    project: Path, library: Path, whole: Plan, monkeypatch: pytest.MonkeyPatch, fault: int, only: str, output: str
) -> None:
    monkeypatch.setenv("FAULT", str(fault))
    results = run(project, library, whole, only).cases
    bad = [result for result in results if result.outcome.bad]
    assert bad
    assert any(word in result.message for result in bad for word in output.split("|")), [r.message for r in bad]


def test_a_format_that_is_taken_and_not_declared_is_found(
    project: Path, library: Path, whole: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANY_FORMAT", "1")
    manifest = Manifest.load(project)
    tensors = {
        key: tuple(one.model_copy(update={"formats": (Format.LINEAR, Format.CHW2)}) for one in getattr(manifest, key))
        for key in ("inputs", "outputs")
    }
    less = manifest.model_copy(update=tensors)
    chosen = select(whole, ["plain/float16/opt"])
    hosted = Hosted(library, PLAIN, less, project, 60.0, schedules(0, 0, deferred=False))
    ((network,), (case,)) = chosen.networks, chosen.cases
    with closing(hosted.open()) as hosting:
        result = hosting.case(network, case)
    assert result.outcome is Outcome.FAILED
    assert "takes formats that the manifest doesn't declare (input 0: kHALF kHWC8, dims" in result.message


@pytest.mark.rtx
@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason=tensorrt_rtx.probe().reason)
def test_nvidias_builder_has_the_same_table_of_formats_and_types(
    project: Path, library: Path, whole: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin that takes every type in every format is held to one: built where TensorRT documents the pair.

    Three pairs are built that TensorRT 11 doesn't list (`docs/proved.md`); a manifest may not count on them.
    """
    undocumented = {(DType.FLOAT16, Format.CHW4), (DType.BFLOAT16, Format.CHW4), (DType.FLOAT16, Format.HWC)}
    monkeypatch.setenv("ANY_FORMAT", "1")
    wrong = []
    with tensorrt_rtx.open(library, Manifest.load(project), timeout=60) as session:
        for network, form in itertools.product(whole.usual, Format):
            call = replace(network.calls[0], formats=(form,), output_formats=(form,))
            held = replace(network, variant=form.value, calls=(call,))
            verdict = session.build(held)
            documented = network.precision in form.types
            built = documented or (network.precision, form) in undocumented
            if verdict.ok != built or (built and participation.problems(held, verdict.configured)):
                wrong.append(f"{network.precision.short} {form.trt}: {verdict.message.partition(chr(10))[0]}")
    assert wrong == [], "; ".join(wrong)


def test_a_builder_that_chose_another_format_is_no_proof(whole: Plan) -> None:
    network = next(network for network in whole.networks if network.id == "plain/float16-hwc8")
    call, kind = network.calls[0], DType.FLOAT16.code
    for format_, right in ((Format.HWC8, True), (Format.LINEAR, False)):
        x, y = (
            SeenTensor((-1, 3, 5, -1, -1), kind, format_.code, 1.0, *shapes)
            for shapes in (call.inputs[0][0], call.inputs[0][0])
        )
        problems = participation.problems(network, [Configured(call.node, (x,), (y,))])
        assert (problems == []) is right
        assert right or "configured with the formats kLINEAR, kLINEAR, not with kHWC8, kHWC8" in problems[0]
