"""How much of the code that reads serialized plugins is reached by mutated inputs: of every sample, and of a plugin of
each base that `pluginkit new` writes.

    .venv/bin/python tools/reader_coverage.py [--inputs 10000] [NAME...]

Each is built for target cpu with g++'s counters of branches, in a temporary folder, and its deserializer is given the
inputs of `pluginkit check --fuzz` (seed 0) in one process. The reader is a layer's `deserializePlugin`, `restore`,
`restored` and `problem`, and those functions of `pluginkit::Reader` and `pluginkit::FieldReader` that the inputs enter;
others are createPlugin's. Branches that only an exception takes are left out, as gcov marks them. Exit code 1 where
less than 90 % of the branches were taken, or the process ended.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pluginkit.manifest import Manifest

ROOT = Path(__file__).resolve().parent.parent
LEAST = 0.9
"""The part of the branches."""
INPUTS = 10_000
OWN = re.compile(r"::(?:deserializePlugin|restore|restored|problem)\(")
SHARED = re.compile(r"pluginkit::(?:Field)?Reader\b")
IMPOSSIBLE = {
    "read = read && reader.get(value": "the first field is read whatever comes",
    "read = read && this->read(reader": "likewise, of an IPluginV3",
    "return mGood && mLeft == 0;": "it is asked after all has been read",
    "[](float scale)": "a layer without INT8 and FP8 has no scales",
    "scaled ? problem()": "likewise",
}
"""Lines of a reader with branches that no input can take, in some layers or in all, and why: such branches are left out
where they were not taken."""
IMPOSSIBLE_FIELDS = {
    "mFields == nullptr ||": "createPlugin refuses no fields before",
    "bool read = given != nullptr;": "likewise",
    "also == field.type": "a type that createPlugin takes besides the field's own is not serialized",
    "if (!std::isfinite(f.": "FieldReader has refused such a number before",
    "if (!wrong.empty())": "likewise, where a layer has no other fields",
    "given < std::numeric_limits<T>::min()": "an int64_t is not narrowed to one",
    "reader.find(detail::kV2StateField)": "it is of the engines that `convert` is for",
}
"""The same of serialized fields, which an IPluginV3 has."""
FIELDS = ("--field", "alpha:float32=0.5", "--field", "axes:int64[1..4]=0,1", "--field", "mode:string=linear")
GENERATED = {f"new --base {base}": ("--base", base, *FIELDS) for base in ("dynamic", "v3", "ioext")}
"""What `pluginkit new` is given, by what the table calls it."""


@dataclass(frozen=True)
class Coverage:
    """What the inputs of a plugin's deserializer have reached.

    Attributes:
        name: of the sample, or of what `new` wrote.
        taken, branches: of its reader.
        missed: `file:line` of branches that were not taken.
        problem: why there are none; empty where there are.
    """

    name: str
    taken: int = 0
    branches: int = 0
    missed: tuple[str, ...] = ()
    problem: str = ""

    @property
    def good(self) -> bool:
        """Whether enough was reached."""
        return not self.problem and self.taken >= LEAST * self.branches


def measure(name: str, folder: Path, inputs: int) -> Coverage:
    """The coverage of a sample, or of what `new` writes, built in a folder."""
    project = folder / "project"
    if name in GENERATED:
        pluginkit = [sys.executable, "-m", "pluginkit"]
        subprocess.run([*pluginkit, "new", "Read", *GENERATED[name]], cwd=folder, check=True, capture_output=True)
        (folder / "read").rename(project)
    else:
        shutil.copytree(ROOT / "samples" / name, project, ignore=shutil.ignore_patterns("build"))
    command = [sys.executable, __file__, "--child", str(project), "--inputs", str(inputs)]
    # -O0: gcov counts branches of the source, and not those that the optimizer has made.
    flags = {"CXX": "g++", "CXXFLAGS": "-O0 -g --coverage", "LDFLAGS": "--coverage"}
    done = subprocess.run(command, env={**os.environ, **flags}, capture_output=True, text=True, check=False)
    if done.returncode:
        return Coverage(name, problem=f"ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-400:]}")
    if done.stdout.strip():
        return Coverage(name, problem=done.stdout.strip())
    return _counted(name, project, inputs)


def _counted(name: str, project: Path, inputs: int) -> Coverage:
    gcov = subprocess.run(["g++", "-print-prog-name=gcov"], capture_output=True, text=True, check=True).stdout.strip()
    data = [str(file) for file in sorted(project.glob("build/cpu/**/*.gcda"))]
    if not data:
        return Coverage(name, problem="there are no counters: nothing was run")
    asked = [gcov, "--json-format", "--stdout", "--branch-probabilities", *data]
    text = subprocess.run(asked, cwd=project, capture_output=True, text=True, check=True).stdout
    # Both layouts of a source have counters, and each type that a template is made for: a branch of the source counts
    # where any takes it.
    taken: dict[tuple[str, int, int], bool] = {}
    of_fields = Manifest.load(project).plugin.base == "v3"
    impossible = (*IMPOSSIBLE, *(IMPOSSIBLE_FIELDS if of_fields else ()))
    left_out = set()
    for line in text.splitlines():
        for file in json.loads(line)["files"]:
            if not _is_ours(project, project / file["file"]):
                continue
            wanted = {one["name"] for one in file["functions"] if _is_reader(one, inputs)}
            source = (project / file["file"]).read_text(encoding="utf-8").splitlines() if wanted else []
            for code in (one for one in file["lines"] if one.get("function_name") in wanted):
                text_of_line = source[code["line_number"] - 1].lstrip()
                if text_of_line.startswith(("catch", "}")):
                    continue  # which handler an exception has
                branches = [one for one in code["branches"] if not one["throw"]]
                for number, branch in enumerate(branches):
                    key = (Path(file["file"]).name, code["line_number"], number)
                    taken[key] = taken.get(key, False) or branch["count"] > 0
                    if any(one in text_of_line for one in impossible):
                        left_out.add(key)
    taken = {key: there for key, there in taken.items() if there or key not in left_out}
    if not taken:
        return Coverage(name, problem="its reader has no branches")
    missed = tuple(dict.fromkeys(f"{key[0]}:{key[1]}" for key, there in taken.items() if not there))
    return Coverage(name, sum(taken.values()), len(taken), missed)


def _is_ours(project: Path, file: Path) -> bool:
    """Not the standard library's, whose templates are named after what they are made for."""
    return any(file.resolve().is_relative_to(folder.resolve()) for folder in (project, ROOT))


