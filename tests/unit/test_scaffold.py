"""`pluginkit new` without a compiler: what it refuses, and that what it writes agrees with the options."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pluginkit import cli, scaffold
from pluginkit.build.signature import cpp_namespace, header
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.scaffold import template
from pluginkit.scaffold.kernels.patterns import PATTERNS
from pluginkit.scaffold.names import python_module

ROOT = Path(scaffold.__file__).resolve().parents[2]

SIGNATURES: dict[str, dict[str, Any]] = {
    "default": {},
    "three in, two out": {
        "inputs": ["x:float32,float16,int8:n,c", "w:float32,float16:c", "index:int32:n"],
        "outputs": ["y:float32,float16,int8:n,c", "z:float32,float16:n,2"],
        "fields": ["alpha:float32=0.1", "bias:float32=-2.5", "shift:int32=3"],
        "namespace": "acme",
    },
    "index input": {"inputs": ["x:float32,float16:n,c", "index:int32:n,c"]},
    "no fields": {"inputs": ["x:float32,float16:n", "b:float32,float16:n"], "fields": []},
    "arithmetic": {
        "inputs": ["x:float32,int8:n,c", "b:float32,int8:m,3"],
        "outputs": ["y:float32,int8:n+m*2,min(c, 3)", "z:int32:ceil_div(n + m, 2)*(m-1+1)//1,max(c,2),4"],
        "fields": ["k:int32", "beta:float32=1e-5"],
        "namespace": 'a"c\\me',
        "version": "2-beta",
    },
    "formats": {
        "inputs": ["x:float32,float16,bfloat16,int8:n,6,h,w", "b:float32,bfloat16,int8:6,h,w", "k:int32:6"],
        "outputs": ["y:float32,float16,bfloat16,int8:n,6,h,w", "z:float32,bfloat16:n,h,w"],
        "formats": ["chw2", "chw4", "chw32", "hwc8", "hwc16", "hwc"],
    },
    "scalar": {"inputs": ["x:float16:"], "outputs": ["y:float16:"]},
    "one word": {"name": "Round", "inputs": ["x:int8:n"]},
    "ioext": {"base": "ioext"},
    "ioext, no batch": {
        "base": "ioext",
        "inputs": ["x:float32,int8:n,c", "i:int64:n"],
        "outputs": ["y:float32,int8:n+1,c*(n+2)", "z:int64:max(n,ceil_div(c,2)),7,c//2-1"],
        "fields": ["a:float32", "b:int32=3"],
    },
}


def make(folder: Path, **options: Any) -> Path:
    options = {"name": "MyPlugin", **options}
    return scaffold.new(options.pop("name"), directory=folder, **options)


def reference_of(project: Path) -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location("reference", project / "reference.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference  # type: ignore[no-any-return]


def files(project: Path) -> dict[str, str]:
    return {str(p.relative_to(project)): p.read_text() for p in sorted(project.rglob("*")) if p.is_file()}


X = "x:float32:n"
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no identifier": ({"name": "My-Plugin"}, "not a C++ identifier"),
    "digit first": ({"name": "2D"}, "not a C++ identifier"),
    "empty": ({"name": ""}, "not a C++ identifier"),
    "not ASCII": ({"name": "Plugün"}, "not a C++ identifier"),
    "newline": ({"name": "My\n"}, "not a C++ identifier"),
    "path": ({"name": "../evil"}, "not a C++ identifier"),
    "keyword": ({"name": "class"}, "C++ keyword"),
    "reserved": ({"name": "My__Plugin"}, "C++ reserves"),
    "leading underscore": ({"name": "_X"}, "not a C++ identifier"),
    "CMake target": ({"name": "Test"}, "CMake has a target of the name 'test'"),
    "system library": ({"name": "M"}, "the system has a library"),
    "entry": ({"name": "Entry"}, "a project has a file"),
    "long name": ({"name": "A" * 101}, "too long"),
    "TensorRT's": ({"name": "Dims"}, "TensorRT's headers have a type Dims"),
    "TensorRT's with Creator": ({"name": "IPlugin"}, "TensorRT's headers have a type IPluginCreator"),
    "field of the parser": ({"fields": ["plugin_version:int32=1"]}, "ONNX parser has an attribute of that name"),
    "above float32": ({"fields": ["a:float32=3.4028236e38"]}, "out of float32's range"),
    "tensor keyword": ({"inputs": ["float:float32:n"]}, "C++ keyword"),
    "tensor reserved": ({"inputs": ["__x:float32:n"]}, "C++ reserves"),
    "tensor reserved capital": ({"inputs": ["_X:float32:n"]}, "C++ reserves"),
    "tensor path": ({"inputs": ["../x:float32:n"]}, "not a C++ identifier"),
    "tensor Python keyword": ({"inputs": ["lambda:float32:n"]}, "Python keyword"),
    "tensor macro": ({"inputs": ["NULL:float32:n"]}, "macro"),
    "tensor type": ({"inputs": ["Input:float32:n"]}, "has a type of that name"),
    "tensor np": ({"inputs": ["np:float32:n"]}, "taken in reference.py"),
    "field Python keyword": ({"fields": ["None:float32=0"]}, "Python keyword"),
    "twice": ({"inputs": [X, X]}, "'x' is taken twice: an input and an input"),
    "in and out": ({"inputs": [X], "outputs": [X]}, "an input and an output"),
    "field as tensor": ({"fields": ["x:float32=1"]}, "an input and a field"),
    "field as scale": ({"fields": ["x_scale:float32=1"]}, "the scale field of x and a field"),
    "two fields": ({"fields": ["a:float32=1", "a:int32=1"]}, "a field and a field"),
    "unknown type": ({"inputs": ["x:float61:n"]}, "did you mean 'float16'?"),
    "field type": ({"fields": ["a:flota32=1"]}, "Unknown type 'flota32' in 'a:flota32=1'; did you mean 'float32'?"),
    "type twice": ({"inputs": ["x:float32,float32:n"]}, "names a type twice"),
    "no type": ({"inputs": ["x::n"]}, "Unknown type ''"),
    "unknown symbol": (
        {"inputs": ["x:float32:batch"], "outputs": ["y:float32:bacth"]},
        "unknown symbol 'bacth'; did you mean 'batch'?",
    ),
    "int8 only out": ({"inputs": [X], "outputs": ["y:float32,int8:n"]}, "int8, but no input has it"),
    "nothing to test": ({"inputs": ["x:int32:n"]}, "nothing to test"),
    "no base for new plugins": ({"base": "v2ext"}, "IPluginV2Ext) is for libraries that exist"),
    "bool": ({"inputs": ["x:float32:n", "b:bool:n"]}, "DataType:kBOOL and DataType::kUINT8 are not supported"),
    "uint8": ({"inputs": ["x:uint8:n"]}, "DataType:kBOOL and DataType::kUINT8 are not supported"),
    "int4": ({"inputs": ["x:float32:n", "w:int4:n"]}, "quantizes only weights to INT4"),
    "negative shape": ({"inputs": [X], "outputs": ["y:float32:n - 2000"]}, "cannot be negative"),
    "by zero": ({"inputs": [X], "outputs": ["y:float32:n // 0"]}, "divides by zero"),
    "unknown format": ({"formats": ["chw33"]}, "There is no format 'chw33'; did you mean 'chw32'?"),
    "DLA format": ({"formats": ["chw16"]}, "'chw16' is for DLA cores, which run no plugins"),
    "format of few dimensions": ({"inputs": [X], "formats": ["chw32"]}, "No tensor can have the format chw32."),
    "format of a type": ({"inputs": ["x:float32:n,c,h"], "formats": ["hwc8"]}, "No tensor can have the format hwc8."),
    "format of INT8": ({"inputs": ["x:float32,int8:n,c,h,w"], "formats": ["chw4"]}, "'x' has 'c'"),
    "format of ioext": ({"base": "ioext", "formats": ["chw32"]}, "knows linear tensors only"),
    "base": ({"base": "dinamic"}, "There is no base"),
    "input form": ({"inputs": ["x:n,c"]}, "does not describe an input"),
    "output form": ({"outputs": ["y"]}, "does not describe an output"),
    "field form": ({"fields": ["alpha"]}, "does not describe a field"),
    "no dimension": ({"inputs": ["x:float32:n,,c"]}, "empty dimension"),
    "bad dimension": ({"inputs": [X], "outputs": ["y:float32:n ** 2"]}, "'n ** 2' is not a dimension"),
    "computed input": ({"inputs": ["x:float32:n+1"]}, "must be a symbol or a whole number"),
    "negative input": ({"inputs": ["x:float32:-1"]}, "is not a dimension"),
    "rank": ({"inputs": ["x:float32:a,b,c,d,e,f,g,h,i"]}, "9 dimensions"),
    "huge dimension": ({"inputs": ["x:float32:99999999999"]}, "number above"),
    "foreign symbol": ({"inputs": ["x:float32:ñ"]}, "plain identifiers"),
    "long namespace": ({"namespace": "a" * 1024}, "1024 bytes"),
    "namespace bytes": ({"namespace": "n" * 1024}, "1024 bytes"),
    "long tensor name": ({"inputs": [f"{'x' * 4096}:float32:n"]}, "limit of 4095 bytes"),
    "version not ASCII": ({"version": "0.1-β"}, "not ASCII"),
    "unprintable namespace": ({"namespace": "a\nb"}, "cannot be printed"),
    "version": ({"version": ""}, "must not be empty"),
    "default": ({"fields": ["a:float32=half"]}, "is not a number of type float32"),
    "int default": ({"fields": ["a:int32=0.5"]}, "is not a number of type int32"),
    "float range": ({"fields": ["a:float32=1e39"]}, "out of float32's range"),
    "infinite": ({"fields": ["a:float32=inf"]}, "out of float32's range"),
    "int range": ({"fields": ["a:int32=2147483648"]}, "out of int32's range"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_are_refused_and_nothing_is_written(case: str, tmp_path: Path) -> None:
    options, message = BAD[case]
    with pytest.raises(UsageError) as caught:
        make(tmp_path / "here", **options)
    assert message in caught.value.message
    assert not list(tmp_path.iterdir())


def test_malformed_specs_show_the_expected_form(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        make(tmp_path, inputs=["x"])
    assert "x:float32,float16,int8:n,c,h,w" in caught.value.hint


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_an_existing_folder_is_left_alone(kind: str, tmp_path: Path) -> None:
    there = tmp_path / "my_plugin"
    {"folder": there.mkdir, "file": there.touch, "dangling link": lambda: there.symlink_to("nowhere")}[kind]()
    with pytest.raises(UsageError, match="exists already"):
        make(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["my_plugin"]


def test_a_failing_render_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(project: Path, short: str, *, added: bool) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pluginkit.scaffold.template.finish", fail)
    with pytest.raises(UsageError, match="No space left on device"):
        make(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_parent_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        make(tmp_path / "file")


@pytest.mark.parametrize("name", ["Int", "Std", "Round", "Select", "SizeT", "Bar"])
def test_namespaces_never_collide_with_the_language_or_the_c_library(name: str) -> None:
    assert cpp_namespace(name).endswith("_plugin")


@pytest.mark.parametrize(
    ("name", "module"),
    [("MyPlugin", "my_plugin"), ("Random", "random_plugin"), ("Numpy", "numpy_plugin"), ("Lambda", "lambda_plugin")],
)
def test_a_module_hides_no_other_one(name: str, module: str) -> None:
    assert python_module(name) == module


def test_what_is_written(tmp_path: Path) -> None:
    made = files(make(tmp_path))
    assert set(made) == {
        "pluginkit.toml", "CMakeLists.txt", "README.md", "reference.py", ".clang-format", ".gitignore",
        ".github/workflows/ci.yml", "src/my_plugin.cpp", "src/my_plugin.cu", "tests/test_my_plugin.py",
        "python/my_plugin.cpp",
    }  # fmt: skip
    assert made[".clang-format"] == (ROOT / ".clang-format").read_text()
    assert "PLUGINKIT_PLUGINS(MyPlugin, pluginkit::Creator<my_plugin::MyPlugin>)" in made["src/my_plugin.cpp"]
    assert "kernels::launchElementwise(kernels::tuned(run), run.count, Layer{run.fields}" in made["src/my_plugin.cu"]
    assert "NvInfer" not in made["src/my_plugin.cu"]


@pytest.mark.parametrize("base", ["dynamic", "ioext", "v3"])
@pytest.mark.parametrize("kernel", PATTERNS)
def test_how_many_lines_of_cpp_a_person_owns(kernel: str, base: str, tmp_path: Path) -> None:
    options = shlex.split(PATTERNS[kernel].example)
    if "--base" in options:
        options[options.index("--base") + 1] = base
    if cli.run(["new", "MyPlugin", "--dir", str(tmp_path), "--kernel", kernel, *options, "--base", base]):
        assert base != "v3"  # which all patterns are for
        return
    lines = {path.suffix: len(path.read_text().splitlines()) for path in (tmp_path / "my_plugin" / "src").iterdir()}
    assert lines[".cpp"] <= 20
    assert lines[".cu"] <= (60 if kernel == "elementwise" else 120), lines


def test_the_readme_says_what_the_signature_says(tmp_path: Path) -> None:
    project = scaffold.new(
        "Rows",
        directory=tmp_path,
        inputs=["x:float32:n,c", "size:int64:1:values=m"],
        outputs=["y:float32:n,c:alias=x:valid=kept", "kept:int32:", "z:int64:count", "count:int32::upper=n:opt=1",
                 "w:float32:m"],
        fields=["axes:int64[]:-2..1=0,1", "mode:string:up,a|b=up", "weights:float32[c]", "k:int64:0..=3"],
        base="v3",
        workspace="n * 4",
    )  # fmt: skip
    text = (project / "README.md").read_text()
    for line in (
        "| input `size`, a shape input: `m` | int64 | `[1]` |",
        "| output `y`, in the memory of `x`, of which `kept` rows mean something | float32 | `[n, c]` |",
        "| output `count`, a size tensor of at most `n` | int32 | `[]` |",
        "| `axes` | int64[0..64], at least -2, at most 1 | `[0, 1]` |",
        '| `mode` | string: `"up"`, `"a\\|b"` | `"up"` |',
        "| `weights` | float32[c] | must be given |",
        "| `k` | int64, at least 0 | `3` |",
        "Workspace: `n * 4` bytes.",
    ):
        assert line in text.splitlines()
    plain = (scaffold.new("Plain", directory=tmp_path) / "README.md").read_text()
    assert "Scratch" not in plain
    assert "| `alpha` | float32 | `0.5` |" in plain


@pytest.mark.parametrize(
    ("types", "fields", "option", "layer"),
    [
        ("float32", ["a:float32=1"], "", "the input"),
        ("float32,float16", ["a:float32=1", "b:float32=1"], "; --fp32 for that one only",
         "the sum of the input and the fields but a"),
        ("float16,int8", None, "; --int8 for that one only", "the input"),
    ],
)  # fmt: skip
def test_texts_name_the_precisions_and_terms_that_there_are(
    types: str, fields: list[str] | None, option: str, layer: str, tmp_path: Path
) -> None:
    project = scaffold.new("My", directory=tmp_path, inputs=[f"x:{types}:n,c"], fields=fields)
    readme = (project / "README.md").read_text()
    assert f"against reference.py{option}\n" in readme
    assert ("and `scale`" in readme) == ("int8" in types)
    assert f'"""Leaky ReLU of {layer}.' in (project / "reference.py").read_text()
    assert f"a leaky ReLU of {layer}." in (project / "src" / "my.cu").read_text()


