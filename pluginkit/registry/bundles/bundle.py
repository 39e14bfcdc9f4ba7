"""A bundle's manifest, in JSON, whose schema is `schemas/bundle-1.json`.

The digest of a bundle is that of its manifest's bytes, which name every other file by digest and size. They are written
in one form (sorted keys, no spaces, UTF-8), so equal content has equal bytes.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from packaging.version import InvalidVersion, Version
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from pluginkit.errors import CheckFailed
from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.digests import Digest

SCHEMA = 1
"""The version of the manifest's schema. One that this pluginkit doesn't know is refused, never guessed at."""
KIND = "pluginkit.bundle"
LONGEST = 16 << 20
"""Bytes of the largest manifest that is read."""

LONGEST_PATTERN = 1 << 16
"""Characters of the longest pattern."""

Host = Literal["tensorrt-8", "tensorrt-10", "tensorrt-11", "tensorrt-rtx"]
"""The kinds of registries that load plugins: TensorRT's by its major version, tensorrt-lean among them."""

_OF_LAYOUT: dict[str, Host] = {host.removeprefix("tensorrt-"): host for host in get_args(Host)}


def host_of_layout(number: int) -> Host:
    """The kind of registry of full TensorRT, or tensorrt-lean, of that major version."""
    return _OF_LAYOUT[str(number)]


def _release(text: str) -> str:
    try:
        Version(text)
    except InvalidVersion:
        raise ValueError(f"'{text}' is not a version as PEP 440 has them, like 1.4.2") from None
    return text


def _file_name(text: str) -> str:
    if text in {"", ".", ".."} or text != PurePosixPath(text).name or not text.isprintable() or "\\" in text:
        raise ValueError(f"'{text[:80]}' is not a plain file name")
    return text


