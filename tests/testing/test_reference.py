"""The user's reference.py, right and wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.testing.plan import else_factor, field_values, plan
from pluginkit.testing.points import points
from pluginkit.testing.reference import Reference

from .conftest import BAR, LEAKY

X = np.ones((1, 2, 3, 3))
FORM = "def reference(x, *, alpha): ..."


def written(folder: Path, text: str) -> Path:
    (folder / "reference.py").write_text(text)
    return folder


def test_loads_and_runs_from_the_project_folder(tmp_path: Path) -> None:
    folder = written(tmp_path, "import numpy as np\ndef reference(x, *, alpha):\n    return np.maximum(x, alpha * x)\n")
    (y,) = Reference.load(folder, LEAKY)([-X], {"alpha": 0.5})
    assert (y == -0.5).all()
    assert y.dtype == np.float64
    assert [path.name for path in tmp_path.iterdir()] == ["reference.py"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def referense(x): ...", "reference.py has no function 'reference'"),
        ("reference = 3", "has no function 'reference'"),
        ("x = 1\nimport no_such_module_here\n", "reference.py, line 2: ModuleNotFoundError: No module named"),
        ("x = (\n", "reference.py, line 1: SyntaxError"),
        ("raise SystemExit(3)", "reference.py, line 1: SystemExit: 3"),
    ],
)
def test_what_cannot_be_loaded(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Reference.load(written(tmp_path, text), LEAKY)
    assert message in caught.value.message
    assert caught.value.hint


def test_a_missing_file_says_what_it_must_hold(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"reference.py cannot be read: No such file") as caught:
        Reference.load(tmp_path, LEAKY)
    assert FORM in caught.value.hint


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = 1\n    raise ValueError('no')", "line 4: reference() raised ValueError: no"),
        ("raise SystemExit('out')", "reference() raised SystemExit: out"),
        ("return x, x", "returned 2 output(s); the manifest has 1: y"),
        (
            "return x[0]",
            "returned shape [2, 3, 3] for output 'y'; expected [1, 2, 3, 3], which is (n, c, h, w)",
        ),
        ("return x.astype(str)", "for output 'y'; expected real numbers"),
        ("return x * 1j", "returned complex128 for output 'y'; expected real numbers"),
        ("return None", "returned object for output 'y'; expected real numbers"),
        ("return ([[1, 2], [3]],)", "returned a ragged sequence for output 'y'"),
        ("x[0, 1, 2, 0] = np.nan\n    return x", "returned NaN for output 'y' at index [0, 1, 2, 0]"),
    ],
)
def test_what_a_call_does_wrong(tmp_path: Path, body: str, message: str) -> None:
    text = f"import numpy as np\ndef reference(x, *, alpha):\n    {body}\n"
    reference = Reference.load(written(tmp_path, text), LEAKY)
    with pytest.raises(CheckFailed) as caught:
        reference([X], {"alpha": 0.5})
    assert message in caught.value.message
    assert str(tmp_path / "reference.py") in caught.value.message
    # Which of many calls it was.
    assert caught.value.message.endswith("\nThat is for x [1, 2, 3, 3], alpha = 0.5.")
    assert FORM in caught.value.hint


def test_one_that_is_not_written_is_to_be_written(tmp_path: Path) -> None:
    text = "def reference(x, *, alpha):\n    raise NotImplementedError('say what the layer means')\n"
    with pytest.raises(CheckFailed, match=r"line 2: .* NotImplementedError: say what") as caught:
        Reference.load(written(tmp_path, text), LEAKY)([X], {"alpha": 0.5})
    assert caught.value.hint.startswith("Write in reference()")


def test_a_wrong_signature_is_the_references_fault(tmp_path: Path) -> None:
    reference = Reference.load(written(tmp_path, "def reference(x): return x"), LEAKY)
    with pytest.raises(CheckFailed, match=r"TypeError: .*alpha"):
        reference([X], {"alpha": 0.5})


def test_too_large_tensors_are_the_profiles_fault(tmp_path: Path) -> None:
    reference = Reference.load(written(tmp_path, "def reference(x, *, alpha): raise MemoryError"), LEAKY)
    with pytest.raises(CheckFailed, match=r"needs more memory than there is\.\nThat is for x \[1, 2, 3, 3\]") as caught:
        reference([X], {"alpha": 0.5})
    assert "[[profiles]]" in caught.value.hint


def test_nan_is_right_where_inputs_are_not_finite() -> None:
    reference = Reference(LEAKY, lambda x, *, alpha: x - x)
    (y,) = reference([np.full((1, 1, 1, 1), np.inf)], {"alpha": 0.5})
    assert np.isnan(y).all()


def test_a_reference_cannot_change_its_inputs() -> None:
    def reference(x: np.ndarray, *, alpha: float) -> np.ndarray:
        x *= 2
        return x

    given = X.copy()
    Reference(LEAKY, reference)([given], {"alpha": 0.5})
    assert (given == X).all()


def test_a_wrong_reference_fails_the_plan() -> None:
    with pytest.raises(CheckFailed, match="returned 1 output"):
        plan(BAR, Reference(BAR, lambda a, b: a))


@pytest.mark.parametrize(
    ("function", "factor"),
    [
        (lambda x, *, alpha: np.where(x > 0, x, alpha * x), -1.0),
        (lambda x, *, alpha: x * x, 0.5),
        (lambda x, alpha: np.sqrt(x), 0.5),
        (lambda x, alpha: np.zeros_like(x), -1.0),
    ],
)
def test_the_other_branchs_factor_changes_the_outputs(function: object, factor: float) -> None:
    tried = points(LEAKY, 0)
    for point in tried:
        point.feeds["x"] = np.abs(point.feeds["x"]) + 0.125 if factor == 0.5 else point.feeds["x"]
    assert else_factor(LEAKY, Reference(LEAKY, function), field_values(LEAKY), tried) == factor
