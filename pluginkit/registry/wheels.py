"""Wheels of plugins: a store with one bundle, and the Python module, as a package that pip installs.

acme_my_plugin/__init__.py   STORE, which the entry point of the group `pluginkit.plugins` names
acme_my_plugin/store/        the bundle's manifest and files, as in every store
acme_my_plugin/cpu/          the Python module with its library; gpu/ likewise
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from packaging import tags
from packaging.utils import InvalidName, canonicalize_name
from packaging.version import Version

from pluginkit import installation
from pluginkit.build.artifact import TARGETS, library_path
from pluginkit.errors import CheckFailed, ToolMissing, UsageError, unwritable
from pluginkit.process import files, programs
from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.bundles.bundle import Bundle, Variant
from pluginkit.registry.storage import index
from pluginkit.registry.storage.store import Store
from pluginkit.registry.storage.stores import GROUP

TOOLS = ("wheel", "auditwheel")
EPOCH = "315532800"
"""The first time that a zip file can hold, 1980: equal content gives equal wheels."""


@dataclass(frozen=True)
class PluginWheel:
    """A wheel that was written.

    Attributes:
        path: the file.
        name: the distribution's, as pip knows it.
        package: what Python imports.
        variants: the libraries in it.
        modules: the Python modules in it, as they are imported.
        digest: the bundle's.
    """

    path: Path
    name: str
    package: str
    variants: tuple[Variant, ...]
    modules: tuple[str, ...]
    digest: str

    @property
    def platform(self) -> str:
        """The platform tag, as `manylinux_2_28_x86_64`."""
        return self.path.stem.split("-")[-1]


def distribution(bundle: Bundle) -> str:
    """What a bundle's wheel is called unless the user says otherwise: `acme-my-plugin`."""
    return canonicalize_name("-".join((*bundle.plugins[0].namespace.split("::"), bundle.name)).strip("-"))


