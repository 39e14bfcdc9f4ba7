"""Bundles made in a moment: one small library, told apart by bytes behind its end, which ELF doesn't look at."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pluginkit.registry.bundles import archive, variants
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.bundles.bundle import Bundle, BundlePlugin, Variant
from tests.compilers import default_cxx

Make = Callable[..., Content]
SOURCE = 'extern "C" __attribute__((visibility("default"))) int answer() { return 42; }\n'


@pytest.fixture(autouse=True)
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees whom the user of this machine trusts, or which registries are asked."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("PLUGINKIT_TRUST", "PLUGINKIT_REGISTRY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared library of 16 KiB."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "tiny.cpp").write_text(SOURCE)
    done = subprocess.run(
        [default_cxx(), "-shared", "-fPIC", "-nostdlib", "-o", "libtiny.so", "tiny.cpp"], cwd=folder, check=False
    )
    assert done.returncode == 0
    return folder / "libtiny.so"


@pytest.fixture
def make(tiny: Path, tmp_path: Path) -> Make:
    """A bundle of one library.

    Args:
        name, release: the bundle's.
        plugins: (name, version, namespace) of each.
        salt: makes the library another one.
        facts: of the variant, in place of the library's own.
    """

    def made(
        name: str = "scale",
        release: str = "1.0",
        plugins: tuple[tuple[str, str, str], ...] = (("Scale", "1", "acme"),),
        salt: str = "",
        **facts: Any,
    ) -> Content:
        library = tmp_path / f"lib{name}-{release}-{hash(salt)}.so"
        library.write_bytes(tiny.read_bytes() + f"{name} {release} {salt}".encode())
        facts = {"hosts": ("tensorrt-10", "tensorrt-11", "tensorrt-rtx"), **facts}
        variant = Variant(**{**variants.facts_of(library), "file": f"lib{name}.so", **facts})
        listed = tuple(
            BundlePlugin(name=one, version=number, namespace=space, base="v3") for one, number, space in plugins
        )
        bundle = Bundle(name=name, release=release, plugins=listed, variants=(variant,))
        return Content(bundle, bundle.to_bytes(), {variant.digest: library})

    return made


@pytest.fixture
def packed(make: Make, tmp_path: Path) -> Path:
    """The archive of a bundle."""
    content = make()
    path = tmp_path / archive.file_name(content.bundle)
    archive.write(content, path)
    return path
