"""`pluginkit wheel`."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.text import Text

from pluginkit import installation
from pluginkit.cli import progress, terminal
from pluginkit.cli.store.options import cpu_only_option, evidence_option, license_option, release_option
from pluginkit.manifest.project import root
from pluginkit.registry import wheels
from pluginkit.registry.bundles import archive, digests, packing
from pluginkit.registry.wheels import PluginWheel


@click.command("wheel")
@click.argument("source", type=click.Path(path_type=Path), default=".", metavar="[PROJECT|BUNDLE]")
@click.option("--name", default="", help="Distribution name. Default: NAMESPACE-PLUGIN.")
@release_option
@license_option
@cpu_only_option
@evidence_option
@click.option(
    "--any-python", is_flag=True, help="Leave out the Python module; the wheel then works with every Python 3."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default="dist", show_default=True, help="Output folder."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    source: Path,
    name: str,
    release: str,
    license_: str,
    cpu_only: bool,
    evidence: tuple[Path, ...],
    any_python: bool,
    output: Path,
    as_json: bool,
) -> int:
    """Make a Python wheel of PROJECT's builds (default: the current folder), or of a BUNDLE.

    After installation, pluginkit.load() finds the plugin without a compiler. auditwheel determines the platform tag
    from the libraries. The project's Python module is included if it was built for this Python.
    """
    of_bundle = source.name.endswith(archive.SUFFIX)
    if of_bundle and (release != "0.0.0" or license_ or evidence):
        raise click.UsageError("A bundle has its release, license and evidence: --release, --license and --evidence "
                               "are for a project.")  # fmt: skip
    options = packing.PackOptions(source, (), evidence, release, license_)
    with progress.spinner("packing", terminal.console(stderr=as_json)) as show:
        opened = archive.opened(source) if of_bundle else packing.packed(options, show)
        project = None if of_bundle or any_python else root(source)
        with opened as content:
            if not cpu_only:
                packing.require_gpu_code(content.bundle)
            made = wheels.write(content, output, name=name, project=project, progress=show)
    if as_json:
        click.echo(json.dumps([_plain(one) for one in made], indent=2))
    else:
        for one in made:
            _show(one)
    return 0


def _plain(one: PluginWheel) -> dict[str, object]:
    return {
        "file": str(one.path),
        "name": one.name,
        "package": one.package,
        "platform": one.platform,
        "modules": one.modules,
        "digest": one.digest,
        "libraries": [variant.model_dump(mode="json") for variant in one.variants],
    }


def _show(one: PluginWheel) -> None:
    console = terminal.console()
    size = one.path.stat().st_size / 1024
    console.print(Text.assemble("Wrote ", (str(one.path), "bold"), f" ({size:.0f} KiB)"))
    for variant in one.variants:
        codes = ", ".join(map(str, variant.gpu_code))
        console.print(Text(f"  {variant.file}: target {variant.target}{f' ({codes})' if codes else ''}"))
    for module in one.modules:
        console.print(Text(f"  Python module: {module}"))
    console.print(Text(f"  bundle: {digests.short(one.digest)}", style="dim"))
    if one.platform.startswith("linux_"):
        console.print(
            Text(
                f"  {one.platform}: a library needs what no manylinux has, so package indexes like PyPI refuse this "
                "wheel; pip installs the file.",
                style="yellow",
            )
        )
    console.print(Text.assemble("Next: ", (installation.pip(str(one.path)), "bold")))
