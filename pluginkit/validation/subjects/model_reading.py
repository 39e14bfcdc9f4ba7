"""The nodes of a plugin in an ONNX model, and what breaks the rules of `pluginkit import` there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pluginkit import parser_operators
from pluginkit.adoption.answers import ListedCreator
from pluginkit.creators.facts import CreatorFacts, FieldFacts
from pluginkit.field_types import NAMES
from pluginkit.importing import onnx_graph
from pluginkit.importing.implementations import Implementation, PluginLibrary, find_implementations
from pluginkit.importing.importer import find_problems
from pluginkit.library import Problem
from pluginkit.manifest.project import Member
from pluginkit.validation.subjects.library import identity
from pluginkit.validation.subjects.model_nodes import ModelSubject


def read(
    path: Path, library: Path, creators: Sequence[ListedCreator], members: Sequence[Member] = ()
) -> dict[int, ModelSubject]:
    """A model with a library: a subject for each creator, by its index.

    Args:
        path: the model.
        library: the library's file.
        creators: its creators.
        members: the plugins' manifests, where there are any.

    Raises:
        UsageError: no model.
    """
    proto = onnx_graph.load(path)
    facts = tuple(map(_facts, creators))
    given = [PluginLibrary(library, facts, tuple(members))]
    implementations = find_implementations(proto, given, lambda operator: operator in parser_operators.OPERATORS)
    problems = find_problems(path, proto, implementations, given)
    declared = {identity(one.manifest) for one in members}
    return {one.index: _subject(one, implementations, problems, declared=one.identity in declared) for one in creators}


def _facts(one: ListedCreator) -> CreatorFacts:
    fields = tuple(
        FieldFacts(field.name, NAMES[field.type] if field.type in range(len(NAMES)) else "kUNKNOWN", field.length)
        for field in one.fields
    )
    return CreatorFacts(one.name, one.version, one.namespace, one.kind.upper(), "", "", fields)


def _subject(
    creator: ListedCreator, implementations: Sequence[Implementation], problems: Sequence[Problem], *, declared: bool
) -> ModelSubject:
    mine = [
        one.place
        for one in implementations
        if one.creator is not None
        and (one.creator.name, one.creator.version, one.creator.namespace) == creator.identity
    ]
    named = {one.place.label for one in implementations if one.place.node.op_type == creator.name}
    found = tuple(one for one in problems if one.node in named)
    attributes = frozenset(one.name for place in mine for one in place.node.attribute)
    return ModelSubject(creator, tuple(place.label for place in mine), found, attributes, declared)