def test_double_braces_of_cpp_survive_the_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    changed = tmp_path / "template"
    shutil.copytree(template.PROJECT, changed)
    tricky = "// {#pragma#} {% if %} {{cookiecutter}} %=\nstd::array<int, 2> a{{1, 2}};\n"
    source = changed / "@{cookiecutter.__slug}@" / "src" / "@{cookiecutter.__slug}@.cpp"
    source.write_text(source.read_text() + tricky)
    text = (make(tmp_path) / "pluginkit.toml").read_text()
    monkeypatch.setattr(template, "PROJECT", changed)
    rendered = template.render(text, changed, "elementwise")
    assert (rendered / "src" / "my_plugin.cpp").read_text().endswith(tricky)


PLAIN: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "nothing": ({}, {}),
    "all": (
        {
            "name": "Other",
            "inputs": "x:float32,int8:n,6,h,w; b:float32:6",
            "outputs": "y:float32,int8:n,6,h,w; z:float32:min(n, 2)",
            "fields": "",
            "namespace": 'a"c\\me',
            "version": "2",
            "base": "v3",
            "formats": "chw4;chw32",
            "workspace": "4 * n",
        },
        {
            "name": "Other",
            "inputs": ["x:float32,int8:n,6,h,w", "b:float32:6"],
            "outputs": ["y:float32,int8:n,6,h,w", "z:float32:min(n, 2)"],
            "fields": [],
            "namespace": 'a"c\\me',
            "version": "2",
            "base": "v3",
            "formats": ["chw4", "chw32"],
            "workspace": "4 * n",
        },
    ),
}


