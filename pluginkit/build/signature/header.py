"""The text of the header: types, formats, ranks, shapes, scales, fields, and the struct that the kernel gets."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from pluginkit import bases
from pluginkit.build.signature import expressions, fields
from pluginkit.build.signature.cpp_names import check_cpp
from pluginkit.build.signature.fields import quote
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest, Tensor, slug

_BASES = {"dynamic": "kDynamic", "ioext": "kIOExt", "v3": "kV3"}


def file_name(manifest: Manifest) -> str:
    """What a layer's sources include."""
    return f"{manifest.slug}_signature.h"


def cpp_namespace(name: str) -> str:
    """The C++ namespace of a plugin's code: its slug; a slug of one word gets `_plugin`.

    The C library puts names such as `round` and `select` into the global namespace; `int` and `std` are taken too.
    """
    short = slug(name)
    return short if "_" in short.strip("_") and not short.endswith("_t") else f"{short.rstrip('_')}_plugin"


def header(manifest: Manifest) -> str:
    """The text of the header that `pluginkit/layer.h` makes a plugin of.

    Raises:
        UsageError: a base that there is no layer of, a name or a field's default that C++ can't have.
    """
    base = manifest.plugin.base
    if base not in _BASES:
        raise UsageError(
            f"There is no layer of base '{base}' ({bases.BASES[base].interface}).",
            hint=f"pluginkit/layer.h makes {', '.join(_BASES)}.",
        )
    _check_members(manifest)
    lines = [
        "// The signature of pluginkit.toml, which is compiled into this by `pluginkit build`. Change that, not this.",
        "#pragma once",
        "",
        "#include <pluginkit/layer/fields.h>",
        "#include <pluginkit/layer/sizes.h>",
        "#include <pluginkit/layer/tensor.h>",
        "",
        *(f"#include <{one}>" for one in ("array", "cmath", "cstddef", "cstdint", "limits", "string", "vector")),
        "",
        f"namespace {cpp_namespace(manifest.plugin.name)}",
        "{",
        "",
        *_of_kernel(manifest),
        *_of_plugin(manifest),
        "",
        f"}} // namespace {cpp_namespace(manifest.plugin.name)}",
    ]
    return "\n".join(lines) + "\n"


def _check_members(manifest: Manifest) -> None:
    """Refuse what can be no member of the structs: pluginkit.toml may be of a class that has other names for them."""
    named = [(one.name, "a field") for one in manifest.fields]
    named += [(one.name, "a tensor") for one in (*manifest.execution_inputs(), *manifest.outputs)]
    for name, what in named:
        check_cpp(name, f"{what}'s name", "Rename it in pluginkit.toml, or write the class without pluginkit/layer.h.")


def _of_kernel(manifest: Manifest) -> list[str]:
    """What a kernel's source needs."""
    given, made = manifest.execution_inputs(), manifest.outputs
    return [
        "//! What the layer was created with: the attributes of its node.",
        *_struct("Fields", [fields.member(field) for field in manifest.fields]),
        "//! The types that go together, by the name of the one that the layer computes in.",
        *_block("enum class Precision : int32_t", [f"{kind.trt}," for kind in manifest.precisions()], ";"),
        *_struct("Inputs", [f"pluginkit::Input {tensor.name}; //!< {_about(manifest, tensor)}" for tensor in given]),
        *_struct("Outputs", [f"pluginkit::Output {tensor.name}; //!< {_about(manifest, tensor)}" for tensor in made]),
        "//! One run of the kernel.",
        *_struct(
            "Run : pluginkit::Launch",
            ["Fields const& fields;", "Precision precision;", "Inputs in;", "Outputs out;"],
        ),
        "//! Starts the kernel on the stream and returns at once; no element to compute: no launch. Yours to write.",
        "cudaError_t launch(Run const& run) noexcept;",
        "",
    ]


def _about(manifest: Manifest, tensor: Tensor) -> str:
    return f"{', '.join(tensor.types)}: [{', '.join(manifest.written(tensor))}]"


