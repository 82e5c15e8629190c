"""A pipeline's tar is looked through as text and headers alone: only what is on the list is ever run."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable

import pytest

from evalsvc.core.formats.spacy_pipeline import (
    BadPipeline,
    Pipeline,
    PipelineLimits,
    check_config,
    inspect,
    parse_config,
)

CONFIG = """
[paths]
train = null

[nlp]
lang = "xx"
pipeline = ["tok2vec","ner"]
before_creation = null
tokenizer = {"@tokenizers":"spacy.Tokenizer.v1"}
vectors = {"@vectors":"spacy.Vectors.v1"}

[components]

[components.tok2vec]
factory = "tok2vec"

[components.tok2vec.model]
@architectures = "spacy.HashEmbedCNN.v2"
width = 96

[components.ner]
factory = "ner"
incorrect_spans_key = null
scorer = {"@scorers":"spacy.ner_scorer.v1"}

[components.ner.model]
@architectures = "spacy.TransitionBasedParser.v2"
nO = null

[components.ner.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = ${components.tok2vec.model.width}

[training]
logger = {"@loggers":"spacy.ConsoleLogger.v1"}
"""
LIMITS = PipelineLimits(files=5, bytes=10_000)


def member(name: str, content: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    for key, value in fields.items():
        setattr(entry, key, value)
    return entry, content


def tar(*members: tuple[tarfile.TarInfo, bytes], config: str = CONFIG, at: str = "config.cfg") -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as packed:
        for entry, content in [member(at, config.encode()), *members]:
            packed.addfile(entry, io.BytesIO(content))
    out.seek(0)
    return out


def test_a_pipeline_has_a_language_and_components() -> None:
    size = len(CONFIG.encode()) + 3
    found = inspect(tar(member("ner/model", b"abc")), limits=LIMITS)
    assert found == Pipeline("xx", ("tok2vec", "ner"), ".", 2, size)
    assert inspect(tar(at="tiny/config.cfg"), limits=LIMITS).root == "tiny"
    assert inspect(tar(at="./config.cfg"), limits=LIMITS).root == "."


@pytest.mark.parametrize(
    "bad",
    [
        member("link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("hard", type=tarfile.LNKTYPE, linkname="config.cfg"),
        member("pipe", type=tarfile.FIFOTYPE),
        member("device", type=tarfile.CHRTYPE),
        member("../outside", b"x"),
        member("/absolute", b"x"),
        member("ner/../../outside", b"x"),
        member("back\\slash", b"x"),
        member("new\nline", b"x"),
        member("n" * 201, b"x"),
        member("\N{LATIN SMALL LETTER E WITH ACUTE}" * 190, b"x"),
        member("config.cfg", b"x"),
        member("other/config.cfg", b"x"),
        member("large", bytes(10_001)),
    ],
    ids=lambda bad: repr(bad[0].name)[:20],
)
def test_anything_but_regular_files_with_relative_names_is_rejected(
    bad: tuple[tarfile.TarInfo, bytes],
) -> None:
    with pytest.raises(BadPipeline):
        inspect(tar(bad), limits=LIMITS)


def test_more_entries_than_allowed_are_rejected() -> None:
    with pytest.raises(BadPipeline, match="at most 5"):
        inspect(tar(*[member(f"f{n}") for n in range(5)]), limits=LIMITS)


@pytest.mark.parametrize("content", [b"", b"no tar", b"\x1f\x8b" + bytes(600), bytes(10_240), b"a" * 1_024])
def test_anything_but_an_uncompressed_tar_is_rejected(content: bytes) -> None:
    with pytest.raises(BadPipeline):
        inspect(io.BytesIO(content), limits=LIMITS)


@pytest.mark.parametrize(
    ("pack", "name"), [(gzip.compress, "gzip"), (bz2.compress, "bzip2"), (lzma.compress, "xz")]
)
def test_a_packed_tar_is_named_as_such(pack: Callable[[bytes], bytes], name: str) -> None:
    with pytest.raises(BadPipeline, match=f"it is packed as {name}"):
        inspect(io.BytesIO(pack(tar().getvalue())), limits=LIMITS)


def test_a_truncated_tar_is_rejected() -> None:
    whole = tar(member("ner/model", bytes(4_000))).getvalue()
    with pytest.raises(BadPipeline):
        inspect(io.BytesIO(whole[:600]), limits=LIMITS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('factory = "ner"', 'factory = "my_factory"'),
        ('factory = "ner"', 'factory = "transformer"'),
        ('factory = "ner"', 'source = "en_core_web_sm"'),
        ('factory = "ner"', 'factory = "ner"\nsource = "/etc"'),
        ('factory = "ner"', "factory = ${nlp.lang}"),
        ("before_creation = null", 'before_creation = {"@callbacks":"mine.v1"}'),
        ("before_creation = null", 'after_creation = {"@callbacks":"spacy.copy_from_base_model.v1"}'),
        ("incorrect_spans_key = null", 'x = {"@readers":"srsly.read_json.v1","path":"/etc/passwd"}'),
        ("incorrect_spans_key = null", 'x = [{"deep": {"@misc":"spacy.first_longest_spans_filter.v2; x"}}]'),
        ('"spacy.Tok2VecListener.v1"', '"spacy-transformers.TransformerModel.v3"'),
        ('"spacy.Tok2VecListener.v1"', '"TorchBiLSTMEncoder.v1"'),
        ('"spacy.Tok2VecListener.v1"', "${paths.train}"),
        ('"spacy.Tok2VecListener.v1"', '["spacy.Tok2VecListener.v1"]'),
        ("@architectures = \"spacy.HashEmbedCNN.v2\"", "@cats = \"spacy.HashEmbedCNN.v2\""),
        ('lang = "xx"', 'lang = "../xx"'),
        ('lang = "xx"', 'lang = "qq"'),
        ('lang = "xx"', 'lang = "os"\nlang = "xx"'),
        ("[paths]", "[DEFAULT]\nfactory = \"ner\"\n[paths]"),
        ("[nlp]", "[other]"),
    ],
)  # fmt: skip
def test_a_configuration_that_would_build_anything_else_is_rejected(old: str, new: str) -> None:
    assert old in CONFIG
    with pytest.raises(BadPipeline):
        check_config(parse_config(CONFIG.replace(old, new)))


@pytest.mark.parametrize(
    "lines",
    [
        f"x{' ' * 1_000_000}y",
        "x\n" * 500_000,
        "a = 1\n b = 2",
        "a = 1\na = 2",
        "a = [\n1]",
        'a = 1\r@scorers = "other.v1"',
        "[nlp]",
        f"[{'a.' * 500_000}a]",
    ],
)
def test_lines_of_a_configuration_but_those_of_to_disk_are_rejected(lines: str) -> None:
    """Blanks and lines without a value took hours; spaCy reads a carriage return as the end of a line."""
    with pytest.raises(BadPipeline):
        check_config(parse_config(f"{CONFIG}\n[nlp.b]\n{lines}\n"))


def test_training_settings_are_not_checked() -> None:
    check_config(parse_config(CONFIG))
    with pytest.raises(BadPipeline):
        check_config(parse_config(CONFIG.replace("[training]", "[nlp.training]")))


def test_a_deeply_nested_value_stays_text() -> None:
    deep = "[" * 100_000
    assert parse_config(f"[nlp]\nlang = {deep}\n")["nlp"]["lang"] == deep