@pytest.mark.parametrize("case", PLAIN)
def test_plain_cookiecutter_makes_what_new_makes(case: str, tmp_path: Path) -> None:
    answers, options = PLAIN[case]
    command = [sys.executable, "-m", "cookiecutter", "--no-input", "-o", tmp_path / "plain", template.PROJECT]
    done = subprocess.run(
        [*command, *(f"{key}={value}" for key, value in answers.items())],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    project = make(tmp_path, **options)
    assert files(tmp_path / "plain" / project.name) == files(project)


def test_new_leaves_nothing_in_the_home_folder_and_reads_nothing_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".cookiecutterrc").write_text("default_context:\n    name: NotThisOne\n")
    monkeypatch.setenv("HOME", str(home))
    command = [sys.executable, "-m", "pluginkit", "new", "MyPlugin", "--dir", str(tmp_path)]
    subprocess.run(command, capture_output=True, check=True)
    assert [path.name for path in home.iterdir()] == [".cookiecutterrc"]
    assert "NotThisOne" not in (tmp_path / "my_plugin" / "pluginkit.toml").read_text()


@pytest.mark.parametrize("case", SIGNATURES)
def test_rendered_files_are_clean(case: str, tmp_path: Path) -> None:
    project = make(tmp_path, **SIGNATURES[case])
    for name, text in files(project).items():
        assert not re.search(r"Undefined|@\{|\}@|@%|%@|@#|#@|cookiecutter", text), name
        assert not re.search(r"[ \t]$|\n\n\n\n|\n\n\Z", text, re.MULTILINE), name
        assert text.endswith("\n"), name
    tool = Path(sys.executable).with_name("clang-format")
    sources = sorted((project / "src").iterdir())
    subprocess.run([tool, "--dry-run", "-Werror", "--style=file", *sources], check=True)
    subprocess.run([tool.with_name("ruff"), "format", "--isolated", "--check", project], check=True)


