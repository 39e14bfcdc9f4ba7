"""Shapes within the profiles at which a plugin is tested, and the values of its inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pluginkit import shapes
from pluginkit.errors import UsageError
from pluginkit.formats import Format
from pluginkit.manifest import Manifest, Profile, Tensor
from pluginkit.network import npz
from pluginkit.network.networks import Array, Dims

LARGE = (60.0, -60.0)
"""Some values far outside the bulk (normal, deviation 2), yet small enough for FP16 to take their squares."""
_DRAWS = 8


@dataclass(frozen=True)
class Point:
    """Shapes within a profile, and one array for each plugin input (float32, or int32 or int64 for integers).

    `spread` is False for the user's own data: no large values or spikes are added to it.
    """

    profile: str
    name: str
    symbols: dict[str, int]
    feeds: dict[str, Array]
    spread: bool = True


def generator(seed: int, *path: str) -> np.random.Generator:
    """Random numbers that depend on the seed and on what they are for, never on what was drawn before."""
    digest = hashlib.sha256("/".join((str(seed), *path)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))


def is_integer(tensor: Tensor) -> bool:
    """Whether a tensor is of integers in every precision."""
    return tensor.types[0].is_integer


def bind(manifest: Manifest, arrays: Mapping[str, Array]) -> dict[str, int]:
    """The symbols' values that the inputs give: their shapes, and the elements of shape inputs.

    Raises:
        UsageError: a wrong rank, a dimension or element other than the manifest's number, or a symbol with two values.
    """
    symbols = _Symbols()
    symbols.take_shapes(manifest, {name: np.shape(array) for name, array in arrays.items()})
    for tensor in manifest.shape_inputs():
        array = np.asarray(arrays[tensor.name])
        numbers = [int(number) for number in array.ravel()]
        symbols.take(tensor, tensor.values or (), numbers, "element", f"'{tensor.name}' is {array.tolist()}")
    return symbols.env


def bind_shapes(manifest: Manifest, sizes: Mapping[str, Dims]) -> dict[str, int]:
    """The symbols' values that the inputs' shapes give.

    Raises:
        UsageError: a wrong rank, a dimension other than the manifest's number, or a symbol with two values.
    """
    symbols = _Symbols()
    symbols.take_shapes(manifest, sizes)
    return symbols.env


class _Symbols:
    """The symbols' values so far, and for each the input that gave it."""

    def __init__(self) -> None:
        self.env: dict[str, int] = {}
        self._origin: dict[str, str] = {}

    def take_shapes(self, manifest: Manifest, sizes: Mapping[str, Dims]) -> None:
        for tensor in manifest.inputs:
            size = tuple(sizes[tensor.name])
            problem = f"'{tensor.name}' has shape {list(size)}; the manifest says ({', '.join(tensor.shape)})"
            if len(size) != len(tensor.shape):
                raise UsageError(f"{problem}: {len(tensor.shape)} dimension(s) expected.")
            self.take(tensor, tensor.shape, size, "dimension", problem)

    def take(self, tensor: Tensor, written: Sequence[str], numbers: Sequence[int], part: str, problem: str) -> None:
        """What an input's dimensions or elements, as the manifest has them `written`, say with these numbers."""
        for index, (text, got) in enumerate(zip(written, numbers, strict=True)):
            expr = shapes.parse(text)
            if isinstance(expr, shapes.Symbol):
                if self.env.setdefault(expr.name, got) != got:
                    first = f"'{expr.name}' is {self.env[expr.name]} in '{self._origin[expr.name]}'"
                    raise UsageError(f"{problem}: {first}.")
                self._origin.setdefault(expr.name, tensor.name)
            elif shapes.evaluate(expr, {}) != got:
                raise UsageError(f"{problem}: {part} {index} must be {text}.")


def holds(profile: Profile, env: Mapping[str, int]) -> bool:
    """Whether all symbols lie within a profile."""
    return all(profile.symbols[name][0] <= value <= profile.symbols[name][2] for name, value in env.items())


