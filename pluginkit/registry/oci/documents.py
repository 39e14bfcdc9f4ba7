"""The JSON documents of OCI 1.1's image and distribution specifications, as far as bundles use them.

Keys that aren't known are passed over, as the specification wants it; what is known must be what it should be.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pluginkit.errors import CheckFailed
from pluginkit.registry.bundles.digests import Digest

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
EMPTY = "application/vnd.oci.empty.v1+json"
EMPTY_DATA = b"{}"
LONGEST = 4 << 20
"""Bytes of the largest manifest; what registries take at least, by the distribution specification."""

M = TypeVar("M", bound="OciDocument")
Size = Annotated[int, Field(ge=0)]


class OciDocument(BaseModel):
    """Common to all: names as the specification has them (`mediaType`)."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True, strict=False)

    def to_bytes(self) -> bytes:
        """The document in one form; equal content has equal bytes."""
        plain = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return json.dumps(_filled(plain), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Platform(OciDocument):
    """What a variant runs on: `linux`, `amd64`."""

    os: str
    architecture: str


class Descriptor(OciDocument):
    """A document or file, by its digest and size."""

    media_type: str = Field(alias="mediaType")
    digest: Digest
    size: Size
    artifact_type: str = Field(default="", alias="artifactType")
    annotations: dict[str, str] = {}
    platform: Platform | None = None


class ImageManifest(OciDocument):
    """A manifest: a configuration and layers."""

    schema_version: int = Field(default=2, alias="schemaVersion")
    media_type: str = Field(default=MANIFEST, alias="mediaType")
    artifact_type: str = Field(default="", alias="artifactType")
    config: Descriptor
    layers: tuple[Descriptor, ...]
    subject: Descriptor | None = None
    annotations: dict[str, str] = {}


class ImageIndex(OciDocument):
    """A list of manifests."""

    schema_version: int = Field(default=2, alias="schemaVersion")
    media_type: str = Field(default=INDEX, alias="mediaType")
    artifact_type: str = Field(default="", alias="artifactType")
    manifests: tuple[Descriptor, ...]
    subject: Descriptor | None = None
    annotations: dict[str, str] = {}


def parse(model: type[M], data: bytes, where: str) -> M:
    """Read a document; `where` names it in errors.

    Raises:
        CheckFailed: it is none.
    """
    try:
        plain = json.loads(data)
    except (ValueError, RecursionError):
        raise CheckFailed(f"{where} is not JSON.", hint="The registry is damaged, or it is none.") from None
    try:
        return model.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        raise CheckFailed(
            f"{where}: {at}: {first['msg']}.", hint="It was not pushed by pluginkit, or it was changed."
        ) from None


def _filled(plain: Any) -> Any:
    """Without the keys that say nothing; `layers` and `manifests` must be there."""
    if isinstance(plain, dict):
        return {key: _filled(value) for key, value in plain.items() if value not in ("", {})}
    return [_filled(one) for one in plain] if isinstance(plain, list) else plain
