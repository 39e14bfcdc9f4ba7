"""`pluginkit pack`."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.text import Text

from pluginkit.cli import progress, terminal
from pluginkit.cli.store.options import cpu_only_option, evidence_option, license_option, release_option
from pluginkit.process.escapes import quoted
from pluginkit.registry.bundles import archive, digests, packing
from pluginkit.registry.bundles.bundle import Bundle


@click.command("pack")
@click.argument("project", type=click.Path(path_type=Path), default=".")
@click.option(
    "--build",
    "builds",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="LIB.so|BUNDLE",
    help="Library, or bundle of another machine's builds. May be repeated. Default: the project's own builds.",
)
@evidence_option
@release_option
@license_option
@cpu_only_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=".",
    help="Output file or folder. Default: the current folder.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(1),
    default=60.0,
    show_default=True,
    help="Seconds allowed for loading a library.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the manifest and its digest as JSON.")
def command(
    project: Path,
    builds: tuple[Path, ...],
    evidence: tuple[Path, ...],
    release: str,
    license_: str,
    cpu_only: bool,
    output: Path,
    timeout: float,
    as_json: bool,
) -> int:
    """Pack PROJECT's builds into a bundle (default: the current folder).

    The same builds give the same digest. Each library is loaded in worker processes to see which hosts list its
    plugins.
    """
    options = packing.PackOptions(project, builds, evidence, release, license_, timeout)
    with (
        progress.spinner("packing", terminal.console(stderr=as_json)) as show,
        packing.packed(options, show) as content,
    ):
        if not cpu_only:
            packing.require_gpu_code(content.bundle)
        path = output / archive.file_name(content.bundle) if output.is_dir() else output
        archive.write(content, path)
        bundle, digest = content.bundle, content.digest
    if as_json:
        plain = bundle.model_dump(mode="json", by_alias=True)
        click.echo(json.dumps({"file": str(path), "digest": digest, "manifest": plain}, indent=2))
    else:
        _show(bundle, digest, path)
    return 0


def _show(bundle: Bundle, digest: str, path: Path) -> None:
    console = terminal.console()
    size = path.stat().st_size / 1024
    console.print(Text.assemble("Packed ", (str(path), "bold"), f" ({size:.0f} KiB; {digests.short(digest)})"))
    for one in bundle.variants:
        codes = ", ".join(map(str, one.gpu_code))
        floors = ", ".join(f"{kind} {version}" for kind, version in one.floors.items())
        console.print(
            Text(
                f"  {one.file}: target {one.target}{f' ({codes})' if codes else ''}, {one.machine}; needs {floors};"
                f" listed by {', '.join(one.hosts)}"
            )
        )
    if bundle.patterns:
        console.print(Text(f"  patterns for graft: {', '.join(one.name for one in bundle.patterns)}"))
    for report in bundle.evidence:
        console.print(Text(f"  evidence: {report.kind}: {report.summary}"))
    if not bundle.evidence:
        console.print(
            Text("  no evidence: pluginkit test --json report.json, then --evidence report.json", style="dim")
        )
    console.print(Text.assemble("Next: ", (f"pluginkit registry add {quoted(str(path))}", "bold")))