def _of_plugin(manifest: Manifest) -> list[str]:
    """What `pluginkit/layer.h` needs."""
    given, made = manifest.execution_inputs(), manifest.outputs
    tensors = (*given, *made)
    plugin = manifest.plugin
    formats = _combinations(manifest)
    aliases = [[one.name for one in given].index(tensor.alias) if tensor.alias else -1 for tensor in made]
    shape_inputs = [len(tensor.values or ()) for tensor in manifest.shape_inputs()]
    sets = len(manifest.tuning.sets())
    ins, outs = (
        "{" + _list(f"{side}[{i}]" for i in range(len(of))) + "}" for side, of in (("in", given), ("out", made))
    )
    body = [
        f"static constexpr char const* kName = {quote(plugin.name)};",
        f"static constexpr char const* kVersion = {quote(plugin.version)};",
        f"static constexpr char const* kNamespace = {quote(plugin.namespace)};",
        f"static constexpr auto kBase = pluginkit::Base::{_BASES[plugin.base]};",
        "//! The same with a TensorRT that has no IPluginV3.",
        f"static constexpr auto kBaseBeforeV3 = pluginkit::Base::{_BASES[plugin.interfaces[0]]};",
        "//! Of what an engine keeps: another one if that changes.",
        f"static constexpr uint32_t kSerialVersion = 0x{_serial_version(manifest):08X}U;",
        f"static constexpr int32_t kInputs = {len(given)};",
        f"static constexpr int32_t kOutputs = {len(made)};",
        f"static constexpr int32_t kTensors = {len(tensors)};",
        "//! Rows of nvinfer1::DataType, those of Precision in their order: inputs, then outputs.",
        *_table("kTypes[][kTensors]", [[manifest.type_of(t, p).code for t in tensors] for p in manifest.precisions()]),
        "//! A row of kTypes, and nvinfer1::TensorFormat of each tensor.",
        *_table("kFormats[][1 + kTensors]", formats),
        f"static constexpr pluginkit::Rank kRanks[] = {{{_list(expressions.rank(manifest, t) for t in given)}}};",
        "//! The channel's dimension of a list of scales.",
        f"static constexpr int32_t kScaleAxes[] = {{{_list(map(_scale_axis, tensors))}}};",
        f"static constexpr bool kQuantized = {_bool(any(_is_quantized(one) for one in tensors))};",
        "//! Whether all tensors have a first dimension that can be a batch.",
        f"static constexpr bool kBatched = {_bool(manifest.batch() is not None)};",
        f"static constexpr int32_t kShapeInputs = {len(shape_inputs)};",
        f"static constexpr int32_t kShapeInputElements[] = {{{_list(shape_inputs or [0])}}};",
        f"static constexpr bool kSized = {_bool(any(map(manifest.is_sized, made)))};",
        f"static constexpr bool kIsSized[] = {{{_list(_bool(manifest.is_sized(t)) for t in made)}}};",
        "//! Whether an output's shape follows from the inputs' shapes and the fields.",
        f"static constexpr bool kIsKnown[] = {{{_list(_bool(_is_known(manifest, t)) for t in made)}}};",
        f"static constexpr bool kAliased = {_bool(any(tensor.alias for tensor in made))};",
        f"static constexpr int32_t kAliasOf[] = {{{_list(aliases)}}};",
        f"static constexpr int32_t kTactics = {sets if sets > 1 else 0};",
        f"static constexpr size_t kFields = {len(manifest.fields)};",
        f"using Fields = {cpp_namespace(plugin.name)}::Fields;",
        "",
        "//! Calls f on each field.",
        *_block(
            "template <typename F>\nstatic void each([[maybe_unused]] F const& f)",
            [f"f({fields.described(field)});" for field in manifest.fields],
        ),
        "//! What is wrong with fields' values; empty where nothing is.",
        *_block(
            "static std::string problem([[maybe_unused]] Fields const& f)", [*fields.problems(manifest), "return {};"]
        ),
        *_block(
            "static void scales([[maybe_unused]] Fields const& f, [[maybe_unused]] float* made) noexcept",
            _scales(tensors),
        ),
        *_block(
            "static pluginkit::FloatList channelScales([[maybe_unused]] Fields const& f, int32_t tensor) noexcept",
            _channel_scales(tensors),
        ),
        *_block(
            "template <typename S>\nstatic void shapes(S& s, [[maybe_unused]] Fields const& f)",
            expressions.outputs(manifest),
        ),
        "//! Whether the inputs' dimensions are what pluginkit.toml says of one another.",
        *_block(
            "template <typename S>\n"
            "static bool fits([[maybe_unused]] S const& s, [[maybe_unused]] Fields const& f) noexcept",
            [f"return {' && '.join(expressions.fitting(manifest)) or 'true'};"],
        ),
        "//! Bytes of scratch memory.",
        *_block(
            "template <typename S>\n"
            "static pluginkit::Dimension workspace(S const& s, [[maybe_unused]] Fields const& f) noexcept",
            [f"return {expressions.size(manifest, plugin.workspace or '0')};"],
        ),
        *_block(
            "static cudaError_t run(pluginkit::Launch const& made, Fields const& f, int32_t row, "
            "pluginkit::Input const* in, pluginkit::Output const* out) noexcept",
            [f"return launch(Run{{made, f, static_cast<Precision>(row), {ins}, {outs}}});"],
        )[:-1],
    ]
    return _block("struct Signature", body, ";")[:-1]