def points(manifest: Manifest, seed: int, *, random: int = 1, data: Path | None = None) -> list[Point]:
    """Min, opt, max and `random` random points of each profile, then the point of the user's own data.

    A profile whose symbols are all fixed has no random points.

    Raises:
        UsageError: the data file is none, or fits no profile.
    """
    found = []
    for profile in manifest.profiles:
        named = {"min": profile.at("min"), "opt": profile.at("opt"), "max": profile.at("max")}
        if any(low < high for low, _, high in profile.symbols.values()):
            taken = list(named.values())
            for number in range(1, random + 1):
                named[f"random-{number}"] = _draw(manifest, profile, generator(seed, profile.name, str(number)), taken)
                taken.append(named[f"random-{number}"])
        found += [
            Point(profile.name, name, env, values(manifest, env, seed, f"{profile.name}/{name}"))
            for name, env in named.items()
        ]
    return [*found, read_data(manifest, data)] if data else found


def unaligned(manifest: Manifest, forms: Mapping[str, Format], tried: Sequence[Point], seed: int) -> list[Point]:
    """A point for each profile in which no point has a channel count that leaves lanes of its last vector unused.

    `forms` gives each tensor's format. Nothing can be done where the channel count is a number, or computed.
    """
    vectors = [t for t in (*manifest.inputs, *manifest.outputs) if forms[t.name].lanes > 1]
    found = []
    for profile in manifest.profiles:
        mine = [point for point in tried if point.profile == profile.name]
        if any(forms[t.name].pads(t.dims(point.symbols)) for t in vectors for point in mine):
            continue
        for tensor in vectors:
            form, channel = forms[tensor.name], tensor.shape[-forms[tensor.name].axis]
            low, _, high = profile.symbols.get(channel, (0, 0, -1))
            counts = [size for size in range(high, low - 1, -1) if size % form.lanes]
            tries = ({**profile.at("opt"), channel: size} for size in counts)
            env = next((one for one in tries if manifest.possible(one)), None)
            if env is not None:
                feeds = values(manifest, env, seed, f"{profile.name}/unaligned")
                found.append(Point(profile.name, "unaligned", env, feeds))
                break
    return found


def apart(manifest: Manifest, tried: Sequence[Point], seed: int) -> list[Point]:
    """For each profile in which some symbols have no two sizes at any point of those tried, a point where all that can
    differ do: what takes one axis for another is seen there."""
    found = []
    for profile in manifest.profiles:
        mine = [point.symbols for point in tried if point.profile == profile.name]
        env = profile.at("opt")
        for name, (low, _, high) in profile.symbols.items():
            others = {size for other, size in env.items() if other != name}
            free = (size for step in range(high - low + 1) for size in (env[name] + step, env[name] - step))
            env[name] = next((size for size in free if low <= size <= high and size not in others), env[name])
        if not any(len(set(one.values())) == len(set(env.values())) for one in mine) and manifest.possible(env):
            found.append(Point(profile.name, "apart", env, values(manifest, env, seed, f"{profile.name}/apart")))
    return found


def _draw(
    manifest: Manifest, profile: Profile, rng: np.random.Generator, taken: list[dict[str, int]]
) -> dict[str, int]:
    """A new point at which the outputs have shapes; the profile's opt where so many draws find none."""
    found = profile.at("opt")
    for _ in range(_DRAWS):
        drawn = {name: int(rng.integers(low, high + 1)) for name, (low, _, high) in profile.symbols.items()}
        env = broadcastable(manifest, profile, drawn)
        if manifest.possible(env):
            found = env
            if env not in taken:
                break
    return found


def broadcastable(manifest: Manifest, profile: Profile, env: Mapping[str, int]) -> dict[str, int]:
    """The point, with sizes that outputs broadcast made equal, or one of them 1, where the profile allows that."""
    found = dict(env)
    dims = [shapes.parse(dim) for tensor in manifest.outputs for dim in tensor.shape]
    for one in (one for dim in dims for one in shapes.broadcasts(dim)):
        names = [side.name for side in (one.left, one.right) if isinstance(side, shapes.Symbol)]
        if len(names) < 2:
            continue
        small, large = sorted(names, key=lambda name: found[name])
        if found[small] in (1, found[large]):
            continue
        # Ones are tried first: equal sizes show nothing of a broadcast.
        for name, value in ((small, 1), (large, 1), (large, found[small]), (small, found[large])):
            if profile.symbols[name][0] <= value <= profile.symbols[name][2]:
                found[name] = value
                break
    return found


