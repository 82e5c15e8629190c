"""What is wrong with a file: problems with line and code, their collector, the closed table of codes."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from math import inf
from typing import Any, NoReturn

import msgspec

from evalsvc.core.formats.error_examples import EXAMPLES, OF_A_LINE
from evalsvc.core.formats.unread_lines import Unread

CODES: dict[str, str] = {
    # the file as a whole: reading stops
    "not_utf8": "The file is not UTF-8 text.",
    "nul_character": "The text contains a NUL character.",
    "empty_file": "The file has no content.",
    "too_large": "The file is larger than allowed once unpacked.",
    "too_many_lines": "The file has more lines than allowed.",
    "line_too_long": "The line is longer than allowed.",
    "bad_gzip": "The gzip data is damaged or ends early.",
    "unknown_format": "The content matches none of the known formats.",
    # one line of JSON
    "not_json": "The line is not a JSON object.",
    "lone_surrogate": "The text contains half of a surrogate pair, which is no character.",
    "unknown_key": "The object has a key that this format does not know.",
    "missing_key": "The object lacks a key that this format needs.",
    "duplicate_key": "The object gives the same key twice.",
    "wrong_type": "The value has the wrong type or length.",
    "mixed_forms": "Two forms that exclude each other are mixed.",
    # columns
    "wrong_columns": "The line does not have the columns of this format.",
    "no_scheme": "CoNLL columns need their tag scheme stated: the same tags mean other spans in another.",
    "bad_tag": "The tag does not belong to the stated tag scheme.",
    "bad_block": "The block of lines is incomplete.",
    # matrices
    "bad_npy": "The array file is damaged or of a kind that is not taken.",
    "wrong_shape": "The array has not the rows and columns of this benchmark.",
    # text and spans
    "bad_span": "The span is empty or lies outside the text.",
    "bad_reference": "The relation points to a span that is not there.",
    "duplicate_span": "The same span with the same label is given twice; the two count as one.",
    "entity_not_in_text": "The name of the entity is not in the text.",
    "ambiguous_entity": "The name occurs more than once; the first occurrence is taken.",
    "loose_entity": "The name was found only inside a token or in other letter case.",
    "other_words": "The offsets cover other words than the name, which stands elsewhere in the text.",
    # identities and labels
    "missing_id": "An expected id has no line.",
    "unknown_id": "The id is not one of those expected.",
    "duplicate_id": "The id is used twice.",
    "duplicate_claim": "The same pair and relation is claimed twice.",
    "duplicate_vote": "The same annotator answers the same item twice.",
    "duplicate_label": "The label is given twice.",
    "unknown_label": "The label is not in the inventory.",
    "near_label": "The label is not in the inventory, but a similar one is.",
    "negative_with_label": "The negative class stands together with another label.",
    "bad_score": "The score is not a finite number.",
    "token_mismatch": "The tokens or tags do not match those of the text.",
    "empty_cell": "The cell is empty; it is no vote.",
}
WARNINGS = frozenset({"ambiguous_entity", "loose_entity", "other_words", "duplicate_span", "empty_cell"})
CLIP = 80
RightLine = Callable[[str], str | None]


def clip(value: object) -> str:
    """Show a found value in at most 80 characters, so that a report stays readable."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= CLIP else text[: CLIP - 1] + "…"


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing wrong in one place."""

    code: str
    line: int | None = None
    field: str | None = None
    found: str | None = None
    expected: str | None = None
    hint: str | None = None
    example: str | None = None

    def sentence(self) -> str:
        """Say what, where, what was expected and how to mend it."""
        place = [f"line {self.line:,}" if self.line else "", f"field {self.field}" if self.field else ""]
        where = ", ".join(part for part in place if part)
        parts = [f"{where[:1].upper()}{where[1:]}: {CODES[self.code]}" if where else CODES[self.code]]
        parts += [f"Found {self.found}."] if self.found is not None else []
        parts += [f"Expected {self.expected}."] if self.expected is not None else []
        return " ".join([*parts, self.hint] if self.hint else parts)


class FileRejected(Exception):
    """A file that cannot be taken in, with everything that is wrong with it."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        super().__init__(problems.summary())

    def __reduce__(self) -> tuple[Any, ...]:
        return FileRejected, (self.problems,)


