"""Networks made by NVIDIA's API, by name."""

from __future__ import annotations

from pluginkit.network.api_model import ApiNetwork
from pluginkit.testing.families import FAMILIES
from pluginkit.testing.families.api.family import ApiFamily
from pluginkit.testing.families.base import Setting

FORMS: dict[str, ApiFamily] = {name: one for name, one in FAMILIES.items() if isinstance(one, ApiFamily)}
"""The families of such networks."""


def make(setting: Setting, name: str) -> ApiNetwork | None:
    """A network of `FORMS`; None if it can't hold the signature."""
    family = FORMS[name]
    held = family.SHAPE_INPUTS or not setting.manifest.shape_inputs()
    return family.build(setting) if held and not family.refusal(setting) else None
