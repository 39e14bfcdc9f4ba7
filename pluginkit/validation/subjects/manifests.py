"""What a `pluginkit.toml` says of a plugin, as checks need it: values of fields, types, ranks and sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pluginkit.adoption.answers import FieldValue, PluginAnswers, TakenInputs
from pluginkit.bases import BASES
from pluginkit.demands import NAMES, rule_id
from pluginkit.errors import UsageError
from pluginkit.field_types import encode
from pluginkit.manifest import Manifest
from pluginkit.manifest.mistakes import unknown
from pluginkit.network.networks import PluginCall
from pluginkit.validation.catalog import CHECKS
from pluginkit.validation.subject import Known


def known(manifest: Manifest) -> Known:
    """What is known of a manifest's plugin: as in the plain network, at opt of the first profile.

    Of one with shape inputs no inputs are known: the checks ask getOutputShapes without values.
    """
    from pluginkit.testing.families import FAMILIES  # with onnx, which a check without a manifest does without
    from pluginkit.testing.families.base import Setting
    from pluginkit.testing.onnx_export import ANY_SCALE
    from pluginkit.testing.plan import field_values

    static = manifest.static()[0]
    kind = manifest.precisions()[0]
    scales = {tensor.name: ANY_SCALE for tensor in (*manifest.inputs, *manifest.outputs)}
    setting = Setting(static, kind, field_values(manifest), scales)
    (call,) = FAMILIES["plain"].build(setting).calls
    ranges = call.inputs[0]
    sizes = tuple(opt for _, opt, _ in ranges)
    network = tuple(tuple(size if low == high else -1 for low, size, high in zip(*one, strict=True)) for one in ranges)
    row = tuple(one.code for one in (*call.types, *call.output_types))
    answers = PluginAnswers(
        base=BASES[manifest.plugin.base].interface,
        given=_fields(call),
        made="manifest",
        outputs=len(manifest.outputs),
        taken=(TakenInputs(tuple(map(len, sizes)), (), (row,)),),
    )
    if call.shape_inputs:
        return Known(replace(answers, taken=()))
    return Known(answers, sizes, call.types, network)


def _fields(call: PluginCall) -> tuple[FieldValue, ...]:
    found = []
    for name, (kind, value) in call.fields.items():
        array = encode(kind, value)
        found.append((name, kind.code, array.tobytes() or None, array.size))
    return tuple(found)


def check_switches(manifests: Iterable[Manifest]) -> None:
    """Whether each id or name under `[checks]` is a check's.

    Raises:
        UsageError: one isn't; it has the nearest.
    """
    known = [*CHECKS, *map(NAMES.__getitem__, CHECKS)]
    for one in manifests:
        for name in one.checks:
            if rule_id(name) not in CHECKS:
                raise UsageError(
                    f"pluginkit.toml of {one.plugin.name}: checks.{name}: {unknown('check', name, known)}.",
                    hint="pluginkit check --list --level 10 shows all.",
                )
