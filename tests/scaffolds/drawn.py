"""Signatures drawn at random from what `pluginkit.toml` can say, as the text that `pluginkit new` would write.

`python -m tests.scaffolds.drawn --seed 7 --count 20 --jobs 16` builds and tests each, so many at once; `--show` prints
them. `--only 3 --only 7` chooses some.
"""

from __future__ import annotations

import argparse
import functools
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st

from pluginkit import shapes
from pluginkit.errors import UsageError
from pluginkit.formats import Format
from pluginkit.manifest import Manifest
from pluginkit.scaffold import signature
from tests.scaffolds import matrix

SYMBOLS = ("n", "c", "h", "w")
PRECISIONS = ("float32", "float16", "bfloat16", "int8")
FLOAT8 = ("float32", "float16", "bfloat16", "float8")
"""No plugin has INT8 and FP8."""
WHOLE = ("int32", "int64")
FIELD_KINDS = ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "string")
LARGEST = 4096
"""Elements of all tensors of a signature together: so that 200 of them are tested in minutes."""
REFUSED: Counter[str] = Counter()
"""What was drawn and can't be, by the rule: a test sees that most draws are signatures."""


@dataclass(frozen=True)
class Drawn:
    """A signature: its text, and what it has."""

    text: str
    traits: frozenset[str]

    @property
    def base(self) -> str:
        """Of its class."""
        return Manifest.parse(self.text).plugin.base


def expressions(names: Sequence[str], fields: Sequence[str], lists: Sequence[str]) -> st.SearchStrategy[shapes.Expr]:
    """A dimension of these symbols, fields and lists of at least one element."""
    leaves: list[st.SearchStrategy[shapes.Expr]] = [st.integers(1, 6).map(shapes.Constant)]
    leaves += [st.sampled_from(names).map(shapes.Symbol)] * (2 if names else 0)
    leaves += [st.sampled_from(fields).map(shapes.Symbol)] if fields else []
    leaves += [st.sampled_from(lists).map(shapes.Length)] if lists else []
    operators = st.sampled_from(sorted([*shapes.OPERATIONS, shapes.BROADCAST]))
    return st.recursive(
        st.one_of(leaves), lambda inner: st.builds(shapes.Operation, operators, inner, inner), max_leaves=4
    )


def conditions(fields: Sequence[str], lists: Sequence[str]) -> st.SearchStrategy[shapes.Expr | shapes.Relation]:
    """What may choose a dimension."""
    inner = expressions((), fields, lists)
    return st.one_of(inner, st.builds(shapes.Relation, st.sampled_from(shapes.COMPARISONS), inner, inner))