@pytest.mark.parametrize("case", SIGNATURES)
def test_the_generated_reference_test_passes(case: str, tmp_path: Path) -> None:
    project = make(tmp_path, **SIGNATURES[case])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "worked_out_by_hand"]
    done = subprocess.run(
        [*command, f"--rootdir={project}", project / "tests"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def expected(
    manifest: Manifest, inputs: list[np.ndarray[Any, Any]], fields: list[float], env: dict[str, int]
) -> list[Any]:
    """The generated layer's meaning, element by element and nothing of NumPy's repetition."""
    results = []
    for k, shape in enumerate(manifest.output_shapes(env).values()):
        flat = []
        for i in range(int(np.prod(shape, dtype=int))):
            s = sum(float(x.ravel()[i % x.size]) if x.size else 0.0 for x in inputs) + sum(fields[1:])
            whole = manifest.outputs[k].types in [(DType.INT32,), (DType.INT64,)]
            flat.append((k + 1) * (s >= 0 if whole else s if s >= 0 else (fields[0] if fields else 0.25) * s))
        results.append(np.array(flat, dtype=float).reshape(shape))
    return results


def check_against_formula(project: Path, env: dict[str, int], seed: int) -> None:
    manifest = Manifest.load(project)
    rng = np.random.default_rng(seed)
    inputs = [rng.integers(-9, 9, shape).astype(float) / 4 for shape in manifest.input_shapes(env).values()]
    plain = [field for field in manifest.fields if field.name not in manifest.scale_fields()]
    values = {f.name: (2 if f.default is None else f.default) for f in plain}
    outputs = reference_of(project)(*inputs, **values)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    wanted = expected(manifest, inputs, list(values.values()), env)
    assert len(outputs) == len(wanted)
    for got, want in zip(outputs, wanted, strict=True):
        assert np.shape(got) == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("point", ["min", "opt", "max"])
@pytest.mark.parametrize("case", SIGNATURES)
def test_the_reference_means_what_is_documented(case: str, point: Any, tmp_path: Path) -> None:
    project = make(tmp_path, **SIGNATURES[case])
    check_against_formula(project, Manifest.load(project).profiles[0].at(point), seed=1)


def test_an_empty_input_counts_as_zeros(tmp_path: Path) -> None:
    project = make(tmp_path, inputs=["x:float32:n", "b:float32:m"])
    check_against_formula(project, {"n": 3, "m": 0}, seed=2)


names = st.from_regex(r"[a-z][a-z0-9]{0,6}_t[0-9]", fullmatch=True)
symbols = st.sampled_from(["n", "c", "h", "w"])


@st.composite
def signatures(draw: st.DrawFn) -> dict[str, Any]:
    # A plugin has not both at once.
    left_out = draw(st.sampled_from([DType.INT8, DType.FLOAT8]))
    any_type = st.sampled_from([kind.value for kind in DType if kind is not left_out])
    types = st.lists(any_type, min_size=1, max_size=4, unique=True)
    count_in, count_out, count_fields = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(0, 3))
    named = draw(st.lists(names, min_size=count_in + count_out + count_fields, max_size=99, unique=True))
    dims = st.lists(st.one_of(symbols, st.integers(1, 5).map(str)), min_size=0, max_size=4)
    shapes = [["n", *draw(dims)], *([draw(dims) for _ in range(count_in - 1)])]
    kinds = [
        draw(types.filter(lambda kinds: set(kinds) - {"int32", "int64"})),
        *(draw(types) for _ in range(count_in - 1)),
    ]
    known = sorted({dim for shape in shapes for dim in shape if not dim.isdigit()})
    available = sorted({kind for each in kinds for kind in each} | {"int32", "int64"})
    pick = st.sampled_from(known)
    computed = st.builds("{}{}{}".format, pick, st.sampled_from(["+", "*"]), st.one_of(pick, st.just("2")))
    out_dims = st.lists(st.one_of(pick, computed, st.builds("max({}, {})".format, pick, pick)), min_size=0, max_size=3)
    chosen = st.lists(st.sampled_from(available), min_size=1, max_size=4, unique=True)
    outputs = [(draw(chosen), draw(st.one_of(out_dims, st.sampled_from(shapes)))) for _ in range(count_out)]
    tensors = [
        f"{name}:{','.join(kind)}:{','.join(shape)}"
        for name, (kind, shape) in zip(named, [*zip(kinds, shapes, strict=True), *outputs], strict=False)
    ]
    defaults = st.sampled_from(["float32=-0.75", "int32=2", "float32=0.5"])
    fields = [f"{name}:{draw(defaults)}" for name in named[len(tensors) :][:count_fields]]
    return {"inputs": tensors[:count_in], "outputs": tensors[count_in:], "fields": fields}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(options=signatures(), seed=st.integers(0, 99))
def test_any_signature_lands_in_the_manifest_and_the_reference(
    options: dict[str, Any], seed: int, tmp_path_factory: Any
) -> None:
    try:
        project = make(tmp_path_factory.mktemp("any"), **options)
    except UsageError as error:
        # Outputs of two types where the inputs have the same: no plugin can answer so.
        assume("the inputs are the same" not in error.message)
        raise
    manifest = Manifest.load(project)
    for key, tensors in (("inputs", manifest.inputs), ("outputs", manifest.outputs)):
        assert len(tensors) == len(options[key])
        for text, tensor in zip(options[key], tensors, strict=True):
            name, kinds, _ = text.split(":")
            assert tensor.name == name
            assert ",".join(tensor.types) == kinds
            assert tensor.scale == (f"{name}_scale" if {"int8", "float8"} & {*kinds.split(",")} else None)
    plain = [f for f in manifest.fields if f.name not in manifest.scale_fields()]
    assert [(f.name, f.type, float(f.default or 0)) for f in plain] == [
        (t.split(":")[0], t.split(":")[1].split("=")[0], float(t.split("=")[1])) for t in options["fields"]
    ]
    rng = np.random.default_rng(seed)
    check_against_formula(project, {symbol: int(rng.integers(1, 5)) for symbol in manifest.symbols()}, seed)


def test_the_command_says_what_it_made_and_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["new", "MyPlugin", "--namespace", "acme", "--version", "3", "--field", "beta:int32=1"]) == 0
    out = capsys.readouterr().out
    for message in ("my_plugin.cpp", "cd my_plugin\n", "pluginkit build\n", "pluginkit test --int8\n"):
        assert message in out
    manifest = Manifest.load(tmp_path / "my_plugin")
    assert (manifest.plugin.namespace, manifest.plugin.version, manifest.fields[0].name) == ("acme", "3", "beta")
    assert cli.run(["new", "MyPlugin"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert cli.run(["new", "Other", "--no-fields", "--field", "a:int32=1"]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["my_plugin"]


def test_nothing_is_written_into_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    make(tmp_path / "work")
    assert not list(home.iterdir())


def test_the_choice_of_ioext_is_commented_on(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from pluginkit.cli.project.new import command

    text = {
        base: CliRunner().invoke(command, ["MyPlugin", "--base", base, "--dir", str(tmp_path / base)]).output
        for base in ("dynamic", "ioext")
    }
    assert "Note: IPluginV2IOExt takes static shapes only" in text["ioext"]
    assert "dynamic (IPluginV2DynamicExt) is usually better, and v3 (IPluginV3)" in text["ioext"]
    assert "Note" not in text["dynamic"]
    profiles = Manifest.load(tmp_path / "ioext" / "my_plugin").profiles
    assert [set(map(len, map(set, profile.symbols.values()))) for profile in profiles] == [{1}, {1}]


def test_the_largest_float_as_a_c_header_writes_it(tmp_path: Path) -> None:
    project = make(tmp_path, fields=["alpha:float32=3.40282347e+38"])
    assert "3.40282347e+38F" in header(Manifest.load(project))


def test_names_that_python_has_too_and_no_generated_line_calls(tmp_path: Path) -> None:
    names = ["filter", "id", "input", "round", "slice", "sorted"]
    project = make(tmp_path, fields=[f"{name}:int32=2" for name in names])
    (test,) = (project / "tests").glob("test_*.py")
    runpy.run_path(str(test))["test_the_reference_on_numbers_worked_out_by_hand"]()


def test_many_dimensions_have_few_elements(tmp_path: Path) -> None:
    """A reference of millions of elements in a hundred cases would not come to an end."""
    for base in ("dynamic", "ioext"):
        project = make(tmp_path / base, inputs=["x:float32:n,c,d,h,w,t"], base=base)
        manifest = Manifest.load(project)
        largest = max(int(np.prod(s)) for p in manifest.profiles for s in manifest.input_shapes(p.at("max")).values())
        assert 64 <= largest <= 2**17