def _combinations(manifest: Manifest) -> list[list[int]]:
    """The formats that go together, each row for a row of types."""
    tensors = (*manifest.execution_inputs(), *manifest.outputs)
    rows: list[list[int]] = []
    for index, precision in enumerate(manifest.precisions()):
        for layout in manifest.layouts(precision):
            forms = [manifest.format_of(t, manifest.type_of(t, precision), layout).code for t in tensors]
            rows += [[index, *forms]] if [index, *forms] not in rows else []
    return rows


def _is_known(manifest: Manifest, tensor: Tensor) -> bool:
    return manifest.value_symbols().isdisjoint(tensor.names())


def _is_quantized(tensor: Tensor) -> bool:
    return any(kind.is_quantized for kind in tensor.types)


def _scale_axis(tensor: Tensor) -> str:
    if tensor.scale is None:
        return "pluginkit::kNoScale"
    return "pluginkit::kOneScale" if tensor.scale_axis is None else str(tensor.scale_axis)


def _scales(tensors: tuple[Tensor, ...]) -> list[str]:
    return [
        f"made[{index}] = {f'f.{tensor.scale}' if tensor.scale_axis is None else '1.0F'};"
        for index, tensor in enumerate(tensors)
        if tensor.scale
    ]


def _channel_scales(tensors: tuple[Tensor, ...]) -> list[str]:
    lines = ["switch (tensor)", "{"]
    for index, tensor in enumerate(tensors):
        if tensor.scale_axis is not None:
            given = f"f.{tensor.scale}.data(), static_cast<int64_t>(f.{tensor.scale}.size())"
            lines += [f"case {index}: // {tensor.name}", f"    return {{{given}}};"]
    return [*lines, "default:", "    return {nullptr, 0};", "}"]


def _serial_version(manifest: Manifest) -> int:
    kept = [(field.name, fields.member_type(field)) for field in manifest.fields]
    tensors = (*manifest.execution_inputs(), *manifest.outputs)
    quantized = len(tensors) if any(map(_is_quantized, tensors)) else 0
    return zlib.crc32(repr((manifest.plugin.name, kept, quantized)).encode())


def _table(name: str, rows: list[list[int]]) -> list[str]:
    return [f"static constexpr int32_t {name} = {{", *(f"    {{{_list(row)}}}," for row in rows), "};"]


def _list(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _struct(name: str, members: list[str]) -> list[str]:
    return _block(f"struct {name}", members, ";")


def _block(head: str, body: list[str], end: str = "") -> list[str]:
    return [*head.split("\n"), "{", *(f"    {line}" if line else "" for line in body), "}" + end, ""]
