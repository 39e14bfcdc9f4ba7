"""`pluginkit tune` with recorded times in the place of a GPU: what is chosen, what is written, what is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pluginkit import cli
from pluginkit.bench import bench_worker
from pluginkit.bench.measurements import BenchCase
from pluginkit.build.gpus import DriverInfo, Gpu
from pluginkit.build.tuning import header, measuring_header
from pluginkit.errors import CheckFailed, PluginCrashed, ToolMissing, UsageError
from pluginkit.gpu.driver import CudaError
from pluginkit.manifest import Manifest
from pluginkit.manifest.tuning.section import Kept, Values
from pluginkit.tuning import TuneOptions, candidates, choosing, manifest_text, measuring, runner, tune, tuning_worker
from pluginkit.tuning.results import VARIABLE, Compared
from tests.scaffolds import gallery

MANIFEST = """\
# A comment that stays.
[plugin]
name = "Leaky"
base = "{base}"

[[inputs]]
name = "x"
types = ["float32", "float16"]
shape = ["n", "c"]

[[outputs]]
name = "y"
types = ["float32", "float16"]
shape = ["n", "c"]

[[profiles]]
symbols = {{ n = [1, 4, 8], c = [64, 64, 64] }}
"""
KERNEL = "cudaError_t f() { return kernels::launchElementwise(kernels::tuned(stream, args.tactic), n, Layer{}, y, x); }"
H100 = Gpu("NVIDIA H100 80GB HBM3", "9.0", uuid="GPU-1")
A100 = Gpu("NVIDIA A100", "8.0", uuid="GPU-2")


class Recorded:
    """Times as a function of a set's values and the round, instead of a GPU."""

    def __init__(self, sets: Sequence[Values], at: Callable[[Values, int], float]) -> None:
        self.identity = "recorded"
        self.sets = sets
        self.asked: list[tuple[str, tuple[int, ...]]] = []
        self._at = at
        self.stop_at = -1
        self.wrong: dict[int, str] = {}

    def compare(self, case: BenchCase, sets: Sequence[int], rounds: int) -> Compared:
        if len(self.asked) == self.stop_at:
            raise KeyboardInterrupt
        self.asked.append((case.id, tuple(sets)))
        right = [number for number in sets if number not in self.wrong]
        return Compared(
            {number: [self._at(self.sets[number], turn) for turn in range(rounds)] for number in right},
            {number: text for number, text in self.wrong.items() if number in sets},
        )

    def close(self) -> None:
        pass


class Desk:
    """A project, and what measures it."""

    def __init__(self, folder: Path, at: Callable[[Values, int], float]) -> None:
        self.folder = folder
        self.at = at
        self.made: list[Recorded] = []
        self.stop_at = -1
        self.wrong: dict[int, str] = {}

    @property
    def toml(self) -> str:
        return (self.folder / "pluginkit.toml").read_text()

    def measurer(self, _options: Any, _manifest: Any, _gpu: Any, sets: Sequence[Values], _progress: Any) -> Recorded:
        self.made.append(Recorded(sets, self.at))
        self.made[-1].stop_at, self.made[-1].wrong = self.stop_at, self.wrong
        return self.made[-1]


def faster(values: Values, turn: int) -> float:
    """512 threads with two packs are 5 % faster; all vary by 1 %."""
    won = values.get("threads") == 512 and values.get("packs") == 2
    return (0.95e-4 if won else 1e-4) * (1 + 0.01 * (turn % 2))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return project(tmp_path, monkeypatch)


def project(
    folder: Path, monkeypatch: pytest.MonkeyPatch, base: str = "dynamic", gpus: Sequence[Gpu] = (H100,)
) -> Desk:
    (folder / "src").mkdir()
    (folder / "src" / "leaky_kernel.cu").write_text(KERNEL)
    (folder / "pluginkit.toml").write_text(MANIFEST.format(base=base))
    monkeypatch.setattr(runner, "find_driver", lambda: DriverInfo("13.0", tuple(gpus)))
    found = Desk(folder, faster)
    monkeypatch.setattr("pluginkit.cli.testing.tune.find_driver", lambda: DriverInfo("13.0", tuple(gpus)))
    monkeypatch.setattr("pluginkit.cli.testing.tune.tune", lambda options, step: tune(options, step, found.measurer))
    return found


