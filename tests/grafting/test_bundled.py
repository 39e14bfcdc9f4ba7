"""Which plugin of a bundle `--by NAMESPACE::NAME@VERSION` is, among others of its name."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pluginkit.cli.inspection import graft
from pluginkit.creators.facts import CreatorFacts
from pluginkit.errors import UsageError
from pluginkit.grafting.grafter import _exactly
from pluginkit.importing.implementations import PluginLibrary

IDENTITIES = [("GN", version, namespace) for namespace in ("acme", "") for version in "12"]


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("acme::GN", ("GN", "1", "acme")),
        ("acme::GN@2", ("GN", "2", "acme")),
        ("GN", ("GN", "1", "")),
        ("::GN@2", ("GN", "2", "")),
    ],
)
def test_the_bundles_plugin_of_that_version_and_namespace(
    text: str, identity: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = [
        SimpleNamespace(
            name=name, version=version, namespace=namespace, identity="::".join(filter(None, (namespace, name))),
            inputs=[SimpleNamespace(name=f"x_of_{version}_{namespace}")], outputs=[None], fields=[],
        )
        for name, version, namespace in IDENTITIES
    ]  # fmt: skip
    chosen: Any = SimpleNamespace(
        store=None, digest="", variant=SimpleNamespace(digest=""), bundle=SimpleNamespace(plugins=plugins, patterns=[])
    )
    opened: Any = SimpleNamespace(library=lambda *_: Path("libgn.so"))
    monkeypatch.setattr(graft, "looked_into", lambda *_: contextlib.nullcontext((opened, None)))
    monkeypatch.setattr(graft, "Resolver", lambda *_, **__: None)
    monkeypatch.setattr(graft, "chosen_for", lambda *_: chosen)
    _, bundled = graft._plugin(text, (), None)  # type: ignore[arg-type]
    assert bundled is not None
    assert bundled.identity == identity
    assert bundled.signature.inputs == (f"x_of_{identity[1]}_{identity[2]}",)


def test_the_librarys_creator_of_that_version_and_namespace() -> None:
    found = tuple(CreatorFacts(*one, "V3", "", "IPluginV3", ()) for one in IDENTITIES)
    library = PluginLibrary(Path("libgn.so"), found)
    for one, identity in zip(found, IDENTITIES, strict=True):
        assert _exactly(library, identity) is one
    with pytest.raises(UsageError, match=r"libgn.so has no plugin acme::GN 3, which its bundle names"):
        _exactly(library, ("GN", "3", "acme"))
