"""`pluginkit new`: parse, call `pluginkit.scaffold.new`, print what was made and what comes next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pluginkit import layouts, nvidia_plugins, parser_operators
from pluginkit.bases import BASES
from pluginkit.cli import progress, signature, targets, terminal
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.installation import tensorrt8
from pluginkit.layouts import BEFORE_V3, DEFAULT_TARGETS, TARGETS, TargetName
from pluginkit.manifest import FILE_NAME, Manifest
from pluginkit.manifest.signature import Plugin
from pluginkit.process import files
from pluginkit.process.escapes import quoted, shown
from pluginkit.runtimes.tensorrt import foreseen
from pluginkit.scaffold import new
from pluginkit.scaffold.kernels.patterns import PATTERNS, advice, chosen
from pluginkit.scaffold.project import with_targets


@click.command("new")
@click.argument("name", required=False)
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Parent folder of the new project. Default: the current folder.",
)
@click.option(
    "--from-onnx",
    "model",
    type=click.Path(path_type=Path),
    metavar="MODEL.onnx",
    help="Take signature, fields, sizes and test cases from the nodes of a model.",
)
@click.option(
    "--from-torch",
    "torch_target",
    metavar="MODULE:CLASS",
    help="Take signature, fields, reference and a test case from a torch.nn.Module or a PyTorch operator.",
)
@click.option(
    "--example",
    default="",
    metavar="EXPRESSION",
    help="With --from-torch: Python expression for the input tensor or tensors: 'torch.randn(2, 8)'.",
)
@click.option(
    "--op", "operator", default="", metavar="DOMAIN::OP", help="With --from-onnx: use all nodes of this operator."
)
@click.option("--node", default="", metavar="NAME", help="With --from-onnx: use this node.")
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    metavar="NAME:SHAPES",
    help="With --from-onnx: shapes of a model input, as in pluginkit import. May be repeated.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="INPUTS.npz",
    help="With --from-onnx: model inputs from which test cases are extracted. Default: random values.",
)
@click.option(
    "--types",
    default="",
    metavar="TYPE[,TYPE]",
    help="With --from-onnx: types of the floating tensors, as float32,float16,int8. Default: the model's.",
)
@click.option(
    "--shape",
    "declared",
    multiple=True,
    metavar="NAME:[TYPE:]DIMS",
    help="With --from-onnx: a tensor's shape that inference can't find, as features:n,64,56,56. May be repeated.",
)
@targets.option("10, 11, rtx, and 8.5 where a TensorRT 8 is found")
@click.option(
    "--plugins",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PROJECT|LIB.so",
    help="With --from-onnx: projects of plugins that other nodes use, for these nodes' outputs. May be repeated.",
)
@signature.options
def command(
    *,
    name: str | None,
    directory: Path | None,
    model: Path | None,
    torch_target: str | None,
    example: str,
    operator: str,
    node: str,
    profiles: tuple[str, ...],
    data: Path | None,
    types: str,
    declared: tuple[str, ...],
    plugins: tuple[Path, ...],
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    fields: tuple[str, ...],
    no_fields: bool,
    formats: tuple[str, ...],
    workspace: str,
    kernel: str,
    namespace: str,
    version: str,
    base: str,
    asked_for: tuple[str, ...],
) -> None:
    """Write a new plugin project. NAME is the C++ class, for example MyPlugin.

    TYPES are float32, float16, bfloat16, int8, float8 (E4M3), int32 and int64. SHAPE is a list of symbols and numbers:
    n,c,3. Output shapes may be expressions of symbols, integer fields, list elements (pads[0]) and list lengths
    (len(pads)): + - * // ceil_div(a, b) min(a, b) max(a, b) broadcast(a, b). A field may select: 'h if keepdims else
    1', and '1 if keepdims', which drops the dimension otherwise.

    With --from-onnx and --op or --node, all of this is taken from a model, and NAME defaults to the operator's type.
    `pluginkit doctor MODEL.onnx` prints that command for each unsupported operator. With --from-torch it is taken from
    a class, which is called with the tensors of --example.
    """
    wanted = layouts.targets(asked_for)
    if model is not None or torch_target is not None:
        option = "--from-torch" if torch_target is not None else "--from-onnx"
        own = (
            [*inputs, *outputs, *fields, *formats, namespace, workspace]
            + [version] * (version != "1")
            + ["x"] * no_fields
        )
        if any(own):
            raise UsageError(
                f"{option} takes tensors, fields, namespace and version from the model.",
                hint="Leave --input, --output, --field, --no-fields, --format, --workspace, --namespace and "
                "--version out; change pluginkit.toml afterwards.",
            )
    if torch_target is not None:
        if model is not None or operator or node or profiles or data or kernel or types or declared or plugins:
            raise UsageError(
                "--from-torch takes --example alone, and none of --from-onnx, --op, --node, --profile, --data, "
                "--types, --shape, --plugins, --kernel."
            )
        _from_torch(torch_target, example, name or "", directory, base, wanted)
        return
    if example:
        raise UsageError("--example needs --from-torch.", hint="Add --from-torch MODULE:CLASS.")
    if model is not None:
        asked = {
            "operator": operator,
            "node": node,
            "name": name or "",
            "shapes": profiles,
            "declared": declared,
            "plugins": plugins,
            "types": signature.types(types),
            "data": data,
            "base": base,
            "kernel": kernel,
        }
        _from_model(model, directory, asked, wanted)
        return
    if operator or node or profiles or data or types or declared or plugins:
        raise UsageError(
            "--op, --node, --profile, --data, --types, --shape and --plugins need a model.",
            hint="Add --from-onnx MODEL.onnx.",
        )
    if name is None:
        raise UsageError("The plugin's name is missing.", hint="As in: pluginkit new MyPlugin")
    project = new(
        name,
        directory=directory or Path(),
        inputs=inputs,
        outputs=outputs,
        fields=signature.fields(fields, no_fields=no_fields),
        namespace=namespace,
        version=version,
        base=base,
        formats=formats,
        workspace=workspace,
        kernel=kernel,
    )
    manifest = _made(project, wanted)
    begins(chosen(manifest, kernel), manifest)
    click.echo("\nNext:")
    click.echo(f"  cd {quoted(str(_shown(project)))}")
    click.echo("  pluginkit build")
    click.echo(f"  pluginkit test{' --int8' if DType.INT8 in manifest.precisions() else ''}")
    warn(manifest.plugin)
    if note := BASES[manifest.plugin.base].advice:
        click.echo(f"\nNote: {note}")


def _from_model(model: Path, directory: Path | None, asked: dict[str, Any], wanted: tuple[TargetName, ...]) -> None:
    # Only here: the model's side needs onnx and the whole of `importing`.
    from pluginkit.importing.extraction.project import FromModel, extract

    if bool(asked["operator"]) == bool(asked["node"]):
        raise UsageError(
            "--from-onnx needs --op DOMAIN::OP, for all nodes of an operator, or --node NAME, for one.",
            hint=f"pluginkit doctor {quoted(str(model))} lists the operators without an implementation.",
        )
    with progress.spinner("reading the model, and running it up to its nodes", terminal.console(), elapsed=True):
        found = extract(FromModel(model, **asked), directory)
    manifest = _made(found.project, wanted)
    count = len(found.nodes)
    click.echo(f"\nFrom {count} node{'' if count == 1 else 's'} of {shown(found.operator)} in {shown(str(model))}:")
    _found(manifest)
    begins(found.kernel, manifest)
    for path in found.cases.values():
        click.echo(f"  test case: {path.relative_to(found.project)}, which pluginkit test runs")
    for note in found.notes:
        click.echo(f"  note: {shown(note)}")
    if found.checks:
        click.echo("\nTo check (marked '# check:' in pluginkit.toml):")
        for one in found.checks:
            click.echo(f"  {one.table.removesuffix('s')} {one.name}: {shown(one.text)}")
    click.echo("\nNext:")
    folder = quoted(str(_shown(found.project)))
    click.echo(f"  cd {folder}")
    if not found.computed:
        click.echo(f"  write what {shown(found.operator)} computes into reference.py")
    click.echo(f"  write the same as a kernel into src/{manifest.slug}.cu")
    click.echo("  pluginkit build")
    click.echo(f"  pluginkit test{' --int8' if DType.INT8 in manifest.precisions() else ''}")
    others = "".join(f" --plugins {quoted(str(one))}" for one in asked["plugins"])
    click.echo(f"  cd - && pluginkit import {quoted(str(model))}{others} --plugins {folder}")
    warn(manifest.plugin)


def begins(kernel: str, manifest: Manifest) -> None:
    """Say what the kernel begins as, and which other patterns the user may want."""
    click.echo(f"  kernel: {kernel}, {PATTERNS[kernel].about}")
    for line in advice(manifest, kernel):
        click.echo(f"          {line}")


def _from_torch(
    target: str, example: str, name: str, directory: Path | None, base: str, wanted: tuple[TargetName, ...]
) -> None:
    # Only here: it needs the whole of `importing`.
    from pluginkit.torch.project import extract

    if not example:
        raise UsageError(
            "--from-torch needs an example of what it is called with.",
            hint="As in: --example 'torch.randn(2, 8)'; for two inputs: --example 'torch.randn(2, 8), torch.ones(8)'",
        )
    with progress.spinner("asking PyTorch", terminal.console(), elapsed=True):
        found = extract(target, example, name=name, directory=directory, base=base)
    manifest = _made(found.project, wanted)
    click.echo(f"\nFrom {target}:")
    _found(manifest)
    click.echo(f"  test case: {found.case.relative_to(found.project)}, which pluginkit test runs")
    for note in found.notes:
        click.echo(f"  note: {note}")
    click.echo("\nNext:")
    click.echo(f"  cd {quoted(str(_shown(found.project)))}")
    click.echo(f"  write what forward computes as a kernel into src/{manifest.slug}.cu")
    click.echo("  pluginkit build")
    click.echo("  pluginkit test")
    warn(manifest.plugin)


def _found(manifest: Manifest) -> None:
    """Say what the signature is."""
    for tensor in (*manifest.inputs, *manifest.outputs):
        types, shape = ", ".join(kind.value for kind in tensor.types), ", ".join(manifest.written(tensor))
        click.echo(f"  {tensor.name}: {types} [{shape}]")
    for field in manifest.fields:
        click.echo(f"  field {field.name}: {field.default}" + (f", of {list(field.choices)}" if field.choices else ""))
    for ranked in manifest.ranked():
        for profile in ranked.profiles:
            ranges = ", ".join(f"{symbol} {list(points)}" for symbol, points in profile.symbols.items())
            of = f" of rank {max(len(tensor.shape) for tensor in ranked.inputs)}" if manifest.is_open else ""
            click.echo(f"  sizes (min, opt, max){of}: {ranges or 'all fixed'}")


def _shown(project: Path) -> Path:
    return project.relative_to(Path.cwd()) if project.is_relative_to(Path.cwd()) else project


def _made(project: Path, wanted: tuple[TargetName, ...]) -> Manifest:
    """Say what was made, and what is known of the TensorRTs that it is for: those `wanted`, or a TensorRT 8 that is
    here and the usual ones."""
    manifest = Manifest.load(project)
    if not wanted and tensorrt8.named() and manifest.plugin.base_in(BEFORE_V3):
        wanted = ("8.5", *DEFAULT_TARGETS)
    if wanted:
        file = project / FILE_NAME
        files.write(file, with_targets(file.read_text(encoding="utf-8"), wanted))
    click.echo(f"Made {_shown(project)}/")
    for line in tree(project, "  "):
        click.echo(line)
    for name in wanted:
        click.echo(f"For {TARGETS[name].title}, by tables:")
        for one in foreseen.of_plugin(manifest.plugin.interfaces, name):
            click.echo(f"  {one.line}")
    return manifest


def warn(plugin: Plugin) -> None:
    """Say on stderr what is unlucky about a plugin's name, if anything is."""
    if warning := parser_operators.advice(plugin.name):
        click.echo(f"\nWarning: {warning}", err=True)
    same = [one.when for one in nvidia_plugins.plugins(plugin.name) if one.version == plugin.version]
    if same and not plugin.namespace:
        click.echo(
            f"\nWarning: {plugin.name} {plugin.version} is in TensorRT's own plugin library ({'; '.join(same)}). Where "
            "that is initialized, as by trtexec, the registry refuses yours. --namespace gives it one of its own.",
            err=True,
        )


def tree(folder: Path, indent: str) -> list[str]:
    """The folder's files as lines, folders first."""
    lines = []
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_file(), path.name)):
        lines.append(f"{indent}{path.name}{'/' if path.is_dir() else ''}")
        lines += tree(path, indent + "  ") if path.is_dir() else []
    return lines
