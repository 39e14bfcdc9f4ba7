"""The text of a drafted `pluginkit.toml` and `reference.py`.

What could not be found out has the mark `FILL_IN`, which `pluginkit test` refuses; what is only likely has a comment
that begins with `check:`.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pluginkit import bases
from pluginkit.adoption import naming, types
from pluginkit.adoption.answers import ListedCreator, PluginAnswers, TakenInputs
from pluginkit.adoption.expressions import size_symbol, symbol
from pluginkit.adoption.field_tables import FieldTables
from pluginkit.adoption.node import ModelNode
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.formats import Format
from pluginkit.manifest import Manifest, open_ranks
from pluginkit.manifest.mistakes import FILL_IN, toml

SIZES = {"n": (1, 2, 4), "c": (1, 3, 8), "h": (1, 8, 16), "w": (1, 8, 16)}
"""min, opt and max of the usual names; `OTHER` of all others."""
OTHER = (1, 4, 8)
MOST_DIVISOR = 64
LADDER = (1, 2, 4, 8, 16)
"""What sizes are multiplied by until the output shapes are none below 0."""


@dataclass(frozen=True)
class DraftTexts:
    """A drafted plugin: the two files' texts, its inputs' names, and the marked lines' numbers."""

    name: str
    manifest: str
    reference: str
    inputs: tuple[str, ...]
    fill_in: int
    check: int


TOLERANCES = """
# A layer that computes positions, or adds up in its own type, needs more than the default:
# [tolerances]
# float32 = { rtol = 1e-5, atol = 1e-6 }
"""

DATA = "model_data.npz"
"""The inputs that are constants in a model, with some numbers for the others: for `pluginkit test --data`."""


@dataclass(frozen=True)
class LibraryFacts:
    """What a drafted manifest says of the library: its path from the manifest's folder, and its layout if it has to."""

    path: str
    layout: int | None = None


def draft(creator: ListedCreator, answers: PluginAnswers, library: LibraryFacts, node: ModelNode | None) -> DraftTexts:
    """The texts of both files for a creator's plugin."""
    return _Drafting(creator, answers, library, node).whole()


