"""The page of `pluginkit test --html`: what is on it, nothing from elsewhere, all names as text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import onnx
import pytest
from matplotlib.colors import to_rgba
from onnx import TensorProto, helper

from pluginkit import cli
from pluginkit.demands import DemandWarning
from pluginkit.dtypes import DType
from pluginkit.errors import ToolMissing, UsageError
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import ApiNetwork, ConstantLayer, LoopStep, NetworkInput
from pluginkit.network.networks import Network, Tolerance
from pluginkit.reporting import drawing, page, picture
from pluginkit.reporting.causes import SHOWN
from pluginkit.reporting.picture import norm
from pluginkit.run import messages
from pluginkit.testing import heat
from pluginkit.testing.comparison import compare
from pluginkit.testing.families import FAMILIES
from pluginkit.testing.families.base import Setting
from pluginkit.testing.heat import Heat, Picture
from pluginkit.testing.report import CaseResult, Outcome, Report, Verdict

HOSTILE = "<script>alert('x')</script>\"' onmouseover=\"y & {{ 7*7 }} $\\frac{$"
HEAT = Heat("y", "abs", (1, 2), Picture(np.eye(3, dtype=np.float32), (3, 3)))
WHOLE = "pluginkit test --target cpu --network loop --seed 7"
VOID = {"meta", "img", "br"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    def all(self, name: str) -> list[Element]:
        found = [self] if self.name == name else []
        for child in self.children:
            found += child.all(name) if isinstance(child, Element) else []
        return found

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def by_id(self, key: str) -> Element:
        (found,) = [one for one in self.everything() if one.attributes.get("id") == key]
        return found

    def everything(self) -> list[Element]:
        return [self] + [e for c in self.children if isinstance(c, Element) for e in c.everything()]


class Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open = [Element("", {})]
        self.feed(text)
        assert len(self.open) == 1, "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(report: Report) -> Element:
    return Reader(page.page(report, command="pluginkit test", whole=WHOLE)).open[0]


def model(name: str = "x") -> bytes:
    inner_out = helper.make_tensor_value_info("inner", TensorProto.FLOAT, [2])
    then = helper.make_graph(
        [helper.make_node("Bar", [name], ["inner"], "n2", domain="pluginkit")], "t", [], [inner_out]
    )
    other = helper.make_graph([helper.make_node("Neg", [name], ["inner"], "n3")], "e", [], [inner_out])
    nodes = [
        helper.make_node("Not", ["c"], ["d"], "n0"),
        helper.make_node("If", ["d"], ["y"], "n1", then_branch=then, else_branch=other),
    ]
    inputs = [
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]),
    ]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    return helper.make_model(graph).SerializeToString()


def network(name: str = "x") -> Network:
    return Network("cond/float32", "cond", DType.FLOAT32, model(name), (), (), ("y",))


def case(point: str, outcome: Outcome, **more: object) -> CaseResult:
    facts: dict = {"message": "", **more}
    return CaseResult(
        f"cond/float32/{point}", "cond/float32", "cond", DType.FLOAT32, point, "n=1", outcome, **facts
    )  # fmt: skip


def report(*cases: CaseResult, **more: object) -> Report:
    facts: dict = {"networks": (network(),), **more}
    verdicts = facts.pop("verdicts", ())
    return Report("MyPlugin", "lib.so", "abc", 7, cases, verdicts, {"host": "here"}, **facts)


def test_a_network_by_nvidias_api_is_drawn_call_by_call() -> None:
    manifest = Manifest.parse(
        '[plugin]\nname = "P"\n[[inputs]]\nname = "x"\nshape = ["n", 3]\ntypes = ["float16"]\n'
        '[[outputs]]\nname = "y"\nshape = ["n", 3]\ntypes = ["float16"]\n'
        "[[profiles]]\nsymbols = { n = [1, 2, 3] }\n"
    )
    for family in (one for one in FAMILIES.values() if one.BY_API):
        made = family.build(Setting(manifest, DType.FLOAT16, {}))
        assert isinstance(made, ApiNetwork)
        panel = drawing.api_panel(made)
        kinds = [box.kind for box in panel.boxes]
        assert kinds.count("input") == sum(isinstance(step, NetworkInput) for step in made.steps)
        assert kinds.count("output") == len(made.outputs)
        assert "plugin" in kinds
        assert len(panel.boxes) == len(made.steps)
        for box, step in zip(panel.boxes, made.steps, strict=True):
            if not isinstance(step, NetworkInput | ConstantLayer | LoopStep):
                assert any(taker is box for _, taker, _ in panel.edges), f"{family.NAME}: {box.title} hangs in the air"
        assert drawing.svg(made).count("<svg") == 1


def test_the_matrix() -> None:
    verdicts = (
        Verdict("cond/float32", "tensorrt-rtx", Outcome.PASSED, ""),
        Verdict("api-loop/float32", "tensorrt-rtx", Outcome.PASSED, ""),
    )
    control = Verdict("cond/float32/min-above-opt", "tensorrt-rtx", Outcome.PASSED, "")
    found = read(
        report(case("min", Outcome.PASSED), case("opt", Outcome.CRASHED), verdicts=verdicts, controls=(control,))
    )
    (row,) = found.by_id("matrix").all("tbody")[0].all("tr")
    assert row.all("th")[0].text == "cond"
    squares = [one for one in row.everything() if "mark" in one.attributes.get("class", "").split()]
    assert [one.attributes["class"] for one in squares] == ["mark passed", "mark crashed", "mark passed"]
    assert squares[1].attributes["href"] == "#failure-1"
    assert "cond/float32/opt, n=1: crashed" in squares[1].attributes["title"]
    assert "api-loop/float32" in found.by_id("beside").text
    assert "cond/float32/min-above-opt" in found.by_id("controls").text
    assert found.all("title")[0].text == "MyPlugin: failed"


def test_a_failure_has_its_words_its_picture_and_its_network() -> None:
    found = read(
        report(case("min", Outcome.PASSED), case("opt", Outcome.FAILED, message="off by 3 at [1, 2]", heat=HEAT))
    )
    (section,) = found.all("section")
    assert section.all("h3")[0].text == "cond/float32/opt: failed"
    assert "off by 3 at [1, 2]" in section.text
    assert "pluginkit test --only cond/float32/opt --seed 7" in section.text
    (image,) = section.all("img")
    assert image.attributes["src"].startswith("data:image/png;base64,iVBOR")
    caption = "cond/float32/opt: |error| of y[:, :]; the largest beyond its tolerance is at [1, 2]"
    assert image.attributes["alt"] == section.all("figcaption")[0].text == caption
    drawn = section.all("svg")
    assert [one.attributes["aria-label"] for one in drawn] == [
        "cond/float32",
        "else_branch of If n1",
        "then_branch of If n1",
    ]


def test_failures_come_first_each_cause_once_and_the_rest_is_folded() -> None:
    bad = [case(str(number), Outcome.FAILED, message=f"off by {number}", heat=HEAT) for number in range(5)]
    warning = DemandWarning("S2", "serialize", "byte 4 of 5 was not written")
    good = [case(f"good-{number}", Outcome.PASSED, warnings=(warning,)) for number in range(2)]
    control = Verdict("cond/float32/min-above-opt", "tensorrt-rtx", Outcome.PASSED)
    found = read(report(*bad, *good, controls=(control,)))
    body = found.all("body")[0]
    parts = [one for one in body.children if isinstance(one, Element)]
    assert [(one.name, one.text) for one in parts if one.name in ("h1", "h2")] == [
        ("h1", "MyPlugin: failed"),
        ("h2", "Failures"),
        ("h2", "Warnings"),
    ]
    (section,) = body.all("section")
    assert "in 5 cases: cond/float32/0, cond/float32/1, cond/float32/2, ..." in section.all("pre")[0].text
    assert [one.text for one in section.all("li")] == [f"cond/float32/{number}" for number in range(1, 5)]
    links = [one.attributes["href"] for one in found.by_id("matrix").all("a")]
    assert links == ["#failure-1"] * 5
    (warning,) = [one for one in body.all("pre") if one.attributes.get("class") == "warning"]
    assert warning.text == "[S2] serialize: byte 4 of 5 was not written"
    assert "cond/float32/good-1" in body.text, "all cases of a warning"
    at = parts.index(next(one for one in parts if one.text == "Warnings"))
    rest = [one.name for one in parts[at:] if one.all("table") or "Library" in one.text]
    assert rest
    assert set(rest) == {"details"}


def test_a_row_has_its_networks_variant() -> None:
    cases = [
        CaseResult(f"{name}/opt", name, "cond", DType.INT8, "opt", "n=1", Outcome.PASSED)
        for name in ("cond/int8", "cond/int8-implicit-max", "cond/int8/c16")
    ]
    rows = read(report(*cases)).by_id("matrix").all("tbody")[0].all("th")
    assert [one.text for one in rows] == ["cond", "cond implicit-max", "cond /c16"]


def test_a_title_is_short_with_many_plugins() -> None:
    joined = replace(report(case("min", Outcome.PASSED)), plugin=", ".join(f"P{number}" for number in range(20)))
    text = page.page(joined, command="pluginkit test", whole=WHOLE, reports=[joined] * 20)
    (title,) = re.findall("<title>(.*)</title>", text)
    assert title == "20 plugins: passed"


def test_all_is_well() -> None:
    found = read(report(case("min", Outcome.PASSED)))
    assert found.all("title")[0].text == "MyPlugin: passed"
    assert found.all("section") == found.all("img") == []


def test_the_network_is_drawn_whole() -> None:
    main, _, then = drawing.panels(onnx.load_from_string(network().model).graph, "g")
    assert [box.text for box in main.boxes] == ["c", "x", "Not", "If", "y"]
    assert [(a.text, b.text, name) for a, b, name in main.edges] == [
        ("c", "Not", "c"),
        ("x", "If", "x"),
        ("Not", "If", "d"),
        ("If", "y", "y"),
    ]
    assert all(a.y < b.y for a, b, _ in main.edges)
    assert [(box.text, box.kind) for box in then.boxes] == [("Bar", "plugin"), ("x", "outer"), ("inner", "output")]
    places = {(box.x, box.y) for box in main.boxes}
    assert len(places) == len(main.boxes)


def test_nothing_comes_from_elsewhere() -> None:
    text = page.page(
        report(case("opt", Outcome.FAILED, message="no", heat=HEAT)), command="pluginkit test", whole=WHOLE
    )
    links = re.findall(r'(?:src|href|srcset|data|action)="([^"]*)"', text)
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "@import" not in text
    assert "url(" not in text


def test_what_others_wrote_is_text() -> None:
    hostile = replace(
        report(
            case("opt", Outcome.FAILED, message=f"{HOSTILE}\nsecond line", heat=replace(HEAT, output=HOSTILE)),
            verdicts=(Verdict(HOSTILE, HOSTILE, Outcome.FAILED, HOSTILE, (HOSTILE,)),),
            networks=(network(HOSTILE),),
        ),
        plugin=HOSTILE,
        library=HOSTILE,
        runtimes={HOSTILE: HOSTILE},
    )
    found = read(hostile)
    assert found.all("script") == []
    assert not [one for one in found.everything() if any(name.startswith("on") for name in one.attributes)]
    assert found.all("h1")[0].text.startswith(HOSTILE)
    assert f"{HOSTILE}\nsecond line" in found.all("pre")[0].text
    assert f": |error| of {HOSTILE}" in found.all("img")[0].attributes["alt"]
    assert any(one.text == f"input {HOSTILE}: float32 [n]" for one in found.all("svg")[0].all("title"))


def test_only_so_many_pictures() -> None:
    def bad(cause: int) -> list[CaseResult]:
        return [case(f"{cause}-{i}", Outcome.FAILED, message=f"no {'x' * cause}", heat=HEAT) for i in range(5)]

    count = page.PICTURES // SHOWN + 2
    found = read(report(*(one for cause in range(count) for one in bad(cause))))
    pictures = [len(one.all("img")) for one in found.all("section")]
    assert pictures == [SHOWN] * (count - 2) + [0, 0]


def test_the_file_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report.html"
    page.write(report(case("min", Outcome.PASSED)), file, command="pluginkit test", whole=WHOLE)
    before = file.read_text()
    assert before.startswith("<!DOCTYPE html>")
    assert file.stat().st_mode & 0o044 == 0o044, "others may read it"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match=r"report\.html cannot be written: No space"):
        page.write(report(case("opt", Outcome.FAILED)), file, command="pluginkit test", whole=WHOLE)
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    assert file.read_text() == before


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    real = page.importlib.util.find_spec
    monkeypatch.setattr(page.importlib.util, "find_spec", lambda name: None if name == "matplotlib" else real(name))
    with pytest.raises(ToolMissing, match="needs matplotlib"):
        page.check()
    # It is said before anything is built.
    assert cli.run(["test", str(tmp_path / "none"), "--html", str(tmp_path / "report.html")]) == 4
    assert "-m pip install 'jinja2>=" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--html", "--junit", "--json"])
def test_a_folder_that_is_not_there(option: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.run(["test", str(tmp_path), option, str(tmp_path / "none" / "report")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_heading_says_what_failed_and_the_command_repeats_the_whole_run() -> None:
    control = Verdict("cond/float32/min-above-opt", "tensorrt-rtx", Outcome.FAILED, "built", how="not refused")
    found = read(report(case("min", Outcome.PASSED), controls=(control,)))
    assert found.all("h1")[0].text == "MyPlugin: failed"
    assert found.all("p")[0].text == (
        "MyPlugin: FAILED: 1 of 1 broken networks not refused (cond/float32/min-above-opt); 1 passed of 1 cases; seed 7"
    )
    assert found.all("p")[1].text == WHOLE


def test_the_command_of_a_whole_run_has_all_that_chose_it() -> None:
    base = messages.again(Path("my plugin"), target="gpu", timeout=5.0)
    assert base == "pluginkit test 'my plugin' --target gpu --timeout 5"
    assert messages.again(Path()) == "pluginkit test"
    chosen = messages.whole(
        base, precisions=("fp16",), networks=("loop",), only=("*/opt",), sanitize=("address",), schedules=3, seed=7
    )
    assert chosen == (
        f"{base} --fp16 --network loop --only '*/opt' --sanitize address --schedules 3 --seed 7"
    )  # fmt: skip


def test_a_case_is_repeated_on_its_target_where_there_are_two() -> None:
    cases = case("a", Outcome.FAILED), case("b", Outcome.FAILED, target="gpu")
    both = report(*cases)
    assert [messages.failure(one, both, "pluginkit test").again for one in cases] == [
        "pluginkit test --only cond/float32/a --seed 7 --target cpu",
        "pluginkit test --only cond/float32/b --seed 7 --target gpu",
    ]
    alone = report(cases[0])
    assert messages.failure(cases[0], alone, "pluginkit test").again == "pluginkit test --only cond/float32/a --seed 7"
    output = messages.failure(cases[1], both, "pluginkit test --target gpu").again
    assert output == "pluginkit test --target gpu --only cond/float32/b --seed 7"


def test_the_colours_tell_errors_apart_when_nearly_all_is_wrong() -> None:
    errors = np.array([187.0, 3.0, 1.0, 0.5])
    high, *some, least = (float(norm(errors)(error)) for error in errors)
    assert (high, least) == (1.0, 0.0)
    assert all(0.1 < one < 0.9 for one in some), "not as dark as the least, not as bright as the largest"
    assert float(norm(np.array([1e9, 1.0]))(1e6)) == pytest.approx(0.25)
    for flat in (np.array([]), np.zeros(3), np.full(4, 2.0)):
        assert norm(flat).vmin < norm(flat).vmax


def test_no_error_and_no_number_have_colours_of_their_own() -> None:
    values = np.array([[0.0, np.inf, 1.0, 187.0]], np.float32)
    drawn = picture.figure(Heat("y", "abs", (0, 3), Picture(values, (1, 4))))
    (image,) = drawn.axes[0].images
    none, _, least, _ = image.to_rgba(image.get_array())[0]
    assert tuple(none) == to_rgba(picture._SMALL)
    assert tuple(least) != tuple(none)
    assert image.get_array().mask.tolist() == [[False, True, False, False]], "the axes' colour shows through"
    assert drawn.axes[0].get_facecolor() == to_rgba(picture._NO_NUMBER)


def test_the_place_that_is_marked_is_in_the_plane_with_the_largest_error() -> None:
    want = np.zeros((2, 3, 4, 4))
    got = np.full(want.shape, 1.0, np.float32)
    got[0, 1, 2, 3], got[1, 2, 0, 0] = 104, 187
    want[1, 2, 0, 0], want[0, 1, 2, 3] = -0.5, 1e-3
    compared = compare({"y": got}, {"y": want}, Tolerance("close", rtol=1e-3, atol=1e-3))
    made = heat.of({"y": got}, {"y": want}, Tolerance("close"), compared.worst)
    assert made is not None
    assert made.index == (1, 2, 0, 0)
    assert made.others is not None
    assert made.others.values.max() == made.plane.values.max() == 187.5
    drawn = picture.figure(made)
    marks = [line.get_xydata().tolist() for axes in drawn.axes for line in axes.lines if line.get_gid() == "worst"]
    assert marks == [[[0, 0]], [[2, 1]]]
