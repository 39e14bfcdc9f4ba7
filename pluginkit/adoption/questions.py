"""Questions to the plugin of one creator: how many outputs, which ranks, types and formats, and which shapes come out.

Each is asked in a fork of the worker, since a plugin may answer a question that TensorRT would not ask by ending the
process: that is not a finding. A plugin is made again in each fork.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from pluginkit import _native, bases, field_types, host
from pluginkit.adoption import static_shapes
from pluginkit.adoption.answers import FieldValue, ListedField, OutputShapes, PluginAnswers, SizeTensor, TakenInputs
from pluginkit.adoption.draws import BATCHES, FEW_BATCHES, NUMPY, Draws, guess
from pluginkit.adoption.expressions import of_trees, symbol, with_names
from pluginkit.creators.probing import other_base
from pluginkit.errors import CheckFailed
from pluginkit.field_types import FieldType
from pluginkit.formats import Format
from pluginkit.host import Finding
from pluginkit.host.bases.dynamic.plugin import DynamicPlugin
from pluginkit.host.bases.static_plugin import StaticPlugin
from pluginkit.host.bases.v2_plugin import MAX_OUTPUTS, V2Plugin
from pluginkit.host.bases.v3.plugin import PluginV3
from pluginkit.host.descriptors import Desc, DynamicDesc
from pluginkit.host.formats import POISON
from pluginkit.process import isolated
from pluginkit.process.isolated import ForkOutcome
from pluginkit.process.protocol import after_absent, last_call

MOST_INPUTS = 8
"""Inputs that are tried."""
MOST_MIXED = 3
"""Inputs whose ranks are tried in all combinations."""
RANKS = (4, 3, 2, 5, 1)
"""Tried first; what is taken in all ranks is drafted in the first one that is."""
TYPES = (0, 1, 7, 2, 6, 3, 8, 4)
"""`nvinfer1::DataType` of what is tried: FP32, FP16, BF16, INT8, FP8, INT32, INT64, BOOL."""
EACH, ALL = 4.0, 60.0
"""Seconds for one question, and for those to one creator."""
LIKELY = (64, 8, 128, 2, 16, 4, 32)
"""Values of fields that a plugin may take which refuses 1 and 0."""
MOST_HUNG = 2
"""Questions that hang, after which no more is asked."""
MOST_ROWS = 64
"""Combinations of types that are followed at once."""
PRIMES = ((61, 67, 71, 73, 79, 83), (89, 97, 101, 103, 107, 109))
"""Values of fields that shapes may depend on: numbers that stand in an expression for no other reason."""
LONGEST = 8
"""Elements of a list that shapes are held against."""
SIZE = 32
"""A dimension where types and formats are asked for: a whole number of vectors of every format."""

ABSENT = "which is not on this machine"
"""How what `after_absent` says ends."""
UNKNOWN = field_types.NAMES.index("kUNKNOWN")

AnyPlugin = V2Plugin[Any] | PluginV3


def ask(
    creator: host.Creator,
    listed: Sequence[ListedField],
    given: Sequence[FieldValue] | None,
    ranks: Sequence[int] | None,
    crumb: Path,
    sizes: Sequence[Sequence[int]] = (),
) -> PluginAnswers:
    """All that is found out about a creator's plugin.

    Args:
        creator: of a library that is loaded.
        listed: its fields.
        given: a model's values for them; None: they are guessed.
        ranks: of a model's inputs; None: they are tried, for up to `MOST_INPUTS` inputs.
        crumb: the file that holds the last native call.
        sizes: of a model's inputs, asked for where a plugin with static shapes takes no others.
    """
    return _Questions(creator, listed, crumb, sizes).all(given, ranks)


def base(creator: host.Creator, given: Sequence[FieldValue], crumb: Path) -> str:
    """The class of the plugin that a creator makes of these fields; empty where the host can't drive it as
    the TensorRT that it plays."""
    return _Questions(creator, (), crumb).base_of(given)


def _anew(question: Callable[[], Any]) -> Any:
    host.stand_ins.forget_absent_call()
    try:
        return question()
    except Finding as error:
        if absent := host.stand_ins.absent_call():
            raise AbsentCall(f"{error.method}: {error.observed.partition(',')[0]}{after_absent(absent)}") from None
        raise


class AbsentCall(CheckFailed):
    """A refusal after a call of what isn't on this machine."""


