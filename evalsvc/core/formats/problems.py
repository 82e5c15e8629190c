"""Problems of a file, their kinds, and their collector."""

from __future__ import annotations

import json
import re
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from math import inf
from typing import Any, NamedTuple, NoReturn

import msgspec


class ProblemKind(NamedTuple):
    """The message of a problem code, and an example of the fix.

    With `use_file_line`, a correct line of the file at hand replaces the example.
    """

    message: str
    example: str
    use_file_line: bool = True
    warning: bool = False


LABEL = '{"id": "s1", "label": "born_in"}'
MENTION = '"h": {"name": "Ada", "pos": [0, 3]}'
KINDS: dict[str, ProblemKind] = {
    # The file as a whole: reading stops.
    "not_utf8": ProblemKind(
        "The file is not UTF-8 text.", "iconv -f WINDOWS-1252 -t UTF-8 FILE > FILE.utf8", False
    ),
    "nul_character": ProblemKind(
        "The text contains a NUL character.", "iconv -f UTF-16 -t UTF-8 FILE > FILE.utf8", False
    ),
    "empty_file": ProblemKind("The file has no content.", LABEL),
    "too_large": ProblemKind("The unpacked file is too large.", "split -l 100000 FILE", False),
    "too_many_lines": ProblemKind("The file has too many lines.", "sort -u FILE | wc -l", False),
    "line_too_long": ProblemKind("The line is too long.", "jq -c '.[]' FILE > FILE.jsonl", False),
    "bad_gzip": ProblemKind(
        "The gzip data is damaged or truncated.", "gzip -c FILE > FILE.gz && gzip -t FILE.gz", False
    ),
    "unknown_format": ProblemKind("The content matches none of the accepted formats.", LABEL),
    # One line of JSON.
    "not_json": ProblemKind("The line is not a JSON object.", LABEL),
    "lone_surrogate": ProblemKind("The text contains half of a surrogate pair.", LABEL),
    "unknown_key": ProblemKind("The object has an unknown key.", LABEL),
    "missing_key": ProblemKind("The object lacks a required key.", LABEL),
    "duplicate_key": ProblemKind("The object has the same key twice.", LABEL),
    "wrong_type": ProblemKind("The value has the wrong type or length.", LABEL),
    "mixed_forms": ProblemKind("The form of the line does not fit here.", LABEL),
    # Columns.
    "wrong_columns": ProblemKind("The line does not have the columns of this format.", "Turin\tB-place"),
    "no_scheme": ProblemKind(
        "The tag scheme is missing. The same tags mean different spans in different schemes.",
        '{"scheme": "IOB2"}',
        False,
    ),
    "bad_tag": ProblemKind("The tag is not part of the tag scheme.", "Turin\tB-place"),
    "repaired_tag": ProblemKind(
        "An entity lacks its beginning or end in the tag scheme. It was read as an entity.",
        "Turin\tB-place",
        False,
        warning=True,
    ),
    "dropped_tag": ProblemKind(
        "An entity lacks its beginning or end in the tag scheme. It was dropped.",
        "Turin\tB-place",
        False,
        warning=True,
    ),
    "other_scheme": ProblemKind(
        "The tag scheme and its repair drop more entities than they keep.",
        '{"scheme": "IOB1"}',
        False,
    ),
    "bad_block": ProblemKind(
        "The block of lines is incomplete.", '8001\t"The <e1>letter</e1> was about <e2>tides</e2>."', False
    ),
    # Matrices.
    "bad_npy": ProblemKind(
        "The array file is damaged or of an unsupported type.",
        'numpy.save("scores.npy", numpy.ascontiguousarray(scores, dtype="float32"))',
        False,
    ),
    "wrong_shape": ProblemKind(
        "The array does not have the rows and columns of this benchmark.",
        "scores.shape == (sentences, labels)",
        False,
    ),
    # Text and spans.
    "bad_span": ProblemKind(
        "The span is empty or outside the text.", '{"id": "s1", "spans": [[0, 1, "person"]]}'
    ),
    "bad_reference": ProblemKind(
        "The relation refers to a span that does not exist.",
        '{"id": "s1", "spans": [[0, 1, "p"], [3, 4, "q"]], "relations": [[0, "at", 1]]}',
    ),
    "duplicate_span": ProblemKind(
        "The same span with the same label occurs twice and is counted once.",
        '{"id": "s1", "spans": [[0, 1, "person"]]}',
        warning=True,
    ),
    "overlapping_spans": ProblemKind(
        "Two spans overlap, which this project does not allow.",
        '{"id": "s1", "spans": [[0, 8, "place"], [9, 14, "person"]]}',
        False,
    ),
    "too_many_in_line": ProblemKind(
        "The line has too many spans or relations.",
        '{"id": "s1", "spans": [[0, 1, "person"]]}',
        False,
    ),
    "too_slow": ProblemKind(
        "Checking the file takes longer than the limit.",
        '{"id": "s1", "label": "born_in"}',
        False,
    ),
    "long_answer": ProblemKind(
        "The text of an answer is longer than the limit.",
        '{"id": "d1", "entities": [["Ada Byron", "person"]]}',
        False,
    ),
    "empty_answer": ProblemKind(
        "An answer without text was left out.",
        '{"id": "d1", "entities": [["Ada Byron", "person"]]}',
        False,
        warning=True,
    ),
    "textless_item": ProblemKind(
        "The gold has no text of this document, in which answers could be found.",
        '{"id": "d1", "spans": [[0, 1, "person"]]}',
        False,
    ),
    "duplicate_relation": ProblemKind(
        "The same relation between the same spans occurs twice and is counted once.",
        '{"id": "s1", "spans": [[0, 1, "p"], [3, 4, "q"]], "relations": [[0, "at", 1]]}',
        warning=True,
    ),
    "entity_not_in_text": ProblemKind(
        "The name of the entity does not occur in the text.",
        f'{{{MENTION}, "t": {{"name": "Turin"}}, "text": "Ada was born in Turin."}}',
    ),
    "ambiguous_entity": ProblemKind(
        "The name occurs more than once. The first occurrence is used.", MENTION, False, warning=True
    ),
    "loose_entity": ProblemKind(
        "The name occurs only inside a token or in a different letter case.", MENTION, False, warning=True
    ),
    "other_words": ProblemKind(
        "The offsets do not cover the name, which occurs elsewhere in the text.",
        MENTION,
        False,
        warning=True,
    ),
    "wrong_words": ProblemKind(
        "The offsets do not cover the words that the file has for them.", "T1\tPER 0 3\tAda", False
    ),
    "cut_word": ProblemKind(
        "The span begins or ends within a word.", '{"unit": "graphemes"}', False, warning=True
    ),
    "no_item": ProblemKind("The document that the answers are about is missing.", '{"item": "d1"}', False),
    "no_names": ProblemKind(
        "The names of the labels are missing. The file has their numbers only.",
        '{"names": ["O", "B-PER", "I-PER"]}',
        False,
    ),
    "no_unit": ProblemKind(
        "The unit of the offsets is missing. The same offsets are different places in different units.",
        '{"unit": "utf16"}',
        False,
    ),
    "discontinuous_span": ProblemKind("The span has several parts.", "T1\tPER 0 3\tAda", False),
    "left_out_annotation": ProblemKind(
        "The annotation is neither a span nor a relation. It was left out.",
        "T1\tPER 0 3\tAda",
        False,
        warning=True,
    ),
    # Files of other tools.
    "several_answers": ProblemKind(
        "Several people answered, and no answer is marked as the gold. A project can import them all.",
        '{"annotations": [{"ground_truth": true, "result": []}]}',
        False,
    ),
    "bad_xml": ProblemKind(
        "The XML is damaged or not allowed.", '<xmi:XMI xmlns:xmi="http://www.omg.org/XMI">', False
    ),
    "several_layers": ProblemKind(
        "The file has several layers or features, and it is unclear which has the labels.",
        "#T_SP=custom.Span|label",
        False,
    ),
    "bad_binary": ProblemKind("The binary file is damaged or has other content.", "corpus.spacy", False),
    "no_extra": ProblemKind(
        "The format needs an optional package.",
        "pip install --require-hashes -r requirements-formats.txt",
        False,
    ),
    # Identifiers and labels.
    "missing_id": ProblemKind("An expected id has no line.", '{"id": "s1", "label": "N/A"}'),
    "too_few_claims": ProblemKind(
        "The ranking has fewer predictions than a hidden phase accepts.",
        '{"id": "s1", "scores": {"born_in": 0.93, "works_for": 0.05}}',
        False,
    ),
    "unknown_id": ProblemKind("The id is not one of the expected ids.", LABEL),
    "duplicate_id": ProblemKind("The id occurs twice.", LABEL),
    "duplicate_claim": ProblemKind(
        "The same relation of the same pair occurs twice.",
        '{"h": "Q1", "t": "Q2", "relation": "born_in", "score": 0.93}',
    ),
    "duplicate_vote": ProblemKind(
        "The same annotator answers the same item twice.",
        '{"annotator": "ann1", "item": "s1", "labels": ["born_in"]}',
    ),
    "too_many_labels": ProblemKind(
        "There are more distinct labels than an inventory may have.", "cut -f 2 FILE | sort -u | wc -l", False
    ),
    "duplicate_label": ProblemKind("The label occurs twice.", '{"id": "s1", "labels": ["born_in"]}'),
    "unknown_label": ProblemKind("The label is not in the inventory.", LABEL),
    "near_label": ProblemKind("The label is not in the inventory, but a similar one is.", LABEL),
    "old_label": ProblemKind("The label is an old name that became several labels, or none.", LABEL),
    "negative_with_label": ProblemKind(
        "The negative class is combined with another label.", '{"id": "s1", "labels": ["born_in"]}'
    ),
    "negative_averaged": ProblemKind(
        "A label looks like the negative class, but is counted as a relation.",
        '{"negative": "no_relation"}',
        False,
        warning=True,
    ),
    "bad_score": ProblemKind(
        "The score is not a finite number.", '{"id": "s1", "scores": {"born_in": 0.93}}'
    ),
    "token_mismatch": ProblemKind(
        "The tokens or tags do not match the tokens of the text.",
        '{"id": "s1", "tags": ["B-person", "O", "O"]}',
    ),
    "empty_cell": ProblemKind(
        "The cell is empty and is not counted as a vote.", "s1\tw7\tNONE", False, warning=True
    ),
}
# Codes whose value is copied from the file; the other values describe something and stand without quotes
COPIED = frozenset(
    {
        *("not_json", "nul_character", "lone_surrogate", "unknown_key", "wrong_type", "wrong_columns"),
        *("bad_tag", "repaired_tag", "dropped_tag", "bad_block", "entity_not_in_text", "loose_entity"),
        *("other_words", "textless_item", "unknown_id", "duplicate_id", "duplicate_claim", "duplicate_label"),
        *("unknown_label", "near_label", "old_label", "negative_with_label", "negative_averaged"),
        "bad_score",
    }
)
CLIP = 80
ID_KEY = re.compile(r'"id"[ \t]*:[ \t]*(?:"((?:[^"\\]|\\.){0,1000})"|(-?\d+))')  # of 200 characters
LONGEST_ID = 200
MAX_REMEMBERED = 100_000
MOST_SPANS = 10_000  # of a line
MOST_COVERING = 20  # spans over one character: gold and predictions are paired over all that overlap
MAX_PROBLEMS = 100_000  # then reading stops: the file is another one, or meant to keep us busy
ExampleLine = Callable[[str], str | None]


