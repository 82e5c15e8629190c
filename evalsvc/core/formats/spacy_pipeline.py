"""Trained pipelines as folders in one tar: what such a file may hold, before anything of it is run."""

from __future__ import annotations

import configparser
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

CONFIG = "config.cfg"
CONFIG_BYTES, NAME_LENGTH = 1_000_000, 200
FACTORIES = frozenset({
    "attribute_ruler", "entity_ruler", "lemmatizer", "morphologizer", "ner", "parser", "senter",
    "sentencizer", "span_ruler", "tagger", "tok2vec", "trainable_lemmatizer",
})  # fmt: skip
# The parts that are built when a pipeline is read; those that say how it was trained are left unread.
BUILT = ("nlp", "components")
REGISTERED = {
    "@architectures": re.compile(r"spacy(-legacy)?\.[A-Za-z0-9]+\.v\d+"),
    "@layers": re.compile(r"(spacy(-legacy)?\.)?[A-Za-z0-9]+\.v\d+"),
    "@scorers": re.compile(r"spacy\.[a-z_]+\.v\d+"),
    "@tokenizers": re.compile(r"spacy\.[A-Za-z]+(\.[A-Za-z]+)?\.v\d+"),
    "@vectors": re.compile(r"spacy\.Vectors\.v1"),
    "@misc": re.compile(
        r"spacy\.(levenshtein_compare|prioritize_existing_ents_filter|first_longest_spans_filter)\.v1"
    ),
}
CALLBACKS = ("before_creation", "after_creation", "after_pipeline_creation")
LANGUAGE = re.compile(r"[a-z]{2,3}")


class BadPipeline(Exception):
    """The file is none that is run; `expected` says what would be."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"{found} Expected: {expected}.")
        self.found, self.expected = found, expected


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a file may unpack to."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What a file holds; `root` is the folder in it, often none."""

    language: str
    factories: tuple[str, ...]
    root: str
    files: int
    bytes: int


def inspect(file: BinaryIO, *, bounds: Bounds) -> Pipeline:
    """Look through the tar without writing anything; raises BadPipeline."""
    try:
        with tarfile.open(fileobj=file, mode="r:", errorlevel=2) as tar:
            members = list(_members(tar, bounds))
            root, config = _config(tar, members)
    except (tarfile.TarError, UnicodeDecodeError, ValueError, OverflowError, EOFError) as error:
        raise BadPipeline(f"This can't be read as a tar: {error}.", "a plain tar, not compressed") from error
    nested = parsed(config)
    check_config(nested)
    factories = tuple(part["factory"] for part in nested.get("components", {}).values())
    size = sum(member.size for member in members)
    return Pipeline(nested["nlp"]["lang"], factories, root, len(members), size)


def _members(tar: tarfile.TarFile, bounds: Bounds) -> Iterator[tarfile.TarInfo]:
    """The regular files; folders are passed over, anything else is refused."""
    count = size = 0
    seen: set[str] = set()
    for member in tar:
        count, size = count + 1, size + member.size
        if count > bounds.files:
            raise BadPipeline("There are more entries.", f"up to {bounds.files:,}")
        if size > bounds.bytes:
            raise BadPipeline("The files are larger in all.", f"up to {bounds.bytes:,} bytes")
        _check_name(member.name)
        if member.isdir():
            continue
        if not member.isreg() or member.issparse():
            raise BadPipeline(f"{member.name} is no regular file.", "regular files and folders only")
        if member.name in seen:
            raise BadPipeline(f"{member.name} stands there twice.", "each file once")
        seen.add(member.name)
        yield member


def _check_name(name: str) -> None:
    path = PurePosixPath(name)
    odd = path.is_absolute() or ".." in path.parts or "\\" in name or not name.isprintable()
    if odd or len(name) > NAME_LENGTH:
        raise BadPipeline(f"{name[:NAME_LENGTH]!r} is no name of a file in a folder.", "names like ner/model")


def _config(tar: tarfile.TarFile, members: list[tarfile.TarInfo]) -> tuple[str, str]:
    """The folder of the pipeline within the tar, and its configuration."""
    found = [member for member in members if PurePosixPath(member.name).name == CONFIG]
    if len(found) != 1 or len(PurePosixPath(found[0].name).parts) > 2:
        raise BadPipeline(f"There is no single {CONFIG} at the top.", "the folder that to_disk wrote")
    if found[0].size > CONFIG_BYTES:
        raise BadPipeline(f"{CONFIG} is larger.", f"up to {CONFIG_BYTES:,} bytes")
    content = cast(BinaryIO, tar.extractfile(found[0])).read().decode()
    return str(PurePosixPath(found[0].name).parent), content


def parsed(text: str) -> dict[str, Any]:
    """The configuration as nested values, read as text alone: nothing is looked up or built."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise BadPipeline(f"{CONFIG} can't be read.", "the file that to_disk wrote") from error
    if parser.defaults():
        raise BadPipeline(f"{CONFIG} has a section DEFAULT.", "the file that to_disk wrote")
    nested: dict[str, Any] = {}
    for section in parser.sections():
        place = nested
        for part in section.split("."):
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise BadPipeline(f"{CONFIG} says {section} twice.", "each section once")
        place.update((name, _value(value)) for name, value in parser.items(section))
    return nested


def _value(text: str) -> Any:
    """JSON where it is; a reference to another section stays the text it is."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def check_config(config: Mapping[str, Any]) -> None:
    """Refuse whatever would build more than the parts on the list."""
    nlp, components = config.get("nlp"), config.get("components", {})
    if not isinstance(nlp, Mapping) or not isinstance(components, Mapping):
        raise BadPipeline(f"{CONFIG} has no section nlp.", "the file that to_disk wrote")
    if not isinstance(nlp.get("lang"), str) or not LANGUAGE.fullmatch(nlp["lang"]):
        raise BadPipeline(f"lang is {nlp.get('lang')!r}.", "a language such as en, or xx")
    for name in CALLBACKS:
        if nlp.get(name) is not None:
            raise BadPipeline(f"nlp.{name} is set.", "null: a pipeline that brings no code")
    for name, part in components.items():
        _check_component(name, part)
    _check_names([config[name] for name in BUILT if name in config])


def _check_component(name: str, part: Any) -> None:
    factory = part.get("factory") if isinstance(part, Mapping) else None
    if not isinstance(factory, str) or factory not in FACTORIES:
        raise BadPipeline(f"The component {name} is made by {factory!r}.", ", ".join(sorted(FACTORIES)))
    if "source" in part:
        raise BadPipeline(f"The component {name} comes from another pipeline.", "one that stands by itself")


def _check_names(values: list[Any]) -> None:
    """Every registered function that is named anywhere, however deep."""
    while values:
        value = values.pop()
        if isinstance(value, Mapping):
            for name, named in value.items():
                if str(name).startswith("@"):
                    _check_named(str(name), named)
                values.append(named)
        elif isinstance(value, list | tuple):
            values.extend(value)


def _check_named(registry: str, named: Any) -> None:
    known = REGISTERED.get(registry)
    if known is None or not isinstance(named, str) or not known.fullmatch(named):
        raise BadPipeline(f"{CONFIG} uses {registry} = {named!r}.", "parts that come with spaCy")