def test_the_fastest_is_kept_and_all_else_stays(desk: Desk) -> None:
    before = desk.toml
    report = tune(TuneOptions(desk.folder), measurer=desk.measurer)
    (one,) = report.found
    assert one.candidates[one.best] == {"threads": 512, "packs": 2}
    assert one.gain == pytest.approx(1 / 0.95)
    assert desk.toml.startswith(before.rstrip("\n"))
    kept = Manifest.load(desk.folder).tuning.kept["sm_90"]
    assert kept == one.kept
    assert (kept.values, kept.gpu, kept.gain) == ({"threads": 512, "packs": 2}, H100.name, 1.0526)
    assert not list(desk.folder.glob("build/tune/measured-*")), "all is done"


def test_what_is_measured_again_takes_the_old_sections_place(desk: Desk) -> None:
    tune(TuneOptions(desk.folder), measurer=desk.measurer)
    (desk.folder / "pluginkit.toml").write_text(desk.toml + "\n[tolerances]\nfloat16 = { rtol = 0.5, atol = 0.5 }\n")
    desk.at = lambda values, turn: (0.8e-4 if values.get("threads") == 128 else 1e-4) * (1 + 0.001 * turn)
    tune(TuneOptions(desk.folder), measurer=desk.measurer)
    manifest = Manifest.load(desk.folder)
    assert manifest.tuning.kept["sm_90"].values["threads"] == 128
    assert manifest.tolerances.float16 is not None
    assert desk.toml.count("[tuning.sm_90]") == 1


@pytest.mark.parametrize("gain", [0.0, 0.009])
def test_a_gain_within_the_noise_is_not_written(desk: Desk, gain: float, capsys: pytest.CaptureFixture[str]) -> None:
    """The usual values' own rounds are 1 % apart."""
    desk.at = lambda values, turn: (1 - gain * bool(values)) * 1e-4 * (1 + 0.01 * (turn % 3 == 1))
    before = desk.toml
    report = tune(TuneOptions(desk.folder), measurer=desk.measurer)
    assert report.found[0].kept is None
    assert desk.toml == before
    assert cli.run(["tune", str(desk.folder)]) == 0
    assert "Nothing is written: a gain has to be above the noise and 0.5 %" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("behind", ["", "\n# Of the tests.\n[test]\nstrict = true\n"])