class _Drafting:
    def __init__(
        self, creator: ListedCreator, answers: PluginAnswers, library: LibraryFacts, node: ModelNode | None
    ) -> None:
        self._creator = creator
        self._answers = answers
        self._library = library
        self._node = node
        self._taken = answers.taken[0] if answers.taken else _of_node(node, max(1, answers.outputs))
        base = [name for name, one in bases.BASES.items() if one.interface == answers.base]
        self._base: bases.Name | None = base[0] if base else None
        outputs = max(1, answers.outputs)
        inputs = len(self._taken.ranks) if self._taken else 1
        self._inputs = _names(node.inputs if node else (), "x", inputs)
        self._outputs = _names(node.outputs if node else (), "y", outputs)
        # No tensor and no field are called alike.
        self._outputs = [name if name not in self._inputs else f"{name}_out" for name in self._outputs]
        self._field_tables = FieldTables(creator.fields, answers, node)
        self._symbols = ["n"]
        self._open = False
        self._sizes: dict[str, tuple[int, int, int]] = {}
        self._shapes: list[str] = []

    def whole(self) -> DraftTexts:
        text = ""
        for factor in LADDER:
            text = self._manifest(factor)
            try:
                Manifest.parse(text.replace(FILL_IN, "#"))
                break
            except UsageError as error:
                problem = " ".join(error.message.split())
        else:
            text = f"# {FILL_IN.removeprefix('# ')} {problem}\n{self._manifest(1)}"
        lines = text.splitlines()
        return DraftTexts(
            self._creator.name,
            text,
            self._reference(),
            tuple(self._inputs),
            sum(FILL_IN in line for line in lines),
            sum("# check:" in line for line in lines),
        )

    # --------------------------------------------------------------------------------------------- manifest

    def _manifest(self, factor: int) -> str:
        parts = [self._head(), self._tensors(), self._field_tables.text, self._profile(factor)]
        return "\n".join(part for part in parts if part)

    def _head(self) -> str:
        creator, answers = self._creator, self._answers
        lines = [
            "# Drafted by `pluginkit adopt`: correct what is marked, and remove the marks. `pluginkit test` lists",
            "# what is left; docs/project.md explains each key.",
        ]
        lines += [f"# Ended when it was asked something (no finding): {one}" for one in answers.problems]
        lines += [
            "[plugin]",
            f"name = {toml(creator.name)}",
            f"version = {toml(creator.version)}",
            f"namespace = {toml(creator.namespace)}",
            f'base = "{self._base or "dynamic"}"{self._no_base()}',
            'description = ""',
            "",
            "[library]",
            f"path = {toml(self._library.path)}",
            '# command = "cmake --build build"  # builds it before each test',
        ]
        if self._library.layout:
            lines.append(f"layout = {self._library.layout}")
        return "\n".join([*lines, ""])

    def _no_base(self) -> str:
        if self._base:
            return ""
        if self._answers.base:
            known = ", ".join(one.interface for one in bases.BASES.values())
            return f"  {FILL_IN} it is an {self._answers.base}, and pluginkit's host runs only {known}"
        if self._node:
            return f"  {FILL_IN} no plugin is made of the values in the model's node, as NVIDIA's parser passes them"
        return f"  {FILL_IN} no plugin could be made without a model's values for its fields (--model MODEL.onnx)"

    def _tensors(self) -> str:
        taken = self._taken
        if taken is None:
            unknown = f"{FILL_IN} the plugin answers no question about its inputs: types, number and ranks"
            return self._table("inputs", "x", ('"float32"',), ('"n"',), unknown) + "".join(
                "\n" + self._table("outputs", name, ('"float32"',), ('"n"',), f"{FILL_IN} its shape")
                for name in self._outputs
            )
        kinds = types.choose(taken.rows, len(taken.ranks))
        names = naming.name(
            taken.ranks,
            taken.shapes,
            [one.name for one in self._creator.fields],
            self._node.shapes if self._node else (),
        )
        self._sizes = self._model_sizes(names)
        named_sizes = {size_symbol(one.output): self._outputs[one.output] for one in taken.sizes}
        self._symbols = list(dict.fromkeys(names.values()))
        names |= named_sizes
        self._open = self._any_rank(kinds)
        self._symbols = [] if self._open else self._symbols
        found = []
        for index, (name, rank) in enumerate(zip(self._inputs, taken.ranks, strict=True)):
            dims = [toml(names[symbol(index, dim)]) for dim in range(rank)]
            note = self._input_note(index, taken)
            found.append(
                self._table("inputs", name, self._types(kinds, index), dims, note, self._formats(kinds, index))
            )
        for index, name in enumerate(self._outputs):
            place = len(taken.ranks) + index
            shape = taken.shapes[index] if index < len(taken.shapes) else ()
            dims = [toml(naming.renamed(one, names) or "1") for one in shape]
            self._shapes += dims
            found.append(
                self._table(
                    "outputs",
                    name,
                    self._types(kinds, place),
                    dims,
                    self._output_note(index, shape),
                    self._formats(kinds, place),
                )
                + self._output_keys(index, taken, names)
            )
        text = "\n".join(found)
        if kinds.left:
            rows = "; ".join(f"({', '.join(row)})" for row in kinds.left[:8])
            more = f" and {len(kinds.left) - 8} more" if len(kinds.left) > 8 else ""
            text = f"# Not tested: the plugin also takes the types {rows}{more}.\n{text}"
        if len(self._answers.taken) > 1:
            counts = ", ".join(str(len(one.ranks)) for one in self._answers.taken)
            text = f"{FILL_IN} how many inputs? The plugin answers alike for {counts}; the least is drafted\n{text}"
        return text

    def _any_rank(self, kinds: types.TensorTypes) -> bool:
        """Whether the draft is of any rank: not where a vector format needs an axis, or shapes are static."""
        count = len(kinds.tensors)
        linear = all(len(self._formats(kinds, index)) == 1 for index in range(count))
        dynamic = self._base is not None and bases.BASES[self._base].dynamic_shapes
        return self._answers.every_rank and linear and dynamic

    def _model_sizes(self, names: Mapping[str, str]) -> dict[str, tuple[int, int, int]]:
        """min, opt and max of each symbol in the model, if there is one."""
        shapes = self._node.shapes if self._node else ()
        found: dict[str, tuple[int, int, int]] = {}
        for tensor, shape in enumerate(shapes):
            for dim, size in enumerate(shape or ()):
                assert self._node is not None
                found.setdefault(names[symbol(tensor, dim)], self._node.sizes(size))
        return found

    def _output_note(self, index: int, shape: Sequence[str]) -> str:
        if not shape and index >= len(self._taken.shapes if self._taken else ()):
            return f"{FILL_IN} its shape"
        if not all(shape):
            return f"{FILL_IN} a dimension that no expression fits"
        on = self._answers.shape_fields
        if on:
            named = ", ".join(f"'{name}'" for name in on)
            return (
                f"# check: a dimension depends on the field{'s' * (len(on) > 1)} {named}; this is it for the value here"
            )
        return ""

    def _output_keys(self, index: int, taken: TakenInputs, names: dict[str, str]) -> str:
        """What only outputs of an IPluginV3 have: the input that one is written into, a size tensor's bounds."""
        aliases = self._answers.aliases
        source = aliases[index] if index < len(aliases) else None
        lines = [f"alias = {toml(self._inputs[source])}"] if source is not None else []
        for one in taken.sizes:
            if one.output == index:
                upper, opt = (naming.renamed(written, names) for written in (one.upper, one.opt))
                unknown = "" if one.upper else f"  {FILL_IN} its upper bound, which no expression fits"
                lines.append(f"upper = {toml(upper or '1')}{unknown}")
                if opt and opt != upper:
                    lines.append(f"opt = {toml(opt)}")
        return "".join(f"{line}\n" for line in lines)

    def _table(
        self,
        kind: str,
        name: str,
        types_: Sequence[str],
        dims: Sequence[str],
        note: str = "",
        formats: Sequence[str] = (),
    ) -> str:
        dims = [toml(open_ranks.REST)] if self._open else dims
        lines = [
            f"[[{kind}]]",
            f"name = {toml(name)}",
            f"types = [{', '.join(types_)}]" + ("" if types_ else f"  {FILL_IN} no types were accepted"),
            f"shape = [{', '.join(dims)}]" + (f"  {note}" if note else ""),
        ]
        if len(formats) > 1:
            lines.append(f"formats = [{', '.join(map(toml, formats))}]")
        return "\n".join([*lines, ""])

    @staticmethod
    def _types(kinds: types.TensorTypes, index: int) -> list[str]:
        return [toml(one.value) for one in kinds.tensors[index]] if index < len(kinds.tensors) else []

    def _formats(self, kinds: types.TensorTypes, index: int) -> list[str]:
        found = [Format.LINEAR]
        for row in kinds.rows.values():
            for name in self._answers.formats.get(row, ()):
                one = Format(name)
                if one not in found and DType.from_code(row[index]) in one.types:
                    found.append(one)
        return [one.value for one in found]

    def _input_note(self, index: int, taken: TakenInputs) -> str:
        ranks = self._answers.other_ranks[index] if index < len(self._answers.other_ranks) else ()
        other = [str(rank) for rank in ranks if rank != taken.ranks[index]]
        if self._node and self._node.ranks and self._answers.taken:
            taken_types = {row[index] for row in taken.rows}
            kind = self._node.types[index]
            odd = kind is not None and kind not in taken_types
            return "# check: the plugin does not take the type that it has in the model" if odd else ""
        if not self._answers.taken:
            return ""
        others = {row[index] for row in taken.rows} != {row[0] for row in taken.rows}
        if index and (taken.ranks[index] != taken.ranks[0] or (other and others)):
            return f"{FILL_IN} which dimensions are numbers, or those of another input?"
        notes = []
        if other and not self._open:
            notes.append(f"the rank is a guess, {', '.join(other)} are taken too")
        if index:
            notes.append("taken to have the first input's dimensions")
        return f"# check: {'; '.join(notes)}" if notes else ""

    def _profile(self, factor: int) -> str:
        symbols = self._symbols
        if self._open:
            rest = ", ".join(str([size * factor for size in one]) for one in SIZES.values())
            note = "# check: sizes that the plugin is used with"
            return f'[[profiles]]\nname = "default"\nrest = [{rest}]  {note}\n{TOLERANCES}'
        static = self._base is not None and not bases.BASES[self._base].dynamic_shapes
        known = self._sizes
        rows = []
        for one in symbols:
            low, best, high = (size * factor * self._divisor(one) for size in SIZES.get(one, OTHER))
            low, best, high = known.get(one, (low, best, high))
            low, best, high = (best, best, best) if static else (low, best, high)
            rows.append(f"{one} = [{low}, {best}, {high}]")
        note = "" if all(one in known for one in symbols) else "  # check: sizes that the plugin is used with"
        return f'[[profiles]]\nname = "default"\nsymbols = {{ {", ".join(rows)} }}{note}\n{TOLERANCES}'

    def _divisor(self, name: str) -> int:
        """What an output's shape divides a symbol by: layers that do so mostly mean a whole number."""
        found = [one for shape in self._shapes for one in re.findall(rf"\b{name} // (\w+)", shape)]
        values = [int(one) if one.isdigit() else self._field_tables.integers.get(one, 1) for one in found]
        return math.lcm(*(value for value in values if 0 < value <= MOST_DIVISOR)) if values else 1

    # -------------------------------------------------------------------------------------------- reference

    def _reference(self) -> str:
        inputs, outputs = ", ".join(self._inputs), ", ".join(self._outputs)
        fields = list(dict.fromkeys(self._field_tables.names))
        named = f", *, {', '.join(fields)}" if fields else ""
        one = "an array" if len(self._outputs) == 1 else f"a tuple of {len(self._outputs)} arrays"
        return (
            '"""The layer in NumPy. Every test compares the plugin with this function."""\n\n'
            "from __future__ import annotations\n\n"
            "import numpy as np\n\n\n"
            f"def reference({inputs}{named}):\n"
            f'    """Takes float64 arrays (int64 for integers), returns {one}: {outputs}."""\n'
            '    raise NotImplementedError("say what the layer means")\n'
        )


def _of_node(node: ModelNode | None, outputs: int) -> TakenInputs | None:
    """What a model says of the inputs of a plugin that answers nothing; its outputs are taken to be of their type."""
    kinds = [kind for kind in node.types if kind is not None] if node else []
    if node is None or node.ranks is None or not kinds or len(kinds) != len(node.types):
        return None
    return TakenInputs(node.ranks, (), ((*kinds, *(kinds[:1] * outputs)),))


def _names(given: Sequence[str], stem: str, count: int) -> list[str]:
    """A name for each tensor: the model's as far as they can be names, else `x`, or `x1`, `x2`."""
    plain = [stem] if count == 1 else [f"{stem}{number}" for number in range(1, count + 1)]
    usable = [name for name in given if name.isidentifier() and name.isascii() and not keyword.iskeyword(name)]
    return list(given) if len(given) == count and len(set(usable)) == count else plain