def values(manifest: Manifest, env: Mapping[str, int], seed: int, where: str) -> dict[str, Array]:
    """Each input's values for the symbols' values; `where` names the point in its random numbers."""
    sizes = manifest.input_shapes(env)
    # An integer may be an index: below every dimension it is a valid one.
    dims = [dim for tensor in manifest.execution_inputs() for dim in sizes[tensor.name]]
    bound = max(1, min(dims, default=2))
    feeds: dict[str, Array] = {}
    for tensor in manifest.inputs:
        rng, size = generator(seed, where, tensor.name), sizes[tensor.name]
        if tensor.is_shape_input:
            feeds[tensor.name] = np.array(tensor.elements(env), tensor.types[0].numpy).reshape(size)
            continue
        if is_integer(tensor):
            feeds[tensor.name] = rng.integers(0, bound, size).astype(tensor.types[0].numpy)
            continue
        array = np.asarray(rng.normal(0.0, 2.0, size), np.float32).reshape(size)
        if array.size > 2 * len(LARGE):
            special = (*LARGE, 0.0, -0.0)
            array.flat[rng.choice(array.size, len(special), replace=False)] = special
        feeds[tensor.name] = array
    return feeds


def read_data(manifest: Manifest, file: Path) -> Point:
    """The point `data`: an .npz with one array per input, under the inputs' names.

    Raises:
        UsageError: no such file or no .npz, names missing or unknown, a wrong type, rank or dimension, values
            that aren't finite, inconsistent symbols, or shapes outside of every profile.
    """
    arrays = read_arrays(manifest, file)
    return place(manifest, file, {t.name: convert(file, t, arrays[t.name]) for t in manifest.inputs}, "data")


def read_arrays(manifest: Manifest, file: Path) -> dict[str, Array]:
    """The arrays of an .npz that has one for each input.

    Raises:
        UsageError: no such file or no .npz, names missing or unknown.
    """
    wanted = [tensor.name for tensor in manifest.inputs]
    hint = f"Write it with numpy.savez({str(file.name)!r}, {', '.join(f'{name}=...' for name in wanted)})."
    arrays = npz.read(file, hint)
    missing = [name for name in wanted if name not in arrays]
    unknown = [name for name in arrays if name not in wanted]
    if missing or unknown:
        problems = [f"has no array '{name}'" for name in missing] + [
            f"has an unknown array '{name}'" for name in unknown
        ]
        raise UsageError(f"{file} {'; '.join(problems)}. The inputs are: {', '.join(wanted)}.", hint=hint)
    return arrays


def place(manifest: Manifest, file: Path, feeds: dict[str, Array], name: str) -> Point:
    """The user's own values as a point, in the first profile that holds their shapes.

    Raises:
        UsageError: a wrong rank or dimension, inconsistent symbols, or shapes outside of every profile.
    """
    manifest = manifest.like([feeds[tensor.name].ndim for tensor in manifest.inputs])
    try:
        env = bind(manifest, feeds)
    except UsageError as error:
        raise UsageError(f"{file}: {error.message}") from None
    for profile in manifest.profiles:
        if holds(profile, env):
            return Point(profile.name, name, env, feeds, spread=False)
    if not manifest.profiles:
        ranks = ", ".join(f"{name} of {array.ndim}" for name, array in feeds.items())
        raise UsageError(
            f"{file}: no profile is for tensors of so many dimensions ({ranks}).",
            hint="Write a profile with as many in its rest.",
        )
    ranges = "; ".join(
        f"{profile.name}: " + ", ".join(f"{name} {ends[0]}..{ends[2]}" for name, ends in profile.symbols.items())
        for profile in manifest.profiles
    )
    got = ", ".join(f"{name} = {value}" for name, value in env.items())
    raise UsageError(f"{file}: {got} is outside of every profile ({ranges}).", hint="Resize it, or widen a profile.")


def convert(file: Path, tensor: Tensor, array: Array) -> Array:
    """An array in the type that a graph input has: float32, or that of integers.

    Raises:
        UsageError: another kind of number, values that don't fit, or that aren't finite.
    """
    integer = is_integer(tensor)
    target = tensor.types[0].value if integer else "float32"
    problem = f"{file}: '{tensor.name}' is {array.dtype}; expected {target}"
    if array.dtype.kind not in ("iu" if integer else "f"):
        raise UsageError(f"{problem}.", hint=f"Convert it first: array.astype('{target}').")
    with np.errstate(over="ignore"):
        out: Array = array.astype(target)
    if integer and not np.array_equal(out, array):
        raise UsageError(f"{problem}, and its values don't fit.")
    if not integer and not np.isfinite(out).all():
        where = np.argwhere(~np.isfinite(out))[0].tolist()
        raise UsageError(f"{file}: '{tensor.name}' has a value at index {where} that isn't finite in float32.")
    return out