def test_a_section_that_is_no_gain_any_more(desk: Desk, behind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It would go on being built in."""
    without = desk.toml + behind
    section = "\n[tuning.sm_90]\nvalues = { threads = 1024 }\n"
    (desk.folder / "pluginkit.toml").write_text(before := desk.toml + section + behind)
    desk.at = lambda values, turn: 1.3e-4 if values == {"threads": 1024} else 1e-4
    assert cli.run(["tune", str(desk.folder), "--dry-run"]) == 0
    assert "Without --dry-run [tuning.sm_90] of pluginkit.toml is removed" in " ".join(capsys.readouterr().out.split())
    assert desk.toml == before
    assert cli.run(["tune", str(desk.folder)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Removed: [tuning.sm_90] of pluginkit.toml, since threads = 1024 is at 0.769 x" in said
    assert "Next: pluginkit build" in said
    assert desk.toml == without


def test_the_fastest_is_wrong_when_it_is_measured_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs are compared there, too: it is out of question, and the next one has its turn."""
    real = Recorded.compare

    def compare(self: Recorded, case: BenchCase, sets: Sequence[int], rounds: int) -> Compared:
        found = real(self, case, sets, rounds)
        bad = [one for one in sets if len(sets) == 2 and self.sets[one] == {"threads": 512, "packs": 2}]
        times = {one: times for one, times in found.times.items() if one not in bad}
        return Compared(times, dict.fromkeys(bad, "y[7] is 1, expected 2"))

    monkeypatch.setattr(Recorded, "compare", compare)
    desk.at = lambda values, turn: 0.97e-4 if values == {"threads": 128, "packs": 1} else faster(values, 0)
    (found,) = tune(TuneOptions(desk.folder), measurer=desk.measurer).found
    assert found.candidates[found.best]["threads"] == 128
    assert found.gain == pytest.approx(1 / 0.97)
    (text,) = found.wrong.values()
    assert text.endswith("y[7] is 1, expected 2")


@pytest.mark.parametrize("change", ["shape", "reference", "tolerance"])
def test_times_of_other_cases_do_not_count(desk: Desk, change: str) -> None:
    (desk.folder / "reference.py").write_text("one")
    shapes = '\n[[bench.shapes]]\nname = "large"\nsymbols = { n = 64, c = 64 }\n'
    (desk.folder / "pluginkit.toml").write_text(desk.toml + shapes)
    desk.stop_at = 1
    with pytest.raises(KeyboardInterrupt):
        tune(TuneOptions(desk.folder), measurer=desk.measurer)
    desk.stop_at = -1
    if change == "reference":
        (desk.folder / "reference.py").write_text("two")
    else:
        new = desk.toml.replace("n = 64", "n = 4096") if change == "shape" else desk.toml + "\n[tolerances]\n"
        (desk.folder / "pluginkit.toml").write_text(new)
    tune(TuneOptions(desk.folder), measurer=desk.measurer)
    first, second = desk.made
    assert first.asked[0] == second.asked[0], "it is measured again"


def test_two_architectures_are_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = project(tmp_path, monkeypatch, gpus=(H100, A100))
    before, made = desk.toml, desk.measurer

    def measurer(*args: Any) -> Recorded:
        desk.stop_at = 1 if args[2] is A100 and len(desk.made) < 2 else -1
        return made(*args)

    monkeypatch.setattr(desk, "measurer", measurer)
    assert cli.run(["tune", str(tmp_path)]) == 130
    said = " ".join(capsys.readouterr().out.split())
    assert "pluginkit.toml is as it was" in said
    assert "sm_90" in said, "the journal of the first one, too"
    assert desk.toml == before
    assert cli.run(["tune", str(tmp_path)]) == 0
    assert desk.made[2].asked == [], "what was measured of the first one is kept"
    assert set(Manifest.load(tmp_path).tuning.kept) == {"sm_90", "sm_80"}


def test_a_candidate_that_faults_ends_the_run(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every later call would fail: the other sets, the usual one too, are not wrong."""

    class Anything:
        workspace_bytes = 0
        count = 1
        handle = 0

        def __init__(self, *_: Any) -> None:
            self.inputs = self.outputs = self.scales = []

        def measure(self, *_: Any) -> Any:
            if measured.append(int(tuning_worker.os.environ[VARIABLE])) or 2 in measured:
                raise CudaError(700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access", "cuStreamSynchronize")
            return type("Times", (), {"median": 1e-4}), ""

        stream = property(lambda self: self)

    measured: list[int] = []
    monkeypatch.setenv(VARIABLE, "0")
    monkeypatch.setattr(bench_worker, "BenchLayer", Anything)
    monkeypatch.setattr(bench_worker, "Buffers", Anything)
    library = tuning_worker.TuningLibrary.__new__(tuning_worker.TuningLibrary)
    case = runner.asked(runner.BenchOptions(desk.folder))[1][0]
    library.__dict__.update(
        _values=(case, Anything()), _candidates=[{}, {"packs": 1}, {"packs": 2}, {"packs": 4}], _timer=Anything()
    )
    library.__dict__.update(dict.fromkeys(["_creator", "_manifest", "_context"]), _check=lambda *_: None)
    with pytest.raises(CudaError, match=r"min/float32, with packs = 2: .*ILLEGAL_ADDRESS"):
        library.compare(case, [0, 1, 2, 3], 3)
    assert measured == [0, 1, 2]


def test_a_library_without_the_candidates(tmp_path: Path) -> None:
    """As of [library], whose command knows nothing of them: all sets would be equally fast."""
    (tmp_path / "lib.so").write_bytes(b"\x7fELF")
    with pytest.raises(UsageError, match="without the candidates"):
        measuring._check_candidates(tmp_path / "lib.so")
    (tmp_path / "lib.so").write_bytes(b"\x7fELF PLUGINKIT_TUNING_SET\0")
    measuring._check_candidates(tmp_path / "lib.so")


def test_luck_in_the_rounds_that_choose_does_not_count(desk: Desk) -> None:
    """A set that was fast among all, and is not when it is measured again."""
    desk.at = lambda values, turn: 1e-4
    made = desk.measurer

    def measurer(*args: Any) -> Recorded:
        one = made(*args)
        one._at = lambda values, turn: 0.5e-4 if values.get("threads") == 128 and len(one.asked) <= 6 else 1e-4
        return one

    (found,) = tune(TuneOptions(desk.folder), measurer=measurer).found
    assert found.best != 0
    assert found.gain == pytest.approx(1.0)
    assert found.kept is None


def test_an_interrupted_run_goes_on(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    before = desk.toml
    desk.stop_at = 2
    assert cli.run(["tune", str(desk.folder)]) == 130
    assert "pluginkit.toml is as it was" in (said := " ".join(capsys.readouterr().out.split()))
    assert "goes on there" in said
    assert desk.toml == before
    assert list(desk.folder.glob("build/tune/measured-leaky-sm_90.json"))
    desk.stop_at = -1
    assert cli.run(["tune", str(desk.folder)]) == 0
    first, second = desk.made
    assert [case for case, _ in first.asked] == [case for case, sets in first.asked if len(sets) > 2]
    assert not set(first.asked) & set(second.asked), "nothing is measured twice"
    assert "sm_90" in Manifest.load(desk.folder).tuning.kept


@pytest.mark.parametrize("damage", ["", "{", '{"identity": "recorded"}', '{"identity": 3, "cases": []}'])
def test_a_damaged_journal_is_measured_anew(desk: Desk, damage: str) -> None:
    path = runner.journal_path(desk.folder, Manifest.load(desk.folder), "sm_90")
    path.parent.mkdir(parents=True)
    path.write_text(damage)
    tune(TuneOptions(desk.folder), measurer=desk.measurer)
    assert len(desk.made[0].asked) == 12


def test_two_architectures_and_one_that_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = project(tmp_path, monkeypatch, gpus=(H100, A100, H100))
    other = Kept(values={"threads": 1024}, gpu="NVIDIA L4", gain=1.02)
    manifest_text.write(tmp_path / "pluginkit.toml", {"sm_89": other})
    report = tune(TuneOptions(tmp_path), measurer=desk.measurer)
    assert [one.arch for one in report.found] == ["sm_90", "sm_80"]
    assert report.left == {"sm_89": other}
    assert Manifest.load(tmp_path).tuning.kept["sm_89"] == other


def test_what_a_person_sees(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    manifest_text.write(desk.folder / "pluginkit.toml", {"sm_80": Kept(values={"threads": 512}, gpu=A100.name)})
    desk.wrong = {3: "y[0] is 1, expected 2"}
    assert cli.run(["tune", str(desk.folder), "--json", str(desk.folder / "tune.json")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "packs = 2, threads = 512" in said
    assert "1.053 x" in said
    assert "+5.3 %" in said
    assert "out of question: min/float32: y[0] is 1, expected 2" in said
    assert "sm_80: threads = 512 is kept (NVIDIA A100), not measured: no such GPU is here" in said
    assert "[[bench.shapes]]" in said, "these shapes are small"
    assert "Next: pluginkit build" in said
    assert json.loads((desk.folder / "tune.json").read_text())["found"][0]["kept"]["values"]["threads"] == 512


def test_the_usual_values_answer_wrongly(desk: Desk) -> None:
    desk.wrong = {0: "y[0] is 1, expected 2"}
    with pytest.raises(CheckFailed, match="by themselves: y"):
        tune(TuneOptions(desk.folder), measurer=desk.measurer)


def test_a_crash_leaves_the_manifest_and_what_was_measured(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = desk.toml
    real = Recorded.compare

    def compare(self: Recorded, case: BenchCase, sets: Sequence[int], rounds: int) -> Compared:
        if len(self.asked) == 1:
            raise PluginCrashed("the process ended with SIGSEGV")
        return real(self, case, sets, rounds)

    monkeypatch.setattr(Recorded, "compare", compare)
    assert cli.run(["tune", str(desk.folder)]) == PluginCrashed.exit_code
    assert "is kept in" in " ".join(capsys.readouterr().out.split())
    assert desk.toml == before


def test_tactics_for_what_is_faster_in_some_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an IPluginV3 alone: TensorRT times them."""
    project(tmp_path, monkeypatch, base="v3")

    class PerCase(Recorded):
        def compare(self, case: BenchCase, sets: Sequence[int], rounds: int) -> Compared:
            small = {"threads": 128, "packs": 1}
            first = {n: 0.5e-4 if self.sets[n] == small and "min" in case.id else faster(self.sets[n], 0) for n in sets}
            slow = {n: 3e-4 if self.sets[n] == small and "min" not in case.id else t for n, t in first.items()}
            return Compared({n: [t] * rounds for n, t in slow.items()}, {})

    report = tune(TuneOptions(tmp_path), measurer=lambda _o, _m, _g, sets, _p: PerCase(sets, faster))
    (one,) = report.found
    kept = Manifest.load(tmp_path).tuning.kept["sm_90"]
    assert kept.values == {"threads": 512, "packs": 2}
    assert kept.also == ({"threads": 128, "packs": 1},)
    assert one.kept == kept


def test_nothing_to_tune(desk: Desk) -> None:
    manifest = Manifest.load(desk.folder)
    (desk.folder / "src" / "leaky_kernel.cu").write_text(
        KERNEL.replace("kernels::tuned(stream, args.tactic)", "stream")
    )
    with pytest.raises(UsageError, match="nothing to tune"):
        candidates(desk.folder, manifest)
    (desk.folder / "src" / "leaky_kernel.cu").write_text("// kernels::launchElementwise(kernels::tuned(stream), n)")
    with pytest.raises(UsageError, match="nothing to tune"):
        candidates(desk.folder, manifest)
    (desk.folder / "src" / "leaky_kernel.cu").write_text("kernels::launchWith(kernels::tuned(stream), launch);")
    with pytest.raises(UsageError, match=r"no \[tuning.parameters\]"):
        candidates(desk.folder, manifest)


@pytest.mark.parametrize("name", gallery.COMMANDS)
def test_every_kernel_pattern_has_candidates_that_pluginkit_toml_takes(name: str, tmp_path: Path) -> None:
    folder = gallery.project(name, tmp_path)
    manifest = Manifest.load(folder)
    found = candidates(folder, manifest)
    assert found[0] == {}
    assert len(found) > 2
    text = (folder / "pluginkit.toml").read_text()
    for values in found[1:]:
        kept = ", ".join(f"{name} = {value}" for name, value in values.items())
        assert Manifest.parse(f"{text}\n[tuning.sm_90]\nvalues = {{ {kept} }}\n").tuning.sets() == [{}, values]


def test_parameters_of_a_kernel_of_ones_own(desk: Desk) -> None:
    (desk.folder / "src" / "leaky_kernel.cu").write_text("kernels::launchWith(kernels::tuned(stream), launch);")
    text = desk.toml + "\n[tuning.parameters]\nunroll_by = [4, 1, 2]\nthreads = [256, 512]\n"
    found = candidates(desk.folder, Manifest.parse(text))
    assert found[0] == {}
    assert {"unroll_by": 1, "threads": 512} in found
    assert len(found) == 6
    made = measuring_header(Manifest.parse(text).tuning, found)
    assert "kUnrollBy = 4" in made
    assert "PLUGINKIT_TUNING_MEASURED" in made
    many = text.replace("[4, 1, 2]", "[4, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13]")
    one = Manifest.parse(desk.toml + "\n[tuning.parameters]\nunroll = [4]\n")
    with pytest.raises(UsageError, match="each parameter has one value"):
        candidates(desk.folder, one)
    with pytest.raises(UsageError, match="24 at most"):
        candidates(desk.folder, Manifest.parse(many))


def test_no_gpu(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest_text.write(desk.folder / "pluginkit.toml", {"sm_80": Kept(values={"threads": 512})})
    monkeypatch.setattr(runner, "find_driver", lambda: DriverInfo(problem="no NVIDIA device here"))
    with pytest.raises(ToolMissing, match=r"no NVIDIA device here\. What pluginkit.toml has for sm_80 stays"):
        tune(TuneOptions(desk.folder), measurer=desk.measurer)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("[tuning.sm_90]\nvalues = { threads = 100 }", "threads = 100: a block has 32 to 1024 threads"),
        ("[tuning.sm_90]\nvalues = { thread = 128 }", "unknown value 'thread'; did you mean 'threads'?"),
        ("[tuning.sm_90]\nvalues = { packs = 99 }", "packs = 99"),
        ('[tuning.sm_90]\nvalues = { packs = "2" }', "must be a whole number"),
        ("[tuning.sm_90]\nvalues = { packs = 2.5 }", "must be a whole number"),
        ("[tuning.sm_90]\nvalue = { packs = 2 }", "unknown key 'value'"),
        ("[tuning.sm_90]\ngpu = 'x'", "values: is missing"),
        ("[tuning.h100]\nvalues = { packs = 2 }", "neither `parameters` nor an architecture"),
        ("[tuning.parameters]\nkUnroll = [1]", "not a name for it"),
        ("[tuning.parameters]\nunroll = []", "write the values to try"),
        ("[tuning.sm_90]\nvalues = { packs = 2", "not valid TOML"),
        ("[tuning.sm_90]\nvalues = { packs = 2 }\ngain = nan", "tuning.sm_90.gain: is nan"),
        ("[tuning.sm_90]\nvalues = { packs = 2 }\nnoise = -1.0", "tuning.sm_90.noise: is -1.0"),
        ("[tuning.parameters]\na_1 = [1, 2]\na1 = [3, 4]", "'a_1' and 'a1' are both kA1"),
    ],
)
def test_torn_and_unknown_values(section: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Manifest.parse(MANIFEST.format(base="v3") + section + "\n")
    assert said in str(caught.value)


def test_tactics_of_a_base_that_has_none() -> None:
    with pytest.raises(UsageError, match=r"sm_90\.also: is for tactics"):
        Manifest.parse(MANIFEST.format(base="dynamic") + "[tuning.sm_90]\nvalues = {}\nalso = [{ packs = 2 }]\n")


def test_comments_and_ends_of_lines_stay(desk: Desk) -> None:
    path = desk.folder / "pluginkit.toml"
    before = (
        desk.toml + "\n[tuning.sm_90] # measured\nvalues = { packs = 2 }\n\n# Of the tests.\n[test]\nstrict = true\n"
    )
    path.write_bytes(before.replace("\n", "\r\n").encode())
    manifest_text.write(path, {"sm_90": Kept(values={"threads": 512}, gpu='a "GPU"')})
    after = path.read_bytes().decode()
    assert "\r\n\r\n# Of the tests.\r\n[test]\r\nstrict = true\r\n" in after
    assert after.startswith("# A comment that stays.\r\n")
    assert Manifest.load(desk.folder).tuning.kept["sm_90"].gpu == 'a "GPU"'
    manifest_text.write(path, {"sm_90": Kept(values={"threads": 512}, gpu='a "GPU"')})
    assert path.read_bytes().decode() == after


def test_a_file_that_may_not_be_changed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk: the old manifest stays, and nothing lies beside it."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = desk.toml
    monkeypatch.setattr(Path, "write_bytes", full)
    assert cli.run(["tune", str(desk.folder)]) == UsageError.exit_code
    assert desk.toml == before
    assert sorted(one.name for one in desk.folder.iterdir()) == ["build", "pluginkit.toml", "src"]


def test_a_symbolic_link_stays_one(desk: Desk) -> None:
    path = desk.folder / "pluginkit.toml"
    path.rename(desk.folder / "real.toml")
    path.symlink_to("real.toml")
    manifest_text.write(path, {"sm_90": Kept(values={"threads": 512})})
    assert path.is_symlink()
    assert "[tuning.sm_90]" in (desk.folder / "real.toml").read_text()


def test_a_section_that_is_no_table_by_itself(desk: Desk) -> None:
    text = desk.toml.replace("[plugin]", "tuning = { sm_90 = { values = { packs = 2 } } }\n[plugin]")
    with pytest.raises(UsageError, match="by hand"):
        manifest_text.with_kept(text, "sm_90", Kept(values={"threads": 512}))


def test_the_header() -> None:
    section = (
        "[tuning.sm_90]\nvalues = { threads = 512 }\nalso = [{ packs = 2 }]\n[tuning.sm_80]\nvalues = { packs = 2 }\n"
    )
    made = header(Manifest.parse(MANIFEST.format(base="v3") + section).tuning)
    assert "using TuningSets = Tuned<TuningSet0, TuningSet1, TuningSet2>;" in made
    assert "case 90:\n        return 1;" in made
    assert "case 80:\n        return 2;" in made


def test_the_arithmetic() -> None:
    times = {0: [1.0, 1.1, 1.0], 1: [0.5, 0.55, 0.5], 2: [2.0, 2.2, 2.0]}
    assert choosing.speed(times, 1) == 2.0
    assert choosing.noise(times) == pytest.approx(0.1)
    assert choosing.fastest({"a": times}) == 1
    assert choosing.confirmed({"a": times, "b": times}, 1) == (pytest.approx(2.0), pytest.approx(0.1))
    assert not choosing.is_gain(1.09, 0.1)
    assert not choosing.is_gain(1.004, 0.0)
    assert choosing.is_gain(1.11, 0.1)
