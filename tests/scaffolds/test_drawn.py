"""Signatures drawn at random are right, unedited: 10 by their code, 200 built and tested with the whole matrix."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from pluginkit import shapes
from pluginkit.bases import BASES
from pluginkit.build import signature, toolchain
from pluginkit.build.signature.fields import CPP_TYPES
from pluginkit.manifest import Manifest
from pluginkit.paths import include_dir
from pluginkit.run import several_plugins
from pluginkit.run.options import Options
from pluginkit.scaffold import project
from pluginkit.scaffold.kernels import patterns
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference
from tests.compilers import default_cxx
from tests.scaffolds.drawn import REFUSED, Drawn, drawn
from tests.scaffolds.matrix import library

SEED = 2026
FEW, MANY, TOGETHER = 10, 200, 10
"""Drawn for `make test` and for `make test-all`; how many share a library."""
TRAITS = {
    *("dynamic", "v3", "ioext"),
    *("float32", "float16", "bfloat16", "int8", "int32", "int64", "hwc8", "chw2", "any rank", "alias", "workspace"),
    *(f"field {kind.value}" for kind in CPP_TYPES),
    *("list", "list of a dimension", "required", "values", "choice", "absent dimension", "length in a shape"),
    *(
        "broadcast",
        "size tensor",
        "shape input",
        "opt",
        "valid",
        "field in a shape",
        "no elements",
        *(f"rank {rank}" for rank in range(6)),
        "3 profiles",
    ),
}


@pytest.mark.slow
def test_everything_that_can_be_said_is_drawn() -> None:
    """And more than a third of what is drawn keeps the rules."""
    found = drawn(SEED, MANY)
    assert len(found) == MANY
    assert set().union(*(one.traits for one in found)) >= TRAITS
    assert sum(REFUSED.values()) < 2 * MANY


def test_float8_and_scales_of_channels_are_drawn() -> None:
    found = drawn(SEED, TOGETHER, scaled=True)
    assert len(found) == TOGETHER
    assert set().union(*(one.traits for one in found)) >= {"float8", "int8", "scale a channel", "size tensor", "v3"}
    assert all({"float8", "int8"} - one.traits for one in found)


PROGRAM = """
{includes}
#include <cstdio>
namespace
{{
template <typename Signature>
void print(typename Signature::Fields const& f, pluginkit::Shape const* inputs, bool workspace)
{{
    pluginkit::Sizes<Signature::kOutputs> sizes(inputs);
    Signature::shapes(sizes, f);
    for (int32_t i = 0; i < Signature::kOutputs; ++i)
    {{
        pluginkit::Shape const& shape = sizes.output(i);
        std::printf("%d ", shape.rank);
        for (int32_t j = 0; j < shape.rank; ++j)
        {{
            std::printf("%lld ", static_cast<long long>(shape.dims[j]));
        }}
    }}
    if (workspace)
    {{
        std::printf("%lld ", static_cast<long long>(Signature::workspace(sizes, f).value()));
    }}
}}
}} // namespace
int main()
{{
{calls}
}}
"""


class _Code:
    """Shapes and workspace of a drawn signature of fixed ranks in C++, at each point of its first profile."""

    def __init__(self, one: Drawn, number: int) -> None:
        # A size tensor is its upper bound here, which is an expression.
        self.whole = Manifest.parse(one.text)
        self.manifest = manifest = self.whole.bounded()
        self.points = list({tuple(e.items()): e for e in map(manifest.profiles[0].at, ("min", "opt", "max"))}.values())
        self.workspace = manifest.plugin.workspace is not None and BASES[manifest.plugin.base].dynamic_shapes
        # All are drawn with one name.
        text, own = signature.header(self.whole), f"drawn{number}"
        self.header = re.sub(rf"\b{text.split('namespace ')[1].split()[0]}\b", own, text)
        self.calls = "".join(self._call(own, point) for point in self.points)

    def _literal(self, name: str) -> str:
        field = next(field for field in self.manifest.fields if field.name == name)
        if field.symbol:
            return ""
        value = self.manifest.field_values([field], {}).get(name) if field.type.is_integer else None
        if field.is_list and not field.type.is_integer:
            value = (0,) * len(field.example(self.manifest.profiles[0].at("opt")))  # type: ignore[arg-type]
        return ", ".join(map(str, value)) if isinstance(value, tuple) else "" if value is None else str(value)

    def _call(self, namespace: str, point: dict[str, int]) -> str:
        rows = [tensor.dims(point) for tensor in self.manifest.inputs]
        table = ", ".join(f"{{{len(dims)}, {{{', '.join(map(str, dims))}}}}}" for dims in rows)
        fields = "".join(
            f" f.{field.name} = {{{text}}};" for field in self.manifest.fields if (text := self._literal(field.name))
        )
        return (
            f"    {{ static pluginkit::Shape const inputs[] = {{{table}}}; {namespace}::Fields f;{fields}\n"
            f"      print<{namespace}::Signature>(f, inputs, {str(self.workspace).lower()}); }}\n"
        )

    def expected(self) -> list[int]:
        """The same by `pluginkit.shapes`."""
        manifest, found = self.manifest, []
        for point in self.points:
            env = {**manifest.shape_values({}), **point}
            for tensor in manifest.outputs:
                parsed = map(shapes.parse, tensor.shape)
                dims = [shapes.evaluate(dim, env) for dim in parsed if shapes.exists(dim, env)]
                found += [len(dims), *dims]
            if self.workspace:
                found.append(manifest.workspace_bytes({}, point))
        return found


@pytest.mark.compile
def test_the_code_of_10_drawn_signatures(tmp_path: Path) -> None:
    """Their projects are written, their networks planned with their reference, and their shapes computed in C++.

    Nothing of them is built as a plugin here: that is the slow test's.
    """
    few = drawn(SEED, FEW)
    assert few == drawn.__wrapped__(SEED, FEW)
    # A shape input's values are expressions alone, which only getOutputShapes has.
    codes = [_Code(one, number) for number, one in enumerate(few) if not one.traits & {"any rank", "shape input"}]
    assert len(codes) > FEW // 2
    for number, one in enumerate(few):
        folder = project.write(one.text, tmp_path / str(number), kernel=patterns.chosen(Manifest.parse(one.text), ""))
        for manifest in Manifest.load(folder).static():
            found = plan(manifest, Reference.load(folder / "reference.py", manifest), families=["plain"], random=0)
            assert found.cases
    source, program = tmp_path / "code.cpp", tmp_path / "code"
    for number, code in enumerate(codes):
        (tmp_path / f"{number}.h").write_text(code.header, encoding="utf-8")
    includes = "\n".join(f'#include "{number}.h"' for number in range(len(codes)))
    source.write_text(PROGRAM.format(includes=includes, calls="".join(code.calls for code in codes)))
    flags = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-fsanitize=undefined"]
    flags += ["-isystem", str(toolchain.cuda_include_dirs()[0])]
    command = [default_cxx(), "-std=c++17", *flags, f"-I{include_dir()}", f"-I{tmp_path}", source, "-o", program]
    subprocess.run(command, check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    assert [int(one) for one in printed] == [size for code in codes for size in code.expected()]


@pytest.mark.slow
@pytest.mark.compile
@pytest.mark.rtx
@pytest.mark.parametrize("batch", [*range(MANY // TOGETHER), "scaled"])
def test_200_drawn_signatures_are_green(batch: int | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m tests.scaffolds.drawn --seed 2026 --count 200 --jobs 16` has all, so many at once."""
    monkeypatch.setenv("CXXFLAGS", "-O0 -g0")
    scaled = drawn(SEED, TOGETHER, scaled=True)
    mine = scaled if isinstance(batch, str) else drawn(SEED, MANY)[batch * TOGETHER : (batch + 1) * TOGETHER]
    ran = several_plugins.run(
        Options(project=library(tmp_path, [one.text for one in mine]), target="cpu", strict=True, jobs=1)
    )
    bad = [f"{item}\n{one.text}" for one, report in zip(mine, ran.reports, strict=False) for item in report.bad]
    assert [*map(str, ran.errors), *bad] == []
    assert len(ran.reports) == TOGETHER