class _Questions:
    def __init__(
        self,
        creator: host.Creator,
        listed: Sequence[ListedField],
        crumb: Path,
        sizes: Sequence[Sequence[int]] = (),
    ) -> None:
        self._creator = creator
        self._listed = listed
        self._crumb = crumb
        self._sizes = [tuple(one) for one in sizes]
        self._static = False
        self._choice: static_shapes.Choice = "alike"
        self._end = time.monotonic() + ALL
        self._fields: tuple[FieldValue, ...] = ()
        self._plugin: AnyPlugin | None = None
        self._problems: dict[str, None] = {}
        self._of_guesses: dict[str, None] = {}
        self._hung = 0
        self._absent = ""

    def all(self, given: Sequence[FieldValue] | None, ranks: Sequence[int] | None) -> PluginAnswers:
        made, kind = self._instance(given)
        if not made or kind not in {one.interface for one in bases.BASES.values()}:
            return PluginAnswers(base=kind, made=made, given=self._fields, problems=tuple(self._problems))
        self._static = not next(one for one in bases.BASES.values() if one.interface == kind).dynamic_shapes
        (answer,) = self._ask([self._count], guess=False)
        outputs = int(answer.answer) if answer.ok else 0
        taken = tuple(self._taken(outputs, ranks)) if 0 < outputs <= MAX_OUTPUTS else ()
        defaults = self._defaults() if made == "nothing" else {}
        needed = self._needed() if made in ("ones", "zeros", "draws") else ()
        others = self._other_ranks(taken[0], outputs) if taken and ranks is None else ()
        formats = {row: self._formats(taken[0], row, outputs) for row in taken[0].rows} if taken else {}
        on = self._shape_fields(taken[0], outputs) if taken else ()
        if on and (by_name := self._shapes_by_fields(taken[0], outputs, on)):
            taken, on = (replace(taken[0], shapes=by_name.dims, sizes=by_name.sizes), *taken[1:]), ()
        every = bool(others) and self._every_rank(taken[0], outputs)
        aliases = self._aliases(taken[0], outputs) if taken else ()
        # Where nothing is known of the inputs, how it refused the guessed ones is all there is to say.
        problems = tuple(self._problems if taken else self._problems | self._of_guesses)
        return PluginAnswers(
            kind, self._fields, made, defaults, needed, outputs, taken, others, formats, on, every, aliases, problems
        )

    # ---------------------------------------------------------------------------------------------- plugins

    def _ask(self, questions: Sequence[Callable[[], Any]], *, guess: bool = True) -> list[ForkOutcome]:
        """Ask; endings of what isn't a guess are remembered, and whatever hangs."""
        questions = [partial(_anew, one) for one in questions]
        found = isolated.ask(questions, each=EACH, end=self._end, most_hung=MOST_HUNG - self._hung)
        for one in found:
            if one.ending == "not asked":
                limit = f"{ALL:g} s" if self._hung < MOST_HUNG else f"{MOST_HUNG} that hung"
                self._problems[f"not all questions were asked: the limit is {limit}"] = None
            elif one.ending == "hung" or (one.ending and not guess):
                self._hung += one.ending == "hung"
                self._problems[f"{one.ending}{self._where()}"] = None
            elif one.ending:
                self._of_guesses[f"{one.ending}{self._where()}"] = None
        return found

    def _where(self) -> str:
        """In which native call the last fork ended, as far as that is known."""
        try:
            last = last_call(self._crumb.read_bytes())
        except OSError:
            return ""
        self._absent = self._absent or last.absent
        where = f" in {last.name}" if last.inside and last.name else ""
        return f"{where}{last.after}"

    def _instance(self, given: Sequence[FieldValue] | None) -> tuple[str, str]:
        """How a plugin could be made, and its class; both empty where none could."""
        tries = [("model", tuple(given))] if given is not None else [*_guesses(self._listed)]
        endings: dict[str, None] = {}
        for name, fields in tries:
            self._fields = fields
            if name == "draws" and self._absent:
                # Other values don't bring what isn't on this machine.
                continue
            (made,) = self._ask([self._base], guess=name != "model")
            if made.ok and made.answer:
                return name, str(made.answer)
            if made.ending:
                endings[f"{made.ending}{self._where()}"] = None
            if made.refusal and name == "model":
                self._problems[f"createPlugin: {made.refusal}"] = None
            if made.refusal.endswith(ABSENT):
                self._absent = made.refusal
                endings[made.refusal] = None
        if given is None and self._listed and (base := self._drawn()):
            return "draws", base
        self._fields = ()
        self._problems |= {one: None for one in endings if one.endswith(ABSENT)} or endings
        return "", ""

    def _drawn(self) -> str:
        """The class of the plugin of the first draw of which there is one; empty where there is none."""
        draws = Draws(self._listed)
        # Other values may do without what isn't on this machine, but most don't.
        for batch in draws.batches(FEW_BATCHES if self._absent else BATCHES):
            found = self._ask([partial(self._base_of, fields) for fields in batch])
            for fields, one in zip(batch, found, strict=True):
                if one.ok and one.answer:
                    self._fields = fields
                    return str(one.answer)
                if one.refusal.endswith(ABSENT):
                    self._absent = one.refusal
            if ended := next((fields for fields, one in zip(batch, found, strict=True) if one.ending), None):
                # Where it ended, the last call is no longer that of a draw behind.
                self._ask([partial(self._base_of, ended)])
                draws.learn(last_call(self._crumb.read_bytes()).beyond)
        return ""

    def base_of(self, given: Sequence[FieldValue]) -> str:
        """The class of the plugin that is made of these fields; empty where none is."""
        self._fields = tuple(given)
        (made,) = self._ask([self._base])
        return str(made.answer) if made.ok else ""

    def _base_of(self, fields: Sequence[FieldValue]) -> str:
        self._fields, self._plugin = tuple(fields), None
        return self._base()

    def _base(self) -> str:
        try:
            plugin = self._made()
        except CheckFailed as error:
            if base := other_base(error.message):
                return base
            raise
        return bases.BASES[plugin.BASE].interface

    def _made(self) -> AnyPlugin:
        """This fork's plugin."""
        if self._plugin is None:
            self._plugin = self._create(self._fields)
        return self._plugin

    def _count(self) -> int:
        return self._made().native.nb_outputs()

    def _create(self, fields: Sequence[FieldValue]) -> AnyPlugin:
        if self._creator.kind == "v3":
            plugin = self._creator.create_v3_of("adopt", fields)
            plugin.check_capabilities(("kBUILD",))
            return plugin
        return self._creator.create_of("adopt", fields)

    def _needed(self) -> tuple[str, ...]:
        """The fields without any one of which no plugin is made."""

        def without(name: str) -> bool:
            return self._create([one for one in self._fields if one[0] != name]) is not None

        names = [one[0] for one in self._fields]
        found = self._ask([partial(without, name) for name in names])
        return tuple(name for name, one in zip(names, found, strict=True) if not one.ok)

    def _defaults(self) -> dict[str, float | int]:
        """The values that a plugin has of fields that were not given, as its serialized form shows them.

        An IPluginV3 names them. Of another the place of a field's value is found by giving it two others.
        """
        kinds = field_types.numbers()
        scalars = [(one, kinds[one.type]) for one in self._listed if one.type in kinds]
        found = self._ask([partial(self._default, one.name, kind) for one, kind in scalars])
        return {one.name: got.answer for (one, _), got in zip(scalars, found, strict=True) if got.answer is not None}

    def _default(self, name: str, kind: FieldType) -> float | int | None:
        plugin = self._create(())
        if isinstance(plugin, PluginV3):
            kept = {one.name: one for one in plugin.fields_to_serialize()}
            one = kept.get(name)
            fits = one is not None and one.length == 1 and one.type == kind.code
            return _scalar(kind, one.data) if one is not None and fits else None
        forms = [self._create([_field(name, kind, value)]).native for value in (1, 2)]
        first, second = (_serialized(form) for form in forms)
        before = _serialized(plugin.native)
        size = kind.numpy.itemsize
        ones = [np.asarray(value, kind.numpy).tobytes() for value in (1, 2)]
        places = [
            at
            for at in range(len(before) - size + 1)
            if first[at : at + size] == ones[0] and second[at : at + size] == ones[1]
        ]
        return _scalar(kind, before[places[0] : places[0] + size]) if len(places) == 1 else None

    # ------------------------------------------------------------------------------------ inputs and shapes

    def _taken(self, outputs: int, fixed: Sequence[int] | None) -> Iterator[TakenInputs]:
        """For each number of inputs the first ranks with which shapes and types are answered."""
        tried = [[tuple(fixed)]] if fixed else (self._ranks(count, outputs) for count in range(1, MOST_INPUTS + 1))
        for same_count in tried:
            for ranks in same_count:
                rows = self._rows(ranks, outputs)
                if rows:
                    shapes = self._shapes(ranks, outputs)
                    yield TakenInputs(ranks, shapes.dims, rows, shapes.sizes)
                    break

    def _ranks(self, count: int, outputs: int) -> Iterator[tuple[int, ...]]:
        """Ranks that the shape call takes: alike for all inputs, and only then mixed."""
        alike = [(rank,) * count for rank in RANKS]
        found = False
        for ranks, one in zip(alike, self._ask([partial(self._dims, r, outputs) for r in alike]), strict=True):
            if one.ok:
                found = True
                yield ranks
        if found or not 1 < count <= MOST_MIXED:
            return
        mixed = [ranks for ranks in product((4, 3, 2, 1), repeat=count) if len(set(ranks)) > 1]
        for ranks, one in zip(mixed, self._ask([partial(self._dims, r, outputs) for r in mixed]), strict=True):
            if one.ok:
                yield ranks

    def _dims(self, ranks: Sequence[int], outputs: int, choice: static_shapes.Choice | None = None) -> OutputShapes:
        plugin = self._made()
        if isinstance(plugin, StaticPlugin):
            asked = static_shapes.sizes(plugin, ranks, choice or self._choice, self._sizes)
            return static_shapes.shapes(plugin, asked, outputs)
        open_ = [(-1,) * rank for rank in ranks]
        if isinstance(plugin, PluginV3):
            return of_trees(plugin.output_shapes(open_, (), outputs), ranks)
        assert isinstance(plugin, DynamicPlugin)
        return of_trees([plugin.output_dimensions(index, open_) for index in range(outputs)], ranks)

    def _shapes(self, ranks: Sequence[int], outputs: int) -> OutputShapes:
        choices = [one for one in static_shapes.CHOICES if self._sizes or one != "model"]
        for choice in choices if self._static else choices[:1]:
            (found,) = self._ask([partial(self._dims, ranks, outputs, choice)])
            if found.ok:
                self._choice = choice
                answer: OutputShapes = found.answer
                return answer
        return OutputShapes(())

    def _aliases(self, taken: TakenInputs, outputs: int) -> tuple[int | None, ...]:
        """Of each output the input whose memory it shares; nothing where no output does."""

        def aliases() -> tuple[int | None, ...]:
            plugin = self._made()
            return plugin.aliases(len(taken.ranks), outputs) if isinstance(plugin, PluginV3) else ()

        (found,) = self._ask([aliases])
        return tuple(found.answer) if found.ok and any(one is not None for one in found.answer) else ()

    def _shape_fields(self, taken: TakenInputs, outputs: int) -> tuple[str, ...]:
        """The int32 fields, and elements of lists, with another value of which a plugin answers other shapes."""
        lists = {
            name: length
            for name, kind, data, length in self._fields
            if kind == FieldType.INT32.code and data and 1 < length <= LONGEST
        }
        numbers = [one.name for one in self._listed if one.type == FieldType.INT32.code and one.length <= 1] + [
            name for name, kind, _, length in self._fields if kind == FieldType.INT32.code and length == 1
        ]
        names = [one for one in dict.fromkeys(numbers) if one not in lists]
        names += [f"{name}[{at}]" for name, length in lists.items() for at in range(length)]
        found = []
        for name in names:
            answers = self._ask([partial(self._dims_with, taken.ranks, outputs, {name: value}) for value in (2, 3)])
            if any(one.ok and one.answer != OutputShapes(taken.shapes, taken.sizes) for one in answers):
                found.append(name)
        return tuple(found)

    def _dims_with(self, ranks: Sequence[int], outputs: int, values: Mapping[str, int]) -> OutputShapes:
        """The shapes of a plugin with other values of these fields, and elements of lists."""
        self._plugin = self._with_values(values)
        return self._dims(ranks, outputs)

    def _with_values(self, values: Mapping[str, int]) -> AnyPlugin:
        """A plugin with other values of these fields, and elements of lists."""
        fields = {one[0]: one for one in self._fields}
        for key, value in values.items():
            name, _, place = key.rstrip("]").partition("[")
            if place:
                _, kind, data, length = fields[name]
                array = np.frombuffer(data or b"", np.int32).copy()
                array[int(place)] = value
                fields[name] = (name, kind, array.tobytes(), length)
            else:
                fields[name] = _field(name, FieldType.INT32, value)
        return self._create([*fields.values()])

    def _shapes_by_fields(self, taken: TakenInputs, outputs: int, names: Sequence[str]) -> OutputShapes | None:
        """The shapes with fields' names for the numbers that they are; None where they are not such numbers."""
        if self._static:
            return self._static_by_fields(taken, outputs, names)
        first, second = (dict(zip(names, primes, strict=False)) for primes in PRIMES)
        if len(first) < len(names):
            return None
        given = self._ask([partial(self._dims_with, taken.ranks, outputs, values) for values in (first, second)])
        if not all(one.ok for one in given):
            return None
        written = [_named(one.answer, values) for one, values in zip(given, (first, second), strict=True)]
        return written[0] if written[0] == written[1] else None

    def _static_by_fields(self, taken: TakenInputs, outputs: int, names: Sequence[str]) -> OutputShapes | None:
        """The same of a plugin that answers numbers."""
        values = [dict(zip(names, turn, strict=False)) for turn in static_shapes.FIELD_TURNS]
        if len(values[0]) < len(names) or self._choice == "model":
            return None

        def answer(turn: int, factor: int) -> tuple[static_shapes.Sizes, list[tuple[int, ...]]]:
            plugin = self._with_values(values[turn])
            assert isinstance(plugin, StaticPlugin)
            every = static_shapes.sizes(plugin, taken.ranks, self._choice, (), factor=factor)
            asked = every[turn % len(every)]
            return asked, static_shapes.numbers(plugin, asked, outputs)

        # Sizes that the fields divide, and others, which tell how a plugin rounds; some refuse those.
        turns = [(turn, factor) for factor in (static_shapes.WHOLE, 1) for turn in range(len(values))]
        found = self._ask([partial(answer, *turn) for turn in turns])
        if not all(one.ok for one in found[: len(values)]):
            return None
        known = [(values[turn], one.answer) for (turn, _), one in zip(turns, found, strict=True) if one.ok]
        return static_shapes.of_answers(
            [asked for _, (asked, _) in known], [given for given, _ in known], [one for _, (_, one) in known]
        )

    def _other_ranks(self, taken: TakenInputs, outputs: int) -> tuple[tuple[int, ...], ...]:
        """For each input the ranks that it takes while the others stay, by shapes, and by types of the first row."""

        def takes(ranks: tuple[int, ...]) -> bool:
            self._dims(ranks, outputs)
            return self._supports(_descs(ranks, outputs, taken.rows[0]), len(ranks))

        found = []
        for index in range(len(taken.ranks)):
            tried = [(*taken.ranks[:index], rank, *taken.ranks[index + 1 :]) for rank in range(1, 6)]
            answers = self._ask([partial(takes, ranks) for ranks in tried])
            found.append(tuple(r[index] for r, one in zip(tried, answers, strict=True) if one.ok and one.answer))
        return tuple(found)

    def _every_rank(self, taken: TakenInputs, outputs: int) -> bool:
        """Whether all ranks are taken, and the outputs have the first input's dimensions in each."""

        def like_the_input(rank: int) -> bool:
            ranks = (rank,) * len(taken.ranks)
            own = tuple(symbol(0, dim) for dim in range(rank))
            alike = all(shape == own for shape in self._dims(ranks, outputs).dims)
            return alike and self._supports(_descs(ranks, outputs, taken.rows[0]), len(ranks))

        found = self._ask([partial(like_the_input, rank) for rank in sorted(RANKS)])
        return all(one.ok and one.answer for one in found)

    # ------------------------------------------------------------------------------------ types and formats

    def _rows(self, ranks: Sequence[int], outputs: int) -> tuple[tuple[int, ...], ...]:
        """The types that the walk of formats takes, linear, and that the plugin gives to its outputs."""
        rows: list[tuple[int, ...]] = [()]
        for position in range(len(ranks) + outputs):
            tried = [(*row, kind) for row in rows for kind in TYPES]
            found = self._ask([partial(self._supports_at, ranks, outputs, row, position) for row in tried])
            rows = [row for row, one in zip(tried, found, strict=True) if one.ok and one.answer][:MOST_ROWS]
        count = len(ranks)
        kinds = list(dict.fromkeys(row[:count] for row in rows))
        found = self._ask([partial(self._output_types, kind, outputs) for kind in kinds])
        given = {kind: tuple(one.answer) for kind, one in zip(kinds, found, strict=True) if one.ok}
        fitting = [row for row in rows if given.get(row[:count]) == row[count:]]
        # Some plugins name their outputs' types only for what they have been configured with.
        return tuple(fitting or rows)

    def _output_types(self, kinds: Sequence[int], outputs: int) -> list[int]:
        plugin = self._made()
        if isinstance(plugin, PluginV3):
            code, found = plugin.native.output_data_types(outputs, list(kinds))
            return found if code == 0 else []
        return [plugin.native.output_data_type(index, list(kinds)) for index in range(outputs)]

    def _supports_at(self, ranks: Sequence[int], outputs: int, row: Sequence[int], position: int) -> bool:
        descs = _descs(ranks, outputs, row)
        return self._supports_position(descs[: position + 1], len(ranks), outputs, position)

    def _supports(self, descs: Sequence[Desc], inputs: int) -> bool:
        outputs = len(descs) - inputs
        return all(
            self._supports_position(descs[: position + 1], inputs, outputs, position) for position in range(len(descs))
        )

    def _supports_position(self, descs: Sequence[Desc], inputs: int, outputs: int, position: int) -> bool:
        plugin = self._made()
        known = [*descs, *([POISON] * (inputs + outputs - len(descs)))]
        if isinstance(plugin, PluginV3):
            dynamic = [DynamicDesc(one, one.dims, one.dims, one.dims) for one in known]
            return plugin.supports_format_combination(position, dynamic, inputs, outputs)
        # Of an IPluginV2Ext the answer for integers counts for nothing in a test; here it is all that is known.
        return V2Plugin.supports_format_combination(plugin, position, known, inputs, outputs)

    def _formats(self, taken: TakenInputs, row: tuple[int, ...], outputs: int) -> tuple[str, ...]:
        """The formats that all tensors may have at once for which TensorRT documents them, the others being linear."""
        descs = _descs(taken.ranks, outputs, row)
        tried = [form for form in Format if form is not Format.LINEAR and any(_fits(one, form) for one in descs)]

        def takes(form: Format) -> bool:
            return self._supports(
                [Desc(o.dims, o.type, form.code if _fits(o, form) else 0, 0.0) for o in descs], len(taken.ranks)
            )

        found = self._ask([partial(takes, form) for form in tried])
        return tuple(form.value for form, one in zip(tried, found, strict=True) if one.ok and one.answer)


