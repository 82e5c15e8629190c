"""Trained spaCy pipelines in a tar file, checked before use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from evalsvc.core.formats import tar_reader
from evalsvc.core.formats.registry import Format, register

CONFIG = "config.cfg"
CONFIG_BYTES, NAME_LENGTH = 1_000_000, 200
FACTORIES = frozenset({
    "attribute_ruler", "entity_ruler", "lemmatizer", "morphologizer", "ner", "parser", "senter",
    "sentencizer", "span_ruler", "tagger", "tok2vec", "trainable_lemmatizer",
})  # fmt: skip
# Only these sections are built on loading; those about training are not checked.
BUILT_SECTIONS = ("nlp", "components")
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
# those of spaCy, each a module
LANGUAGE = re.compile(
    r"af|am|ar|az|bg|bn|bo|ca|cs|da|de|dsb|el|en|es|et|eu|fa|fi|fo|fr|ga|gd|grc|gu|he|hi|hr|"
    r"hsb|ht|hu|hy|id|is|it|ja|kmr|kn|ko|ky|la|lb|lg|lij|lt|lv|mk|ml|mr|ms|nb|ne|nl|nn|pl|pt|"
    r"ro|ru|sa|si|sk|sl|sq|sr|sv|ta|te|th|ti|tl|tn|tr|tt|uk|ur|vi|xx|yo|zh"
)
SECTION, OPTION = re.compile(r"\[(.+)\]"), re.compile(r"([^\s\[#;=:][^=:]*)[=:](.*)")
MAX_DEPTH = 20


class BadPipeline(Exception):
    """The file is not a supported pipeline."""

    def __init__(self, detail: str, expected: str) -> None:
        super().__init__(f"{detail} Expected: {expected}.")
        self.detail, self.expected = detail, expected


@dataclass(frozen=True, slots=True)
class PipelineLimits:
    """Limits of an unpacked pipeline."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A checked pipeline; `root` is its folder in the tar file."""

    language: str
    factories: tuple[str, ...]
    root: str
    files: int
    bytes: int


def inspect(file: BinaryIO, *, limits: PipelineLimits) -> Pipeline:
    """Check the tar file without unpacking it.

    Raises BadPipeline if it is not supported.
    """
    packed = members(file, limits)
    root, config = _config(file, packed)
    nested = parse_config(config)
    check_config(nested)
    factories = tuple(part["factory"] for part in nested.get("components", {}).values())
    size = sum(member.size for member in packed)
    return Pipeline(nested["nlp"]["lang"], factories, root, len(packed), size)


def members(file: BinaryIO, limits: PipelineLimits) -> list[tar_reader.Member]:
    """Return the checked regular files of the tar file."""
    try:
        return list(_members(file, limits))
    except tar_reader.BadTar as error:
        raise BadPipeline(
            f"The file is not a valid tar file: {error}.", "an uncompressed tar file"
        ) from error


def _members(file: BinaryIO, limits: PipelineLimits) -> Iterator[tar_reader.Member]:
    """Yield the regular files; skip folders, reject anything else."""
    count = size = 0
    seen: set[str] = set()
    for member in tar_reader.members(file):
        count, size = count + 1, size + member.size
        if count > limits.files:
            raise BadPipeline("The tar file has too many entries.", f"at most {limits.files:,}")
        if size > limits.bytes:
            raise BadPipeline("The unpacked files are too large.", f"at most {limits.bytes:,} bytes")
        path = PurePosixPath(member.name)
        invalid = path.is_absolute() or ".." in path.parts or "\\" in member.name
        if invalid or not member.name.isprintable() or len(member.name.encode()) > NAME_LENGTH:
            shown = f"{member.name[:NAME_LENGTH]!r} is not a valid name."
            raise BadPipeline(shown, "a relative name such as ner/model")
        if member.is_folder:
            continue
        if not member.is_file:
            raise BadPipeline(f"{member.name} is not a regular file.", "only regular files and folders")
        if member.name in seen:
            raise BadPipeline(f"{member.name} occurs twice.", "each file once")
        seen.add(member.name)
        yield member


