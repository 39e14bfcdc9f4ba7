"""Which variants fit which systems, and why not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.errors import UsageError
from pluginkit.installation import tensorrt8
from pluginkit.registry.bundles import compatibility, systems
from pluginkit.registry.bundles.bundle import BundleGpuCode, Variant
from pluginkit.registry.bundles.systems import System, described


def code(text: str) -> BundleGpuCode:
    kind, number = text.split("_")
    digits = number.rstrip("af")
    suffix = number[len(digits) :]
    return BundleGpuCode.model_validate(
        {"kind": {"sm": "SASS", "compute": "PTX"}[kind], "arch": int(digits), "suffix": suffix}
    )


def variant(*codes: str, **facts: object) -> Variant:
    output = {
        "digest": "sha256:" + "0" * 64, "size": 1, "file": "libx.so", "os": "linux", "machine": "x86_64",
        "floors": {"GLIBC": "2.28", "GLIBCXX": "3.4.25"}, "target": "gpu" if codes else "cpu",
        "gpu_code": tuple(map(code, codes)), "hosts": ("tensorrt-10", "tensorrt-rtx"), **facts,
    }  # fmt: skip
    return Variant.model_validate(output)


@pytest.mark.parametrize(
    ("output", "runs_on", "not_on"),
    [
        # Of machine code: the same major version, an equal or later minor one.
        ("sm_80", [80, 86, 89], [75, 90, 120]),
        ("sm_86", [86, 89], [80, 87, 90]),
        ("sm_90", [90], [89, 100]),
        ("sm_100", [100, 103], [90, 120, 101]),
        # a: that one alone; f: its family.
        ("sm_90a", [90], [100]),
        ("sm_100f", [100, 103], [120, 101]),
        ("sm_120f", [120, 121], [100]),
        # Jetson's are apart, both ways.
        ("sm_87", [87], [86, 89]),
        ("sm_72", [72], [75]),
        # PTX: everything later.
        ("compute_80", [80, 87, 90, 120], [75]),
        ("compute_90a", [90], [100]),
    ],
)
def test_gpu_code(output: str, runs_on: list[int], not_on: list[int]) -> None:
    for sm in runs_on:
        assert compatibility.runs(code(output), sm), sm
    for sm in not_on:
        assert not compatibility.runs(code(output), sm), sm


@pytest.mark.parametrize(
    ("one", "system", "message"),
    [
        (variant(), "machine=aarch64", "for x86_64, not aarch64"),
        (variant(), "glibc=2.27", "needs GLIBC 2.28; there is 2.27"),
        (variant(), "glibcxx=3.4.24", "needs GLIBCXX 3.4.25; there is 3.4.24"),
        (variant(), "tensorrt=11.1", "not a library for TensorRT 11.1"),
        (variant(), "sm=89", "kernels run on the host"),
        (variant(), "target=gpu", "of target cpu, not gpu"),
        (variant("sm_80"), "target=cpu", "of target gpu, not cpu"),
        (variant("sm_80"), "sm=90", "no code for sm_90: sm_80"),
        (variant("sm_80", cuda="13.0"), "sm=80,cuda=12.9", "CUDA 13.0; the driver there supports 12.9"),
        (variant("compute_80", cuda="12.9"), "sm=80,cuda=12.4", "CUDA 12.9"),
    ],
)
def test_misfits(one: Variant, system: str, message: str) -> None:
    (output,) = compatibility.misfits(one, described(system))
    assert message in output


@pytest.mark.parametrize(
    ("one", "system"),
    [
        (variant(), "glibc=2.28,glibcxx=3.4.25,tensorrt=10.13,sm=none"),
        (variant(), "glibc=2.100"),
        (variant(), "rtx=1.7"),
        (variant(), "target=cpu,sm=89"),
        (variant("sm_80"), "sm=8.6"),
        (variant("sm_80"), "sm=none"),
        (variant("sm_80", "compute_80"), "sm=120"),
        (variant("sm_80", cuda="13.1"), "sm=80,cuda=13.0"),
        (variant("sm_80", cuda=""), "sm=80,cuda=12.0"),
    ],
)
def test_what_fits(one: Variant, system: str) -> None:
    assert compatibility.misfits(one, described(system)) == []


def test_what_is_not_known_is_said() -> None:
    output = compatibility.remarks(variant("sm_80"), described("machine=x86_64"))
    assert any("GLIBC 2.28" in one for one in output)
    assert any("the GPU there is not known" in one for one in output)
    assert any("which TensorRT" in one for one in output)
    assert any("no GPU is there" in one for one in compatibility.remarks(variant("sm_80"), described("sm=none")))


def test_the_best_of_those_that_fit() -> None:
    on_cpu, sass, ptx = variant(), variant("sm_80"), variant("compute_70")
    for system, best in (("sm=86", sass), ("sm=none", on_cpu), ("machine=x86_64", sass)):
        ones = [one for one in (on_cpu, ptx, sass) if not compatibility.misfits(one, described(system))]
        found = max(ones, key=lambda one: compatibility.preference(one, described(system)))
        assert found.target == best.target, system
    assert compatibility.preference(sass, described("sm=86")) > compatibility.preference(ptx, described("sm=86"))


@pytest.mark.parametrize(
    "text",
    ["", "sm", "sm=", "sm=new", "sm=8.65", "tensorrt=9.3", "tensorrt=8.4", "tensorrt=ten", "gpu=1", "target=tpu",
     "glibc=", "=", "tensorrt=10,,sm"],
)  # fmt: skip
def test_systems_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageError, match=r"--for|TensorRT"):
        described(text)


@given(st.text())
def test_any_text_is_a_system_or_an_error_of_the_user(text: str) -> None:
    try:
        found = described(text)
    except UsageError:
        return
    assert isinstance(found, System)


def test_a_tensorrt_8_that_is_named_is_this_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tensorrt8.PYTHON, "/opt/python3.10")
    found = tensorrt8.TensorRT8("/opt/python3.10", "8.5.3.1")
    monkeypatch.setattr(tensorrt8, "find", lambda: found)
    here = systems.this_machine()
    assert (here.host, here.tensorrt) == ("tensorrt-8", "8.5.3.1")
    found = tensorrt8.TensorRT8("/opt/python3.10", "8.5.3.1", problem="it lacks numpy")
    assert systems.this_machine().tensorrt != "8.5.3.1"


def test_a_systems_key_describes_it() -> None:
    found = described("sm=8.9, tensorrt=10.13 ,glibc=2.31")
    assert found.key == "tensorrt=10.13,sm=89,glibc=2.31,machine=x86_64"
    assert described(found.key).key == found.key
    here = systems.this_machine()
    assert described(here.key).key == here.key
    assert here.machine
    assert here.floors["GLIBC"]
    assert here.floors["GLIBCXX"]