Release = Annotated[str, AfterValidator(_release)]
FileName = Annotated[str, AfterValidator(_file_name)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")]


class _BundleModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_Scalar: TypeAlias = float | int | str


class _Growing(_BundleModel):
    """Keys in `SINCE` came later, and an older pluginkit refuses what it doesn't know: they are written only where they
    say something."""

    SINCE: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _said(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        plain: dict[str, Any] = handler(self)
        return {key: value for key, value in plain.items() if key not in self.SINCE or value not in (None, "", [])}


class BundleTensor(_Growing):
    """An input or output: element types as NumPy names them, formats, and the dimensions as expressions of symbols.

    The others are as in `pluginkit.toml`: `pluginkit.manifest.Tensor`.
    """

    SINCE = frozenset({"alias", "upper", "opt", "valid", "values"})

    name: str
    types: tuple[str, ...]
    shape: tuple[str, ...]
    formats: tuple[str, ...] = ()
    alias: str = ""
    upper: str = ""
    opt: str = ""
    valid: str = ""
    values: tuple[str, ...] = ()


class PluginField(_Growing):
    """A field of the creator: an attribute of the ONNX node. No default means that it must be given; `min`, `max` and
    `choices` are of each element."""

    SINCE = frozenset({"min", "max", "choices"})

    name: str
    type: str
    default: _Scalar | tuple[_Scalar, ...] | None = None
    description: str = ""
    min: float | int | None = None
    max: float | int | None = None
    choices: tuple[_Scalar, ...] = ()


class BundlePlugin(_Growing):
    """A plugin: the three strings by which TensorRT finds its creator, its signature, and its workspace's bytes as an
    expression, if the project has one."""

    SINCE = frozenset({"workspace"})

    name: str = Field(min_length=1, max_length=1023)
    version: str = Field(min_length=1, max_length=1023)
    namespace: str = Field(max_length=1023)
    base: str
    description: str = ""
    inputs: tuple[BundleTensor, ...] = ()
    outputs: tuple[BundleTensor, ...] = ()
    fields: tuple[PluginField, ...] = ()
    workspace: str = ""

    @property
    def identity(self) -> str:
        """`namespace::name`, or the name alone; the version stands apart."""
        return f"{self.namespace}::{self.name}" if self.namespace else self.name


class BundlePattern(_BundleModel):
    """A pattern for `pluginkit graft`: its name, and its file's text, in TOML."""

    name: Name
    text: str = Field(max_length=LONGEST_PATTERN)


class BundleGpuCode(_BundleModel):
    """Code for one architecture: `SASS` (machine code) or `PTX`; its number, and `a` or `f` behind it."""

    kind: Literal["SASS", "PTX"]
    arch: int = Field(ge=10, le=999)
    suffix: Literal["", "a", "f"] = ""

    def __str__(self) -> str:
        return f"{'sm' if self.kind == 'SASS' else 'compute'}_{self.arch}{self.suffix}"


class File(_BundleModel):
    """A file of the bundle."""

    digest: Digest
    size: NonNegativeInt


class Variant(File):
    """A library: for which systems, GPUs and hosts it is.

    Attributes:
        file: the library's name where it is put into a folder.
        os: as `linux`.
        machine: as `x86_64`, `aarch64`.
        floors: the newest version of each kind that the file needs, as `{"GLIBC": "2.34", "GLIBCXX": "3.4.29"}`.
        needed: the shared libraries that it names.
        target: `gpu` if it has GPU code, `cpu` if it is pluginkit's target cpu, else `unknown`.
        gpu_code: by architecture.
        cuda: the CUDA version that it was built with; empty if that is not known.
        layouts: of TensorRT's V2 classes, as `10` and `11`; empty for a library without, or where that is unknown.
        hosts: the kinds of registries that listed its creators.
        toolchain: the compilers, by what they compiled.
    """

    file: FileName
    os: str
    machine: str
    floors: dict[str, str] = {}
    needed: tuple[str, ...] = ()
    target: Literal["cpu", "gpu", "unknown"]
    gpu_code: tuple[BundleGpuCode, ...] = ()
    cuda: str = ""
    layouts: tuple[str, ...] = ()
    hosts: tuple[Host, ...]
    toolchain: dict[str, str] = {}


class Evidence(File):
    """A report about one of the libraries.

    Attributes:
        kind: `test` or `bench`.
        library: the digest of the library that it is about.
        passed: whether the run ended with exit code 0.
        summary: for people.
        where: what it ran on: runtimes with their versions, the GPU.
    """

    kind: Literal["test", "bench"]
    library: Digest
    passed: bool
    summary: str
    where: dict[str, str] = {}


class BundleSource(_BundleModel):
    """Where the sources are: a revision, and whether files differed from it."""

    revision: str = ""
    changed: bool = False


class Bundle(_Growing):
    """A bundle's manifest."""

    SINCE = frozenset({"patterns"})

    kind: Literal["pluginkit.bundle"] = "pluginkit.bundle"
    schema_version: int = Field(default=SCHEMA, alias="schema")
    name: Name
    release: Release
    license: str = ""
    source: BundleSource = BundleSource()
    made_by: str = ""
    plugins: tuple[BundlePlugin, ...] = Field(min_length=1)
    patterns: tuple[BundlePattern, ...] = ()
    variants: tuple[Variant, ...] = Field(min_length=1)
    evidence: tuple[Evidence, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Bundle:
        libraries = [variant.digest for variant in self.variants]
        if len(set(libraries)) != len(libraries):
            raise ValueError("variants: the same library stands there twice")
        identities = [(one.name, one.version, one.namespace) for one in self.plugins]
        if len(set(identities)) != len(identities):
            raise ValueError("plugins: two have the same name, version and namespace")
        names = [one.name for one in self.patterns]
        if len(set(names)) != len(names):
            raise ValueError("patterns: two have the same name")
        for one in self.evidence:
            if one.library not in libraries:
                raise ValueError(f"evidence: {digests.short(one.library)} is not a library of this bundle")
        sizes: dict[str, int] = {}
        for file in (*self.variants, *self.evidence):
            if sizes.setdefault(file.digest, file.size) != file.size:
                raise ValueError(f"{digests.short(file.digest)} has two sizes")
        return self

    @property
    def label(self) -> str:
        """`name release`."""
        return f"{self.name} {self.release}"

    @property
    def targets(self) -> str:
        """`cpu, gpu sm_80 sm_90`; machines too where they aren't all x86_64."""
        found = []
        for variant in self.variants:
            codes = sorted({str(code) for code in variant.gpu_code})
            machine = "" if variant.machine == "x86_64" else variant.machine
            found.append(" ".join(filter(None, (variant.target, machine, *codes))))
        return ", ".join(dict.fromkeys(found))

    def files(self) -> dict[str, int]:
        """Every other file of the bundle: digest -> bytes."""
        return {one.digest: one.size for one in (*self.variants, *self.evidence)}

    def to_bytes(self) -> bytes:
        """The manifest in its one form."""
        plain = self.model_dump(mode="json", by_alias=True)
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def parse(data: bytes, where: str) -> Bundle:
    """Read a manifest; `where` names it in errors.

    Raises:
        CheckFailed: it is none, of a schema version that this pluginkit doesn't know, or not in the one form.
    """
    try:
        plain = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CheckFailed(f"{where} is not JSON: {error}.") from None
    if not isinstance(plain, dict) or plain.get("kind") != KIND:
        raise CheckFailed(f"{where} is not a bundle's manifest: its kind is not {KIND}.")
    if plain.get("schema") != SCHEMA:
        raise CheckFailed(
            f"{where} is of schema version {plain.get('schema')!r}; this pluginkit knows version {SCHEMA}.",
            hint="Update pluginkit, or have the bundle repacked.",
        )
    try:
        bundle = Bundle.model_validate(plain)
    except ValidationError as error:
        found = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:4]]
        raise CheckFailed(f"{where} isn't valid:\n" + "\n".join(f"  {line}" for line in found)) from None
    if bundle.to_bytes() != data:
        raise CheckFailed(f"{where} is not in the form that its digest stands for.", hint="pluginkit pack writes it.")
    return bundle


def json_schema() -> dict[str, Any]:
    """The JSON Schema of manifests, as it is published."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Bundle.model_json_schema(by_alias=True)}


if __name__ == "__main__":
    _file = Path(__file__).parents[1] / "schemas" / f"bundle-{SCHEMA}.json"
    _file.write_text(json.dumps(json_schema(), indent=1) + "\n", encoding="utf-8")