def write(
    content: Content,
    folder: Path,
    *,
    name: str = "",
    project: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> list[PluginWheel]:
    """Write a bundle's wheels: one for each kind of machine that its libraries are for.

    Args:
        content: the bundle.
        folder: where the wheels go.
        name: the distribution's; empty: see `distribution`.
        project: the project whose Python modules go in, if they were built for this Python with a library of the
            bundle; the wheel is for this Python only then. None: no module, and the wheel is for each Python 3.
        progress: gets what is being done.

    Raises:
        UsageError: the name is none, or the folder can't be written.
        ToolMissing: wheel or auditwheel isn't installed.
        CheckFailed: auditwheel can't tell what a library needs.
    """
    if missing := [one for one in TOOLS if find_spec(one) is None]:
        raise ToolMissing(f"{' and '.join(missing)}: not installed.", hint=installation.extra("wheel"))
    try:
        found = canonicalize_name(name or distribution(content.bundle), validate=True)
    except InvalidName:
        raise UsageError(
            f"{name or distribution(content.bundle)!r} is not a name of a distribution.",
            hint="--name ACME-MY-PLUGIN: letters, digits, dots, dashes.",
        ) from None
    machines = sorted({one.machine for one in content.bundle.variants})
    return [_Wheel(_of_machine(content, one), found, one, project).write(folder, progress) for one in machines]


def _of_machine(content: Content, machine: str) -> Content:
    """The bundle, if all its libraries are for that machine; else one of those that are."""
    variants = tuple(one for one in content.bundle.variants if one.machine == machine)
    if len(variants) == len(content.bundle.variants):
        return content
    libraries = {one.digest for one in variants}
    evidence = tuple(one for one in content.bundle.evidence if one.library in libraries)
    bundle = content.bundle.model_copy(update={"variants": variants, "evidence": evidence})
    return Content(bundle, bundle.to_bytes(), {one: content.files[one] for one in bundle.files()})


@dataclass(frozen=True)
class _Wheel:
    content: Content
    name: str
    machine: str
    project: Path | None

    @property
    def package(self) -> str:
        return re.sub(r"[-.]+", "_", self.name)

    @property
    def release(self) -> str:
        return str(Version(self.content.bundle.release))

    def write(self, folder: Path, progress: Callable[[str], None]) -> PluginWheel:
        progress(f"writing the wheel for {self.machine}")
        with tempfile.TemporaryDirectory(prefix="pluginkit-wheel-") as temporary:
            tree, packed = Path(temporary) / "tree", Path(temporary) / "packed"
            for one in (tree / self.package, packed):
                one.mkdir(parents=True)
            modules = self._fill(tree)
            _run("wheel", "pack", "--dest-dir", packed, tree)
            (made,) = packed.iterdir()
            progress(f"auditing {made.name}")
            made = _tagged(made)
            path = folder / made.name
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise unwritable(folder, error) from None
            with files.replacing(path) as place:
                shutil.copyfile(made, place)
        return PluginWheel(
            path, self.name, self.package, self.content.bundle.variants, tuple(modules), self.content.digest
        )

    def _fill(self, tree: Path) -> list[str]:
        """Everything but RECORD; the modules' names."""
        package = tree / self.package
        with Store.open(package / "store") as store:
            store.add(self.content)
        # A store that is only read does without: its manifests are few.
        (package / "store" / index.FILE).unlink()
        modules = []
        for target, module, library in self._modules():
            place = package / target
            place.mkdir()
            shutil.copy(module, place)
            shutil.copy(library, place)
            (place / "__init__.py").write_text(f'"""The Python module of target {target}, and its library."""\n')
            modules.append(f"{self.package}.{target}.{module.name.partition('.')[0]}")
        (package / "__init__.py").write_text(_INIT.format(label=_plugins(self.content.bundle)))
        info = tree / f"{self.package}-{self.release}.dist-info"
        info.mkdir()
        python = next(tags.sys_tags()) if modules else None
        kind = f"{python.interpreter}-{python.abi}" if python else "py3-none"
        (info / "WHEEL").write_text(
            f"Wheel-Version: 1.0\nGenerator: {self.content.bundle.made_by}\nRoot-Is-Purelib: false\n"
            f"Tag: {kind}-linux_{self.machine}\n"
        )
        (info / "METADATA").write_text(_metadata(self.name, self.release, self.content.bundle, modules))
        (info / "entry_points.txt").write_text(f"[{GROUP}]\n{self.package} = {self.package}:STORE\n")
        return modules

    def _modules(self) -> Iterator[tuple[str, Path, Path]]:
        """The project's Python modules for this Python, with their libraries: those that are in the bundle."""
        if self.project is None:
            return
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        libraries = {one.digest for one in self.content.bundle.variants}
        for target in TARGETS:
            library = library_path(self.project, self.content.bundle.name, target)
            found = sorted(library.parent.glob(f"*{suffix}"))
            if found and library.is_file() and digests.of_file(library) in libraries:
                yield target, found[0], library


_INIT = '''"""{label}, in a store of pluginkit's: pluginkit.load() finds it."""

from __future__ import annotations

from pathlib import Path

STORE = Path(__file__).parent / "store"
'''


def _plugins(bundle: Bundle) -> str:
    return ", ".join(f"{one.identity} {one.version}" for one in bundle.plugins)


def _metadata(name: str, release: str, bundle: Bundle, modules: Sequence[str]) -> str:
    own = installation.distribution()
    summary = " ".join((bundle.plugins[0].description or f"TensorRT plugin {_plugins(bundle)}").split())
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {name}",
        f"Version: {release}",
        f"Summary: {summary[:500]}",
        *([f"License-Expression: {bundle.license}"] if bundle.license else []),
        "Keywords: tensorrt,plugin,cuda",
        f"Requires-Python: >=3.{sys.version_info.minor},<3.{sys.version_info.minor + 1}" if modules
        else "Requires-Python: >=3.10",
        *([f'Provides-Extra: pluginkit\nRequires-Dist: {own.name}; extra == "pluginkit"'] if own else []),
        "Description-Content-Type: text/markdown",
        "",
        f"TensorRT plugins: {_plugins(bundle)}.",
        "",
        "```python",
        "import tensorrt  # or tensorrt_rtx",
        "import pluginkit",
        "",
        *(f'pluginkit.load("{one.identity}", version="{one.version}")' for one in bundle.plugins),
        "```",
        "",
        *([f"Without TensorRT, on arrays: {', '.join(f'`import {one}`' for one in modules)}."] if modules else []),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _tagged(made: Path) -> Path:
    """The wheel with the platform tag that its libraries allow."""
    try:
        platform: str = json.loads(_run("auditwheel", "show", "--json", made))["overall_tag"]
    except (ValueError, KeyError) as error:
        raise CheckFailed(f"auditwheel says nothing about {made.name}'s platform: {error}.") from None
    _run("wheel", "tags", "--platform-tag", platform, "--remove", made)
    (found,) = made.parent.iterdir()
    return found


def _run(tool: str, *arguments: str | Path) -> str:
    command = [sys.executable, "-m", tool, *map(str, arguments)]
    done = programs.run(command, env={"SOURCE_DATE_EPOCH": EPOCH}, timeout=300)
    if not done.ok:
        text = (done.stderr or done.stdout).strip().splitlines() or ["(no message)"]
        raise CheckFailed(f"{tool} {arguments[0]} failed: {text[-1]}")
    return done.stdout
