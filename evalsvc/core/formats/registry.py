"""Which format a file is in, told by its content, and the table of formats."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from evalsvc.core.formats.crowdtruth import JUDGMENTS, UNITS
from evalsvc.core.formats.nyt10 import END
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.text_lines import Source, read_lines

SAMPLE = 50
MOSTLY = 0.8


class Format(NamedTuple):
    """A format as a page shows it."""

    title: str
    description: str
    example: str


FORMATS: dict[str, Format] = {
    "jsonl-items": Format(
        "Items (JSONL)",
        "One sentence a line with head and tail, or with spans; gold labels where there are any.",
        '{"h":{"id":"Q1","name":"Ada","pos":[0,3]},"id":"s1","relations":["born_in"],'
        '"t":{"id":"Q2","name":"Turin","pos":[16,21]},"text":"Ada was born in Turin."}',
    ),
    "jsonl-predictions": Format(
        "Predictions (JSONL)",
        "One item a line with a label, labels, scores, spans or tags; or one scored triple a line.",
        '{"id":"s1","scores":{"born_in":0.93}}',
    ),
    "jsonl-votes": Format(
        "Votes (JSONL)",
        "One annotator's answer to one item a line; N/A is said, not left out.",
        '{"annotator":"ann1","item":"s1","labels":["born_in"]}',
    ),
    "opennre-gold": Format(
        "OpenNRE data",
        "One sentence and one relation a line; repeats of a sentence and pair are one item.",
        '{"h":{"id":"Q1","name":"Ada","pos":[0,3]},"relation":"born_in",'
        '"t":{"id":"Q2","name":"Turin","pos":[16,21]},"text":"Ada was born in Turin."}',
    ),
    "opennre-results": Format(
        "OpenNRE results",
        "One scored triple of an entity pair a line.",
        '{"entpair":["Q1","Q2"],"relation":"born_in","score":0.93}',
    ),
    "nyt10": Format(
        "NYT10",
        "Tab-separated: head id, tail id, head, tail, relation, sentence, end mark.",
        f"m.01\tm.02\tada\tturin\tborn_in\tada was born in turin .\t{END}",
    ),
    "conll": Format(
        "CoNLL columns",
        "A token and its tag a line, a blank line after each sentence; the tag scheme is stated.",
        "Turin\tB-location",
    ),
    "semeval-answers": Format(
        "SemEval-2010 Task 8 answers",
        "An id and a relation with its direction a line.",
        "8001\tMessage-Topic(e1,e2)",
    ),
    "semeval-test": Format(
        "SemEval-2010 Task 8 sentences",
        "A numbered sentence with e1 and e2, its relation, a comment, a blank line.",
        '8001\t"The <e1>letter</e1> was about <e2>tides</e2>."',
    ),
    "labels": Format("Labels", "One label a line.", "born_in"),
    "crowdtruth-judgments": Format(
        "CrowdTruth judgments",
        "Tab-separated with a header: unit, worker, relations (several separated by |, NONE is N/A).",
        "s1\tw7\tborn_in|lives_in",
    ),
    "crowdtruth-units": Format(
        "CrowdTruth units",
        "Tab-separated with a header: unit, two terms, sentence.",
        "s1\tAda\tTurin\tAda was born in Turin .",
    ),
}
ITEM_FORMATS = (
    "jsonl-items",
    "opennre-gold",
    "nyt10",
    "conll",
    "semeval-test",
    "semeval-answers",
    "crowdtruth-units",
)
PREDICTION_FORMATS = ("jsonl-predictions", "opennre-results", "conll", "semeval-answers")
VOTE_FORMATS = ("jsonl-votes", "crowdtruth-judgments")

TAG = re.compile(r"O|[BIESLU]-\S+")
TEST_LINE = re.compile(r"\d+\t.*<e[12]>.*")
ANSWER = re.compile(r"\d+[ \t]+\S+[ \t]*")
PAGE = re.compile(r"\s*<(?:!doctype|html|\?xml|head|body)\b", re.IGNORECASE)
TABLE = re.compile(r"[^\s,]+,[^\s,]*")
DENSE_TITLE = "a NumPy array of scores (.npy)"
ANSWERS = {"label", "labels", "scores", "score", "tags"}
TEXTS = {"text", "tokens", "token"}


def recognise(first_lines: Sequence[str]) -> str | None:
    """Tell the format from the first lines of a file; None when it is none of ours."""
    lines = [line for line in first_lines if line.strip()]
    if not lines:
        return None
    if lines[0].lstrip().startswith("{"):
        # one broken line says nothing about the others
        return next((found for line in lines if (found := _json_format(line))), None)
    return _column_format(lines)


def recognise_source(
    source: Source, *, problems: Problems | None = None, takes: Collection[str] = tuple(FORMATS)
) -> str:
    """Tell the format of a file, or refuse it with the list of what is taken.

    A file object is read from its present place and set back to it.
    """
    problems = Problems() if problems is None else problems
    file: Any = source if hasattr(source, "seek") else None
    place = file.tell() if file is not None else 0
    lines = [text for _, text in islice(read_lines(source, problems=problems), SAMPLE)]
    if file is not None:
        file.seek(place)
    found = recognise(lines)
    if found is None or found not in takes:
        first = next((line for line in lines if line.strip()), "")
        # whatever has short lines could be a list of labels: that tells nobody anything
        other = FORMATS[found].title if found and found != "labels" else None
        hint = f"It looks like {other}, which is not taken here." if other else stranger(first)
        known = ", ".join(title_of(name) for name in takes)
        problems.stop("unknown_format", line=1, found=first, expected=f"one of: {known}", hint=hint)
    return found


def title_of(format: str) -> str:
    return FORMATS[format].title if format in FORMATS else DENSE_TITLE


def stranger(line: str) -> str | None:
    """What the file may be instead, and how to make one of ours of it."""
    start = line.lstrip()[:1]
    if PAGE.match(line):
        return (
            "It looks like a web page (HTML): an answer of some other server, perhaps. Send the file itself."
        )
    if start == "[":
        return "It looks like one JSON array: write each of its objects on a line of its own (JSONL)."
    if start == "{":
        return "It looks like JSON over several lines: write each object on one line (JSONL)."
    if line.count(",") > 1 or TABLE.fullmatch(line.strip()):
        return "It looks like a table with commas: make a JSON object of each row (JSONL)."
    return None


def _json_format(line: str) -> str | None:
    try:
        keys = set(msgspec.json.decode(line, type=dict[str, msgspec.Raw]))
    except (msgspec.DecodeError, RecursionError):
        return None
    if "annotator" in keys:
        return "jsonl-votes"
    if "entpair" in keys:
        return "opennre-results"
    if keys & TEXTS:
        return "opennre-gold" if {"relation", "token"} & keys else "jsonl-items"
    if keys & ANSWERS or "spans" in keys:
        return "jsonl-predictions"
    return "jsonl-items" if keys & {"relation", "relations"} else None


def _share_tagged(lines: list[str]) -> float:
    """How many of the lines end in a tag; a few odd ones do not make a file another format's."""
    columns = [line.split() for line in lines if not line.startswith("-DOCSTART-")]
    tagged = sum(len(fields) > 1 and TAG.fullmatch(fields[-1]) is not None for fields in columns)
    return tagged / len(columns) if columns else 0


def _column_format(lines: list[str]) -> str | None:
    header = sorted(name.strip() for name in lines[0].split("\t"))
    if header in (sorted(JUDGMENTS), sorted(UNITS)):
        return "crowdtruth-judgments" if header == sorted(JUDGMENTS) else "crowdtruth-units"
    if lines[0].rstrip().endswith(END):
        return "nyt10"
    if TEST_LINE.fullmatch(lines[0]):
        return "semeval-test"
    tagged = _share_tagged(lines)
    if tagged == 1:
        return "conll"
    if all(ANSWER.fullmatch(line) for line in lines):
        return "semeval-answers"
    if tagged > MOSTLY:
        return "conll"
    if lines[0].lstrip().startswith("["):
        return None
    return "labels" if all("\t" not in line and len(line) <= 200 for line in lines) else None