@st.composite
def signatures(draw: st.DrawFn, *, scaled: bool = False) -> Drawn:
    """The text of a `pluginkit.toml` that keeps all rules; `scaled`: with FP8, or INT8 with a scale a channel."""
    precisions = PRECISIONS if not scaled else draw(st.sampled_from((FLOAT8, PRECISIONS)))
    base = draw(st.sampled_from(("v3", "dynamic", "v3", "ioext", "v3")))
    any_rank = base != "ioext" and draw(st.integers(0, 5)) == 5
    fields = [draw(_fields(name)) for name in ("alpha", "k", "axes", "mode")[: draw(st.integers(0, 4))]]
    inputs, types = draw(_inputs(any_rank, precisions))
    symbols = list(dict.fromkeys(dim for _, shape in inputs.values() for dim in shape if dim in SYMBOLS))
    # A list of a dimension is one of the dimension that there is, or an open one.
    fields = [one.replace("SYMBOL", symbols[0] if symbols and not any_rank else "1..4") for one in fields]
    numbers = [one.split(":")[0] for one in fields if re.match(r"\w+:int\d+(:|=|$)", one)]
    lists = [one.split(":")[0] for one in fields if re.match(r"\w+:\w+\[[1-9]", one)]
    dims = st.one_of(
        expressions(symbols, numbers, lists),
        st.builds(shapes.Choice, conditions(numbers, lists), *[expressions(symbols, numbers, lists)] * 2),
        st.builds(shapes.Choice, conditions(numbers, lists), expressions(symbols, numbers, lists), st.none()),
    )
    outputs = [draw(_output(name, inputs, types, dims)) for name in ("y", "z", "v")[: draw(st.integers(0, 3))]]
    sized = draw(_sized(types, symbols, numbers, lists)) if base == "v3" and draw(st.booleans()) else []
    outputs += sized
    if outputs and draw(st.sampled_from((False, True, False))):
        outputs += draw(_counted(types))
    if base == "v3" and outputs and draw(st.booleans()):
        for name in draw(st.lists(st.sampled_from(sorted(inputs)), min_size=1, max_size=2, unique=True)):
            kinds, shape = inputs[name]
            outputs.append(f"r{name}:{','.join(kinds)}:{','.join(shape)}:alias={name}")
    shaping: list[str] = []
    if base == "v3" and not any_rank and draw(st.booleans()):
        shaping = draw(st.sampled_from((["oh"], ["oh", "ow"], ["oh", "3", "ow"])))
        outputs.append(draw(_shaped(types, shaping)))
    listed = {} if not scaled or any_rank or base == "ioext" else _listed(inputs)
    fields += [f"each{name}:float32[{dim}]" for name, dim in listed.items()]
    bytes_ = draw(st.none() | expressions(symbols, numbers, lists))
    fitting = [form for form in Format if form is not Format.LINEAR and _fits(form, inputs)]
    formats = draw(st.lists(st.sampled_from(fitting), min_size=1, max_size=2)) if fitting else []
    text = _text(
        base=base,
        inputs=[
            *(
                f"{name}:{','.join(kinds)}:{','.join(shape)}{f':scale=each{name}' if name in listed else ''}"
                for name, (kinds, shape) in inputs.items()
            ),
            *([f"size:{draw(st.sampled_from(WHOLE))}:{len(shaping)}:values={','.join(shaping)}"] if shaping else []),
        ],
        outputs=outputs,
        fields=fields,
        namespace=draw(st.sampled_from(("", "acme", 'a b/"c"'))),
        version=draw(st.sampled_from(("1", "2.1-b"))),
        formats=[form.value for form in formats] if base != "ioext" and not any_rank and not sized else [],
        workspace="" if bytes_ is None else shapes.render(bytes_),
    )
    counted = {one.split("[")[1].split("]")[0] for one in fields if "[" in one}
    text = _with_profiles(
        text, draw(_profiles(base, symbols + [one for one in shaping if one != "3"], counted, any_rank=any_rank))
    )
    manifest = _parsed(text)
    assume(_elements(manifest) <= LARGEST)
    return Drawn(text, frozenset(_traits(manifest)))