def _config(file: BinaryIO, members: list[tar_reader.Member]) -> tuple[str, str]:
    """Return the pipeline's folder in the tar file, and its configuration."""
    configs = [member for member in members if PurePosixPath(member.name).name == CONFIG]
    if len(configs) != 1 or len(PurePosixPath(configs[0].name).parts) > 2:
        raise BadPipeline(f"The top folder needs exactly one {CONFIG}.", "the folder written by to_disk")
    if configs[0].size > CONFIG_BYTES:
        raise BadPipeline(f"{CONFIG} is too large.", f"at most {CONFIG_BYTES:,} bytes")
    file.seek(configs[0].offset)
    try:
        content = file.read(configs[0].size).decode()
    except UnicodeDecodeError as error:
        raise BadPipeline(f"{CONFIG} is not UTF-8 text.", "the file written by to_disk") from error
    return str(PurePosixPath(configs[0].name).parent), content


def parse_config(text: str) -> dict[str, Any]:
    """Return the configuration as nested values, without resolving or building anything.

    Lines are as `to_disk` writes them. What spaCy would read otherwise, such as a value that goes on in the
    next line, is rejected.
    """
    nested: dict[str, Any] = {}
    values: dict[str, Any] | None = None
    sections: set[str] = set()
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        section, option = SECTION.fullmatch(line), OPTION.fullmatch(line)
        if not line.strip() or line[0] in "#;":
            continue
        if section and section[1] not in sections:
            sections.add(section[1])
            values = _section(nested, section[1])
        elif option and values is not None and option[1].rstrip() not in values:
            values[option[1].rstrip()] = _value(option[2].strip())
        else:
            raise BadPipeline(f"{CONFIG} has the line {line[:50]!r}.", "the file written by to_disk")
    return nested


def _section(nested: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the values of a section, in those of the sections around it."""
    parts = name.split(".")
    if name == "DEFAULT" or len(parts) > MAX_DEPTH:
        raise BadPipeline(f"{CONFIG} has a section {name[:50]}.", "the file written by to_disk")
    for part in parts:
        nested = nested.setdefault(part, {})
        if not isinstance(nested, dict):
            raise BadPipeline(f"{CONFIG} has {name} twice.", "each section once")
    return nested


def _value(text: str) -> Any:
    """Return the JSON value, or the text if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def check_config(config: Mapping[str, Any]) -> None:
    """Reject a configuration that would build anything but the allowed components."""
    nlp, components = config.get("nlp"), config.get("components", {})
    if not isinstance(nlp, Mapping) or not isinstance(components, Mapping):
        raise BadPipeline(f"{CONFIG} has no section nlp.", "the file written by to_disk")
    if not isinstance(nlp.get("lang"), str) or not LANGUAGE.fullmatch(nlp["lang"]):
        raise BadPipeline(f"lang is {nlp.get('lang')!r}.", "a language of spaCy, such as en, or xx")
    for name in CALLBACKS:
        if nlp.get(name) is not None:
            raise BadPipeline(f"nlp.{name} is set.", "null, because pipelines must not bring code")
    for name, part in components.items():
        factory = part.get("factory") if isinstance(part, Mapping) else None
        if not isinstance(factory, str) or factory not in FACTORIES:
            known = ", ".join(sorted(FACTORIES))
            raise BadPipeline(f"The component {name} has the factory {factory!r}.", known)
        if "source" in part:
            raise BadPipeline(
                f"The component {name} comes from another pipeline.", "a component defined in this pipeline"
            )
    _check_names([config[name] for name in BUILT_SECTIONS if name in config])


def _check_names(values: list[Any]) -> None:
    """Reject the name of any registered function outside spaCy, at any depth."""
    while values:
        value = values.pop()
        if isinstance(value, Mapping):
            for name, named in value.items():
                if str(name).startswith("@"):
                    known = REGISTERED.get(str(name))
                    if known is None or not isinstance(named, str) or not known.fullmatch(named):
                        raise BadPipeline(
                            f"{CONFIG} uses {name} = {named!r}.", "functions that come with spaCy"
                        )
                values.append(named)
        elif isinstance(value, list | tuple):
            values.extend(value)


FORMAT = register(
    Format(
        "spacy-pipeline",
        "spaCy pipeline (.tar)",
        "A trained pipeline as written by to_disk, in an uncompressed tar file. The server runs it.",
        "tar -cf model.tar -C model .",
        roles=("models",),
        rank=120,
    )
)