def _named(found: OutputShapes, values: Mapping[str, int]) -> OutputShapes:
    """The same with the names of fields for the numbers that they are."""
    return OutputShapes(
        tuple(tuple(with_names(dim, values) for dim in shape) for shape in found.dims),
        tuple(
            SizeTensor(one.output, with_names(one.upper, values), with_names(one.opt, values)) for one in found.sizes
        ),
    )


def _descs(ranks: Sequence[int], outputs: int, row: Sequence[int]) -> list[Desc]:
    """Descriptors of all tensors, as many as the row has types."""
    # An output's rank is not known where types are asked for; the first input's is the most likely one.
    all_ranks = [*ranks, *([ranks[0]] * outputs)]
    return [Desc((SIZE,) * rank, kind, 0, 0.0) for rank, kind in zip(all_ranks, row, strict=False)]


def _fits(desc: Desc, form: Format) -> bool:
    codes = [kind.code for kind in form.types]
    return desc.type in codes and len(desc.dims) >= form.axis


def _guesses(listed: Sequence[ListedField]) -> Iterator[tuple[str, tuple[FieldValue, ...]]]:
    yield "nothing", ()
    tables = [numbers for numbers in _numbers(listed) if numbers]
    for numbers in tables:
        for name, value in (("ones", 1), ("zeros", 0)):
            yield name, tuple(guess(one, kind, value) for one, kind in numbers)
    for numbers in tables:
        # Sizes that are powers of two, all alike.
        for size in LIKELY:
            yield "draws", tuple(guess(one, kind, size) for one, kind in numbers)


def _numbers(listed: Sequence[ListedField]) -> Iterator[list[tuple[ListedField, str]]]:
    """The fields of numbers, each with NumPy's type."""
    # Many creators list names alone (kUNKNOWN), and read what they get as the type that they want.
    for unknown in (FieldType.INT32, FieldType.FLOAT32):
        typed = [replace(one, type=unknown.code, length=1) if one.type == UNKNOWN else one for one in listed]
        yield [(one, NUMPY[one.type]) for one in typed if one.type in NUMPY]
        if typed == [*listed]:
            return


def _field(name: str, kind: FieldType, value: float) -> FieldValue:
    return name, kind.code, np.asarray(value, kind.numpy).tobytes(), 1


def _scalar(kind: FieldType, data: bytes) -> float | int:
    value = np.frombuffer(data, kind.numpy, 1)[0]
    return int(value) if kind.is_integer else float(value)


def _serialized(native: Any) -> bytes:
    size = native.serialization_size()
    buffer = _native.Buffer(size)
    native.serialize(buffer.address)
    return bytes(memoryview(buffer))