def clip(value: object) -> str:
    """Shorten a value to 80 characters."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= CLIP else text[: CLIP - 1] + "…"


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """A problem at one place of a file."""

    code: str
    line: int | None = None
    field: str | None = None
    value: str | None = msgspec.field(default=None, name="found")
    expected: str | None = None
    hint: str | None = None
    example: str | None = None

    @property
    def shown_value(self) -> str:
        """Return the value, in quotes if it is copied from the file."""
        return f"“{self.value}”" if self.code in COPIED else self.value or ""

    def sentence(self) -> str:
        """Describe place, problem, value, expectation and fix."""
        places = [f"line {self.line:,}" if self.line else "", f"field {self.field}" if self.field else ""]
        where = ", ".join(filter(None, places))
        parts = [f"{where[:1].upper()}{where[1:]}:"] if where else []
        parts.append(KINDS[self.code].message)
        parts += [f"Found {self.shown_value}."] if self.value is not None else []
        parts += [f"Expected {self.expected}."] if self.expected is not None else []
        return " ".join([*parts, self.hint] if self.hint else parts)


class FileRejected(Exception):
    """A rejected file, with its problems."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        super().__init__(problems.summary())

    def __reduce__(self) -> tuple[Any, ...]:
        return FileRejected, (self.problems,)


