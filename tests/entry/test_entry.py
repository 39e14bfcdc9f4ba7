"""The library itself: what it exports, which host gets what, and the adapter's calls in their order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pluginkit import layouts

from . import building

HERE = Path(__file__).parent

pytestmark = pytest.mark.compile
COMPILERS = pytest.mark.parametrize("cxx", ["g++", "clang++"])
V3 = "PLUGIN CREATOR_V3ONE"
V2 = "PLUGIN CREATOR_V1"


@pytest.fixture(scope="module", params=["g++", "clang++"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return building.all_layouts(tmp_path_factory.mktemp("entry"), HERE / "entry.cpp", "Echo", request.param)


def python(code: str, *arguments: object) -> list[str]:
    """Runs code in a process of its own, with `sys.argv[1:]` and ctypes; the lines that it prints."""
    head = "import ctypes, sys\nB, P = ctypes.c_bool, ctypes.c_char_p\n"
    return building.run(sys.executable, "-c", head + code, *map(str, arguments)).splitlines()


def test_exports(library: Path) -> None:
    assert building.exports(library) == {*building.EXPORTED, "initEchoPlugins"}
    needed = building.run("readelf", "-d", library)
    assert "nvinfer" not in needed


def test_unloads(library: Path) -> None:
    """Nothing pins the library in the process as long as no registry points into it."""
    code = """
library = ctypes.CDLL(sys.argv[1])
ctypes.CDLL(None).dlclose(ctypes.c_void_p(library._handle))
print(sys.argv[1] in open("/proc/self/maps").read())
"""
    assert python(code, library) == ["False"]


LOAD = """
library, host = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
kind = ctypes.create_string_buffer(64)
gives = getattr(library, sys.argv[4] if len(sys.argv) > 4 else "getCreators")
print(host.fakeLoad(library.setLoggerFinder, gives, sys.argv[3] == "finder", kind, 64))
print(kind.value.decode())
"""


@pytest.mark.parametrize(
    ("version", "layout", "wanted"),
    [
        (100000, 10, "V2 of 101600"),
        (101600, 10, "V2 of 101600"),
        (109999, 10, "V2 of 101600"),
        (110000, 11, "V2 of 110100"),
        (120000, 11, "V2 of 110100"),
        (10400, 10, V3),  # TensorRT-RTX
        (10701, 11, V3),
        (8503, 8, "V2 of 8503"),
        (8612, 8, "V2 of 8503"),
        (8499, 10, None),
        (8700, 10, None),
    ],
)
def test_who_gets_what(library: Path, tmp_path: Path, version: int, layout: int, wanted: str | None) -> None:
    gives = layouts.layout(layout).creators_by
    saw = python(LOAD, library, building.fake_tensorrt(tmp_path, version, layout), "finder", gives)
    assert saw == (["1", wanted] if wanted else ["0", ""])


@pytest.mark.parametrize(("version", "layout"), [(101600, 10), (110100, 11), (10701, 11)])
def test_later_registries_find_nothing_in_the_old_function(
    library: Path, tmp_path: Path, version: int, layout: int
) -> None:
    """A creator of TensorRT 8 lies otherwise: a registry that took one would call wrong methods."""
    host = building.fake_tensorrt(tmp_path, version, layout)
    assert python(LOAD, library, host, "finder", "getPluginCreators") == ["0", ""]


def test_without_a_finder(library: Path, tmp_path: Path) -> None:
    """Nobody says who loads: layout 11."""
    assert python(LOAD, library, building.fake_tensorrt(tmp_path, 101600, 10), "none") == ["1", "V2 of 110100"]


INIT = """
libraries = [ctypes.CDLL(path) for path in sys.argv[2:]]
init = ctypes.CDLL(sys.argv[1]).initEchoPlugins
init.restype, init.argtypes = B, [ctypes.c_void_p, P]
print([init(None, name) for name in (b"acme", b"acme", b"b", None)])
for library in libraries:
    library.fakeSaid.restype = P
    print(library.fakeSaid().decode())
"""


def test_init_reaches_every_registry(library: Path, tmp_path: Path) -> None:
    """TensorRT 8, 10 and 11, and RTX with the one registry layout and the other, in one process."""
    hosts = [(101600, 10), (110400, 11), (10400, 10), (10701, 11), (8503, 8), (8612, 8)]
    saw = python(INIT, library, *(building.fake_tensorrt(tmp_path, *host) for host in hosts))
    assert saw[0] == "[True, True, True, True]"
    kinds = [V2, V2, V3, V3]
    assert saw[1:5] == [f"{kind}@acme;{kind}@b;{kind}@;" for kind in kinds]
    # The creator has the namespace before it is registered.
    assert saw[5:] == ["V8 acme@acme;V8 b@b;V8 @;"] * 2


def test_a_library_may_register_itself_in_8(tmp_path: Path) -> None:
    """For programs that only open it; later TensorRT's have loadLibrary."""
    library = building.all_layouts(tmp_path, HERE / "on_load.cpp", "Echo")
    hosts = [building.fake_tensorrt(tmp_path, *host) for host in ((8503, 8), (101600, 10), (110400, 11), (10701, 11))]
    code = INIT[: INIT.index("print")].replace(
        "init.restype", "said = [one.fakeSaid for one in libraries]\ninit.restype"
    )
    code += """
for one in said:
    one.restype = P
    print(one().decode())
print(init(None, b""), init(None, b"acme"))
print(said[0]().decode())
"""
    saw = python(code, library, *hosts)
    assert saw[:4] == ["V8 @;", "", "", ""]
    # Registered once: the init function finds it there.
    assert saw[4:] == ["True True", "V8 @;V8 acme@acme;"]
    after = LOAD.replace("library, host = ", "host = ctypes.CDLL(sys.argv[2])\nlibrary, host = ")
    assert python(after, library, hosts[0], "finder", "getPluginCreators") == ["0", ""]
    assert python(after, library, hosts[1], "finder", "getCreators") == ["1", "V2 of 101600"]