def _listed(inputs: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> dict[str, str]:
    """The INT8 inputs that have a scale for each channel, and their channels."""
    return {
        name: shape[1]
        for name, (kinds, shape) in inputs.items()
        if "int8" in kinds and len(shape) > 1 and shape.count(shape[1]) == 1
    }


def _fits(form: Format, inputs: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> bool:
    """Whether an input can have a format, and each INT8 input that would get it has constant channels."""
    taking = [
        (set(kinds) & {kind.value for kind in form.types}, shape)
        for kinds, shape in inputs.values()
        if len(shape) >= form.axis
    ]
    counted = [shape[-form.axis].isdigit() for kinds, shape in taking if "int8" in kinds and form.lanes > 1]
    return any(kinds for kinds, _ in taking) and all(counted)


@st.composite
def _fields(draw: st.DrawFn, name: str) -> str:
    kind = draw(st.sampled_from(FIELD_KINDS))
    if kind == "string":
        return name + draw(st.sampled_from((":string", ":string=near", ":string:near,far=far", ":string[1..9]=ab")))
    whole = kind.startswith("int")
    number = st.integers(-3, 9).map(str) if whole else st.sampled_from(("-2.5", "-0.25", "0.0", "0.5", "1.5"))
    length = draw(st.sampled_from(("", "", "", "3", "1..4", "0..2", "SYMBOL")))
    several = {"3": (3, 3), "1..4": (1, 4), "0..2": (0, 2)}.get(length)
    values = draw(st.sampled_from(("", "", ":-4..10", ":1..4"))) if whole else draw(st.sampled_from(("", ":-4..4")))
    number = st.integers(1, 4).map(str) if values == ":1..4" else number
    default = draw(st.booleans()) and length != "SYMBOL"
    given_ = draw(st.lists(number, min_size=several[0], max_size=several[1])) if several else [draw(number)]
    return f"{name}:{kind}{f'[{length}]' if length else ''}{values}{'=' + ','.join(given_) if default else ''}"


@st.composite
def _inputs(
    draw: st.DrawFn, any_rank: bool, precisions: Sequence[str]
) -> tuple[dict[str, tuple[tuple[str, ...], tuple[str, ...]]], list[str]]:
    """Each input's types and shape, and the types that outputs may have."""
    found = {}
    for index, name in enumerate(("x", "b", "s", "t")[: draw(st.integers(1, 4))]):
        kinds = draw(st.lists(st.sampled_from(precisions), min_size=1, unique=True))
        if index and draw(st.integers(0, 3)) == 3:
            kinds = [draw(st.sampled_from(WHOLE))]
        rank = draw(st.integers(0, 5 if index == 0 else 4))
        shape = [draw(st.sampled_from((*SYMBOLS, *"12356"))) for _ in range(rank)]
        if any_rank and (index == 0 or draw(st.booleans())):
            shape = [*shape[:1], "...", *shape[1:2]]
        found[name] = (tuple(kinds), tuple(shape))
    return found, sorted({kind for kinds, _ in found.values() for kind in kinds if kind in precisions})


@st.composite
def _output(draw: st.DrawFn, name: str, inputs: Any, types: Sequence[str], dims: st.SearchStrategy[shapes.Expr]) -> str:
    kinds = draw(st.lists(st.sampled_from(types), min_size=1, unique=True))
    if draw(st.integers(0, 4)) == 4:
        kinds = [draw(st.sampled_from(WHOLE))]
    if draw(st.booleans()):
        _, shape = draw(st.sampled_from(sorted(inputs.items())))[1]
    else:
        shape = [shapes.render(draw(dims)) for _ in range(draw(st.integers(0, 4)))]
    return f"{name}:{','.join(kinds)}:{','.join(shape)}"


@st.composite
def _sized(
    draw: st.DrawFn, types: Sequence[str], symbols: Sequence[str], numbers: Sequence[str], lists: Sequence[str]
) -> list[str]:
    """One or two size tensors, and one or two outputs that have them among their dimensions."""
    bounds = expressions(symbols, numbers, lists)
    names = ("found", "kept")[: draw(st.integers(1, 2))]
    made = []
    for name in names:
        upper = shapes.render(draw(bounds))
        opt = draw(st.sampled_from(("", f":opt=min({upper}, 2)", f":opt=({upper}) // 2")))
        made.append(f"{name}:int32::upper={upper}{opt}")
    inner = st.sampled_from((*names, *symbols, "1", "2", "3"))
    for name in ("g", "q")[: draw(st.integers(1, 2))]:
        kinds = draw(st.lists(st.sampled_from((*types, *WHOLE)), min_size=1, unique=True))
        kinds = kinds[:1] if kinds[0] in WHOLE else [kind for kind in kinds if kind not in WHOLE]
        shape = [draw(inner) for _ in range(draw(st.integers(0, 3)))]
        shape.insert(draw(st.integers(0, len(shape))), draw(st.sampled_from(names)))
        if shape[1:2] and shape[1] in names and "int8" in kinds:
            shape[1] = "2"  # the channels
            shape[0] = draw(st.sampled_from(names))
        made.insert(draw(st.integers(0, len(made))), f"{name}:{','.join(kinds)}:{','.join(shape)}")
    return made


@st.composite
def _shaped(draw: st.DrawFn, types: Sequence[str], elements: Sequence[str]) -> str:
    """An output whose dimensions are the elements of a shape input; INT8's channels, the second, are a number."""
    kinds = draw(st.lists(st.sampled_from(types), min_size=1, unique=True))
    dims = [elements[0], "2", *elements[1:]]
    computed = draw(st.sampled_from(("DIM", "DIM + 1", "max(DIM, 2)", "DIM * 2", "ceil_div(DIM, 2)")))
    dims[-1] = computed.replace("DIM", dims[-1])
    return f"p:{','.join(kinds)}:{','.join(dims)}"


@st.composite
def _counted(draw: st.DrawFn, types: Sequence[str]) -> list[str]:
    """An output of which another says how many rows mean something."""
    kinds = draw(st.lists(st.sampled_from(types), min_size=1, unique=True))
    count = draw(st.sampled_from(("", "1")))
    return [f"rows:{','.join(kinds)}:3,2:valid=many", f"many:int32:{count}"]


@st.composite
def _profiles(draw: st.DrawFn, base: str, symbols: Sequence[str], counted: set[str], *, any_rank: bool) -> list[str]:
    """The tables of one to three profiles."""
    found = []
    count = draw(st.integers(1, 3))
    fixed = {name: draw(st.integers(1, 4)) for name in symbols if name in counted}
    for name in ("default", "other", "third")[:count]:
        ranges = {symbol: draw(_range(base == "ioext")) for symbol in symbols}
        ranges |= {symbol: [size] * 3 for symbol, size in fixed.items()}
        body = ", ".join(f"{symbol} = {ends}" for symbol, ends in ranges.items())
        found.append(f'[[profiles]]\nname = "{name}"\nsymbols = {f"{{ {body} }}" if body else "{}"}')
        if any_rank:
            found[-1] += f"\nrest = {[draw(_range(False)) for _ in range(draw(st.integers(0, 3)))]}"
    return found


@st.composite
def _range(draw: st.DrawFn, fixed: bool) -> list[int]:
    if fixed:
        return [draw(st.integers(1, 6))] * 3
    return sorted(draw(st.lists(st.sampled_from((0, 1, 1, 2, 3, 4, 5, 7)), min_size=3, max_size=3)))


def _text(**options: Any) -> str:
    try:
        return signature.write("Drawn", **options)
    except UsageError as error:
        _refuse(error)


def _with_profiles(text: str, profiles: list[str]) -> str:
    head, tail = text.split("[[profiles]]", 1)[0].rstrip(), text[text.index("[test]") :]
    head = re.sub(r"\n# Each profile says by rest[^\n]*$", "", head).rstrip()
    return "\n\n".join([head, *profiles, tail])


def _parsed(text: str) -> Manifest:
    try:
        return Manifest.parse(text)
    except UsageError as error:
        _refuse(error)


def _refuse(error: UsageError) -> NoReturn:
    """Not a signature: hypothesis draws another."""
    REFUSED[re.sub(r"'[^']*'|\[[^\]]*\]|-?\d+|\w+ = ", "_", error.message.splitlines()[-1])[:110]] += 1
    assume(False)
    raise AssertionError


def _elements(manifest: Manifest) -> int:
    return max(
        sum(
            math.prod(dims)
            for dims in (*one.input_shapes(env).values(), *one.with_fields({}).output_shapes(env).values())
        )
        for one in manifest.ranked()
        for env in (profile.at("max") for profile in one.profiles)
    )


def _traits(manifest: Manifest) -> Iterator[str]:
    """What a signature has: a test sees that all of it is drawn."""
    yield manifest.plugin.base
    yield from (f"rank {len(tensor.shape)}" for tensor in (*manifest.inputs, *manifest.outputs))
    yield from (kind.value for tensor in (*manifest.inputs, *manifest.outputs) for kind in tensor.types)
    yield from (form.value for tensor in manifest.inputs for form in tensor.formats)
    yield from (f"field {field.type.value}" for field in manifest.plain_fields())
    yield from ("list" for field in manifest.fields if field.is_list)
    yield from ("scale a channel" for tensor in manifest.inputs if tensor.scale_axis is not None)
    yield from ("list of a dimension" for field in manifest.fields if field.symbol)
    yield from ("required" for field in manifest.fields if field.default is None)
    yield from ("values" for field in manifest.fields if field.declares_values)
    yield f"{len(manifest.profiles)} profiles"
    yield from ("no elements" for profile in manifest.profiles if 0 in profile.at("min").values())
    dims = [shapes.parse(dim) for tensor in manifest.outputs for dim in tensor.shape]
    yield from ("choice" for dim in dims if any(True for _ in shapes.conditions(dim)))
    yield from ("absent dimension" for dim in dims if isinstance(dim, shapes.Choice) and dim.otherwise is None)
    yield from ("length in a shape" for dim in dims if shapes.lengths(dim))
    yield from ("broadcast" for dim in dims if any(shapes.broadcasts(dim)))
    yield from ("field in a shape" for _ in manifest.shape_fields())
    yield from ("workspace" for _ in [1] if manifest.plugin.workspace)
    yield from ("any rank" for _ in [1] if manifest.is_open)
    yield from ("alias" for tensor in manifest.outputs if tensor.alias)
    yield from ("shape input" for _ in manifest.shape_inputs())
    yield from ("size tensor" for _ in manifest.size_tensors())
    yield from ("opt" for tensor in manifest.size_tensors() if tensor.opt)
    yield from ("valid" for tensor in manifest.outputs if tensor.valid)


@functools.lru_cache(maxsize=3)
def drawn(number: int, count: int, *, scaled: bool = False) -> tuple[Drawn, ...]:
    """So many signatures of a seed; the same each time. `scaled` ones are apart, so that the others stay theirs."""
    found: list[Drawn] = []

    @seed(number)
    @settings(
        max_examples=2 * count + 10,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(signatures(scaled=scaled))
    def collect(one: Drawn) -> None:
        found.append(one)

    collect()
    # Hypothesis begins with the simplest, may end early or late, and varies what it has drawn: many are alike.
    unique = list(dict.fromkeys(found))
    random.Random(number).shuffle(unique)
    return tuple(map(_bounded, _varied(unique, count)))


def _bounded(one: Drawn) -> Drawn:
    """No size below 0 with a field's other values than its default."""
    text = re.sub(r'(?m)^(upper|opt) = "(.*\b(?:alpha|k|axes|mode)\b.*)"$', r'\1 = "max(\2, 0)"', one.text)
    return Drawn(text, one.traits)


def _varied(found: list[Drawn], count: int) -> list[Drawn]:
    """So many of them: each next one has the trait that those before it have least."""
    seen: Counter[str] = Counter()
    taken: list[Drawn] = []
    left = list(found)
    while left and len(taken) < count:
        taken.append(left.pop(min(range(len(left)), key=lambda at: min(seen[trait] for trait in left[at].traits))))
        seen.update(taken[-1].traits)
    return taken


def main() -> int:
    """Draw, build and test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--only", type=int, action="append", help="one of them; may be given several times")
    parser.add_argument("--scaled", action="store_true", help="those with FP8, or with an INT8 scale a channel")
    parser.add_argument("--show", action="store_true", help="print them, and what was refused")
    parser.add_argument("--families", default="", help="networks, with commas between them; all by default")
    parser.add_argument("--jobs", type=int, default=0, help="how many at once; as many as there are cores by default")
    parser.add_argument("--target", choices=("cpu", "gpu", "auto"), default="cpu")
    asked = parser.parse_args()
    found = dict(enumerate(drawn(asked.seed, asked.count, scaled=asked.scaled)))
    if missing := set(asked.only or ()) - set(found):
        parser.error(f"--only {min(missing)}: it is one from 0 to {len(found) - 1}; more are drawn by --count")
    found = {number: found[number] for number in asked.only} if asked.only else found
    if asked.show:
        print(*(f"--- {number}\n{one.text}" for number, one in found.items()), sep="\n")
        print(*(f"{count} {what}" for what, count in REFUSED.most_common(30)), sep="\n")
        return 0
    families = tuple(asked.families.split(",")) if asked.families else None
    texts = {number: one.text for number, one in found.items()}
    return int(bool(matrix.run(texts, asked.jobs, families=families, target=asked.target)))


if __name__ == "__main__":
    sys.exit(main())
