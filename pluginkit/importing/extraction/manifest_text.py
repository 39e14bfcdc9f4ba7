"""The text of a pluginkit.toml, of a signature that was found: with its sizes, its choices, and marks of guesses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from pluginkit import shapes
from pluginkit.bases import BASES
from pluginkit.importing.extraction.fields import Value
from pluginkit.importing.extraction.signature import NodeSignature, SignatureGuess
from pluginkit.manifest import REST, Manifest
from pluginkit.process.escapes import shown
from pluginkit.scaffold import profiles, signature
from pluginkit.scaffold.profiles import Range


def manifest_of(
    found: NodeSignature,
    called: str,
    *,
    namespace: str,
    version: str,
    base: str,
    ranges: Mapping[str, tuple[int, int, int]],
) -> tuple[Manifest, str]:
    """The manifest of a signature that was found, and its text, with the sizes and the fields' values that were found.

    Raises:
        UsageError: as `signature.manifest`.
    """
    # TensorRT has no names of C++ keywords, and so on: `signature.manifest` says what is wrong with a name.
    manifest, toml = signature.manifest(
        called,
        inputs=found.inputs,
        outputs=found.outputs,
        fields=[field.option for field in found.fields],
        namespace=namespace,
        version=version,
        base=base,
    )
    ranges = _with_places(found, ranges)
    if not BASES[manifest.plugin.base].dynamic_shapes:
        ranges = {symbol: (opt, opt, opt) for symbol, (_, opt, _) in ranges.items()}
    toml = _with_choices(_with_ranks(toml, found) if found.ranks else _with_ranges(toml, ranges), found)
    toml = _with_checks(toml, marked(found, manifest))
    return Manifest.parse(toml, "The model"), toml


def marked(found: NodeSignature, manifest: Manifest) -> tuple[SignatureGuess, ...]:
    """The guesses in a manifest: one whose shapes are static has no range of sizes."""
    dynamic = BASES[manifest.plugin.base].dynamic_shapes
    return tuple(one for one in found.checks if dynamic or one.table != "profiles")


def _raised(found: NodeSignature, ranges: Mapping[str, Range]) -> dict[str, Range]:
    """The ranges with sizes raised until each output has elements, with each value that a field has in the model."""
    texts = [dim for one in found.outputs for dim in signature.split(one.split(":", 2)[2]) if dim != REST]
    values = {field.name: [one for one in field.values if _is_whole(one)] for field in found.fields}
    usual = {name: each[0] for name, each in values.items() if each}
    least = {field.name: field.least for field in found.fields if field.least is not None}
    others = [{**usual, name: one} for name, each in values.items() for one in each]
    others += [dict(one) for one in profiles.alternatives(usual, {name: [one] for name, one in least.items()})]
    return profiles.with_elements(ranges, [shapes.parse(text) for text in texts], others)


def _is_whole(value: Value) -> TypeGuard[int | tuple[int, ...]]:
    return all(isinstance(one, int) for one in (value if isinstance(value, tuple) else (value,)))


def has_places(found: NodeSignature) -> bool:
    """Whether at opt each output has elements."""
    return all(low <= found.ranges[name][1] for name, (low, _, _) in _raised(found, found.ranges).items())


def _with_places(found: NodeSignature, ranges: Mapping[str, Range]) -> dict[str, Range]:
    """The ranges with the least sizes raised, up to opt."""
    raised = _raised(found, ranges)
    return {name: (min(raised[name][0], opt), opt, high) for name, (_, opt, high) in ranges.items()}


def _with_checks(toml: str, checks: Sequence[SignatureGuess]) -> str:
    """The manifest with `# check:` behind what is a guess."""
    for one in checks:
        pattern = rf'(?m)(^\[\[{one.table}\]\]\nname = "{re.escape(one.name)}"\n(?:(?!\[\[).*\n)*?{one.key} = .*)$'
        if found := re.search(pattern, toml):
            toml = f"{toml[: found.end()]}  # check: {shown(one.text)}{toml[found.end() :]}"
    return toml


def _with_ranges(toml: str, ranges: Mapping[str, tuple[int, int, int]]) -> str:
    """The manifest with the model's sizes in its first profile."""
    for symbol, points in ranges.items():
        pattern = rf"(?m)^(symbols = \{{.*?\b{re.escape(symbol)} = )\[[^\]]*\]"
        toml = re.sub(pattern, rf"\g<1>{list(points)}", toml, count=1)
    return toml


def _with_ranks(toml: str, found: NodeSignature) -> str:
    """The manifest with a profile for each rank that the nodes have, instead of those of a new project."""
    start, end = toml.index('\n# Each profile says by rest which dimensions "..." stands for'), toml.index("\n[test]")
    lines = ["", '# Each profile says by rest which dimensions "..." stands for: those of the model\'s nodes.']
    for number, one in enumerate(found.ranks):
        body = ", ".join(f"{symbol} = {list(points)}" for symbol, points in one.symbols.items())
        lines += ["", "[[profiles]]", f'name = "{f"rank{one.rank}" if number else "default"}"']
        lines += [f"symbols = {f'{{ {body} }}' if body else '{}'}", f"rest = {list(map(list, one.rest))}"]
    return toml[:start] + "\n".join(lines) + "\n" + toml[end:]


def _with_choices(toml: str, found: NodeSignature) -> str:
    """The manifest with the values that the nodes have, where these differ."""
    for field in found.fields:
        if len(field.values) > 1 and not isinstance(field.values[0], tuple):
            written = ", ".join(json.dumps(value) for value in field.values)
            pattern = rf'(?m)^(name = "{re.escape(field.name)}"\ntype = .*\ndefault = .*)$'
            found_at = re.search(pattern, toml)
            if found_at:
                toml = f"{toml[: found_at.end()]}\nchoices = [{written}]{toml[found_at.end() :]}"
    return toml