def _is_reader(function: dict[str, object], inputs: int) -> bool:
    """The good inputs' plugins are made by a few calls of createPlugin, which enter FieldReader's functions, too."""
    name, entered = str(function["demangled_name"]), int(str(function["execution_count"]))
    return entered >= max(1, inputs // 100) and bool(OWN.search(name) or SHARED.search(name))


def give(project: Path, inputs: int) -> str:
    """In a process of its own: build a project, and give its plugins' deserializers inputs. Why not, if so."""
    from pluginkit import host, layouts
    from pluginkit.build import build
    from pluginkit.manifest.project import members
    from pluginkit.validation.fuzzing.calls import Calls, good_input
    from pluginkit.validation.fuzzing.inputs import FuzzInput, Target
    from pluginkit.validation.fuzzing.mutation import Draw
    from pluginkit.validation.subject import Subject
    from pluginkit.validation.subjects import manifests
    from pluginkit.validation.subjects.library import identity
    from pluginkit.validation.validation_worker import CheckedLibrary

    library = host.Library(build(project, "cpu")[0].library, layouts.layout(min(layouts.DEFAULT)).host_version)
    listed = CheckedLibrary(library, project / "crumb").creators()
    for member in members(project):
        (index,) = (one.index for one in listed if one.identity == identity(member.manifest))
        known = manifests.known(member.manifest)
        answers, network = known.answers, known.network
        subject = Subject(library.creators[index], answers, known.sizes, known.types, network, library)
        good = good_input(subject, Target.SERIALIZED)
        if good == FuzzInput(Target.SERIALIZED):
            return "nothing is serialized"
        calls, draw = Calls(subject), Draw(0, good)
        for step in range(inputs):
            calls(draw.input_of((step,)))
    return ""


def main() -> int:
    """The command line; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    samples = sorted(path.parent.name for path in (ROOT / "samples").glob("*/pluginkit.toml"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join((*samples, *GENERATED))}; none: all")
    parser.add_argument("--inputs", type=int, default=INPUTS)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(give(options.child, options.inputs), end="")
        return 0
    good = True
    for name in options.names or (*samples, *GENERATED):
        with tempfile.TemporaryDirectory(prefix="pluginkit-coverage-") as folder:
            found = measure(name, Path(folder), options.inputs)
        if found.problem == "nothing is serialized":
            print(f"{name:18} nothing is serialized", flush=True)
            continue
        good = good and found.good
        if found.problem:
            print(f"{name:18} FAILED {found.problem}", flush=True)
            continue
        missed = f", not {', '.join(found.missed)}" if found.missed else ""
        print(
            f"{name:18} {found.taken / found.branches:6.1%} {found.taken} of {found.branches} branches{missed}",
            flush=True,
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