def test_init_without_tensorrt(library: Path) -> None:
    assert python(INIT, library) == ["[False, False, False, False]"]


def test_init_with_an_old_tensorrt(library: Path, tmp_path: Path) -> None:
    assert python(INIT, library, building.fake_tensorrt(tmp_path, 8499, 10)) == ["[False, False, False, False]", ""]


def test_init_of_one_layout(tmp_path: Path) -> None:
    """A library without the other layout's half keeps its hands off that registry."""
    only_11 = building.one_layout(tmp_path, HERE / "entry.cpp", 11)
    assert python(INIT, only_11, building.fake_tensorrt(tmp_path, 101600, 10)) == ["[False, False, False, False]", ""]
    assert python(INIT, only_11, building.fake_tensorrt(tmp_path, 110100, 11))[0] == "[True, True, True, True]"


def test_init_where_a_registry_refuses(library: Path, tmp_path: Path) -> None:
    code = INIT.replace("init = ", "[one.fakeRefuse() for one in libraries]\ninit = ")
    assert python(code, library, building.fake_tensorrt(tmp_path, 110100, 11))[0] == "[False, False, False, False]"


def test_two_libraries_share_nothing(tmp_path: Path) -> None:
    """Another library's half for layout 10, visible to all, is not taken for this one's."""
    one_half = building.one_layout(tmp_path, HERE / "entry.cpp", 11)
    other_half = building.one_layout(tmp_path, HERE / "registered.cpp", 10, "-DPLUGINKIT_SECONDARY")
    code = "import os\nctypes.CDLL(sys.argv[5], mode=os.RTLD_GLOBAL)\n" + LOAD
    host = building.fake_tensorrt(tmp_path, 101600, 10)
    assert python(code, one_half, host, "finder", "getCreators", other_half) == ["0", ""]


@COMPILERS
def test_other_headers_are_refused(tmp_path: Path, cxx: str) -> None:
    """NvInfer.h of one major where another was asked for: an SDK's folder in the wrong place."""
    (tmp_path / "NvInferVersion.h").write_text("#define NV_TENSORRT_MAJOR 10\n#define PLUGINKIT_NV_INFER_VERSION_H\n")
    for header in building.INCLUDE.glob("NvInfer*.h"):
        if header.name != "NvInferVersion.h":
            (tmp_path / header.name).symlink_to(header)
    flags = [f"-I{tmp_path}", *building.FLAGS, "-DPLUGINKIT_TRT_LAYOUT=11", "-fsyntax-only"]
    done = subprocess.run(
        [*building.compiler(cxx), *flags, str(HERE / "entry.cpp")], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "NvInfer.h is of another TensorRT" in done.stderr


WHAT_THE_ADAPTER_ASKS = {
    "build": [
        "clone", "destroy", "format 2 type 0 scale 0.125", "format 2 type 1 scale 0.125",
        "configure type 0 scale 0.125 in 1 2 4 twice 2 4 8",
    ],
    "serialize": ["serialize 0.25", "destroy"],
    "restore": [],
    "attach": ["initialize", "clone", "attach 0 0"],
    "attach another": ["clone", "attach 0 0"],
    "shape": ["configure type 0 scale 0.375 in 2 2 2 twice 4 4 4"],
    "enqueue": ["enqueue"],
    "end of contexts": ["detach", "destroy", "detach", "destroy"],
    "end of engine": ["terminate", "destroy"],
    "timing": ["initialize", "enqueue", "terminate", "destroy"],
}  # fmt: skip


@COMPILERS
def test_adapter(tmp_path: Path, cxx: str) -> None:
    program, trace = tmp_path / "adapter", tmp_path / "trace"
    flags = ["-std=c++17", "-O1", "-g", *building.WARNINGS, f"-I{building.INCLUDE}"]
    building.run(*building.compiler(cxx), *flags, HERE / "adapter.cpp", "-o", program)
    env = {**os.environ, "ECHO_TRACE": str(trace)}
    done = subprocess.run([str(program)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    asked: dict[str, list[str]] = {}
    part = ""
    for line in trace.read_text().splitlines():
        # The last part runs the plugin once more: what it was asked there stays together.
        if line.startswith("# ") and part != "timing":
            part = line[2:]
            asked[part] = []
        elif not line.startswith(("# ", "configure")) or part in ("build", "shape"):
            asked[part].append(line)
    assert asked == WHAT_THE_ADAPTER_ASKS