class UnreadLines:
    """Ids of unreadable lines, which are not missing too."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.without_id = 0

    def add_line(self, text: str) -> None:
        match = ID_KEY.search(text)
        name = match and (match[1] or match[2])
        if match and match[1]:
            try:
                name = str(json.loads(f'"{match[1]}"'))
            except ValueError:
                name = None
        self.add_id(name)

    def add_id(self, name: str | None) -> None:
        if name and len(name) <= LONGEST_ID and "\0" not in name and len(self.ids) < MAX_REMEMBERED:
            self.ids.add(name)
        else:
            self.without_id += 1

    def certainly_missing(self, missing: list[str]) -> tuple[list[str], str | None]:
        """Return ids that no unread line can have.

        The hint tells that an unread line may have one of the ids.
        """
        left = [name for name in missing if name not in self.ids]
        if len(left) <= self.without_id:
            return [], None
        lines = "1 line" if self.without_id == 1 else f"{self.without_id:,} lines"
        return left, f"{lines} could not be read and may have this id." if self.without_id else None


def line_order(problem: Problem) -> float:
    """Sort key: problems without a line come last."""
    return inf if problem.line is None else problem.line


class Problems:
    """Collector of the problems of a file.

    It keeps the first few by line and counts all; warnings reject nothing. `places` counts lines with
    problems, and each problem without a line.
    """

    def __init__(self, *, keep: int = 20) -> None:
        self.keep = keep
        self.first: list[Problem] = []
        self.first_warnings: list[Problem] = []
        self.lines_read = 0
        self.places = 0
        self._bad_lines = bytearray()  # a bit for each line
        self.by_code: Counter[str] = Counter()
        self.warnings: Counter[str] = Counter()
        self.unread = UnreadLines()
        self._example_line: ExampleLine | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the example function, which holds all expected ids."""
        return self.__dict__ | {"_example_line": None}

    def set_example(self, example_line: ExampleLine) -> None:
        """Set the function that writes a correct line for a code."""
        self._example_line = example_line

    def example_of(self, code: str) -> str:
        """Return an example of the fix, preferably a line of the file."""
        line = self._example_line(code) if self._example_line and KINDS[code].use_file_line else None
        return line or KINDS[code].example

    @property
    def total(self) -> int:
        """Number of problems, kept or not, without warnings."""
        return self.by_code.total()

    def add(
        self,
        code: str,
        *,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
        expected: str | None = None,
        hint: str | Callable[[], str | None] | None = None,
        example: str | Callable[[], str] | None = None,
        times: int = 1,
    ) -> None:
        """Count a problem and keep it if it is among the first.

        Hint and example may be functions, called only for a kept problem.
        """
        warning = KINDS[code].warning
        (self.warnings if warning else self.by_code)[code] += times
        self.places += not warning and (line is None or self._mark_bad(line))
        kept = self.first_warnings if warning else self.first
        if len(kept) < self.keep or (line or inf) < line_order(kept[-1]):
            hint = hint() if callable(hint) else hint
            shown = None if value is None else clip(value)
            fix = (example() if callable(example) else example) or self.example_of(code)
            insort(kept, Problem(code, line, field, shown, expected, hint, fix), key=line_order)
            del kept[self.keep :]
        if self.places >= MAX_PROBLEMS or self.total >= 10 * MAX_PROBLEMS:
            raise FileRejected(self)

    def _mark_bad(self, line: int) -> bool:
        """Mark a line as bad; return whether it was not before."""
        at, bit = line >> 3, 1 << (line & 7)
        self._bad_lines.extend(bytes(max(0, at + 1 - len(self._bad_lines))))
        is_new = not self._bad_lines[at] & bit
        self._bad_lines[at] |= bit
        return is_new

    def stop(self, code: str, **details: Any) -> NoReturn:
        """Add a problem that makes further reading pointless, and reject the file."""
        self.add(code, **details)
        raise FileRejected(self)

    def raise_if_any(self) -> None:
        """Reject the file if it has a problem."""
        if any(self.by_code.values()):
            raise FileRejected(self)

    def summary(self) -> str:
        """Describe the first problem and count the others."""
        if not self.first:
            return "No problem found."
        left = self.total - 1
        problems = "problem" if left == 1 else "problems"
        more = f" The file has {left:,} more {problems}." if left else ""
        stopped = " Reading stopped there." if self.places >= MAX_PROBLEMS else ""
        return self.first[0].sentence() + more + stopped

    def as_json(self) -> dict[str, Any]:
        """Return the report that the API sends and a job stores."""
        return {
            "total": self.total,
            "by_code": dict(sorted(self.by_code.items())),
            "problems": [{**msgspec.to_builtins(p), "message": p.sentence()} for p in self.first],
            "warnings": dict(sorted(self.warnings.items())),
            "first_warnings": [
                {**msgspec.to_builtins(p), "message": p.sentence()} for p in self.first_warnings
            ],
        }


def near(word: str, words: Iterable[str]) -> str | None:
    """Return the known word that is most similar, or None."""
    if len(word) > 2 * CLIP:
        return None
    known = {known.casefold(): known for known in words}
    matches = get_close_matches(word.casefold(), known, n=1, cutoff=0.75)
    return known[matches[0]] if matches else None


def did_you_mean(word: str, words: Iterable[str]) -> str | None:
    """Return a hint that names the most similar known word."""
    meant = near(word, words)
    return f"Did you mean {meant}?" if meant is not None else None
