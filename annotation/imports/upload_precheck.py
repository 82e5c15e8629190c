"""A first look at a file, while the person who sends it is still there: what can be told at once is."""

from __future__ import annotations

from typing import Any, BinaryIO

from annotation.models import Batch
from annotation.testset import Kind
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.registry import FORMATS, ITEM_FORMATS, VOTE_FORMATS, recognise, stranger
from evalsvc.core.formats.text_lines import read_lines

SUGGESTION_FORMATS = ("jsonl-predictions", "semeval-answers")  # by sentence, and nothing to be stated
LOOKED_AT, MOST_LETTERS = 5_000, 4_000_000
SAMPLE = 50
FITTING = {
    Batch.What.ITEMS: tuple(
        name for name in ITEM_FORMATS if name != "semeval-answers"
    ),  # it has no sentences
    Batch.What.GOLD: (*ITEM_FORMATS, "labels"),
    Batch.What.VOTES: VOTE_FORMATS,
    Batch.What.SUGGESTIONS: SUGGESTION_FORMATS,
}
CALLED = {
    Batch.What.ITEMS: "sentences to label",
    Batch.What.GOLD: "published gold",
    Batch.What.VOTES: "answers that people gave already",
    Batch.What.SUGGESTIONS: "predictions",
}
LIKE = ({"jsonl-items", "opennre-gold"}, {"jsonl-predictions", "opennre-results"})
HEADED = {"crowdtruth-units", "crowdtruth-judgments"}
SPANS, PAIRS = {"conll"}, {"nyt10", "semeval-test", "crowdtruth-units", "opennre-gold"}


def precheck(upload: BinaryIO, *, what: str, format: str = "", scheme: str = "", kind: str = "") -> None:
    """Refuse what the beginning of the file shows to be wrong, with the field that has to be mended."""
    lines = _first_lines(upload)
    found = recognise(lines) or ""
    if found == "labels" and found not in FITTING[Batch.What(what)]:
        found = ""  # short lines of any kind look like labels
    stated = format or ("conll" if scheme else "")
    if stated and found in FORMATS and stated != found and {stated, found} not in LIKE:
        raise DomainError(
            "unknown_format",
            f"The content looks like {_title(found)}, not like {_title(stated)}.",
            hint="Let the content tell, or send another file.",
            field="format" if format else "scheme",
        )
    meant = stated or found
    if meant not in FITTING[Batch.What(what)]:
        _elsewhere(what, meant, lines[0])
    _of_kind(meant, kind)
    if meant in HEADED and len(lines) == 1:
        raise DomainError(
            "empty_file",
            "There is a header line and nothing after it.",
            hint="Send the file with its rows: at least one under the header.",
            field="upload",
        )
    if meant == "conll" and not scheme and what != Batch.What.SUGGESTIONS:
        raise DomainError(
            "no_scheme",
            "This file has CoNLL columns, and its tag scheme is not stated.",
            hint="IOB2: every entity begins with B-. IOB1: only one right behind another of its kind does.",
            field="scheme",
        )


def _first_lines(upload: Any) -> list[str]:
    """The lines that tell the format, blank ones left out; what is wrong there, or soon after, is said."""
    lines: list[str] = []
    size = 0
    try:
        for at, text in read_lines(upload, problems=Problems()):
            lines += [text] if text.strip() and len(lines) < SAMPLE else []
            size += 1 + len(text)
            # one line may be a header: whether anything follows it is worth looking further
            if size > MOST_LETTERS or (at >= LOOKED_AT and len(lines) > 1):
                break
    except FileRejected as refused:
        first = refused.problems.first[0]
        raise DomainError(first.code, first.sentence(), field="upload") from refused
    finally:
        upload.seek(0)
    return lines


def _elsewhere(what: str, meant: str, first: str) -> None:
    """Tell what the file looks like, and as what it can be sent."""
    wanted = Batch.What(what)
    if not meant:
        known = ", ".join(FORMATS[name].title for name in FITTING[wanted])
        detail = f"The content is none of the formats for {CALLED[wanted]}: {known}."
        hint = stranger(first) or "“Formats” has an example of each."
        raise DomainError("unknown_format", detail, hint=hint, field="upload")
    for other, formats in FITTING.items():
        if meant in formats and other != Batch.What.GOLD:
            detail = f"This looks like {_title(meant)}: {CALLED[other]}, not {CALLED[wanted]}."
            raise DomainError("unknown_format", detail, hint=_where(what, other), field="upload")
    raise DomainError(
        "unknown_format", f"This looks like {_title(meant)}: not {CALLED[wanted]}.", field="upload"
    )


def _where(what: str, other: str) -> str:
    if {what, other} == {Batch.What.ITEMS, Batch.What.VOTES}:
        return f"Choose “{CALLED[Batch.What(other)]}” above, or send another file."
    if other == Batch.What.SUGGESTIONS:
        return (
            "Predictions to start from are sent on the project’s page Quality; runs of a system to a board."
        )
    return "Send another file."


def _of_kind(meant: str, kind: str) -> None:
    if kind == Kind.RELATIONS and meant in SPANS:
        detail = (
            f"In {_title(meant)} spans are marked; this project asks for relations of two given entities."
        )
    elif kind and kind != Kind.RELATIONS and meant in PAIRS:
        detail = f"In {_title(meant)} each sentence has a head and a tail; this project asks for spans."
    else:
        return
    raise DomainError(
        "mixed_forms", detail, hint="Send another file, or make a project of the other kind.", field="upload"
    )


def _title(format: str) -> str:
    return FORMATS[format].title