def place(problem: Problem) -> float:
    """Where in the file it is; what has no line stands behind what has."""
    return inf if problem.line is None else problem.line


class Problems:
    """Keeps the first few problems by line and counts all of them; warnings are apart and refuse nothing.

    `places` counts lines: several things wrong with one line are one; what has no line counts by itself.
    """

    def __init__(self, *, keep: int = 20) -> None:
        self.keep = keep
        self.first: list[Problem] = []
        self.first_warnings: list[Problem] = []
        self.lines_read = 0
        self.places = 0
        self._seen = bytearray()
        self.by_code: Counter[str] = Counter()
        self.warnings: Counter[str] = Counter()
        self.unread = Unread()
        self._right_line: RightLine | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What makes examples stays behind: it holds all that a file is held against."""
        return self.__dict__ | {"_right_line": None}

    def exemplified_by(self, right_line: RightLine) -> None:
        """Say how a right line of the file looks; it is asked with the code of what is wrong."""
        self._right_line = right_line

    def example_of(self, code: str) -> str:
        """The mending shown: a right line of the file at hand where the code is about lines."""
        about = self._right_line(code) if self._right_line and code in OF_A_LINE else None
        return about or EXAMPLES[code]

    @property
    def total(self) -> int:
        """How many problems there are, kept or not; warnings not included."""
        return self.by_code.total()

    def add(
        self,
        code: str,
        *,
        line: int | None = None,
        field: str | None = None,
        found: object = None,
        expected: str | None = None,
        hint: str | Callable[[], str | None] | None = None,
        example: str | Callable[[], str] | None = None,
    ) -> None:
        """Count one problem; hint and example may be functions, called only when it is kept."""
        if code not in CODES:
            raise KeyError(code)
        warning = code in WARNINGS
        (self.warnings if warning else self.by_code)[code] += 1
        self.places += not warning and self._is_new(line)
        shown = self.first_warnings if warning else self.first
        if len(shown) >= self.keep and (line or inf) >= place(shown[-1]):
            return
        said = hint() if callable(hint) else hint
        given = None if found is None else clip(found)
        mended = (example() if callable(example) else example) or self.example_of(code)
        insort(shown, Problem(code, line, field, given, expected, said, mended), key=place)
        del shown[self.keep :]

    def _is_new(self, line: int | None) -> bool:
        """Whether nothing was wrong with this line so far; a bit is kept for every line."""
        if line is None:
            return True
        at, bit = line >> 3, 1 << (line & 7)
        self._seen.extend(bytes(max(0, at + 1 - len(self._seen))))
        new = not self._seen[at] & bit
        self._seen[at] |= bit
        return new

    def stop(self, code: str, **details: Any) -> NoReturn:
        """Add a problem after which reading on makes no sense."""
        self.add(code, **details)
        raise FileRejected(self)

    def raise_if_any(self, *, besides: Collection[str] = ()) -> None:
        """Refuse the file, unless nothing but the codes named in `besides` was found."""
        if any(count and code not in besides for code, count in self.by_code.items()):
            raise FileRejected(self)

    def summary(self) -> str:
        """The first problem in words, and how many follow."""
        if not self.first:
            return "No problem found."
        more = f" {self.total - 1:,} more." if self.total > 1 else ""
        return self.first[0].sentence() + more

    def as_json(self) -> dict[str, Any]:
        """What an API answers and a job stores."""
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
    """Find the known word that was probably meant."""
    if len(word) > 2 * CLIP:
        return None
    known = {known.casefold(): known for known in words}
    found = get_close_matches(word.casefold(), known, n=1, cutoff=0.75)
    return known[found[0]] if found else None


def did_you_mean(word: str, words: Iterable[str]) -> str | None:
    """Turn the nearest known word into a hint."""
    meant = near(word, words)
    return f"Did you mean {meant}?" if meant is not None else None
